"""Memoized results (`functools.lru_cache`) that a traced program uses: recorded for replay, or undone.

    >>> import functools, torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.python.memoized import replayed
    >>> @functools.lru_cache(maxsize=2)
    ... def factor(number):
    ...     return number * 2.0
    >>> variant = trace(lambda x: x * factor(3), (torch.ones(2),))
    >>> [(use.key, use.result()) for use in variant.memoized]
    [(3, 6.0)]
    >>> replayed(variant.memoized)()  # as a graph does in the place of the program
    >>> tuple(factor.cache_info())
    (1, 1, 2, 1)

A graph does not call the function, so it is valid only while the result is cached, and it counts as a use: a bounded
cache evicts the least recently used entry. All calls in a trace are recorded, whoever makes them (`map`, a property). A
refused trace restores the caches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final, TypeAlias

from frontends.pytorch.errors import GraphBreak, refusal
from frontends.pytorch.python.ran import (
    Use,
    follow,
    have_remember,
    owner_of,
    remembered,
    result_for,
    unfollow,
    young,
)
from frontends.pytorch.python.rewriting import Cache, caches

FIX: Final = "give it a larger `maxsize`; fullgraph=False calls it eagerly"
Run: TypeAlias = Callable[[Sequence[object]], Sequence[object]]


class Memoized:
    """The memoizing functions that a trace observes.

    Attributes:
        has_computed: whether one has computed a result, which happens once.
    """

    def __init__(self) -> None:
        self.has_computed = False
        self._followed: dict[int, tuple[Cache, list[tuple[Any, ...]]]] = {}
        """By function, what it remembered before it was used, and then each key and result that it was used for."""

    def begin(self) -> None:
        """Observe the functions that programs have mentioned; others once they are called."""
        for function in list(caches):
            self.follow(function)

    def follow(self, function: Cache) -> None:
        """Observe the uses of a function of the program."""
        if not is_programs(function):
            return
        # its calls may be intercepted already
        inner = getattr(function.__wrapped__, "__code__", None)
        if inner is not None and function.cache_parameters()["maxsize"] != 0:
            remembered.add(inner)
        uses: list[tuple[Any, ...]] = []
        if id(function) not in self._followed and follow(function, uses):
            self._followed[id(function)] = function, uses

    def end(self) -> None:
        """Stop observing."""
        for function, _ in self._followed.values():
            unfollow(function)

    def forget(self) -> None:
        """Restore the functions' caches: later entries belong to undone work."""
        for function, uses in self._followed.values():
            if uses:
                have_remember(function, uses[0])

    def uses(self) -> tuple[Use, ...]:
        """The uses in order, except of functions that the trace created; can be read once.

        Raises:
            GraphBreak: a used result has been evicted.
        """
        made = young(tuple([function for function, uses in self._followed.values() if uses])) or ()
        found = []
        for function, uses in self._followed.values():
            asked, uses[1:] = uses[1:], ()
            if asked:
                (_, _, _, misses), *_ = uses
                self.has_computed = self.has_computed or function.cache_info().misses > misses
            if id(function) in made or function.cache_parameters()["maxsize"] == 0:
                continue
            for key, result in asked:
                use = Use(function, key)
                if use.result() is not result:
                    name = getattr(function, "__qualname__", "a function").rpartition("<locals>.")[2]
                    what = f"`{name}` forgets within the call what the call asks of it: the graph would not ask again"
                    raise GraphBreak(refusal(what, FIX, None))
                found.append(use)
        return tuple(found)


def is_programs(function: Cache) -> bool:
    """Whether a memoizing function is the program's, not torch's, ours or the standard library's."""
    inner = function.__wrapped__
    return not isinstance(inner, FunctionType) or owner_of(inner, inner.__code__) == "program"


def replayed(uses: Sequence[Use]) -> functools.partial[None] | None:
    """A function that repeats all uses; None if there are none."""
    return functools.partial(_hit, result_for(), [(use.function, use.key) for use in uses]) if uses else None


def _hit(result: Callable[[object, object, int], object], uses: Sequence[tuple[object, object]]) -> None:
    for function, key in uses:
        result(function, key, 1)


def after(replay: Callable[[], None], run: Run) -> Run:
    """A run of a variant that first repeats its program's uses of memoized results. In its first call the trace has
    done that."""
    is_first = True

    def call(values: Sequence[object]) -> Sequence[object]:
        nonlocal is_first
        if is_first:
            is_first = False
        else:
            replay()
        return run(values)

    return call
