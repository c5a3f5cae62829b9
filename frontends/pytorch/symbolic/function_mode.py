"""The function mode of a trace: torch functions that need concrete numbers are handled before torch's parser sees them.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: torch.tensor(x.shape[1]), (torch.randn(3, 4),))
    >>> variant.guards, variant.graph(torch.randn(5, 2))
    ((), [tensor(2)])

A mode is active in its thread only. Handlers are registered by `handles`, most in `recording/torch_functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import torch
from torch._ops import OpOverload, OpOverloadPacket
from torch.overrides import TorchFunctionMode

from frontends.pytorch.errors import unsupported
from frontends.pytorch.symbolic.tensor import Trace

Handler: TypeAlias = Callable[..., object]
Function: TypeAlias = Callable[..., Any]
Arguments: TypeAlias = Sequence[Any]
Keywords: TypeAlias = Mapping[str, Any]
"""Torch's functions and what they are called with, its tensors and numbers: torch is Any here."""
HANDLERS: Final[dict[object, Handler]] = {}
"""Handlers of calls, given the mode, the function and its arguments; `NotImplemented` defers to torch."""

NATIVE: Final = frozenset(("aten", "prim", "prims", "quantized", "rngprims", "inductor", "c10d", "_c10d_functional"))
"""The namespaces of torch's operators."""
OF_LEAVES: Final = "leaf Variable that requires grad"
"""Autograd's message for an in-place operation on a leaf."""
CHANGED: Final = "change a copy, or do it outside of the function"


def kernel_in_autocast(func: object) -> str:
    """The name of a custom operator that is called under autocast: eager casts inside of its kernel, which neither a
    dispatch mode nor a graph with explicit casts does."""
    if not isinstance(func, OpOverload | OpOverloadPacket) or not torch._C._is_any_autocast_enabled():
        return ""
    packet = func.overloadpacket if isinstance(func, OpOverload) else func
    name = packet._qualified_op_name
    return "" if name.partition("::")[0] in NATIVE else name


class TorchFunctions(TorchFunctionMode):
    """The function mode."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self.trace: Final = trace

    def __torch_function__(
        self, func: Function, types: object, args: Arguments = (), kwargs: Keywords | None = None
    ) -> Any:
        handler = HANDLERS.get(func)
        try:
            if handler is not None:
                done = handler(self, func, args, kwargs or {})
                if done is not NotImplemented:
                    return done
            elif name := kernel_in_autocast(func):
                unsupported(f"{name} is called under autocast, which its kernel may see", "call it outside of autocast")
            return func(*args, **kwargs) if kwargs else func(*args)
        except RuntimeError as error:
            if OF_LEAVES in str(error):
                # arguments are leaves in a trace, but perhaps not for the caller
                unsupported("an argument that requires a gradient is changed in place", CHANGED)
            raise


def handles(*functions: object) -> Callable[[Handler], Handler]:
    """Register a handler of these functions."""

    def register(handler: Handler) -> Handler:
        for function in functions:
            HANDLERS[function] = handler
        return handler

    return register
