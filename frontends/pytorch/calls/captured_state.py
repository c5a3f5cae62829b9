"""Captured state: what a program reads besides its arguments (globals, closures, attributes, parameters), compared by
identity.

    >>> from frontends.pytorch.calls.captured_state import CapturedState
    >>> factor = 2
    >>> def f(x):
    ...     return x * factor
    >>> captured_state = CapturedState([f])
    >>> captured_state.explore([f])
    []
    >>> captured_state.state()
    0
    >>> factor = 3
    >>> captured_state.state(), captured_state.difference(0, 1)
    (1, ['factor is 3, was 2'])
    >>> factor = 2
    >>> captured_state.state()
    0

The places are those reachable from the functions that ran during the trace (`exploring`). Each observed state has a
number, by which variants are guarded. So a module that alternates between training and evaluation is traced twice, and
never again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import is_
from types import FunctionType
from typing import Any, Final

from frontends.pytorch.calls import reads
from frontends.pytorch.calls.exploring import Explorer
from frontends.pytorch.calls.found_places import Unguarded
from frontends.pytorch.calls.identity_guards import Held, Layouts
from frontends.pytorch.python.code_replacement import own_code
from frontends.pytorch.python.mentions import location, mentions_of
from frontends.pytorch.python.ran import Ran, result_for

SOON: Final = 16
"""A queue with at most this many items may have a variant for each length until it is full."""


class CapturedState:
    """The places that functions and objects read, and their observed states.

    Attributes:
        places: the compared places.
        varying: by name, places that are arguments of variants and no part of a state.
        stored: the places that calls have written, by container and key.
        containers: by identity, the containers of places.
        state: returns the number of the current state.
    """

    def __init__(self, roots: Iterable[object] = ()) -> None:
        self.places: list[reads.Place] = []
        self.varying: dict[str, reads.Place] = {}
        self.stored: set[tuple[int, object]] = set()
        self.containers: set[int] = set()
        self._fixed: set[tuple[int, str, object]] = set()
        """Places that held something else than a number after all."""
        self._known: set[tuple[int, str, object]] = set()
        self._appended: dict[int, object] = {}
        """What calls only append to: in no state, and not to become another object."""
        self._roots: dict[int, object] = {id(root): root for root in roots}
        self._functions: dict[int, FunctionType] = {}
        self._states: list[tuple[object, ...]] = [()]
        self._checks: list[Callable[[], bool]] = [lambda: True]
        self._current = 0

    def explore(
        self, functions: Sequence[FunctionType], roots: Iterable[object] = (), ran: Ran | None = None
    ) -> list[Unguarded]:
        """Add the places that these functions and objects read; returns the unguarded ones."""
        self._roots.update({id(root): root for root in roots})
        # an inner function was created by the call, and its closure holds the call's values
        self._functions.update({id(each): each for each in outer_of(functions)})
        explorer = Explorer([*self._functions.values()], self._roots.values(), ran, functions)
        new = [place for place in explorer.places if place.identity not in self._known]
        self._appended = explorer.appended
        self.containers.update(explorer.appended)
        if new:
            # earlier states get the new places' current values
            found = tuple([place.read() for place in new])
            self._known.update([place.identity for place in new])
            self.places += new
            self.containers.update([id(place.container) for place in new])
            self._states = [(*state, *found) for state in self._states]
            self._checks = [
                never if check is never else self._check(state) for state, check in zip(self._states, self._checks)
            ]
        return explorer.unguarded

    def state(self) -> int:
        """The number of the current state; a new one if it was never observed."""
        current = self._current
        return current if self._checks[current]() else self._other()

    def _other(self) -> int:
        for number, check in enumerate(self._checks):
            if check():
                self._current = number
                return number
        state = tuple([place.read() for place in self.places])
        self._states.append(state)
        self._checks.append(self._check(state))
        self._current = len(self._states) - 1
        return self._current

    def changing(self, earlier: Iterable[int]) -> dict[str, tuple[reads.Place, object]]:
        """By name, the numbers and call-stored values that differ from some of these states: place and old value."""
        found: dict[str, tuple[reads.Place, object]] = {}
        current = self._states[self.state()]
        for number in earlier:
            for place, old, new in zip(self.places, self._states[number], current):
                for each, was in reads.varying(place, old, new, self.stored) if old is not new else ():
                    known = {*[one.identity for one, _ in found.values()], *self._fixed}
                    if each.identity not in known:
                        found[self._free(each.text, found)] = each, was
        return found

    def _free(self, text: str, used: Container[str]) -> str:
        """A unique name for a place."""
        name, number = text, 1
        while name in used or name in self.varying:
            name, number = f"{text}_{number}", number + 1
        return name

    def leave_out(self, places: Mapping[str, reads.Place]) -> None:
        """Remove these places from states. Earlier states become invalid."""
        self.varying.update(places)
        self._begin_anew()

    def take_back(self, names: Iterable[str]) -> None:
        """Make these places part of the states permanently."""
        for name in names:
            place = self.varying.pop(name)
            self._fixed.add(place.identity)
            self.places.append(place)
        self._begin_anew()

    def _begin_anew(self) -> None:
        left = {place.identity for place in self.varying.values()}
        without: dict[int, list[object]] = {}
        for place in self.varying.values():
            if place.kind == "item":
                without.setdefault(id(place.container), []).append(place.key)
        self._known |= left
        self.places = [
            apart_from(place, without.get(id(place.container), ()))
            for place in self.places
            if place.identity not in left
        ]
        now = tuple([place.read() for place in self.places])
        self._states = [now for _ in (*self._states, now)]
        self._checks = [*[never for _ in self._checks], self._check(now)]
        self._current = len(self._states) - 1

    def difference(self, before: int, after: int) -> list[str]:
        """Describe the differences between two states."""
        found = self._differences(before, after)
        return [f"{text} is {reads.shown(new)}, was {reads.shown(old)}" for text, new, old in found]

    def different_places(self, before: int, after: int) -> list[str]:
        """The places at which two states differ."""
        return [text for text, _, _ in self._differences(before, after)]

    def is_about_elements(self, before: int, after: int) -> bool:
        """Whether two states differ in the elements of tensors alone."""
        differing = self._differing(before, after)
        return bool(differing) and all(place.key is reads.elements_in for place, _, _ in differing)

    def is_about_filling(self, before: int, after: int) -> bool:
        """Whether two states differ only in the lengths of short queues."""
        differing = self._differing(before, after)
        return bool(differing) and all(
            isinstance(queue := place.container, deque)
            and queue.maxlen is not None
            and queue.maxlen <= SOON
            and len(old) != len(new)
            for place, old, new in differing
        )

    def _differing(self, before: int, after: int) -> list[tuple[reads.Place, reads.Content, reads.Content]]:
        pairs = zip(self.places, self._states[before], self._states[after])
        return [(place, old, new) for place, old, new in pairs if not reads.same(old, new)]

    def _differences(self, before: int, after: int) -> list[tuple[str, object, object]]:
        return [each for differing in self._differing(before, after) for each in reads.differences(*differing)]

    def _check(self, state: Sequence[reads.Content]) -> Callable[[], bool]:
        """A function that tests for a state."""
        scope: dict[str, Any] = {"same": reads.same, "is_": is_, "own_code": own_code}
        if any(place.kind == "result" for place in self.places):
            scope["result"] = result_for()
        containers: dict[int, str] = {}
        tensors: dict[int, reads.Kept] = {}
        tests: list[str] = []
        held, besides = Held(), []
        for number, (place, value) in enumerate(zip(self.places, state)):
            name = containers.setdefault(id(place.container), f"c{number}")
            scope[name] = place.container
            if value is reads.ABSENT:
                scope[f"p{number}"] = place
                scope["absent"] = reads.ABSENT
                tests.append(f"p{number}.read() is absent")
                if place.kind in ("item", "absent") and type(place.container) is dict:
                    held.absent(place.container, place.key)
                else:
                    besides.append(tests[-1])
                continue
            if place.kind == "contents":
                scope[f"i{number}"] = value
                tensors.update({id(each.tensor): each for each in value.tensors})
                tests.append(f"({value.unchanged(name, f'i{number}')} or i{number}.holds({name}))")
                if value.without or not held.contents(place.container, value.items):
                    besides.append(tests[-1])
                continue
            key = repr(place.key)
            if type(place.key) not in (str, int):
                key = f"k{number}"
                scope[key] = place.key
            read = place.printed(name, key)
            if place.kind == "count":
                tests.append(f"{read} == {value}" if value else f"not {name}")
                held.count(place.container, value)
                continue
            found = scope[f"v{number}"] = value.tensor if isinstance(value, reads.Kept) else value
            is_plain = type(value) in reads.SCALARS or reads.is_numpy(value, "generic")
            by_value = f"same({read}, v{number})"
            by_value = by_value if place.kind == "view" else f"({read} is v{number} or {by_value})"
            tests.append(by_value if is_plain else f"{read} is v{number}")
            if isinstance(value, reads.Kept):
                tensors[id(found)] = value
            if place.kind in ("view", "result"):
                besides.append(tests[-1])
            else:
                held.place(place.kind, place.container, place.key, found)
        if tensors:
            kept = tensors.values()
            scope["layouts"] = Layouts([each.tensor for each in kept], [each.layout for each in kept], reads.layout)
            tests.append("layouts.unchanged()")
            besides.append(tests[-1])
        scope["unchanged"] = held.test()
        lines = ["same_objects = unchanged()"]
        lines += [f"same_objects = same_objects and {part}" for part in _conjunctions(besides)]
        lines += ["if same_objects: return True", *[f"if not ({part}): return False" for part in _conjunctions(tests)]]
        errors = ["  except (KeyError, IndexError, ValueError, AttributeError):", "    return False"]
        text = "\n".join(["def check():", "  try:", *[f"    {line}" for line in lines], *errors, "  return True"])
        exec(compile(text, "<captured_state>", "exec"), scope)
        return scope.pop("check")


def outer_of(functions: Sequence[FunctionType]) -> list[FunctionType]:
    """The functions that no other of them has created."""
    inside = {location(code) for each in functions for code in mentions_of(each.__code__).inside}
    return [each for each in functions if location(each.__code__) not in inside]


def apart_from(place: reads.Place, keys: Sequence[object]) -> reads.Place:
    """The same place, for a container's contents without these keys."""
    if place.kind == "contents":
        return replace(place, key=tuple(keys))
    if place.kind == "view" and isinstance(place.container, deque):
        return replace(place, key=partial(reads.queued_without, frozenset(keys)) if keys else reads.queued)
    return place


def never() -> bool:
    """The test of an invalid state."""
    return False


def _conjunctions(tests: Sequence[str]) -> list[str]:
    """The conjunction of tests, as expressions shallow enough for Python's compiler."""
    return [" and ".join(tests[start : start + 64]) for start in range(0, len(tests), 64)]
