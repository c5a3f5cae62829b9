"""The undo log of a trace: snapshots of objects, names of scopes, locks, caches.

The garbage collector tells earlier objects from the call's own: earlier ones are frozen (`MadeInside`), so the objects
that it tracks as young are the call's.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable
from types import CodeType
from typing import Any, Final, NoReturn

from frontends.pytorch.errors import EagerOnly, GraphBreak, refusal
from frontends.pytorch.python.ran import young
from frontends.pytorch.python.snapshots import Entry, Noted, containers_of, inside_of
from shapes.origin import Origin

OUTSIDE: Final = "do it outside of the compiled function; fullgraph=False does it on every call"
APART: Final = "pass what tells them apart as an argument; fullgraph=False runs the call eagerly"


class ChangeLog:
    """Snapshots of earlier state that a trace may mutate.

    Attributes:
        noted: by identity, snapshots of objects before an instruction mutated them.
        entries: snapshots of single globals, and Python attributes of tensors.
        kept: functions that must stay the same objects.
        locks: acquired locks: the lock, the number of unreleased acquisitions, and the line.
        caches: caches of the standard library that were filled.
        given: the containers of the arguments, by identity.
        ends_are_seen: whether the program may observe the end of its objects, so that none may be kept alive.
        needs_distinct: whether a mutated container may alias another argument in another call.
        refused: the last raised error, which the program may have caught.
    """

    def __init__(self, before: Iterable[object], given: object) -> None:
        """`before` are earlier objects that are not frozen; `given` are the arguments."""
        self.noted: dict[int, Noted] = {}
        self.entries: dict[tuple[int, object], Noted] = {}
        self.kept: list[object] = []
        self.locks: dict[int, list[Any]] = {}
        self.caches: dict[int, Noted | None] = {}
        self.before: Final = {id(each) for each in before}
        self.given: Final = containers_of(given)
        self.ends_are_seen = False
        self.needs_distinct = False
        self.refused: GraphBreak | None = None

    def new(self, values: Iterable[object]) -> set[int]:
        """The addresses of those values that were created in the trace."""
        asked = tuple(values)
        return (young(asked) or set()) - self.before - self.given.keys() if asked else set()

    def is_new(self, value: object) -> bool:
        return bool(self.new([value]))

    def is_made_here(self, owner: object) -> bool:
        """Whether an object was certainly created by the call; the age of a dictionary is not conclusive."""
        return gc.is_tracked(owner) and type(owner) is not dict and self.is_new(owner)

    def forget_new(self) -> None:
        """Drop all references to the call's own objects: its program is about to observe their ends."""
        self.ends_are_seen = True
        owners = [each.owner for each in self.noted.values()]
        new = self.new(owners)
        for owner in owners:
            if id(owner) in new and type(owner) is not dict:
                for each in (owner, *inside_of(owner)):
                    if id(each) in new:
                        self.noted.pop(id(each), None)

    @property
    def snapshots(self) -> list[Noted]:
        return [*self.noted.values(), *self.entries.values()]

    def note_entry(self, owner: object, name: object, place: tuple[CodeType, int]) -> None:
        key = (id(owner), name)
        if key not in self.entries:
            self.entries[key] = Noted.of_parts(owner, Entry(name), place=Origin.of_instruction(*place))

    def refuse(
        self, what: str, place: tuple[CodeType, int], fix: str = OUTSIDE, kind: type[GraphBreak] = GraphBreak
    ) -> NoReturn:
        self.refused = kind(refusal(what, fix, Origin.of_instruction(*place)))
        raise self.refused

    def refuse_eager(self, what: str, place: tuple[CodeType, int]) -> NoReturn:
        self.refuse(what, place, APART, EagerOnly)
