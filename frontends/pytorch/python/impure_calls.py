"""Impure functions that a traced program calls: recorded as side effects, or refused.

    >>> import time
    >>> import torch
    >>> from frontends.pytorch import trace
    >>> try:
    ...     trace(lambda x: x * time.time(), (torch.randn(2),))
    ... except Exception as error:
    ...     print(error)  # doctest: +ELLIPSIS
    time.time(): the time of the trace, not of the run
      at:     ...
      fix:    measure outside of the compiled function; fullgraph=False reads the clock on every call

Output, clocks, seeds, threads, global settings of torch and exporters. Calls by libraries, by other threads and outside
of a trace are unaffected.
"""

from __future__ import annotations

import builtins
import functools
import logging
import os
import random
import secrets
import sys
import threading
import time
import uuid
from collections.abc import Callable, Container, Iterator
from types import FrameType, ModuleType
from typing import Any, Final, TypeAlias

import torch
import torch.export
from torch.fx.experimental.proxy_tensor import _MakefxTracer

from frontends.pytorch.errors import Written, eager_only
from frontends.pytorch.python.active_trace import tracing
from frontends.pytorch.python.casting import was_cached
from frontends.pytorch.python.generators import DRAW, READ, SEED, Watched
from frontends.pytorch.python.ran import noted, remembered, unwatched
from frontends.pytorch.python.settings import setters
from frontends.pytorch.source_location import is_users

Plain: TypeAlias = Callable[..., Any]
"""A function of Python's library or of torch, whatever it takes and gives."""
CLOCKS: Final = ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time")


def _printing(plain: Plain) -> Plain:
    """`print`, replayed as a side effect if its arguments are expressible."""

    def print(*values: Any, **named: Any) -> Any:
        active = tracing()
        if active is not None and is_users(sys._getframe(1).f_code.co_filename):
            if active.messages is not None and active.messages.prints(values, named):
                return
            active.refuse("print: the graph would not print again", PRINT, Written)
        plain(*values, **named)

    return print


_python_handle: Final = logging.Logger.handle


def _handle(self: logging.Logger, record: logging.LogRecord) -> object:
    """`logging.Logger.handle`: the program's messages are replayed at every call, except those that it logs once."""
    active = tracing()
    if active is None:
        return _python_handle(self, record)
    frame = _asker()
    if active.is_of_graph and is_users(frame.f_code.co_filename) and frame.f_code not in remembered:
        if active.messages is not None and active.messages.logs(self, record):
            return None
        active.refuse("a message is logged: the graph would not log it again", LOG)
    with unwatched():
        return _python_handle(self, record)


_python_is_enabled_for: Final = logging.Logger.isEnabledFor


def _is_enabled_for(self: logging.Logger, level: int) -> bool:
    """`logging.Logger.isEnabledFor`: recorded, since a later change of the level would log more."""
    found = _python_is_enabled_for(self, level)
    ran = noted()
    if not found and ran is not None and tracing() is not None and is_users(_asker().f_code.co_filename):
        ran.silent.add((self, level))
    return found


def _asker() -> FrameType:
    """The frame that called into `logging`."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename == logging.__file__:
        frame = frame.f_back
    return frame


def _states() -> Iterator[tuple[ModuleType, str]]:
    """The functions that read or set generators' states."""
    for name in ("manual_seed", "seed", "set_rng_state", "get_rng_state", "initial_seed"):
        yield torch, name
    yield torch.random, "fork_rng"
    for name in ("seed", "setstate", "getstate"):
        yield random, name
    for device in (torch.cuda, torch.xpu, torch.mps, torch.mtia):
        for name in vars(device):
            if name.endswith(("seed", "seed_all", "rng_state", "rng_state_all")) and name[0] != "_":
                yield device, name
    randomness = sys.modules.get("numpy.random")
    if randomness is not None:
        for name in ("seed", "set_state", "get_state"):
            yield randomness, name


def _of_default_generator(name: str, plain: Callable[..., object], *args: object) -> object:
    """A method of torch's default generator, called by torch's functions."""
    active = tracing()
    return plain(*args) if active is None else active.default_generator(name, plain, args)


