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
from collections.abc import Callable, Iterator
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


def _starting(plain: Plain) -> Plain:
    """A function that starts a thread, which would receive traced tensors without an active trace."""

    def start(*args: Any, **kwargs: Any) -> Any:
        active, frame = tracing(), sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename == threading.__file__:
            frame = frame.f_back
        # a pool's thread may be unrelated to the program
        if active is not None and active.is_of_graph and is_users(frame.f_code.co_filename):
            eager_only("a thread is started: what it does is no part of a graph", "do it outside of the function")
        return plain(*args, **kwargs)

    return start


def _exporting(plain: Plain, name: str) -> Plain:
    """A function that exports the traced program to another form."""

    def function(*args: Any, **kwargs: Any) -> Any:
        active = tracing()
        if active is not None and active.is_of_graph and is_users(sys._getframe(1).f_code.co_filename):
            eager_only(f"{name} is called, which records in a way of its own", "call it outside of the function")
        return plain(*args, **kwargs)

    return functools.update_wrapper(function, plain)


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


def _of_the_system(plain: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """`os.urandom`, which a traced program must not call, directly or through `random`, `secrets` or `uuid`."""

    def urandom(count: int) -> bytes:
        active, frame = tracing(), sys._getframe(1)
        while frame.f_code.co_filename in DRAWING and frame.f_back is not None:
            frame = frame.f_back
        if active is not None and is_users(frame.f_code.co_filename):
            active.refuse("random numbers of the operating system: the graph would have those of the trace", DRAW)
        return plain(count)

    return urandom


def _of_default_generator(name: str, plain: Callable[..., object], *args: object) -> object:
    """A method of torch's default generator, called by torch's functions."""
    active = tracing()
    return plain(*args) if active is None else active.default_generator(name, plain, args)


THREADS: Final = tuple([name for name in ("_start_new_thread", "_start_joinable_thread") if hasattr(threading, name)])
DYNAMO: Final = os.path.join(os.path.dirname(torch.__file__), "_dynamo", "eval_frame.py")
DRAWING: Final = (random.__file__, secrets.__file__, uuid.__file__)
PRINT: Final = "print outside of the compiled function, or after it; fullgraph=False prints on every call"
LOG: Final = "log outside of the compiled function, or after it; fullgraph=False logs on every call"
CLOCK: Final = "measure outside of the compiled function; fullgraph=False reads the clock on every call"


def _setting(plain: Plain) -> Plain:
    """A function that changes a global setting: eager fallback."""

    def function(*args: Any, **kwargs: Any) -> Any:
        active = tracing()
        if active is not None:
            what = f"torch.{plain.__name__.removeprefix('_')}() is called: a graph would not do it again"
            if active.is_of_graph:
                eager_only(what, "set it outside of the function")
            active.refuse(what, "set it outside of the function")
        return plain(*args, **kwargs)

    function.__name__ = plain.__name__
    vars(function)["__wrapped__"] = plain
    return function


_torch_cache_enabled: Final = torch.is_autocast_cache_enabled


def _cache_enabled() -> bool:
    """`torch.is_autocast_cache_enabled`: the program sees the value outside of the trace."""
    if tracing() is not None and is_users(sys._getframe(1).f_code.co_filename):
        return was_cached()
    return _torch_cache_enabled()


_torch_set_cache: Final = torch.set_autocast_cache_enabled


def _set_cache(enabled: bool) -> None:
    """`torch.set_autocast_cache_enabled`, which contexts of torch call as well."""
    active = tracing()
    if active is not None and active.is_of_graph and is_users(sys._getframe(1).f_code.co_filename):
        eager_only("torch.set_autocast_cache_enabled() is called: a graph would not do it again", "set it outside")
    _torch_set_cache(enabled)


_torch_make_fx: Final = _MakefxTracer.trace


def _make_fx(self: _MakefxTracer, *args: Any) -> Any:
    """`make_fx` and `torch.func.linearize`: operators would be recorded by the inner trace, not the graph."""
    active = tracing()
    if active is not None and active.is_of_graph:
        eager_only("a function is traced by torch (make_fx, torch.func.linearize)", "trace it outside of the function")
    return _torch_make_fx(self, *args)


def _refusing(plain: Plain, what: str, fix: str) -> Plain:
    """A function that a traced program must not call; other threads and libraries may."""

    def function(*args: Any, **kwargs: Any) -> Any:
        active, frame = tracing(), sys._getframe(1)
        if active is not None and is_users(frame.f_code.co_filename):
            if active.is_of_graph and frame.f_back is not None and frame.f_back.f_code.co_filename == DYNAMO:
                # by which torch saves generators' states before it runs this
                eager_only("a function that torch.compile has compiled is called", "call the function itself")
            active.refuse(what, fix)
        return plain(*args, **kwargs)

    function.__name__ = getattr(plain, "__name__", "function")
    vars(function)["__wrapped__"] = plain
    return function


def stand_ins() -> Iterator[tuple[ModuleType | type, str, object]]:
    """The replacements while a trace runs: owner, name and function."""
    yield builtins, "print", _printing(print)
    for name in CLOCKS:
        clock = _refusing(getattr(time, name), f"time.{name}(): the time of the trace, not of the run", CLOCK)
        yield time, name, clock
    yield logging.Logger, "handle", _handle
    yield logging.Logger, "isEnabledFor", _is_enabled_for
    for name in THREADS:
        yield threading, name, _starting(getattr(threading, name))
    exporters = ((torch.jit, "trace"), (torch.jit, "script"), (torch.onnx, "export"), (torch.export, "export"))
    for module, name in exporters:
        yield module, name, _exporting(getattr(module, name), f"{module.__name__}.{name}()")
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
        yield module, name, _of_the_system(getattr(module, name))
    for module, name in setters():
        yield module, name, _setting(getattr(module, name))
    yield torch, "is_autocast_cache_enabled", _cache_enabled
    yield torch, "set_autocast_cache_enabled", _set_cache
    yield _MakefxTracer, "trace", _make_fx
