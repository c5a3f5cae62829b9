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

A trace compares snapshots with the final state (`changes`). The differences are side effects: attributes set and
deleted, items of lists, dictionaries, sets and queues. Intermediate states are not observable, so only the last one is
restored. Stored values are outputs of the graph, like the function's results.
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
"""Classes whose equal values are indistinguishable; not float, since 0.0 == -0.0."""
MOST: Final = 256
"""The limit of values stored by one call, each of which is compiled."""


class Unsayable(Exception):
    """A mutation that no steps express."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Remove names or keys, then store some in order."""

    removed: tuple[Hashable, ...]
    stored: tuple[Hashable, ...]

    def perform(self, owner: Any, part: Part, values: Sequence[object]) -> None:
        if part is ATTRIBUTES or part is DICT:
            held = object.__getattribute__(owner, "__dict__") if part is ATTRIBUTES else owner
            kind = OrderedDict if isinstance(held, OrderedDict) else dict
            for key in self.removed:
                kind.pop(held, key, None)
            for key, value in zip(self.stored, values):
                kind.__setitem__(held, key, value)
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
    """Drop items at the front, keep some or all of the others, then append."""

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
    """Remove members of a set, then add a number of values."""

    removed: tuple[Hashable, ...]

    def perform(self, owner: Any, part: Part, values: Sequence[object]) -> None:
        for each in self.removed:
            set.discard(owner, each)
        set.update(owner, values)


@dataclass(frozen=True, slots=True)
class Content:
    """Assign a closure's variable."""

    def perform(self, owner: CellType, part: Part, values: Sequence[object]) -> None:
        (owner.cell_contents,) = values


@dataclass(frozen=True, slots=True)
class Said:
    """Call a printing function with a number of positional values, and keyword values."""

    count: int
    names: tuple[str, ...]

    def perform(self, owner: Any, part: Part, values: Sequence[object]) -> None:
        owner(*values[: self.count], **dict(zip(self.names, values[self.count :])))


Steps: TypeAlias = Entries | Items | Members | Content | Said


@dataclass(frozen=True, slots=True)
class SideEffect:
    """A side effect on one object.

    Attributes:
        owner: the object; None if it is among the arguments. For `Said`, the function to call.
        node: its number among the argument containers, or None.
        count: the number of stored values.
        text: the description.
        line: the first line of the program that does it.
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
        """The object that a reading program accesses."""
        return holder_of(self.owner, self.part)

    @property
    def places(self) -> list[tuple[int, object]]:
        """The stored locations, as (container's identity, key)."""
        if self.node is not None:
            return []
        match self.steps:
            case Entries(_, stored):
                return [(id(self.holder), key) for key in stored]
            case Items() if isinstance(self.owner, list | deque):
                # the final length decides whether items are dropped
                size = list.__len__(self.owner) if isinstance(self.owner, list) else deque.__len__(self.owner)
                return [(id(self.owner), place) for place in range(size + self.count)]
            case Content():
                return [(id(self.owner), None)]
        return []


def holder_of(owner: Any, part: Part) -> object:
    """The object that a program accesses when it reads the owner."""
    if part is ATTRIBUTES or isinstance(owner, ModuleType):
        return object.__getattribute__(owner, "__dict__")
    if isinstance(owner, type):
        return next((each for each in gc.get_referents(vars(owner)) if type(each) is dict), owner)
    return owner


def steps_between(part: Part, before: Any, after: Any) -> tuple[Steps, list[object]]:
    """The steps from one state to the other, and the stored values.

    Raises:
        Unsayable: no steps express the mutation.
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
    # reordered ones are stored again
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
    """Refuse keys that are not constants: a new object in each call is a different key.

    Raises:
        Unsayable: there is one.
    """
    for key in keys:
        if isinstance(key, tuple):
            check_keys(key)
        elif type(key) not in PLAIN and type(key) is not float and not isinstance(key, type):
            raise Unsayable


def is_one(one: object, other: object) -> bool:
    """Whether two values of a place are indistinguishable to a program."""
    return one is other or (type(one) is type(other) and type(one) in PLAIN and one == other)
