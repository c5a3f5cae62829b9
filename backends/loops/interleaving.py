"""Interleaving: consecutive kernels tiled by their common outer iterations, so that each finds its input in the cache.

    for blocks of iterations that the kernels have in common
        the first kernel, in this block
        the second, which reads what the first has stored in the same of these iterations

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> a, b, c = [size.expr for size in env.sizes("a b c")]
    >>> program = Program(Decisions(env))
    >>> build = program.build
    >>> x = program.input("x", "float32", (a, b, c), (b * c, c, build.one))
    >>> for axis in (1, 2):
    ...     total = build.expand(build.reduce("sum", x, (axis,), keepdim=True), x.sizes)
    ...     x = program.stored(build.apply("sub", x, total), (b * c, c, build.one))
    >>> program.outputs.append(x)
    >>> first, second = schedule(program, interchanges=True)
    >>> first.interleaved is second.interleaved, first.interleaved.iterations
    (True, <a>)

The common iterations are those of the leading outer axes, as many in each kernel. Every dependence between the kernels
must be within one of them: an iteration accesses a block of its own in each buffer that is shared and written. This is
tiling for locality across loops that cannot be fused, as the second needs all that the first reduces.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import accumulate
from typing import Final

from backends.decisions.questions import Choice, Decisions
from backends.loops.affine import Affine, is_one, is_zero
from backends.loops.kernels import Buffer, InterleavedGroup, Kernel, Load, walk
from solver.terms.expr import Expr
from solver.terms.quotients import divide, divide_content

MOST: Final = 8
"""Kernels of one interleaved group at most."""
FEW: Final = 64
"""Where the vector axis is split, no fewer of its elements belong to one iteration."""


def mark_interleaved(kernels: Sequence[Kernel], there: Collection[Buffer], decisions: Decisions) -> Iterator[Kernel]:
    """Mark runs of consecutive kernels that may be interleaved iteration by iteration. Their outputs must be freshly
    allocated: existing buffers (`there`) may be aliased."""
    touched = [_Touched(kernel) for kernel in kernels]
    first = 0
    while first < len(touched):
        counts: list[Expr] = []
        last = first + 1
        while last < min(len(touched), first + MOST) and (found := _counts(touched[first : last + 1], there)):
            counts, last = found, last + 1
        if not counts:
            _ask_apart(touched[first : last + 1], decisions)
        count = max(counts, key=lambda each: (each.degree, abs(each.content())), default=None)
        group = None
        if count is not None and all(_ask_common(each, count, decisions) for each in kernels[first:last]):
            group = InterleavedGroup(count, last - first)
        yield from [replace(each, interleaved=group) if group else each for each in kernels[first:last]]
        first = last


def _ask_common(kernel: Kernel, count: Expr, decisions: Decisions) -> bool:
    """Return True if the leading axes of a kernel have this many iterations."""
    found = split(kernel, count)
    assert found is not None
    axis, inside = found
    iterations = reduce(Expr.__mul__, kernel.extents[: axis + 1])
    with decisions.at(kernel.name):
        choice = Choice("interleaved with others", "by itself")
        return decisions.same("interleaving", iterations, count * inside, choice)


def _ask_apart(touched: Sequence[_Touched], decisions: Decisions) -> None:
    """Two kernels that share memory, and were not found to have common iterations."""
    if len(touched) == 2 and touched[0].accesses.keys() & touched[1].accesses.keys():
        first, second = [next(_leading(each.kernel), None) for each in touched]
        if first is not None and second is not None and first is not second:
            with decisions.at(touched[1].kernel.name):
                decisions.same("interleaving", first, second, Choice("by itself", "by itself"))


class _Touched:
    """The memory accesses of a kernel.

    Attributes:
        accesses: offsets of the loads and stores of each buffer, None where indirect.
        stored: the buffers that it stores to.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.accesses: dict[Buffer, list[Affine | None]] = {}
        for value in walk(kernel.roots()):
            if isinstance(value, Load):
                self.accesses.setdefault(value.buffer, []).append(None if value.indirect else value.offset)
        for store in kernel.stores:
            self.accesses.setdefault(store.buffer, []).append(store.offset)
        self.stored = {store.buffer for store in kernel.stores}


