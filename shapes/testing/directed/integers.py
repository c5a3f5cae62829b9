"""The integers of a call: where they are, what they may become.

    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.directed.integers import places_of, with_values
    >>> call = Call((Input((4, 5)), 3), {"dim": -1})
    >>> [(place.path, place.value, place.is_size) for place in places_of(call)]
    [((0, 0), 4, True), ((0, 1), 5, True), ((1,), 3, False), (('dim',), -1, False)]
    >>> with_values(call, {(0, 1): 7, ("dim",): 0})
    Call((Input((4, 7)), 3), {'dim': 0})
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from shapes.testing.calls import Call, Input

Path = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """An integer of a call: the size of an axis, or a number."""

    path: Path
    value: int
    is_size: bool


def places_of(call: Call) -> tuple[Place, ...]:
    """The integers, in order."""
    found: list[Place] = []

    def keep(path: Path, value: int, is_size: bool) -> int:
        found.append(Place(path, value, is_size))
        return value

    rebuilt(call, keep)
    return tuple(found)


def with_values(call: Call, values: Mapping[Path, int]) -> Call:
    """The call with other integers at some places."""
    return rebuilt(call, lambda path, value, is_size: values.get(path, value))


def rebuilt(call: Call, replace: Callable[[Path, int, bool], object]) -> Call:
    """The call with a replacement for each integer. An input of given strides or values keeps its sizes."""

    def walk(path: Path, value: object) -> object:
        if isinstance(value, Input):
            if value.strides is not None or value.values is not None:
                return value
            sizes = [replace((*path, axis), size, True) for axis, size in enumerate(value) if isinstance(size, int)]
            return resized(value, sizes)
        if type(value) is int:
            return replace(path, value, False)
        if type(value) in (list, tuple):
            assert isinstance(value, list | tuple)
            return type(value)([walk((*path, place), one) for place, one in enumerate(value)])
        return value

    args = tuple([walk((place,), value) for place, value in enumerate(call.args)])
    return Call(args, {name: walk((name,), value) for name, value in call.kwargs.items()})


def resized(tensor: Input, sizes: object) -> Input:
    """A tensor of the same kind with other sizes."""
    return Input(sizes, dtype=tensor.dtype, low=tensor.low, high=tensor.high)  # type: ignore[arg-type]


def structure_of(call: Call) -> str:
    """The text of a call but for its integers: calls of one structure differ in numbers only."""
    return repr(rebuilt(call, lambda path, value, is_size: 0))


def named_places(call: Call, names: tuple[str, ...]) -> Iterator[tuple[str, Place]]:
    """Each integer with the name that a person gives it: `x[0]`, `tensors[1][0]`, `step`."""
    for place in places_of(call):
        head, *rest = place.path
        name = head if isinstance(head, str) else names[head] if head < len(names) else f"argument {head}"
        yield name + "".join([f"[{each}]" for each in rest]), place