THREADS: Final = tuple([name for name in ("_start_new_thread", "_start_joinable_thread") if hasattr(threading, name)])
DYNAMO: Final = os.path.join(os.path.dirname(torch.__file__), "_dynamo", "eval_frame.py")
DRAWING: Final = (random.__file__, secrets.__file__, uuid.__file__)
SYSTEM: Final = "random numbers of the operating system: the graph would have those of the trace"
OUTSIDE: Final = "do it outside of the function"
SET: Final = "set it outside of the function"
PRINT: Final = "print outside of the compiled function, or after it; fullgraph=False prints on every call"
LOG: Final = "log outside of the compiled function, or after it; fullgraph=False logs on every call"
CLOCK: Final = "measure outside of the compiled function; fullgraph=False reads the clock on every call"

_torch_cache_enabled: Final = torch.is_autocast_cache_enabled


def _cache_enabled() -> bool:
    """`torch.is_autocast_cache_enabled`: the program sees the value outside of the trace."""
    if tracing() is not None and is_users(sys._getframe(1).f_code.co_filename):
        return was_cached()
    return _torch_cache_enabled()


def _refusing(
    plain: Plain, what: str, fix: str, *, of_graph: bool = False, by_anyone: bool = False, through: Container[str] = ()
) -> Plain:
    """A function that a traced program must not call; other threads and libraries may, unless `by_anyone`. With
    `of_graph`, it falls back to eager, and with graph breaks it may call it. `through` are files of functions that only
    pass the call on."""

    @functools.wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        active, frame = tracing(), sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename in through:
            frame = frame.f_back
        if active is not None and (by_anyone or is_users(frame.f_code.co_filename)):
            if of_graph and active.is_of_graph:
                eager_only(what, fix)
            if active.is_of_graph and frame.f_back is not None and frame.f_back.f_code.co_filename == DYNAMO:
                # by which torch saves generators' states before it runs this
                eager_only("a function that torch.compile has compiled is called", "call the function itself")
            if not of_graph:
                active.refuse(what, fix)
        return plain(*args, **kwargs)

    return function


def _setting(plain: Plain) -> Plain:
    """A function that changes a global setting: eager fallback."""
    what = f"torch.{plain.__name__.removeprefix('_')}() is called: a graph would not do it again"
    refused = _refusing(plain, what, SET, by_anyone=True)
    return _refusing(refused, what, SET, by_anyone=True, of_graph=True)


def stand_ins() -> Iterator[tuple[ModuleType | type, str, object]]:
    """The replacements while a trace runs: owner, name and function."""
    yield builtins, "print", _printing(print)
    for name in CLOCKS:
        clock = _refusing(getattr(time, name), f"time.{name}(): the time of the trace, not of the run", CLOCK)
        yield time, name, clock
    yield logging.Logger, "handle", _handle
    yield logging.Logger, "isEnabledFor", _is_enabled_for
    for name in THREADS:
        what, plain = "a thread is started: what it does is no part of a graph", getattr(threading, name)
        # a pool's thread may be unrelated to the program
        yield threading, name, _refusing(plain, what, OUTSIDE, of_graph=True, through=(threading.__file__,))
    exporters = ((torch.jit, "trace"), (torch.jit, "script"), (torch.onnx, "export"), (torch.export, "export"))
    for module, name in exporters:
        what = f"{module.__name__}.{name}() is called, which records in a way of its own"
        yield module, name, _refusing(getattr(module, name), what, "call it outside of the function", of_graph=True)
    for module, name in _states():
        reads = "get" in name or "initial" in name
        what = "the graph would give what it was in the trace" if reads else "the graph would not seed again"
        plain = getattr(module, name)
        function = _refusing(plain, f"{module.__name__}.{name}(): {what}", READ if reads else SEED)
        yield module, name, function
        if module is torch:
            yield torch.random, name, function
    yield torch.random, "default_generator", Watched(_of_default_generator)
    for module, name in ((os, "urandom"), (random, "_urandom")):
        # directly, or through `random`, `secrets` or `uuid`
        yield module, name, _refusing(getattr(module, name), SYSTEM, DRAW, through=DRAWING)
    for module, name in setters():
        yield module, name, _setting(getattr(module, name))
    yield torch, "is_autocast_cache_enabled", _cache_enabled
    what = "torch.set_autocast_cache_enabled() is called: a graph would not do it again"
    # contexts of torch call it as well
    yield torch, "set_autocast_cache_enabled", _refusing(torch.set_autocast_cache_enabled, what, SET, of_graph=True)
    # operators would be recorded by the inner trace, not the graph
    what, fix = "a function is traced by torch (make_fx, torch.func.linearize)", "trace it outside of the function"
    yield _MakefxTracer, "trace", _refusing(_MakefxTracer.trace, what, fix, of_graph=True, by_anyone=True)
