"""An undo log of a traced program's mutations: snapshots before each instruction, compared and restored at the end.

    >>> import torch
    >>> from collections import deque
    >>> from frontends.pytorch import trace
    >>> def f(x, lines):
    ...     lines[0]["deep"].rotate(1)
    ...     return x + 1
    >>> line = deque([1, 2, 3])
    >>> try:
    ...     trace(lambda x: f(x, [{"deep": line}]), (torch.randn(2),))
    ... except Exception as error:
    ...     print(error)  # doctest: +ELLIPSIS
    the function changes `line`, which outlives the call: the graph would not do it again
      at:     `lines[0]["deep"].rotate(1)`  (...:2 in f)
      fix:    return the value, or do it outside; fullgraph=False runs this Python on every call
    >>> line
    deque([1, 2, 3])

`ran` calls back before each instruction of the program that stores, deletes, or calls a function in C. The mutated
object is copied then (`snapshots`), however the program reached it, and compared at the end: a mutation of an earlier
object is refused. The call may mutate its own objects; the garbage collector tells them apart, since earlier ones are
frozen (`MadeInside`). A mutation that cannot be undone (an iterator's position, a file, an object of a C class) is
refused before it happens, so that it happens once.
"""

from __future__ import annotations

import gc
import operator
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Final

import torch

from frontends.pytorch.errors import EagerOnly, refusal
from frontends.pytorch.python.change_log import ChangeLog
from frontends.pytorch.python.lifetimes import COMPREHENSIONS
from frontends.pytorch.python.memoized import Memoized
from frontends.pytorch.python.mutability import is_open_to_effects
from frontends.pytorch.python.mutation_observer import MutationObserver
from frontends.pytorch.python.side_effects import SideEffect, Unsayable, steps_between
from frontends.pytorch.python.snapshots import ABSENT, DICT, Entry, Noted, Part, alike, is_settling, list_of
from frontends.pytorch.symbolic.tensor import Traced
from shapes.origin import Origin

FIX: Final = "return the value, or do it outside; fullgraph=False runs this Python on every call"
ENDS: Final = "do it outside of the compiled function; fullgraph=False runs the call eagerly"
MOST_QUESTIONS: Final = 64
"""The number of dictionaries whose referrers are searched; others are assumed to be visible outside."""


