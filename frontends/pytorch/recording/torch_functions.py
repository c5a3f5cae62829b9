"""Torch functions that need concrete numbers, decomposed so that sizes stay symbolic; and functions that leave torch.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def last(x):
    ...     return x[:, x.shape[1] - 1], torch.tensor([x.shape[0], 1]), torch.linspace(0, 1, x.shape[0])
    >>> variant = trace(last, (torch.randn(3, 4),))
    >>> variant.guards
    ()
    >>> [tuple(value.shape) for value in variant.graph(torch.randn(5, 2))]
    [(5,), (2,), (5,)]

The function mode (`frontends.pytorch.symbolic.function_mode`) sees the calls before torch's argument parser converts
sizes to ints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from frontends.pytorch.errors import unsupported
from frontends.pytorch.symbolic.function_mode import (
    HANDLERS,
    Arguments,
    Function,
    Handler,
    Keywords,
    TorchFunctions,
    dtype_of,
    handles,
)
from frontends.pytorch.symbolic.math_functions import NAMES, applied
from frontends.pytorch.symbolic.node import ours, value_of
from frontends.pytorch.symbolic.tensor import Traced
from shapes.symbolic import choices

aten: Final = torch.ops.aten
SYMBOLIC: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)


# ---------------------------------------------------------------------- tensors from numbers


@handles(torch.tensor, torch.as_tensor, torch.asarray)
def tensor(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """`torch.tensor([n, m])`: a tensor of sizes."""
    if not args or isinstance(args[0], torch.Tensor):
        return NotImplemented
    if not has_symbolic(args[0]) and not has_traced(args[0]):
        return NotImplemented
    options = {name: value for name, value in kwargs.items() if name in ("dtype", "device")}
    dtype = options.get("dtype") or dtype_of(args[0])
    made = stacked(args[0], dtype, options.get("device"))
    return made.requires_grad_() if kwargs.get("requires_grad") else made


@handles(torch._shape_as_tensor)
def shape_as_tensor(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """The sizes as a tensor."""
    (found,) = args
    return tensor(mode, torch.tensor, (list(found.shape),), {"dtype": torch.int64})


@handles(torch.Tensor.new_tensor)
def new_tensor(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    like, data = args[0], args[1] if len(args) > 1 else kwargs.get("data")
    options = {"device": like.device, **{name: value for name, value in kwargs.items() if name != "data"}}
    return tensor(mode, torch.tensor, (data,), options)


def has_symbolic(data: object) -> bool:
    if isinstance(data, list | tuple):
        return any(has_symbolic(item) for item in data)
    return isinstance(data, SYMBOLIC)


def has_traced(data: object) -> bool:
    """Return True if nested lists contain traced scalars: other tensors are lists of their rows."""
    if not isinstance(data, list | tuple):
        return False
    leaves = tree_leaves(data)
    return any(isinstance(leaf, Traced) for leaf in leaves) and all(
        leaf.dim() == 0 if isinstance(leaf, torch.Tensor) else isinstance(leaf, int | float) for leaf in leaves
    )


def stacked(data: object, dtype: torch.dtype, device: object) -> torch.Tensor:
    if isinstance(data, list | tuple):
        return torch.stack([stacked(item, dtype, device) for item in data])
    if isinstance(data, torch.Tensor):
        return data.detach().to(dtype=dtype, device=device)
    if isinstance(data, torch.SymBool):
        data = torch.sym_ite(data, 1, 0)
    return torch.scalar_tensor(data, dtype=dtype, device=device)


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
    """The tensor with symbolic indices applied, and the rest of the index; None if there are none, or it has a bool."""
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


# ---------------------------------------------------------------------- ints of the schema


def _by_operator(packet: torch._ops.OpOverloadPacket) -> Handler:
    def handler(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
        named = {name: value for name, value in kwargs.items() if name not in ("requires_grad", "layout", "pin_memory")}
        named = {("self" if name in ("tensor", "input") else name): value for name, value in named.items()}
        if not any(isinstance(value, torch.SymInt) for value in (*args, *named.values())):
            return NotImplemented
        # the choice of an overload would specialize sizes
        plain, plain_named = tree_map_only(torch.SymInt, lambda size: 1, (tuple(args), named))
        try:
            overload = torch._C._jit_resolve_packet(packet._qualified_op_name, *plain, **plain_named)
        except RuntimeError:
            return NotImplemented
        found = getattr(packet, overload)
        declared = [argument.name for argument in found._schema.arguments if not argument.kwarg_only]
        positional = list(args)
        for name in declared[len(args) :]:
            if name not in named:
                break
            positional.append(named.pop(name))
        with torch._C.DisableTorchFunction():
            made = mode.trace.operator(found, tuple(positional), named)
            return made.requires_grad_() if kwargs.get("requires_grad") else made

    return handler


WINDOWS: Final = [f"{name}_window" for name in ("hann", "hamming", "blackman", "bartlett", "kaiser")]
for name in ("linspace", "logspace", "tril_indices", "triu_indices", *WINDOWS):
    HANDLERS[getattr(torch, name)] = _by_operator(getattr(aten, name))


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
    """A start out of bounds is an `IndexError`; C++ does not tell which of its checks failed."""
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
    """`torch.sym_ite`, which accepts only torch's own node class."""
    if not ours(args[0]):
        return NotImplemented
    return mode.trace.nodes.wrap(choices.sym_ite(*[value_of(each) for each in args]))


