"""Mutations of calls: one argument changed, so that each reason to refuse occurs alone.

    >>> from hypothesis import strategies as st
    >>> from shapes.testing.arguments.alterations import altered
    >>> from shapes.testing.calls import Call, Input
    >>> altered(st.just(Call((Input((2, 3)), Input((3,)))))).example()        # doctest: +SKIP
    Call((Input((2, 3, 1)), Input((3,))))

Whoever writes a strategy thinks of mistakes; these are the others: a tensor with an axis more or less or a longer one,
another number, one number too many, a name that is none, a switch turned around. Tensors whose elements are given stay
as they are, and where there are indices the others only grow, so that every index is in range still.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from hypothesis import strategies as st

from shapes.testing.calls import Call, Input

Path = tuple[int | str, ...]

ALTERED: Final = st.sampled_from((False, False, True))
"""Draws whether a call is altered."""
ENDS: Final = st.sampled_from((0, -1, 1))
"""The axis that is changed; the first and the last are those that operators look at."""


@st.composite
def altered(draw: st.DrawFn, calls: st.SearchStrategy[Call]) -> Call:
    """A call as it was drawn, or with one argument changed."""
    call = draw(calls)
    places = [*_places((), call.args), *_places((), call.kwargs)]
    if not places or not draw(ALTERED):
        return call
    chosen = draw(st.sampled_from(places))
    indexed = any(tensor.values is not None or tensor.high > 1 for tensor in call.inputs())

    def walk(path: Path, value: object) -> object:
        if path == chosen:
            return _changed(draw, value, indexed)
        if type(value) in (list, tuple) and path == chosen[: len(path)]:
            assert isinstance(value, list | tuple)
            return type(value)([walk((*path, place), one) for place, one in enumerate(value)])
        return value

    args = tuple([walk((place,), value) for place, value in enumerate(call.args)])
    return Call(args, {name: walk((name,), value) for name, value in call.kwargs.items()})


def _places(path: Path, value: object) -> Iterator[Path]:
    """The places at which an argument, or a part of one, may be changed."""
    if isinstance(value, Input):
        if value.values is None and value.strides is None:
            yield path
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _places((*path, name), one)
    elif type(value) in (list, tuple):
        assert isinstance(value, list | tuple)
        if path and value and all(type(one) is int for one in value):
            yield path
        for place, one in enumerate(value):
            yield from _places((*path, place), one)
    elif isinstance(value, bool | int | float | str) and path != ("dtype",):
        yield path


def _changed(draw: st.DrawFn, value: object, indexed: bool) -> object:
    match value:
        case Input():
            sizes = resized(draw, [int(size) for size in value], grow=indexed and value.high == 1)
            return Input(sizes, dtype=value.dtype, low=value.low, high=value.high)
        case bool():
            return not value
        case int():
            return value + draw(st.sampled_from((1, -1, 2)))
        case float():
            return draw(st.sampled_from((value + 1, -value, -1.0, 2.0)))
        case str():
            return f"{value}_"
        case list() | tuple():
            numbers = list(value)
            fewer = draw(st.booleans())
            if fewer:
                numbers.pop(draw(ENDS) % len(numbers))
            else:
                numbers.insert(draw(st.integers(0, len(numbers))), draw(st.integers(1, 2)))
            return type(value)(numbers)
    return value


def resized(draw: st.DrawFn, sizes: list[int], *, grow: bool = False) -> list[int]:
    """The sizes of a tensor with one of them changed, left out or added."""
    axis = draw(ENDS) % max(len(sizes), 1)
    match "longer" if grow else draw(st.sampled_from(("longer", "longer", "shorter", "without", "with"))):
        case "with":
            sizes.insert(draw(st.integers(0, len(sizes))), draw(st.integers(1, 3)))
        case "without" if sizes:
            sizes.pop(axis)
        case "longer" if sizes:
            sizes[axis] += draw(st.integers(1, 2))
        case "shorter" if sizes:
            sizes[axis] = max(sizes[axis] - 1, min(sizes[axis], 1))  # what is empty is drawn on purpose
    return sizes
