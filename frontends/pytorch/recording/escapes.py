"""Tensors of a trace that something keeps beyond it: a function that remembers its results, a queue, a lazy attribute.

    >>> import functools, torch
    >>> from frontends.pytorch import trace
    >>> @functools.cache
    ... def mask(size):
    ...     return torch.ones(size, size).tril()
    >>> trace(lambda x: x @ mask(3), (torch.ones(2, 3),))
    Traceback (most recent call last):
    frontends.pytorch.recording.escapes.KeptTensor: a tensor that the call made is kept in the cache of `mask`: ...
    >>> mask(3).sum()
    tensor(6.)

A trace refers weakly to all of its tensors. When it has ended, none of them is left but those that were put where the
program, or torch, will find them again; they are taken out there, as whoever finds them could do nothing with them.
Effects that the program can be seen to have (`frontends.pytorch.python.effects`) are put back before.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextvars import Context
from functools import _lru_cache_wrapper
from types import FrameType, FunctionType, ModuleType
from typing import Any, Final

import torch

from frontends.pytorch.errors import GraphBreak, refusal
from frontends.pytorch.python.ran import noted
from frontends.pytorch.python.rewriting import Cache, caches
from frontends.pytorch.python.snapshots import attributes_of
from frontends.pytorch.recording.object_reconstruction import MadeInside
from frontends.pytorch.symbolic.tensor import Traced

MOST: Final = 16
"""So many tensors are looked for."""
DEEPEST: Final = 8
NUMBERS: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)
FIX: Final = "make it outside of the function, or before the first call; fullgraph=False runs such calls as they are"


class KeptTensor(GraphBreak):
    """A tensor of the trace was put where it outlives the call."""


def alive(tensors: Iterable[weakref.ref[torch.Tensor]]) -> list[torch.Tensor]:
    """The tensors that are still there."""
    # no comprehension, whose function may be noted with what it refers to (`frontends.pytorch.python.ran`)
    found = []
    for reference in tensors:
        tensor = reference()
        if tensor is not None:
            found.append(tensor)
    return found


def refuse_kept(tensors: Sequence[weakref.ref[torch.Tensor]], inside: MadeInside) -> None:
    """Take tensors of a trace that has ended out of what keeps them, and was not made inside of it.

    Raises:
        KeptTensor: there are any.
    """
    if not alive(tensors):
        return
    # functions that the trace made may be known by now to whoever watched it
    ran = noted()
    if ran is not None:
        ran.let_go(holders_of(alive(tensors)[:MOST], inside))
        if not alive(tensors):
            return
    # what refers to itself is no one else's
    gc.collect()
    with inside.alone() as alone:
        where = taken_out(tensors, inside) if alone and alive(tensors) else ""
    if where:
        what = f"a tensor that the call made is kept in {where}: the graph would not keep it again"
        raise KeptTensor(refusal(what, FIX, None))


def holders_of(tensors: Sequence[torch.Tensor], inside: MadeInside) -> dict[int, object]:
    """What was made in a trace and leads to tensors of it, by identity."""
    inside.look_again()
    frontier: list[object] = list(tensors)
    found = dict(zip(map(id, frontier), frontier))
    while frontier:
        met, frontier = frontier, []
        # no variable for these: their list would be among what is found next
        for holder in gc.get_referrers(*met):
            if id(holder) not in found and inside.holds(holder) and not isinstance(holder, FrameType | weakref.ref):
                found[id(holder)] = holder
                frontier.append(holder)
    return found


def let_go_of_closures(inside: MadeInside) -> None:
    """After a trace that failed, whose frames still hold all of its tensors: know its functions without any."""
    ran = noted()
    if ran is None:
        return
    found: dict[int, object] = {}
    for function, cell in ran.closures():
        if inside.holds(cell) and holds(cell, Traced, 4):
            found |= {id(function): function, id(cell): cell}
    ran.let_go(found)


def refuse_set(context: Context) -> None:
    """Refuse variables that a trace has set in a copy of the context.

    Raises:
        KeptTensor: there are any.
    """
    for variable, value in context.items():
        if variable.get(context) is not value:
            what = f"the context variable `{variable.name}` is set: the graph would not set it again"
            raise KeptTensor(refusal(what, FIX, None))


def taken_out(tensors: Sequence[weakref.ref[torch.Tensor]], inside: MadeInside) -> str:
    """Take tensors out of what was there before the trace; in words, one of the places."""
    frontier: list[object] = list(alive(tensors)[:MOST])
    chain: dict[int, object] = dict(zip(map(id, frontier), frontier))
    found = ""
    inside.look_again()
    # the collector does not look at what is frozen
    is_frozen = gc.get_freeze_count() > 0
    if is_frozen:
        gc.unfreeze()
    for _ in range(DEEPEST):
        met, frontier = frontier, []
        # no variable for these: their list would be among what is found next
        for holder in gc.get_referrers(*met):
            if holder is met or holder is chain or id(holder) in chain or isinstance(holder, FrameType | weakref.ref):
                continue
            if inside.holds(holder):
                chain[id(holder)] = holder
                frontier.append(holder)
            else:
                found = removed_from(holder, chain) or found
        if not frontier:
            break
    if found:
        for held in [value for value in chain.values() if isinstance(value, dict)]:
            emptied(held, chain)
    if is_frozen:
        gc.freeze()
    return found


def removed_from(holder: object, chain: dict[int, object]) -> str:
    """Remove whatever is in `chain` from what refers to it; in words, what that is, if anything could be removed."""
    if isinstance(holder, _lru_cache_wrapper):
        holder.cache_clear()
        return cache_text(holder)
    if isinstance(holder, dict):
        for owner in gc.get_referrers(holder):
            if isinstance(owner, _lru_cache_wrapper | threading.local):
                # what else refers to a thread's dictionary is not Python's
                return removed_from(owner, chain)
            if isinstance(owner, type) and owner.__dict__.keys() == holder.keys():
                # past the dictionary, whose items the interpreter remembers
                for key in [key for key, value in holder.items() if id(value) in chain]:
                    delattr(owner, key)
                return f"the class `{owner.__qualname__}`"
        emptied(holder, chain)
        return f"`{name}`" if isinstance(name := holder.get("__name__"), str) else "a dictionary or an object"
    if isinstance(holder, list | deque):
        # a dictionary stays, as in `emptied`
        kept = [item for item in holder if id(item) not in chain or isinstance(item, dict)]
        holder.clear()
        holder.extend(kept)
        return f"a {type(holder).__qualname__}"
    if isinstance(holder, set):
        holder.difference_update([item for item in holder if id(item) in chain])
        return "a set"
    attributes = vars(holder) if isinstance(holder, threading.local) else attributes_of(holder) or {}
    names = emptied(attributes, chain)
    return f"the attribute `{names[0]}` of a {type(holder).__qualname__}" if names else ""


def emptied(holder: dict[Any, object], chain: dict[int, object]) -> list[Any]:
    """Remove what is in `chain` from a dictionary; gives the keys.

    A dictionary in it stays, to be emptied itself: the collector knows only of those that are not empty when they were
    made.
    """
    found = [key for key, value in dict.items(holder) if id(value) in chain or id(key) in chain]
    for key in [key for key in found if not isinstance(dict.get(holder, key), dict)]:
        dict.pop(holder, key, None)
    return found


def cache_text(cache: Callable[..., object]) -> str:
    return f"the cache of `{getattr(cache, '__qualname__', 'a function').rpartition('<locals>.')[2]}`"


def forget_in_caches(kinds: Sequence[type] = (Traced, *NUMBERS)) -> list[Cache]:
    """Empty functions' caches that hold what is of a trace, as after one that failed, whose frames hold others."""
    found = []
    for cache in list(caches):
        if cache.cache_info().currsize and any(holds(cache, kind, 4) for kind in kinds):
            cache.cache_clear()
            found.append(cache)
    return found


def refuse_kept_numbers() -> None:
    """Take numbers of a trace that has ended out of the caches of functions that read them.

    Raises:
        KeptTensor: there are any.
    """
    found = forget_in_caches(NUMBERS)
    if found:
        what = f"a number that varies is kept in {cache_text(found[0])}: the graph would not keep it again"
        raise KeptTensor(refusal(what, FIX, None))


def holds(value: object, kind: type, depth: int) -> bool:
    """Whether what an object refers to has a tensor of a class in it."""
    if type(value) is kind:
        return True
    if depth == 0 or isinstance(value, ModuleType | type | torch.nn.Module):
        return False
    inside = value.__closure__ or () if isinstance(value, FunctionType) else gc.get_referents(value)
    return any(holds(each, kind, depth - 1) for each in inside)


__all__ = [
    "KeptTensor",
    "forget_in_caches",
    "let_go_of_closures",
    "refuse_kept",
    "refuse_kept_numbers",
    "refuse_set",
]
