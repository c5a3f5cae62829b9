"""Side effects as replayable steps, run after the graph.

    >>> from collections import deque
    >>> from frontends.pytorch.python.side_effects import steps_between
    >>> from frontends.pytorch.python.snapshots import DEQUE, DICT, LIST
    >>> steps, stored = steps_between(LIST, [1, 2, 3], [2, 3, "new"])
    >>> steps, stored
    (Items(dropped=1, kept=None), ['new'])
    >>> items = [7, 8, 9]
    >>> steps.perform(items, LIST, [10])
    >>> items
    [8, 9, 10]
    >>> steps_between(DICT, {"a": 1, "b": 2}, {"b": 3, "c": 4})
    (Entries(removed=('a',), stored=('b', 'c')), [3, 4])

A trace notes what there was before and looks at what there is in the end (`changes`). What lies between is a side
effect: attributes set and deleted, items of lists, dictionaries, sets and queues. Nobody sees the states in between, so
only the last one is made. What is stored, the graph gives, as it does what the function returns.
"""

from __future__ import annotations

import gc
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from types import CellType, MemberDescriptorType, ModuleType
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.python.fields import slots_of
from frontends.pytorch.python.snapshots import (
    ABSENT,
    ATTRIBUTES,
    CELL,
    DEQUE,
    DICT,
    LIST,
    NAMESPACE,
    SET,
    SLOTS,
    Part,
)
from shapes.origin import Origin

PLAIN: Final = frozenset((bool, int, str, bytes, type(None), torch.dtype, torch.device))
"""Classes of which equal values are one to a program; 0.0 equals -0.0."""
MOST: Final = 256
"""More values than these are not stored by one call: each is looked at by the compiler."""


class Unsayable(Exception):
    """A change that no steps say."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Names or keys that are removed, then those that are stored, in order."""

    removed: tuple[Hashable, ...]
    stored: tuple[Hashable, ...]

    def perform(self, owner: Any, part: Part, values: Sequence[object]) -> None:
        if part is ATTRIBUTES or (part is DICT and not isinstance(owner, OrderedDict)):
            held = object.__getattribute__(owner, "__dict__") if part is ATTRIBUTES else owner
            for key in self.removed:
                dict.pop(held, key, None)
            for key, value in zip(self.stored, values):
                dict.__setitem__(held, key, value)
        elif part is DICT:
            for key in self.removed:
                OrderedDict.pop(owner, key, None)
            for key, value in zip(self.stored, values):
                OrderedDict.__setitem__(owner, key, value)
        elif part is SLOTS:
            slots: dict[Hashable, MemberDescriptorType] = {
                each.__name__: each for each in reversed(slots_of(type(owner)))
            }
            for key in self.removed:
                slots[key].__delete__(owner)
            for key, value in zip(self.stored, values):
                slots[key].__set__(owner, value)
        else:
            of_class = isinstance(owner, type)
            remove: Callable[..., None] = type.__delattr__ if of_class else delattr
            store: Callable[..., None] = type.__setattr__ if of_class else setattr
            for key in self.removed:
                remove(owner, key)
            for key, value in zip(self.stored, values):
                store(owner, key, value)


@dataclass(frozen=True, slots=True)
class Items:
    """The first items are dropped, of the others so many stay, or all, and then come those that are stored."""

    dropped: int
    kept: int | None

    def perform(self, owner: Any, part: Part, values: Sequence[object]) -> None:
        if part is DEQUE:
            for _ in range(self.dropped):
                deque.popleft(owner)
            while self.kept is not None and len(owner) > self.kept:
                deque.pop(owner)
            deque.extend(owner, values)
        elif self.kept is not None:
            list.__setitem__(owner, slice(self.kept, None), values)
        else:
            if self.dropped:
                list.__delitem__(owner, slice(self.dropped))
            list.extend(owner, values)


@dataclass(frozen=True, slots=True)
class Members:
    """What is taken out of a set, and how many values are added to it."""

    removed: tuple[Hashable, ...]

    def perform(self, owner: Any, part: Part, values: Sequence[object]) -> None:
        for each in self.removed:
            set.discard(owner, each)
        set.update(owner, values)


@dataclass(frozen=True, slots=True)
class Content:
    """The variable of a closure has another value."""

    def perform(self, owner: CellType, part: Part, values: Sequence[object]) -> None:
        (owner.cell_contents,) = values


@dataclass(frozen=True, slots=True)
class Said:
    """A function is called, which prints, with so many values by position, and others by these names."""

    count: int
    names: tuple[str, ...]

    def perform(self, owner: Any, part: Part, values: Sequence[object]) -> None:
        owner(*values[: self.count], **dict(zip(self.names, values[self.count :])))