class Changes:
    """The mutations of earlier state in a trace.

    Attributes:
        log: the snapshots.
        observer: receives the program's instructions.
        said: by identity, the objects that the side effects mutate.
        settles: whether only constants were initialized, so that the next call may mutate nothing.
    """

    def __init__(
        self, before: Iterable[object], given: object, memoized: Memoized, *, has_effects: bool = False
    ) -> None:
        """`before` are earlier objects that are not frozen; `given` are the arguments. If the graph `has_effects`,
        mutations that are expressible as side effects are not refused."""
        self._has_effects: Final = has_effects
        self.log: Final = ChangeLog(before, given)
        self.observer: Final = MutationObserver(self.log, memoized, has_effects=has_effects)
        self._outliving: list[Noted] | None = None
        self._said: set[int] = set()
        """By identity, the snapshots of what side effects of the graph mutate."""
        self.said: frozenset[int] = frozenset()
        self._then: dict[int, dict[Part | Entry, object]] = {}
        """What everything was when the function had returned."""
        self._returned: object = None
        self._questions = 0
        self.settles = False

    def refuse_kept(self, functions: Sequence[FunctionType]) -> None:
        """If the program may observe the ends of its objects, refuse if the trace has kept one alive: a function that
        ran, a dictionary.

        Raises:
            EagerOnly: something was.
        """
        if not self.log.ends_are_seen:
            return
        # nobody else references a comprehension's function
        functions = [each for each in functions if each.__closure__ or each.__name__ not in COMPREHENSIONS]
        tensors = [each.owner for each in self.log.entries.values() if isinstance(each.owner, torch.Tensor)]
        kept = [each.owner for each in self.log.noted.values()]
        reads = [read for each in self.log.noted.values() for read in each.before.values()]
        before = [value for read in reads for value in list_of(read)]
        if self.log.new([*functions, *tensors, *self.log.kept, *kept, *before]):
            what = "the program may see when an object is gone that it made, and a trace keeps some longer"
            raise EagerOnly(refusal(what, ENDS, None))

    # ------------------------------------------------------------------ comparing at the end

    def returns(self, returned: object, values: Iterable[object]) -> None:
        """Check the results: a graph does not set Python attributes on tensors.

        Raises:
            EagerOnly: one was set.
        """
        self._returned = returned
        given = {id(value) for value in values if isinstance(value, Traced)}
        for each in self.log.entries.values():
            if id(each.owner) in given and all(value is not ABSENT for (value,) in each.now().values()):
                what = f"{each.text()} is set on a tensor that the call returns: a graph would not do it"
                raise EagerOnly(refusal(what, FIX, each.place))

    def put_back(self) -> list[tuple[str, bool, Origin | None]]:
        """Restore earlier state; returns for each mutation a text, whether it stores a tensor, and the line."""
        for cache in self.log.caches.values():
            if cache is not None:
                cache.put_back()
        changed = self._changed() if self._outliving is None else self._outliving
        self._outliving = self._returned = None
        if self._said:
            changed = [*changed, *self._changed_since(changed)]
        unsaid = [each for each in changed if id(each) not in self._said]
        found = [(each.text(), each.keeps_tensors(), each.place) for each in unsaid]
        self.settles = bool(unsaid) and self._is_settling(changed)
        for each in changed:
            each.put_back()
        for lock, count, place in self.log.locks.values():
            if count:
                found.append((f"a {type(lock).__name__}", False, place))
                lock.release() if count > 0 else lock.acquire(blocking=False)
        return found

    def _changed(self) -> list[Noted]:
        """The mutated objects and names of scopes, except of the call's own objects."""
        changed = [each for each in self.log.snapshots if each.differs()]
        new = self.log.new([each.owner for each in changed])
        return [
            each
            for each in changed
            if not (id(each.owner) in new if each.is_entry else self._is_calls_own([each.owner], new))
        ]

    def side_effects(
        self, containers: Mapping[int, int], known: Container[int]
    ) -> list[tuple[SideEffect, list[object]]]:
        """The mutations as side effects, each with its stored values; `put_back` then does not report them. Empty if
        one is not expressible, or if a later call may mutate nothing. `containers` are the numbers of argument
        containers, by identity; `known` are earlier containers, since the age of a dictionary is not conclusive."""
        if not self._has_effects or self.log.ends_are_seen:
            return []
        changed = self._changed()
        if changed and self._is_settling(changed):
            return []
        owners = [each.owner for each in changed if not each.is_entry]
        unsure = [id(each) for each in owners if type(each) is dict or not gc.is_tracked(each)]
        if any(each not in known and each not in containers for each in unsure):
            return []
        try:
            found = [effect for each in changed for effect in self._effects_on(each, containers)]
        except Unsayable:
            return []
        if not found:
            return []
        self._outliving = changed
        self._then = {id(each): each.now() for each in self.log.snapshots}
        self._said = {id(each) for each in changed}
        self.said = frozenset([id(each.owner) for each in changed])
        return found

    def refuse_effects(self) -> None:
        """Drop the side effects: the graph will have none."""
        self._said.clear()
        self.said = frozenset()
        self._outliving = None

    def _changed_since(self, known: Sequence[Noted]) -> list[Noted]:
        """Mutations after the function has returned, such as by the backward of the program's autograd function, which
        no side effect expresses: those that are not `known`."""
        later = [each for each in self.log.snapshots if each.differs(self._then.get(id(each)))]
        self._said -= {id(each) for each in later}
        self._then = {}
        new = self.log.new([each.owner for each in later])
        return [each for each in later if each not in known and id(each.owner) not in new]

    def _effects_on(
        self, noted: Noted, containers: Mapping[int, int]
    ) -> Iterator[tuple[SideEffect, list[object]]]:
        owner = noted.owner
        node = containers.get(id(owner))
        for part, before in noted.before.items():
            after = part.read(owner)
            if isinstance(part, Entry):
                if isinstance(owner, torch.Tensor):
                    raise Unsayable
                steps, stored = steps_between(DICT, {part.name: before[0]}, {part.name: after[0]})
                yield SideEffect(owner, None, DICT, steps, len(stored), noted.text(), noted.place), stored
            elif (node is None and id(owner) in self.log.given) or not is_open_to_effects(owner):
                raise Unsayable
            elif not alike(before, after):
                steps, stored = steps_between(part, before, after)
                kept = owner if node is None else None
                yield SideEffect(kept, node, part, steps, len(stored), noted.text(), noted.place), stored

    def _is_settling(self, old: Sequence[Noted]) -> bool:
        """Whether the mutations may happen only once."""
        changed = [(part, before, part.read(each.owner)) for each in old for part, before in each.before.items()]
        return all(alike(before, now) or is_settling(part, before, now) for part, before, now in changed)

    def _is_calls_own(self, only: list[object], new: set[int]) -> bool:
        """Whether only the call's own objects reference the single item of a list.

        The age of a dictionary is not conclusive: an object's attributes become one at the first access, and the
        collector does not track one with constants only. So its references are counted; no variable here may hold one.
        """
        if gc.is_tracked(only[0]) and type(only[0]) is not dict:
            return id(only[0]) in new
        if id(only[0]) in self.log.given or id(only[0]) in self.log.before:
            return False
        # minus the list's reference, and the argument of `getrefcount`
        count = sys.getrefcount(only[0]) - 2 - (only[0] is self._returned)
        if count <= 1:
            return True
        self._questions += 1
        if self._questions > MOST_QUESTIONS:
            return False
        inside = [each for each in gc.get_referrers(only[0]) if each is not only]
        made = self.log.new(inside)
        inside[:] = [each for each in inside if id(each) in made]
        for place in range(len(inside)):
            count -= sum(map(partial(operator.is_, only[0]), gc.get_referents(inside[place])))
        if count > 0:
            return False
        dictionaries = [place for place in range(len(inside)) if type(inside[place]) is dict]
        return all(self._is_calls_own([inside[place]], made) for place in dictionaries)
