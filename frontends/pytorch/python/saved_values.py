"""Variables and containers as they were before a trace: compared with what they are now, and restored.

    >>> from frontends.pytorch.python.saved_values import copied, differs, put_back
    >>> numbers = [1, 2]
    >>> before = copied(numbers)
    >>> numbers.append(3)
    >>> differs(numbers, before), put_back(numbers, before), numbers
    (True, None, [1, 2])

A place is a container, a closure's cell, or an owner with a name: a dictionary and a key, a class and an attribute.
"""

from __future__ import annotations

from collections import deque
from types import CellType
from typing import Any, Final, TypeAlias

from torch.utils._pytree import tree_leaves

from frontends.pytorch.python.snapshots import ABSENT, ARRAY, BASES, CELL, Part, alike, list_of, same
from frontends.pytorch.symbolic.tensor import Traced

Held: TypeAlias = Any
"""A place, what it holds or what it held: of the program, and of any class."""
MUTABLE: Final = list | dict | set | deque | bytearray


def part_of(place: object) -> Part:
    if isinstance(place, CellType):
        return CELL
    return next((part for kind, part in BASES if isinstance(place, kind)), ARRAY)


def copied(value: Held) -> Held:
    """A container's contents, bypassing overrides of its class."""
    return part_of(value).read(value)


def held_now(place: Held, before: object) -> Held:
    """What a place holds, told as what it held before: all of it, an entry as a list of one, or the number of items."""
    if isinstance(place, tuple):
        owner, key = place
        return [vars(owner).get(key) if isinstance(owner, type) else owner.get(key, ABSENT)]
    return len(place) if isinstance(before, int) else copied(place)


def keeps_tensors(place: object) -> bool:
    """Whether a place that outlives the call holds tensors that the call created."""
    found = held_now(place, None)
    return not isinstance(found, bytes) and any(isinstance(leaf, Traced) for leaf in tree_leaves(list_of(found)))


def differs(place: Held, before: Held) -> bool:
    """Whether a place has changed."""
    return not alike(held_now(place, before), before)


def attribute_of(text: str, name: str, place: object, before: Held) -> tuple[str, str]:
    """A description of the change, and the name to search in the code."""
    if name in ("", "_buffers", "_parameters", "_modules") and isinstance(place, dict):
        keys = dict.fromkeys([*place, *before])
        found = (key for key in keys if not same(place.get(key, place), before.get(key, place)))
        key = str(next(found, next(iter(keys))))
        return f"{text}.{key}", key
    return text, name


def put_back(place: Held, before: Held) -> None:
    """Restore a place."""
    if not differs(place, before):
        return
    if isinstance(place, tuple):
        (owner, key), (value,) = place, before
        if isinstance(owner, type):
            setattr(owner, key, value)
        elif value is ABSENT:
            owner.pop(key, None)
        else:
            owner[key] = value
    elif isinstance(before, int):
        while len(place) > before:
            place.popitem() if isinstance(place, dict) else place.pop()
    else:
        part_of(place).write(place, before)
