"""The plan of a kernel: every decision that its code depends on, made before any of it is printed.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> env.assume("s > 4096")
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> program.outputs.append(program.stored(program.build.reduce("sum", x, (1,)), (program.build.one,)))
    >>> found = plan(schedule(program)[0], program.decisions)
    >>> [(form.short, form.passes[0].unroll) for form in found.forms], found.unit_axis
    ([((), 4)], None)

A kernel has one form, or two where it transposes and only the run tells which axis is best vectorized; one more where
an axis may have a single element. A question that stays open becomes a branch of the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from backends.cpu.emission.loops import Loops
from backends.cpu.emission.reducing import is_long_sum
from backends.cpu.emission.transpose import transposed_axis
from backends.decisions.questions import Choice, Decisions, Question, more_than
from backends.loops.affine import Affine
from backends.loops.kernels import InterleavedGroup, Kernel, Load, Ragged, Scalar
from backends.loops.operations import ITEMSIZE
from backends.loops.tensors import Expressions
from backends.loops.unit_axis import specialize_unit_axis, unit_axis_candidates
from solver.terms.expr import Expr

UNROLL: Final = 4
"""Accumulators of a cheap reduction: independent chains hide the latency of the addition. Twice as many of columns,
where registers suffice: more of each cache line is used."""
COSTLY_UNROLL: Final = 2
"""Vectors of a costly body: two independent chains fill each other's stalls."""
FEW: Final = 2
"""Do not unroll bodies with more expensive operations than this: they fill the pipeline and bloat the code."""
PART: Final = 64
"""Additions that one accumulator takes before it is added to the total."""
FIRST_CACHE: Final = 1 << 15
"""Bytes that the L1 cache holds for certain."""
SHORT: Final = (1, 2, 4)
"""The functions for short rows: for at most so many vectors."""
COSTLY_SHORT: Final = (1, 2, 3, 4)
"""The same where something costly is computed: no vector of theirs is empty."""
MOST_WORK: Final = 80
"""Operations of a row that are worth such functions: what is long is long to compile, and its loops cost it little."""


@dataclass(frozen=True, slots=True)
class PassPlan:
    """The way a pass traverses the inner axes.

    Attributes:
        unroll: vectors, or accumulators, of one iteration.
        part: the elements that accumulators take before they are added to the total; 0 where sums are not blocked.
        rest: what one of them may take beside its share of a row.
        collapsed: the first of the inner axes that are one loop in this pass, though not in all.
        reversed_above: rows of more elements go from the end to the beginning; None if none does.
    """

    unroll: int
    part: int
    rest: int
    collapsed: int
    reversed_above: int | None


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """One form of a kernel.

    Attributes:
        passes: how each pass traverses the inner axes; none where nothing but functions for short rows are needed.
        block: vectors of a block, where lanes run along the last outer axis.
        short: the numbers of vectors for which there are functions that keep a row in registers.
    """

    loops: Loops
    passes: tuple[PassPlan, ...]
    block: int
    short: tuple[int, ...]

    @property
    def is_only_short(self) -> bool:
        """True if all rows are short because their length is a constant."""
        return bool(self.short) and self.loops.kernel.extents[-1].is_constant

    @property
    def is_full_reduction(self) -> bool:
        return is_full_reduction(self.loops.kernel)


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """The forms of a kernel, and the size for which there is one where that is 1."""

    forms: tuple[LoopPlan, ...]
    unit_axis: tuple[Expr, LoopPlan] | None

    @property
    def interleaved(self) -> InterleavedGroup | None:
        return self.forms[0].loops.kernel.interleaved


