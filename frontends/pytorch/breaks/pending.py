"""Lazy tensors, with which a program computes between two graph breaks.

A `Pending` has concrete sizes, strides, dtype and device; its elements are computed on demand, together with all queued
operators. Afterwards it wraps the real tensor, wherever it is referenced.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partialmethod
from typing import Any, Final, Protocol

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from frontends.pytorch.breaks.kinds import Kind
from frontends.pytorch.python.torch_calls import Arguments, Keywords
from frontends.pytorch.symbolic import shallow

_sessions: Final = threading.local()


class Queue(Protocol):
    """The interface of a session's queue for lazy tensors."""

    def flush(self) -> None:
        """Run the queued operators."""

    def interrupted(self, cause: str) -> None:
        """The program needs a queued value outside of the graph."""

    def outside(
        self, cause: str, function: Callable[..., object], args: Sequence[object], kwargs: object = None
    ) -> object:
        """Run a function outside of graphs, on real tensors."""


class Value:
    """The value of a lazy tensor: `real`, once computed, and the operator that produces it."""

    __slots__ = ("holders", "kind", "made_by", "real", "session")

    def __init__(self, session: Queue, kind: Kind, real: torch.Tensor | None = None, made_by: object = None) -> None:
        self.made_by = made_by
        self.session = session
        self.kind = kind
        self.real = real
        self.holders: list[weakref.ref[Pending]] = []

    def is_needed(self) -> bool:
        """Whether the program still references it."""
        return any(holder() is not None for holder in self.holders)

    def materialize(self) -> torch.Tensor:
        """The real tensor; flushes the queue."""
        if self.real is None:
            self.session.flush()
        assert self.real is not None
        return self.real


class Pending(torch.Tensor):
    """A lazy tensor with its `value`."""

    value: Value

    @classmethod
    def __torch_dispatch__(
        cls, func: torch._ops.OpOverload, types: object, args: Arguments = (), kwargs: Keywords | None = None
    ) -> Any:
        """An operator outside of the program's call, such as in a backward: runs on the real tensors."""
        if func is torch.ops.aten.detach.default:
            # autograd unpacks saved tensors so, and needs the same class
            return pending_of(args[0].value)

        output = func(*tree_map(real_of, args), **tree_map(real_of, kwargs or {}))
        for arg in args:
            if isinstance(arg, Pending) and arg.value.real is output:
                return arg
        return output

    __torch_function__ = torch._C._disabled_torch_function_impl


def real_of(value: object) -> object:
    """The real tensor of a lazy one."""
    return value.value.materialize() if isinstance(value, Pending) else value


def _read(tensor: Pending, name: str, *args: Any, **kwargs: Any) -> Any:  # what torch's own gives
    """Read an attribute of the real tensor: a graph break."""
    session = current_session()
    if session is not None:
        session.interrupted(f"{name.strip('_')}()")
    real = tensor.value.materialize()
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        return getattr(Leaving.apply(tensor) if tensor.requires_grad else real, name)(*args, **kwargs)


for _name in (
    *("numpy", "__array__", "tolist", "data_ptr", "untyped_storage", "__deepcopy__", "__reduce_ex__", "__repr__"),
    "__format__",
):
    setattr(Pending, _name, partialmethod(_read, _name))


class Leaving(torch.autograd.Function):
    """Converts a lazy tensor to the real one; gradients pass unchanged."""

    @staticmethod
    def forward(ctx: object, tensor: Pending) -> torch.Tensor:
        with torch._C._DisableTorchDispatch():
            real = tensor.value.real
            assert real is not None
            return real.detach()

    @staticmethod
    def backward(ctx: object, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


def as_counted(tensor: Pending) -> torch.Tensor:
    """The real tensor with its autograd state: version and view relation."""
    real, base = tensor.value.materialize(), tensor._base
    if base is not None:
        origin = as_counted(base) if isinstance(base, Pending) else base
        if origin.untyped_storage()._cdata == real.untyped_storage()._cdata:
            with torch.no_grad():
                return origin.as_strided(real.shape, real.stride(), real.storage_offset())
    elif tensor.value.made_by is not None and not real.is_inference() and real._version < tensor._version:
        torch._C._autograd._unsafe_set_version_counter((real,), (tensor._version,))
    return real


def pending_of(value: Value) -> Pending:
    """A lazy tensor for a value."""
    made = shallow.another(Pending, value.kind)
    made.value = value
    value.holders.append(weakref.ref(made))
    return made


def with_real_tensors(values: object) -> Any:
    """Arguments for another program, with real tensors."""

    def real(value: object) -> object:
        if not isinstance(value, Pending):
            return value
        found = value.value.materialize()
        return Leaving.apply(value) if value.requires_grad else found

    return tree_map(real, values)


def become(tensor: Pending, value: Value) -> None:
    """Replace a lazy tensor's value, as after an in-place resize."""
    shallow.become(tensor, pending_of(value))
    tensor.value = value
    value.holders[-1] = weakref.ref(tensor)


def current_session() -> Queue | None:
    """The active session of this thread."""
    stack = getattr(_sessions, "stack", None)
    return stack[-1] if stack else None


def enter(session: Queue) -> None:
    if not hasattr(_sessions, "stack"):
        _sessions.stack = []
    _sessions.stack.append(session)


def leave() -> None:
    _sessions.stack.pop()


def any_pending(args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
    """Whether an argument contains a lazy tensor; False for cyclic containers."""
    try:
        return any(isinstance(each, Pending) for each in tree_leaves((tuple(args), dict(kwargs))))
    except RecursionError:
        return False


