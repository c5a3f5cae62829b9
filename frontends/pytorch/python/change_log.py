"""What a trace has noted of the state that its program changes: objects as they were, names of scopes, locks, caches.

What was there before the trace is told from what the call has made by the garbage collector: what was there before is
frozen (`MadeInside`), so what it knows of as young is the call's own.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable
from types import CodeType
from typing import Any, Final, NoReturn

from frontends.pytorch.errors import EagerOnly, GraphBreak, refusal
from frontends.pytorch.python.ran import young
from frontends.pytorch.python.snapshots import Noted, containers_of, inside_of
from shapes.origin import Origin

APART: Final = "pass what tells them apart as an argument; fullgraph=False runs the call eagerly"


class ChangeLog:
    """What was there before a trace, and may be changed in it.

    Attributes:
        noted: by identity, objects as they were before an instruction changed them.
        entries: single names, of globals and of Python's attributes of tensors: owner, name, what it was, where.
        kept: functions that need to stay the objects that they are.
        locks: those that were acquired: the lock, how often more than released, and where.
        caches: those of Python's library that were filled.
        given: the containers that the arguments are made of, by identity.
        ends_are_seen: whether the program may see when what it makes is gone, so that nothing of that is kept.
        needs_distinct: whether a container is changed that may be another of the arguments at another call.
        refused: what was raised last, which the program may have caught.
    """

    def __init__(self, before: Iterable[object], given: object) -> None:
        """`before` was there before the trace and is not frozen; `given` are the arguments."""
        self.noted: dict[int, Noted] = {}
        self.entries: dict[tuple[int, object], tuple[Any, object, object, Origin | None]] = {}
        self.kept: list[object] = []
        self.locks: dict[int, list[Any]] = {}
        self.caches: dict[int, Noted | None] = {}
        self.before: Final = {id(each) for each in before}
        self.given: Final = containers_of(given)
        self.ends_are_seen = False
        self.needs_distinct = False
        self.refused: GraphBreak | None = None

    def new(self, values: Iterable[object]) -> set[int]:
        """Which of the values were made in the trace, by their addresses."""
        asked = tuple(values)
        return (young(asked) or set()) - self.before - self.given.keys() if asked else set()

    def is_new(self, value: object) -> bool:
        return bool(self.new([value]))

    def is_made_here(self, owner: object) -> bool:
        """Whether an object is surely the call's own; of a dictionary its age says nothing."""
        return gc.is_tracked(owner) and type(owner) is not dict and self.is_new(owner)

    def forget_new(self) -> None:
        """Keep nothing any more that the call has made: its program is about to see when that is gone."""
        self.ends_are_seen = True
        owners = [each.owner for each in self.noted.values()]
        new = self.new(owners)
        for owner in owners:
            if id(owner) in new and type(owner) is not dict:
                for each in (owner, *inside_of(owner)):
                    if id(each) in new:
                        self.noted.pop(id(each), None)

    def note_entry(self, owner: Any, name: object, before: object, place: tuple[CodeType, int]) -> None:
        key = (id(owner), name)
        if key not in self.entries:
            self.entries[key] = (owner, name, before, Origin.of_instruction(*place))

    def refuse(self, what: str, fix: str, place: Origin | None) -> NoReturn:
        self.refused = GraphBreak(refusal(what, fix, place))
        raise self.refused

    def refuse_eager(self, what: str, place: tuple[CodeType, int]) -> NoReturn:
        self.refused = EagerOnly(refusal(what, APART, Origin.of_instruction(*place)))
        raise self.refused


__all__ = ["ChangeLog"]
