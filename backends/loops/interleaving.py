"""Kernels that can run turn by turn: what one leaves in the cache the next finds there.

    for blocks of turns that the kernels have in common
        the turns of the first kernel in this block
        the turns of the second, which read what the first has stored in the same of these turns

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
    >>> first, second = schedule(program, crosses=True)
    >>> first.turns is second.turns, first.turns.count
    (True, <a>)

The common turns are those of the leading outer axes, as many in each kernel. In each of them kernels touch parts of
their own of what they share: a place is so many elements for each turn, and what is less than that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from backends.loops.affine import Affine, is_one, is_zero
from backends.loops.kernels import Buffer, Kernel, Load, Turns, walk
from solver.terms.division import divide, divide_content
from solver.terms.expr import Expr

if TYPE_CHECKING:
    from backends.decisions.questions import Decisions

MOST: Final = 8
"""Kernels that run turn by turn."""
FEW: Final = 64
"""Where lanes run along an axis that is divided, no fewer of its elements belong to a turn."""


def find_turns(kernels: Sequence[Kernel], there: Collection[Buffer], decisions: Decisions) -> None:
    """Note which of these kernels, that follow each other, run turn by turn. What they store to is memory of its own:
    what is there before may be seen by other names."""
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
        if count is not None and all(_ask_common(each.kernel, count, decisions) for each in touched[first:last]):
            turns = Turns(count, last - first)
            for each in touched[first:last]:
                each.kernel.turns = turns
        first = last


def _ask_common(kernel: Kernel, count: Expr, decisions: Decisions) -> bool:
    """Whether the leading axes of a kernel make so many turns."""
    found = split(kernel, count)
    assert found is not None
    axis, inside = found
    turns = decisions.interner.one
    for extent in kernel.extents[: axis + 1]:
        turns = turns * extent
    with decisions.at(kernel.name):
        return decisions.same("turns", turns, count * inside, "turn by turn with others", "by itself")


def _ask_apart(touched: Sequence[_Touched], decisions: Decisions) -> None:
    """Two kernels that share memory, and were not found to have turns in common."""
    if len(touched) == 2 and touched[0].places.keys() & touched[1].places.keys():
        first, second = [next(_leading(each.kernel), None) for each in touched]
        if first is not None and second is not None and first is not second:
            with decisions.at(touched[1].kernel.name):
                decisions.same("turns", first, second, "by itself", "by itself")


class _Touched:
    """What a kernel does to memory.

    Attributes:
        places: where it looks in each buffer, None for what only the run tells.
        stored: the buffers that it stores to.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.places: dict[Buffer, list[Affine | None]] = {}
        for value in walk(kernel.roots()):
            if isinstance(value, Load):
                self.places.setdefault(value.buffer, []).append(None if value.indirect else value.offset)
        for store in kernel.stores:
            self.places.setdefault(store.buffer, []).append(store.offset)
        self.stored = {store.buffer for store in kernel.stores}


def _counts(touched: Sequence[_Touched], there: Collection[Buffer]) -> list[Expr]:
    """The numbers of turns that these kernels can have in common."""
    *before, last = touched
    if not any(each.places.keys() & last.places.keys() for each in before):
        return []
    if any(buffer in there or buffer.role != "made" for each in touched for buffer in each.stored):
        return []
    wanted = dict.fromkeys([count for each in touched for count in _leading(each.kernel)])
    return [count for count in wanted if all(split(each.kernel, count) for each in touched) and _keep(touched, count)]


def _leading(kernel: Kernel) -> Iterator[Expr]:
    """How many turns its leading outer axes make: the first, the first two, and so on."""
    turns = kernel.extents[0].interner.constant(1) if kernel.extents else None
    for extent in kernel.extents[: min(kernel.outer, kernel.lanes)]:
        turns = turns * extent
        yield turns


def split(kernel: Kernel, count: Expr) -> tuple[int, Expr] | None:
    """The last of the leading outer axes that make so many turns, and how many turns of it are one of these."""
    turns = count.interner.constant(1)
    for axis, extent in enumerate(kernel.extents[: 0 if kernel.summed else kernel.outer]):
        turns = turns * extent
        inside = _quotient(turns, count)
        if inside is not None and _quotient(extent, inside) is not None:
            is_long = not inside.is_constant or inside.constant >= FEW
            return (axis, inside) if axis < kernel.lanes or is_long else None
    return None


def _quotient(whole: Expr, part: Expr) -> Expr | None:
    """What times a part is the whole, for any sizes."""
    if whole is part or is_one(part):
        return whole.interner.constant(1) if whole is part else whole
    if part.is_constant:
        is_multiple = part.constant > 0 and whole.content() % part.constant == 0 and whole.constant % part.constant == 0
        return divide_content(whole, part.constant) if is_multiple else None
    quotient, rest = divide(whole.interner, whole, part)
    return quotient if is_zero(rest) else None


def may_be_one_place(kernels: Sequence[Kernel], buffers: Collection[Buffer]) -> bool:
    """Whether kernels that run turn by turn still do where these buffers are one place in memory."""
    turns = kernels[0].turns
    return turns is not None and _are_apart([_Touched(kernel) for kernel in kernels], buffers, turns.count)


def _keep(touched: Sequence[_Touched], count: Expr) -> bool:
    """Whether each kernel touches what another one stores in the same turn only."""
    stored = {buffer for each in touched for buffer in each.stored}
    shared = [buffer for buffer in stored if sum([buffer in each.places for each in touched]) > 1]
    return all(_are_apart(touched, (buffer,), count) for buffer in shared)


def _are_apart(touched: Sequence[_Touched], buffers: Collection[Buffer], count: Expr) -> bool:
    """Whether all turns touch as many elements of these buffers, each its own."""
    parts = [
        _of_turn(each.kernel, place, count)
        for each in touched
        for buffer in buffers
        for place in each.places.get(buffer, ())
    ]
    return parts[0] is not None and all(part is parts[0] for part in parts)


def _of_turn(kernel: Kernel, place: Affine | None, count: Expr) -> Expr | None:
    """How many elements belong to each turn, if a place is in those of its own."""
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


__all__ = ["find_turns", "may_be_one_place", "split"]
