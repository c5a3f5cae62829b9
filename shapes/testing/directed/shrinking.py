"""The smallest call on which something still fails, from one that does.

    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.directed.shrinking import shrunk
    >>> def fails(call):
    ...     return len(call.args) == 2 and call.args[0][-1:] > (13,)
    >>> shrunk(Call((Input((5, 4, 2**31)), 3, True)), fails, lambda call: iter([Call(call.args[:2])]))
    Call((Input((14,)), 0))

Axes are dropped first, then each integer is bisected towards 0, or towards what is plainest for its parameter, alone
and together with those that have its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from shapes.testing.calls import Call, Input
from shapes.testing.directed.integers import Path, Place, places_of, resized, with_values

ATTEMPTS: Final = 400
ROUNDS: Final = 6

Fails = Callable[[Call], bool]
Range = Callable[[Place], tuple[int, int | None]]
"""The plainest value of a place, and its least one."""


def plainest(place: Place) -> tuple[int, int | None]:
    """0, and no number but a size has a least one."""
    return 0, 0 if place.is_size else None


def shrunk(
    call: Call,
    fails: Fails,
    plainer: Callable[[Call], Iterator[Call]] = lambda call: iter(()),
    range_of: Range = plainest,
) -> Call:
    """A call that fails and is as small as was found; `plainer` gives calls with plainer arguments of other kinds."""
    left = ATTEMPTS
    tried: dict[str, bool] = {}

    def still_fails(candidate: Call) -> bool:
        nonlocal left
        key = repr(candidate)
        if key not in tried:
            if left <= 0:
                return False
            left -= 1
            tried[key] = fails(candidate)
        return tried[key]

    for _ in range(ROUNDS):
        before = call
        for candidates in (plainer, _fewer_axes):
            call = _first(call, candidates, still_fails)
        for group in _groups(call, range_of):
            call = _lowered(call, group, still_fails, range_of)
        if repr(call) == repr(before):
            break
    return call


def _first(call: Call, candidates: Callable[[Call], Iterator[Call]], fails: Fails) -> Call:
    """The call replaced by plainer ones while any of them fails."""
    found = True
    while found:
        found = False
        for candidate in candidates(call):
            if repr(candidate) != repr(call) and fails(candidate):
                call, found = candidate, True
                break
    return call


def _fewer_axes(call: Call) -> Iterator[Call]:
    """The call without an axis: of all tensors of one rank, or of a single one; and without a tensor of a list."""
    tensors = list(call.inputs())
    for axis in range(max([len(tensor) for tensor in tensors], default=0)):
        yield _without_axis(call, axis, None)
    if len(tensors) > 1:
        for place, tensor in enumerate(tensors):
            for axis in range(len(tensor)):
                yield _without_axis(call, axis, place)
    for place, value in enumerate(call.args):
        if type(value) is list and len(value) > 1:
            for dropped in range(len(value)):
                rest = [one for k, one in enumerate(value) if k != dropped]
                yield Call((*call.args[:place], rest, *call.args[place + 1 :]), call.kwargs)


def _without_axis(call: Call, axis: int, only: int | None) -> Call:
    place = -1

    def smaller(tensor: Input) -> Input:
        nonlocal place
        place += 1
        if axis >= len(tensor) or (only is not None and only != place):
            return tensor
        if tensor.values is not None or tensor.strides is not None:
            return tensor
        return resized(tensor, [size for k, size in enumerate(tensor) if k != axis])

    args, kwargs = call.replaced(smaller)
    return Call(args, kwargs)


def _groups(call: Call, range_of: Range) -> Iterator[tuple[Path, ...]]:
    """Places to lower: all of one value together, then each alone."""
    places = [place for place in places_of(call) if place.value != range_of(place)[0]]
    by_value: dict[int, list[Path]] = {}
    for place in places:
        by_value.setdefault(place.value, []).append(place.path)
    yield from [tuple(paths) for paths in by_value.values() if len(paths) > 1]
    yield from [(place.path,) for place in sorted(places, key=lambda place: -abs(place.value))]
    # what must keep its distance or its ratio moves together
    for first in places:
        for second in places:
            if str(first.path) < str(second.path) and first.value != second.value:
                yield (first.path, second.path)


def _lowered(call: Call, group: tuple[Path, ...], fails: Fails, range_of: Range) -> Call:
    """The call with the integers of a group moved towards the plainest value, as far as it still fails."""
    places = {place.path: place for place in places_of(call) if place.path in group}
    if len(places) != len(group):
        return call
    here = min([place.value for place in places.values()], key=abs)
    plain, least = range_of(next(iter(places.values())))

    def moved(by: int) -> Call:
        return with_values(call, _shifted(places, by, least))

    # a negative number is plainer as a positive one
    if len(group) == 1 and here < plain and fails(with_values(call, {group[0]: 2 * plain - here})):
        return with_values(call, {group[0]: 2 * plain - here})
    distance = here - plain
    if not distance:
        return call
    step = 1 if distance > 0 else -1
    low, high = 0, abs(distance)  # moving by `low` fails; by `high` it may
    for small in range(4):
        if small < high and fails(moved((high - small) * step)):
            return moved((high - small) * step)
    while low + 1 < high:
        middle = (low + high) // 2
        if fails(moved(middle * step)):
            low = middle
        else:
            high = middle
    for further in (2, 3, 4):
        # a modulus or a parity is passed over by single steps
        if low + further <= abs(distance) and fails(moved((low + further) * step)):
            low += further
    return moved(low * step) if low else call


def _shifted(places: Mapping[Path, Place], by: int, least: int | None) -> dict[Path, int]:
    values = {path: place.value - by for path, place in places.items()}
    return values if least is None else {path: max(value, least) for path, value in values.items()}