def _math_function(name: str) -> Handler:
    def handler(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
        (number,) = args
        if not ours(number):
            return NotImplemented
        value = value_of(torch.sym_ite(number, 1, 0) if isinstance(number, torch.SymBool) else number)
        return mode.trace.nodes.wrap(applied(name, value))

    return handler


for name in NAMES:
    HANDLERS[getattr(torch, f"_sym_{name}")] = _math_function(name)


# ---------------------------------------------------------------------- leaving torch

@handles(torch.Tensor._version.__get__)
def version(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """A number that differs in each call; Dynamo reads it where `.data` is set."""
    unsupported("the version of a tensor is read", "do it outside of the function")


@handles(torch.Tensor.data.__set__)
def data_set(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """Another memory, of which no operator knows."""
    unsupported("`.data` of a tensor is set", "write to it by `copy_`, or give it another memory by `set_`")


@handles(torch._make_dual)
def make_dual(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """A separate tangent, which C++ compares with the tensor and stores with it; under `vmap`, as in `jacfwd`, it is
    not traced."""
    tangent = args[1] if len(args) > 1 else kwargs.get("tangent")
    if isinstance(tangent, Traced):
        unsupported("a tensor is given a tangent (forward-mode differentiation)", "torch.func.vjp, jacrev or grad")
    return NotImplemented


# ---------------------------------------------------------------------- data-dependent truth values


@handles(torch.equal, torch.Tensor.equal, torch.allclose, torch.Tensor.allclose)
def compared(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """An unbacked truth value, which C++ would need at once."""
    operator = aten.equal.default if func in (torch.equal, torch.Tensor.equal) else aten.allclose.default
    return mode.trace.number(operator, args, kwargs, mode.trace.env.unbacked(kind="bool"))


# ---------------------------------------------------------------------- numbers computed by torch's Python


def _by_ratio(axes: int) -> None:
    """`fractional_max_pool2d` with a ratio of the sizes."""
    names = [f"fractional_max_pool{axes}d", f"fractional_max_pool{axes}d_with_indices"]

    @handles(*[getattr(torch.nn.functional, name) for name in names])
    def fractional(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
        given = {**dict(zip(("input", "kernel_size", "output_size", "output_ratio"), args)), **kwargs}
        sizes, ratios = given["input"].shape[-axes:], given.get("output_ratio")
        if given.get("output_size") is not None or not isinstance(ratios, Sequence) or len(ratios) != axes:
            return NotImplemented
        if not has_symbolic(tuple(sizes)):
            return NotImplemented
        output_size = [torch.sym_int(size * ratio) for size, ratio in zip(sizes, ratios)]
        return func(*args[:2], **{**kwargs, "output_size": output_size, "output_ratio": None})


for _axes in (2, 3):
    _by_ratio(_axes)
