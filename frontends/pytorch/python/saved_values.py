"""Variables and containers as they were before a trace: compared with what they are now, and restored.

    >>> from frontends.pytorch.python.saved_values import copied, differs, put_back
    >>> numbers = [1, 2]
    >>> before = copied(numbers)
    >>> numbers.append(3)
    >>> differs(numbers, before), put_back(numbers, before), numbers
    (True, None, [1, 2])

A place is a container, the cell of a closure, or an owner with a name: a dictionary and a key, a class and an
attribute.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from types import CellType
from typing import Any, Final, TypeAlias

from torch.utils._pytree import tree_leaves

from frontends.pytorch.python.snapshots import ABSENT, same
from frontends.pytorch.symbolic.tensor import Traced

Held: TypeAlias = Any
"""A place, what it holds or what it held: of the program, and of any class."""
MUTABLE: Final = list | dict | set | deque | bytearray


def keeps_tensors(place: object) -> bool:
    """Whether a place that outlives the call holds tensors that it made."""
    if isinstance(place, CellType):
        values: Iterable[object] = [place.cell_contents]
    elif isinstance(place, tuple):
        owner, key = place
        values = [(vars(owner) if isinstance(owner, type) else owner).get(key)]
    elif isinstance(place, dict):
        values = list(dict.values(place))
    else:
        values = list(place) if isinstance(place, list | set | deque) else ()
    return any(isinstance(leaf, Traced) for leaf in tree_leaves(list(values)))


def copied(value: Held) -> Held:
    """What a container holds, whatever its class makes of being asked."""
    if isinstance(value, bytearray):
        return bytearray(value)
    return dict(dict.items(value)) if isinstance(value, dict) else list(value)


def differs(place: Held, before: Held) -> bool:
    """Whether a place has changed."""
    if isinstance(place, CellType):
        try:
            return not same(place.cell_contents, before)
        except ValueError:
            return True
    if isinstance(place, tuple):
        owner, key = place
        if isinstance(owner, type):
            return not same(vars(owner).get(key), before)
        return not (same(owner[key], before) if key in owner else before is ABSENT)
    if isinstance(before, int):
        return len(place) != before
    if isinstance(place, bytearray):
        return place != before
    if isinstance(place, dict):
        held = copied(place)
        return len(held) != len(before) or any(
            key not in held or not same(held[key], value) for key, value in before.items()
        )
    if isinstance(place, list | set | deque):
        return len(place) != len(before) or any(not same(one, other) for one, other in zip(place, before))
    # bytes, as no number that is not one equals itself
    return (place.shape, place.dtype) != (before.shape, before.dtype) or place.tobytes() != before.tobytes()


def attribute_of(text: str, name: str, place: object, before: Held) -> tuple[str, str]:
    """What has changed, for people, and the name to look for in the code."""
    if name in ("", "_buffers", "_parameters", "_modules") and isinstance(place, dict):
        keys = dict.fromkeys([*place, *before])
        key = next(str(key) for key in keys if not same(place.get(key, place), before.get(key, place)))
        return f"{text}.{key}", key
    return text, name


def put_back(place: Held, before: Held) -> None:
    """Make a place what it was."""
    if not differs(place, before):
        return
    if isinstance(place, CellType):
        place.cell_contents = before
    elif isinstance(place, tuple):
        owner, key = place
        if isinstance(owner, type):
            setattr(owner, key, before)
        elif before is ABSENT:
            owner.pop(key, None)
        else:
            owner[key] = before
    elif isinstance(before, int):
        while len(place) > before:
            place.popitem() if isinstance(place, dict) else place.pop()
    elif isinstance(place, OrderedDict):
        OrderedDict.clear(place)
        OrderedDict.update(place, before)
    elif isinstance(place, dict):
        dict.clear(place)
        dict.update(place, before)
    elif isinstance(place, set):
        place.clear()
        place.update(before)
    elif isinstance(place, list | bytearray):
        place[:] = before
    elif isinstance(place, deque):
        place.clear()
        place.extend(before)
    else:
        place[...] = before
