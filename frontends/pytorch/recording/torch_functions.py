"""Torch functions that need concrete numbers, decomposed so that sizes stay symbolic; and functions that leave torch.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: torch.tensor([x.shape[0], 1]), (torch.randn(3, 4),))
    >>> variant.guards
    ()
    >>> variant.graph(torch.randn(5, 2))
    [tensor([5, 1])]

The function mode sees the calls before torch's argument parser converts sizes to ints. It is active in its thread only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import torch
import torch._refs
from torch._ops import OpOverload, OpOverloadPacket
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from frontends.pytorch.errors import unsupported
from frontends.pytorch.recording.operations import NATIVE
from frontends.pytorch.symbolic.node import ours, value_of
from frontends.pytorch.symbolic.tensor import Arguments, Function, Keywords, Trace, Traced
from shapes.rules.math_functions import NAMES, applied
from shapes.symbolic import choices

aten: Final = torch.ops.aten
Handler: TypeAlias = Callable[..., object]
HANDLERS: Final[dict[object, Handler]] = {}
"""Handlers of calls, given the mode, the function and its arguments; `NotImplemented` defers to torch."""
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
        HANDLERS.update(dict.fromkeys(functions, handler))
        return handler

    return register


# ---------------------------------------------------------------------- tensors from numbers


@handles(torch.tensor, torch.as_tensor, torch.asarray)
def tensor(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """`torch.tensor([n, m])`: a tensor of sizes, by torch's reference, which Dynamo calls as well."""
    if not args or isinstance(args[0], torch.Tensor):
        return NotImplemented
    if not any(isinstance(leaf, Traced) or ours(leaf) for leaf in tree_leaves(args[0])):
        return NotImplemented
    options = {name: value for name, value in kwargs.items() if name in ("dtype", "device", "requires_grad")}
    return torch._refs.tensor(args[0], **options)


@handles(torch.Tensor.new_tensor)
def new_tensor(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    like, data = args[0], args[1] if len(args) > 1 else kwargs.get("data")
    options = {"device": like.device, **{name: value for name, value in kwargs.items() if name != "data"}}
    return tensor(mode, torch.tensor, (data,), options)


# ---------------------------------------------------------------------- indices


@handles(torch.Tensor.__getitem__)
def getitem(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """`x[:, n - 1]`: the axes with symbolic indices first."""
    found, index = args
    split = selected(found, index)
    if split is None:
        return NotImplemented
    picked, rest = split
    return picked[rest] if rest else picked


@handles(torch.Tensor.__setitem__)
def setitem(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """`x[n - 1] = value`."""
    found, index, value = args
    split = selected(found, index)
    if split is None:
        return NotImplemented
    picked, rest = split
    picked[rest if rest else ...] = value
    return None


def selected(found: torch.Tensor, index: object) -> tuple[torch.Tensor, tuple[object, ...]] | None:
    """The tensor with symbolic indices applied, and the rest of the index.

    None if there are none, or it has a bool.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    if not any(isinstance(item, torch.SymInt) for item in items):
        return None
    if any(isinstance(item, bool | torch.SymBool) for item in items):
        return None
    counts = [axes_of(item) for item in items]
    hidden = found.dim() - sum(counts)
    axis, rest = 0, []
    for item, count in zip(items, counts):
        if isinstance(item, torch.SymInt):
            found = found.select(axis, item)
            continue
        rest.append(item)
        axis += hidden if item is Ellipsis else count
    return found, tuple(rest)


def axes_of(item: object) -> int:
    """The number of axes that an index item consumes."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, torch.Tensor) and item.dtype in (torch.bool, torch.uint8):
        return item.dim()
    return 1


# ---------------------------------------------------------------------- operators


@handles(torch.nn.functional.one_hot)
def one_hot(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """The operator itself: its C++ decomposition in a trace does not check classes, and has another layout."""
    tensor, *more = args or (kwargs["tensor"],)
    if not isinstance(tensor, Traced):
        return NotImplemented
    with torch._C.DisableTorchFunction():
        return mode.trace.operator(
            aten.one_hot.default, (tensor, *more, *[kwargs[name] for name in ("num_classes",) if name in kwargs]), {}
        )


@handles(torch.narrow, torch.narrow_copy, torch.Tensor.narrow, torch.Tensor.narrow_copy)
def narrow(mode: object, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """`x.narrow(...)`: a start out of bounds is an `IndexError`; C++ does not tell which of its checks failed."""
    given = [*args, *[kwargs.get(name) for name in ("input", "dim", "start", "length")[len(args) :]]]
    x, dim, start, length = given
    if isinstance(start, torch.Tensor):
        start = start.item()
    if isinstance(start, torch.SymInt) and not start.node.is_plain and isinstance(x, torch.Tensor):
        size = x.size(dim)
        for within in (start >= -size, start <= size):
            if isinstance(within, torch.SymBool):
                within.node.expect("the start is outside of the axis", IndexError)
        return func(x, dim, start, length)
    return NotImplemented


# ---------------------------------------------------------------------- numbers


@handles(torch.sym_ite)
def choice(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """`torch.sym_ite`, which wants both values symbolic, or neither."""
    if not ours(args[0]):
        return NotImplemented
    return mode.trace.nodes.wrap(choices.sym_ite(*[value_of(each) for each in args]))


def _math_function(name: str) -> Handler:
    def handler(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
        (number,) = args
        if not ours(number):
            return NotImplemented
        value = value_of(torch.sym_ite(number, 1, 0) if isinstance(number, torch.SymBool) else number)
        return mode.trace.nodes.wrap(applied(mode.trace.env, name, value))

    return handler


for name in NAMES:
    HANDLERS[getattr(torch, f"_sym_{name}")] = _math_function(name)


# ---------------------------------------------------------------------- leaving torch

@handles(torch.Tensor._version.__get__)
def version(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """Refuse a tensor's version, which differs in each call; Dynamo reads it where `.data` is set."""
    unsupported("the version of a tensor is read", "do it outside of the function")


@handles(torch.Tensor.data.__set__)
def data_set(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """Refuse to set `.data`: no operator sees the new memory."""
    unsupported("`.data` of a tensor is set", "write to it by `copy_`, or give it another memory by `set_`")


@handles(torch._make_dual)
def make_dual(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """Refuse a traced tangent, which C++ compares with the tensor and stores with it; under `vmap`, as in `jacfwd`, it
    is not traced."""
    tangent = args[1] if len(args) > 1 else kwargs.get("tangent")
    if isinstance(tangent, Traced):
        unsupported("a tensor gets a tangent (forward-mode differentiation)", "torch.func.vjp, jacrev or grad")
    return NotImplemented
