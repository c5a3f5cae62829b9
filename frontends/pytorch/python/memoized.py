"""Memoized results (`functools.lru_cache`) that a traced program uses: recorded for replay, or forgotten again.

    >>> import functools, torch
    >>> from frontends.pytorch import trace
    >>> @functools.lru_cache(maxsize=2)
    ... def factor(number):
    ...     return number * 2.0
    >>> variant = trace(lambda x: x * factor(3), (torch.ones(2),))
    >>> [(use.key, use.result()) for use in variant.memoized]
    [(3, 6.0)]
    >>> variant.memoized[0].hit()  # as a graph does in the place of the program
    >>> tuple(factor.cache_info())
    (1, 1, 2, 1)

A graph does not call the function again, so it is for calls at which the result is still remembered, and uses it: a
function with a bound drops what was not used for the longest. All calls in a trace are noted, whoever makes them
(`map`, a property). After a trace that is refused, functions remember what they did before.
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
    """The functions that remember results and are followed in a trace.

    Attributes:
        has_computed: whether one worked out a result, which it does once.
    """

    def __init__(self) -> None:
        self.has_computed = False
        self._followed: dict[int, tuple[Cache, list[tuple[Any, ...]]]] = {}
        """By function, what it remembered before it was used, and then each key and result that it was used for."""

    def begin(self) -> None:
        """Follow those that programs have mentioned; what else is called is followed when that is told."""
        for function in list(caches):
            self.follow(function)

    def follow(self, function: Cache) -> None:
        """Note from now on how a function of the program is used."""
        if not is_programs(function):
            return
        # calls in it may be intercepted by now
        inner = getattr(function.__wrapped__, "__code__", None)
        if inner is not None and function.cache_parameters()["maxsize"] != 0:
            remembered.add(inner)
        uses: list[tuple[Any, ...]] = []
        if id(function) not in self._followed and follow(function, uses):
            self._followed[id(function)] = function, uses

    def end(self) -> None:
        """Note nothing any more."""
        for function, _ in self._followed.values():
            unfollow(function)

    def forget(self) -> None:
        """Have functions remember what they did before: what they did since is put back, or no graph does it."""
        for function, uses in self._followed.values():
            if uses:
                have_remember(function, uses[0])

    def uses(self) -> tuple[Use, ...]:
        """What was used, in order, but of functions that the trace made; told once, as nothing is kept of it here.

        Raises:
            GraphBreak: some of it is not remembered any more.
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
    """Whether a function that remembers its results is the program's, and not of torch, us or Python's library."""
    inner = function.__wrapped__
    return not isinstance(inner, FunctionType) or owner_of(inner, inner.__code__) == "program"


def replayed(uses: Sequence[Use]) -> functools.partial[None] | None:
    """What uses all of these once more; None where there are none."""
    return functools.partial(_hit, result_for(), [(use.function, use.key) for use in uses]) if uses else None


def _hit(result: Callable[[object, object, int], object], uses: Sequence[tuple[object, object]]) -> None:
    for function, key in uses:
        result(function, key, 1)


def after(replay: Callable[[], None], run: Run) -> Run:
    """What runs a variant, and asks functions again for the results that its program asked them for. In its first call
    the trace has done that."""
    is_first = True

    def call(values: Sequence[object]) -> Sequence[object]:
        nonlocal is_first
        if is_first:
            is_first = False
        else:
            replay()
        return run(values)

    return call


__all__ = ["Memoized", "after", "replayed"]