Steps: TypeAlias = Entries | Items | Members | Content | Said


@dataclass(frozen=True, slots=True)
class SideEffect:
    """What is done to one object.

    Attributes:
        owner: the object; None where it is among the arguments. Of what is `Said`, the function that says it.
        node: its number among the containers in the arguments; None where it is none of them.
        count: how many values are stored.
        text: what is changed, for people.
        line: the line of the program that does it first.
    """

    owner: object
    node: int | None
    part: Part
    steps: Steps
    count: int
    text: str
    line: Origin | None

    @property
    def holder(self) -> object:
        """What a program that reads the object is known to look into."""
        return holder_of(self.owner, self.part)

    @property
    def places(self) -> list[tuple[int, object]]:
        """What is stored to, each by the container's identity and the key."""
        if self.node is not None:
            return []
        match self.steps:
            case Entries(_, stored):
                return [(id(self.holder), key) for key in stored]
            case Items() if isinstance(self.owner, list | deque):
                # which it is shifted to or not, in the end
                size = list.__len__(self.owner) if isinstance(self.owner, list) else deque.__len__(self.owner)
                return [(id(self.owner), place) for place in range(size + self.count)]
            case Content():
                return [(id(self.owner), None)]
        return []


def holder_of(owner: Any, part: Part) -> object:
    """What a program that reads the owner is known to look into."""
    if part is ATTRIBUTES or isinstance(owner, ModuleType):
        return object.__getattribute__(owner, "__dict__")
    if isinstance(owner, type):
        return next((each for each in gc.get_referents(vars(owner)) if type(each) is dict), owner)
    return owner


def steps_between(part: Part, before: Any, after: Any) -> tuple[Steps, list[object]]:
    """What makes one state the other, and the values that it stores.

    Raises:
        Unsayable: the parts of such an object are changed otherwise.
    """
    if part in (ATTRIBUTES, DICT, SLOTS, NAMESPACE):
        steps, stored = _entries(before, after)
    elif part in (LIST, DEQUE):
        steps, stored = _items(before, after)
    elif part is SET:
        known, now = {id(each) for each in before}, {id(each) for each in after}
        removed = [each for each in before if id(each) not in now]
        stored = [each for each in after if id(each) not in known]
        check_keys([*removed, *stored])
        steps = Members(tuple(removed))
    elif part is CELL and len(before) == len(after) == 1:
        steps, stored = Content(), list(after)
    else:
        raise Unsayable
    if len(stored) > MOST:
        raise Unsayable
    return steps, stored


def _entries(before: dict[Any, object], after: dict[Any, object]) -> tuple[Steps, list[object]]:
    before = {key: value for key, value in before.items() if value is not ABSENT}
    after = {key: value for key, value in after.items() if value is not ABSENT}
    stays = [key for key in before if key in after]
    # those that are in another order are stored anew
    first = next((place for place, (one, other) in enumerate(zip(after, stays)) if one is not other), len(stays))
    moved = set(stays[first:])
    removed = [key for key in before if key not in after or key in moved]
    stored = {
        key: value
        for key, value in after.items()
        if key not in before or key in moved or not is_one(before[key], value)
    }
    check_keys(stored)
    return Entries(tuple(removed), tuple(stored)), list(stored.values())


def _items(before: list[object], after: list[object]) -> tuple[Steps, list[object]]:
    if not before:
        return Items(0, None), after
    for dropped in range(len(before)):
        left = len(before) - dropped
        if left <= len(after) and all(map(is_one, before[dropped:], after)):
            return Items(dropped, None), after[left:]
    kept = next((place for place, pair in enumerate(zip(before, after)) if not is_one(*pair)), None)
    kept = min(len(before), len(after)) if kept is None else kept
    return Items(0, kept), after[kept:]


def check_keys(keys: Any) -> None:
    """Refuse keys that are not plain values: what a call makes anew each time is another one.

    Raises:
        Unsayable: there is one.
    """
    for key in keys:
        if isinstance(key, tuple):
            check_keys(key)
        elif type(key) not in PLAIN and type(key) is not float and not isinstance(key, type):
            raise Unsayable


def is_one(one: object, other: object) -> bool:
    """Whether a program can not tell what is in a place now from what was."""
    return one is other or (type(one) is type(other) and type(one) in PLAIN and one == other)


__all__ = ["SideEffect", "Steps", "Unsayable", "steps_between"]