def plan(kernel: Kernel, decisions: Decisions) -> KernelPlan:
    """Decide all that the code of a kernel depends on."""
    forms = tuple([_loop_plan(loops, decisions) for loops in _forms(kernel, decisions)])
    for size in unit_axis_candidates(kernel):
        choice = Choice("one version", "two versions", "one version", "branch")
        if decisions.holds("size one", decisions.interner.eq(size, 1), choice) is None:
            made = specialize_unit_axis(Expressions(decisions), kernel, size)
            (atom,) = size.symbols
            known = {atom: decisions.interner.one}
            scalars = [number.substitute(known) for number in kernel.scalars]
            only = Loops(made, decisions, scalars=scalars, buffers=kernel.buffers)
            return KernelPlan(forms, (size, _loop_plan(only, decisions)))
    return KernelPlan(forms, None)


def is_full_reduction(kernel: Kernel) -> bool:
    """Return True if a kernel is reduced in two stages: it has no outer axes, and one pass."""
    return not kernel.outer and kernel.ragged is None and bool(kernel.reductions) and len(kernel.passes) == 1


def _forms(kernel: Kernel, decisions: Decisions) -> Sequence[Loops]:
    """The loops of a kernel; of a transposing one as well with its two axes exchanged, for runs that fill no vector."""
    loops = Loops(kernel, decisions)
    partner = transposed_axis(kernel)
    if partner is None:
        return (loops,)
    along, other = kernel.extents[kernel.lanes], kernel.extents[partner]
    terms = decisions.interner
    better = terms.disjunction([terms.ge(along, loops.count), terms.ge(along, other)])
    question = Question(better, (along, ">=", loops.count, "or", along, ">=", other))
    choice = Choice("along what is stored", "both versions", "along the other axis", "branch")
    is_along = decisions.holds("lanes", question, choice)
    if is_along:
        return (loops,)
    swapped = Loops(kernel, decisions, is_swapped=True)
    return (swapped,) if is_along is False else (loops, swapped)


def _loop_plan(loops: Loops, decisions: Decisions) -> LoopPlan:
    short = tuple(_short_forms(loops, decisions))
    has_loops = bool(loops.open) or not (short and loops.kernel.extents[-1].is_constant)
    numbers = range(len(loops.kernel.passes)) if has_loops else ()
    passes = tuple([_pass_plan(loops, number, decisions) for number in numbers])
    return LoopPlan(loops, passes, _block(loops), short)