def _counts(touched: Sequence[_Touched], there: Collection[Buffer]) -> list[Expr]:
    """The iteration counts that these kernels can share."""
    *before, last = touched
    if any(each.kernel.ragged is not None for each in touched):
        return []
    if not any(each.accesses.keys() & last.accesses.keys() for each in before):
        return []
    if any(buffer in there or buffer.role != "made" for each in touched for buffer in each.stored):
        return []
    wanted = dict.fromkeys([count for each in touched for count in _leading(each.kernel)])
    return [count for count in wanted if all(split(each.kernel, count) for each in touched) and _keep(touched, count)]


def _leading(kernel: Kernel) -> Iterator[Expr]:
    """The iteration counts of its leading outer axes: of the first, the first two, and so on."""
    return accumulate(kernel.extents[: min(kernel.outer, kernel.lanes)], Expr.__mul__)


def split(kernel: Kernel, count: Expr) -> tuple[int, Expr] | None:
    """The last of the leading outer axes that have so many iterations, and how many of its own are one of these."""
    iterations = count.interner.constant(1)
    for axis, extent in enumerate(kernel.extents[: 0 if kernel.accumulating else kernel.outer]):
        iterations = iterations * extent
        inside = _quotient(iterations, count)
        if inside is not None and _quotient(extent, inside) is not None:
            is_long = not inside.is_constant or inside.constant >= FEW
            return (axis, inside) if axis < kernel.lanes or is_long else None
    return None


def _quotient(whole: Expr, part: Expr) -> Expr | None:
    """The exact quotient of two sizes, for all sizes; None if there is none."""
    if whole is part or is_one(part):
        return whole.interner.constant(1) if whole is part else whole
    if part.is_constant:
        is_multiple = part.constant > 0 and whole.content() % part.constant == 0 and whole.constant % part.constant == 0
        return divide_content(whole, part.constant) if is_multiple else None
    quotient, rest = divide(whole.interner, whole, part)
    return quotient if is_zero(rest) else None


def may_share_slot(kernels: Sequence[Kernel], buffers: Collection[Buffer]) -> bool:
    """Return True if interleaved kernels stay correct where these buffers share a slot."""
    group = kernels[0].interleaved
    return group is not None and _are_apart([_Touched(kernel) for kernel in kernels], buffers, group.iterations)


def _keep(touched: Sequence[_Touched], count: Expr) -> bool:
    """Return True if every dependence between the kernels is within one iteration."""
    stored = {buffer for each in touched for buffer in each.stored}
    shared = [buffer for buffer in stored if sum([buffer in each.accesses for each in touched]) > 1]
    return all(_are_apart(touched, (buffer,), count) for buffer in shared)


def _are_apart(touched: Sequence[_Touched], buffers: Collection[Buffer], count: Expr) -> bool:
    """Return True if the iterations touch disjoint blocks of these buffers, all of one size and in the same order."""
    parts = [
        _of_iteration(each.kernel, place, count)
        for each in touched
        for buffer in buffers
        for place in each.accesses.get(buffer, ())
    ]
    return parts[0] is not None and all(part is parts[0] for part in parts)


def _of_iteration(kernel: Kernel, place: Affine | None, count: Expr) -> Expr | None:
    """The elements of the block of one iteration, if an access stays within the block of its own."""
    found = split(kernel, count)
    if place is None or found is None or not is_zero(place.constant):
        return None
    last, inside = found
    left = [(step, kernel.extents[axis]) for axis, step in place.terms if axis > last]
    along = place.coefficient(last)
    if along is None:
        return None
    left += [(along, inside)]
    left = [(step, extent) for step, extent in left if not is_one(extent)]
    size = count.interner.constant(1)
    while left:
        nearest = next((each for each in left if each[0] is size), None)
        if nearest is None:
            return None
        size = size * nearest[1]
        left.remove(nearest)
    if along * inside is not size:
        return None
    step = along * kernel.extents[last]
    for axis in reversed(range(last)):
        if not is_one(kernel.extents[axis]) and place.coefficient(axis) is not step:
            return None
        step = step * kernel.extents[axis]
    return size
