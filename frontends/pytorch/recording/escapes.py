"""Escape analysis: traced tensors that outlive the trace in a memoizing function, a queue, a lazy attribute.

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

A trace has weak references to all of its tensors. After it, the only live ones are stored where the program or torch
would find them again; they are removed there, since they are unusable. Observed side effects
(`frontends.pytorch.python.effects`) are undone before.
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
"""The limit of tensors to look for."""
DEEPEST: Final = 8
NUMBERS: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)
FIX: Final = "make it outside of the function, or before the first call; fullgraph=False runs such calls as they are"


class KeptTensor(GraphBreak):
    """A traced tensor was stored where it outlives the call."""


def alive(tensors: Iterable[weakref.ref[torch.Tensor]]) -> list[torch.Tensor]:
    """The tensors that are still alive."""
    # no comprehension: its function may be recorded with its references (`frontends.pytorch.python.ran`)
    found = []
    for reference in tensors:
        tensor = reference()
        if tensor is not None:
            found.append(tensor)
    return found


def refuse_kept(tensors: Sequence[weakref.ref[torch.Tensor]], inside: MadeInside) -> None:
    """Remove the tensors of an ended trace from holders that were not created inside of it.

    Raises:
        KeptTensor: there are any.
    """
    if not alive(tensors):
        return
    # observers of the trace may know functions that it created
    ran = noted()
    if ran is not None:
        ran.let_go(holders_of(alive(tensors)[:MOST], inside))
        if not alive(tensors):
            return
    # cycles are nobody else's references
    gc.collect()
    with inside.alone() as alone:
        where = taken_out(tensors, inside) if alone and alive(tensors) else ""
    if where:
        what = f"a tensor that the call made is kept in {where}: the graph would not keep it again"
        raise KeptTensor(refusal(what, FIX, None))


def holders_of(tensors: Sequence[torch.Tensor], inside: MadeInside) -> dict[int, object]:
    """Objects created in a trace that reference its tensors, by identity."""
    inside.look_again()
    frontier: list[object] = list(tensors)
    found = dict(zip(map(id, frontier), frontier))
    while frontier:
        met, frontier = frontier, []
        # no variable: the list itself would be found as a referrer
        for holder in gc.get_referrers(*met):
            if id(holder) not in found and inside.holds(holder) and not isinstance(holder, FrameType | weakref.ref):
                found[id(holder)] = holder
                frontier.append(holder)
    return found


def let_go_of_closures(inside: MadeInside) -> None:
    """Release the closures of a failed trace, whose frames still hold all of its tensors."""
    ran = noted()
    if ran is None:
        return
    found: dict[int, object] = {}
    for function, cell in ran.closures():
        if inside.holds(cell) and holds(cell, Traced, 4):
            found |= {id(function): function, id(cell): cell}
    ran.let_go(found)


def refuse_set(context: Context) -> None:
    """Refuse context variables that a trace has set to traced values.

    Raises:
        KeptTensor: there are any.
    """
    for variable, value in context.items():
        if variable.get(context) is not value:
            what = f"the context variable `{variable.name}` is set: the graph would not set it again"
            raise KeptTensor(refusal(what, FIX, None))


def taken_out(tensors: Sequence[weakref.ref[torch.Tensor]], inside: MadeInside) -> str:
    """Remove tensors from objects that precede the trace; returns a description of one of them."""
    frontier: list[object] = list(alive(tensors)[:MOST])
    chain: dict[int, object] = dict(zip(map(id, frontier), frontier))
    found = ""
    inside.look_again()
    # the collector skips frozen objects
    is_frozen = gc.get_freeze_count() > 0
    if is_frozen:
        gc.unfreeze()
    for _ in range(DEEPEST):
        met, frontier = frontier, []
        # no variable: the list itself would be found as a referrer
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
    """Remove the objects in `chain` from a referrer; returns its description, if anything was removed."""
    if isinstance(holder, _lru_cache_wrapper):
        holder.cache_clear()
        return cache_text(holder)
    if isinstance(holder, dict):
        for owner in gc.get_referrers(holder):
            if isinstance(owner, _lru_cache_wrapper | threading.local):
                # other references to a thread's dictionary are not Python's
                return removed_from(owner, chain)
            if isinstance(owner, type) and owner.__dict__.keys() == holder.keys():
                # bypass the dictionary, whose items the interpreter caches
                for key in [key for key, value in holder.items() if id(value) in chain]:
                    delattr(owner, key)
                return f"the class `{owner.__qualname__}`"
        emptied(holder, chain)
        return f"`{name}`" if isinstance(name := holder.get("__name__"), str) else "a dictionary or an object"
    if isinstance(holder, list | deque):
        # a dictionary is kept, as in `emptied`
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
    """Remove the values in `chain` from a dictionary; returns the keys.

    Nested dictionaries are kept, and emptied themselves: the collector does not track dictionaries created empty.
    """
    found = [key for key, value in dict.items(holder) if id(value) in chain or id(key) in chain]
    for key in [key for key in found if not isinstance(dict.get(holder, key), dict)]:
        dict.pop(holder, key, None)
    return found


def cache_text(cache: Callable[..., object]) -> str:
    return f"the cache of `{getattr(cache, '__qualname__', 'a function').rpartition('<locals>.')[2]}`"


def forget_in_caches(kinds: Sequence[type] = (Traced, *NUMBERS)) -> list[Cache]:
    """Clear functions' caches that hold objects of a trace, for a failed one, whose frames hold the others."""
    found = []
    for cache in list(caches):
        if cache.cache_info().currsize and any(holds(cache, kind, 4) for kind in kinds):
            cache.cache_clear()
            found.append(cache)
    return found


def refuse_kept_numbers() -> None:
    """Remove the symbolic numbers of an ended trace from functions' caches.

    Raises:
        KeptTensor: there are any.
    """
    found = forget_in_caches(NUMBERS)
    if found:
        what = f"a number that varies is kept in {cache_text(found[0])}: the graph would not keep it again"
        raise KeptTensor(refusal(what, FIX, None))


def holds(value: object, kind: type, depth: int) -> bool:
    """Whether an object references a tensor of a class, up to a depth."""
    if type(value) is kind:
        return True
    if depth == 0 or isinstance(value, ModuleType | type | torch.nn.Module):
        return False
    inside = value.__closure__ or () if isinstance(value, FunctionType) else gc.get_referents(value)
    return any(holds(each, kind, depth - 1) for each in inside)
