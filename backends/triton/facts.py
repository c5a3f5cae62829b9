"""Proven facts about a kernel's sizes: each leaves fewer variants, and no test at run time.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s", hi=4096)]
    >>> env.assume("s % 64 == 0")
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> program.outputs.append(program.stored(program.build.apply("exp", x), (s, program.build.one)))
    >>> facts = Facts.of(schedule(program)[0], program.decisions)
    >>> facts.narrow, facts.step
    (True, 64)

An open fact adds no guard: the launch picks the variant for the actual sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from backends.decisions.questions import Choice, Decisions, at_most, is_multiple
from backends.loops.affine import Affine
from backends.loops.kernels import Kernel, Load, walk
from backends.triton.tiles import Tile, factors, indices, tile
from solver.terms.expr import Expr

LARGEST: Final = 2**31 - 2**17
"""The bound of 32-bit offsets: the last tile may reach past the end of memory before it is masked."""
GREATEST_STEP: Final = 2048
SHORT: Final = 8192
"""The longest rows that are kept in registers between passes."""
SHORT_ALONG_ROWS: Final = 64
"""The same where memory is contiguous from row to row, so that many rows are kept at once."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts proven of one kernel.

    Attributes:
        narrow: whether no index needs more than 32 bits.
        short: whether the columns are few enough to stay in registers.
        step: the greatest power of two, up to a limit, that the number of columns is known to be a multiple of.
        aligned: the sizes that are known to be multiples of 16.
        aligning: the sizes that are not, and for which it matters how wide memory is accessed.
        strides: the steps from lane to lane that may turn out to be 1.
        is_ragged: whether the columns of each row are others.
    """

    tile: Tile
    narrow: bool | None
    short: bool | None
    step: int
    aligned: frozenset[Expr]
    aligning: tuple[Expr, ...]
    strides: tuple[Expr, ...] = ()
    is_ragged: bool = False

    @staticmethod
    def of(kernel: Kernel, decisions: Decisions) -> Facts:
        """Ask every question about a kernel."""
        with decisions.at(kernel.name):
            shape = tile(kernel)
            columns = product([kernel.extents[axis] for axis in shape.columns], decisions)
            sizes = dict.fromkeys(sizes_of_steps(kernel, shape))
            known = {size: is_aligned(size, decisions) for size in sizes if not size.is_constant}
            return Facts(
                shape,
                is_narrow(kernel, decisions),
                None if kernel.ragged is not None else is_short(columns, shape, decisions),
                greatest_step(columns, decisions),
                frozenset([size for size, answer in known.items() if answer]),
                tuple([size for size, answer in known.items() if answer is None]),
                tuple(dict.fromkeys(strides(kernel, shape))),
                kernel.ragged is not None,
            )

    @property
    def longest(self) -> int:
        """The most columns that stay in registers."""
        return SHORT_ALONG_ROWS if self.tile.is_along_rows else SHORT


def product(sizes: Sequence[Expr], decisions: Decisions) -> Expr:
    return reduce(Expr.__mul__, sizes, decisions.interner.one)


def sizes_of_steps(kernel: Kernel, shape: Tile) -> Iterable[Expr]:
    """Sizes on which it depends whether neighbouring elements are accessed at once: strides, and where rows end."""
    offsets = [value.offset for value in walk(kernel.roots()) if isinstance(value, Load)]
    offsets += [store.offset for store in kernel.stores]
    for offset in offsets:
        yield offset.constant
        for _, coefficient in offset.terms:
            yield coefficient
    axes = () if shape.kind == "reduction" and shape.is_along_rows else shape.columns
    for axis in (*axes, *(shape.rows if shape.is_along_rows else ())):
        yield kernel.extents[axis]


def strides(kernel: Kernel, shape: Tile) -> Iterable[Expr]:
    """Steps along the last axes of rows and columns that are no constants."""
    for index in indices(kernel):
        for axes in (shape.rows, shape.columns):
            step = index.coefficient(axes[-1]) if axes else None
            if step is not None and not step.is_constant:
                yield step


def is_aligned(size: Expr, decisions: Decisions) -> bool | None:
    question = decisions.interner.divides(16, size)
    return decisions.holds("divisible", question, Choice("wide accesses", "wide accesses where it is", added="branch"))


def greatest_step(columns: Expr, decisions: Decisions) -> int:
    """The power of two that is proven to divide the columns."""
    if columns.is_constant:
        constant = columns.constant
        step = min(constant & -constant, GREATEST_STEP) if constant else GREATEST_STEP
        _is_multiple(columns, step, decisions)
        return step
    step = 8
    while step < GREATEST_STEP and _is_multiple(columns, 2 * step, decisions):
        step *= 2
    return step if step > 8 else 1


def _is_multiple(columns: Expr, step: int, decisions: Decisions) -> bool | None:
    choice = Choice("no mask", "a mask where it is not", added="branch")
    return decisions.holds("divisible", is_multiple(columns, step), choice)


def is_short(columns: Expr, shape: Tile, decisions: Decisions) -> bool | None:
    limit = SHORT_ALONG_ROWS if shape.is_along_rows else SHORT
    if shape.kind != "reduction":
        return None
    choice = Choice("rows in registers", "both forms", "in blocks", "branch")
    return decisions.holds("short", at_most(columns, limit), choice)


def is_narrow(kernel: Kernel, decisions: Decisions) -> bool | None:
    """Return True if all indices, and all their operands, stay below `LARGEST`."""
    bounds = [product(kernel.extents, decisions), *factors(kernel)]
    for offset in indices(kernel):
        bound = farthest(offset, kernel, decisions)
        if bound is None:
            return None
        bounds.append(bound)
    choice = Choice("32 bits", "32 bits where it fits", "64 bits", "branch")
    for bound in sorted(dict.fromkeys(bounds), key=lambda bound: not bound.is_constant):
        answer = decisions.holds("index width", at_most(bound, LARGEST), choice)
        if answer is not True:
            return answer
    return True


def farthest(offset: Affine, kernel: Kernel, decisions: Decisions) -> Expr | None:
    """An upper bound of an index; None if a stride may be negative."""
    interner, choice = decisions.interner, Choice("forwards", "at run time", added="branch")
    total = offset.constant
    for axis, coefficient in offset.terms:
        if coefficient.is_constant:
            coefficient = interner.constant(abs(coefficient.constant))
        elif not decisions.holds("index width", interner.ge(coefficient, 0), choice):
            return None
        total = total + coefficient * (kernel.extents[axis] - interner.one)
    return total