def _short_forms(loops: Loops, decisions: Decisions) -> Sequence[int]:
    kernel = loops.kernel
    is_row = loops.along_inner and kernel.outer and kernel.inner == 1
    if not is_row or kernel.accumulating or kernel.ragged is not None or loops.work() > MOST_WORK:
        return ()
    extent, both = kernel.extents[-1], "versions for short rows as well"
    choice = Choice("loops along the row", both, "rows in registers" if extent.is_constant else both, "branch")
    if decisions.holds("short", more_than(extent, SHORT[-1] * loops.count), choice):
        return ()
    if not extent.is_constant:
        return COSTLY_SHORT if loops.costly(loops.values()) else SHORT
    needed = -(-extent.constant // loops.count)
    return (needed,) if needed else ()


def _block(loops: Loops) -> int:
    costly = loops.costly(loops.values())
    if costly:
        return COSTLY_UNROLL if costly <= FEW else 1
    loads = [value for value in loops.varying if isinstance(value, Load)]
    if len(loops.kernel.reductions) == 1 and len(loads) <= UNROLL // 2:
        return 2 * UNROLL
    return UNROLL if loops.kernel.reductions else 1


# ---------------------------------------------------------------------- passes


def _pass_plan(loops: Loops, number: int, decisions: Decisions) -> PassPlan:
    kernel = loops.kernel
    if not loops.along_inner:
        last, part = len(kernel.extents) - 1, 4 * PART
        is_blocked = kernel.inner > 0 and _is_blocked(loops, number, last, part, 0, decisions)
        return PassPlan(1, part if is_blocked else 0, 0, last, None)
    inside = [value for value in loops.needed(number) if loops.depth[value] >= kernel.outer]
    unroll = _unroll(loops, number, inside)
    # the first accumulator also takes what is left over of each row
    part, rest = unroll * PART * loops.count, unroll * unroll * loops.count
    is_blocked = _is_blocked(loops, number, kernel.lanes, part, rest, decisions)
    collapsed = _collapsed_from(loops, number, decisions)
    return PassPlan(unroll, part if is_blocked else 0, rest, collapsed, _reversed_above(loops, number, decisions))


def _unroll(loops: Loops, number: int, values: Sequence[Scalar]) -> int:
    costly = loops.costly(values)
    if loops.kernel.passes[number].reductions:
        return 1 if costly else UNROLL
    return COSTLY_UNROLL if loops.kernel.accumulating and 0 < costly <= FEW else 1


def _is_blocked(loops: Loops, number: int, axis: int, part: int, rest: int, decisions: Decisions) -> bool:
    """Return True if sums are computed in blocks, as many sequential additions would lose digits."""
    if not any(map(is_long_sum, loops.kernel.passes[number].reductions)):
        return False
    *around, along = loops.kernel.extents[loops.kernel.outer : axis + 1]
    count = reduce(Expr.__mul__, around, along + rest)
    choice = Choice("in parts", "in parts", never="at once")
    return decisions.holds("parts", more_than(count, part + rest), choice) is not False


def _collapsed_from(loops: Loops, number: int, decisions: Decisions) -> int:
    """The first of the inner axes that are one loop in this pass, though not in all: memory is traversed evenly. Then
    the last axis goes all the way, and the others stand still."""
    kernel = loops.kernel
    first = kernel.lanes
    is_divided = is_full_reduction(kernel) or any(store.accumulates for store in kernel.passes[number].stores)
    indices = [] if is_divided else list(loops.indices(number))
    while indices and first > kernel.outer and not _ends_at(kernel.ragged, first, kernel.outer):
        if not all(_is_even(index, first, kernel.extents[first], decisions) for index in indices):
            return first
        first -= 1
    return first


def _ends_at(ragged: Ragged | None, axis: int, outer: int) -> bool:
    """Return True if this axis and the one before it are no one loop, as one is ragged and not the first inner one."""
    return ragged is not None and (axis == ragged.axis or axis - 1 == ragged.axis > outer)


def _is_even(index: Affine, axis: int, extent: Expr, decisions: Decisions) -> bool:
    """Return True if one step along the previous axis is as far as all of this one."""
    outer, inner = index.coefficient(axis - 1), index.coefficient(axis)
    if outer is None or inner is None:
        return outer is inner
    return decisions.same("collapse", outer, inner * extent, Choice("one loop in this pass", "two loops"))


def _reversed_above(loops: Loops, number: int, decisions: Decisions) -> int | None:
    """Rows longer than the L1 cache go from the end to the beginning: what the pass before has read last is nearest.
    Where rows fit, memory is traversed in the order in which it is prefetched. Sums go forwards, in their parts."""
    kernel = loops.kernel
    if not number or kernel.inner != 1 or loops.split_points or kernel.passes[number].reductions:
        return None
    if kernel.ragged is not None:
        return None
    extent, most = kernel.extents[kernel.lanes], FIRST_CACHE // max(row_bytes(loops), 1)
    choice = Choice("from the end", "from the end where rows are long", "from the beginning", "branch")
    is_long = decisions.holds("reversed", more_than(extent, most), choice)
    return None if is_long is False else 0 if is_long else most


def row_bytes(loops: Loops) -> int:
    """The bytes of one element of each buffer that is accessed along the lanes."""
    accesses = [(value.buffer, value.offset) for value in loops.values() if isinstance(value, Load)]
    accesses += [(store.buffer, store.offset) for store in loops.kernel.stores]
    return sum([ITEMSIZE[buffer.dtype] for buffer in {each for each, at in accesses if loops.is_stored_along(at)}])
