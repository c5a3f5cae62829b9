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

A function mode sees the calls before torch's argument parser converts sizes to ints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import FunctionType, SimpleNamespace
from typing import Any, Final, TypeAlias

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

from frontends.pytorch.errors import eager_only
from frontends.pytorch.python.casting import kernel_in_autocast
from frontends.pytorch.symbolic.tensor import Trace, Traced

aten: Final = torch.ops.aten
Handler: TypeAlias = Callable[..., object]
Function: TypeAlias = Callable[..., Any]
Arguments: TypeAlias = Sequence[Any]
Keywords: TypeAlias = Mapping[str, Any]
"""Torch's functions and what they are called with, its tensors and numbers: torch is Any here."""
HANDLERS: Final[dict[object, Handler]] = {}
"""Handlers of calls, given the mode, the function and its arguments; `NotImplemented` defers to torch."""

OF_LEAVES: Final = "leaf Variable that requires grad"
"""Autograd's message for an in-place operation on a leaf."""
CHANGED: Final = "change a copy, or do it outside of the function"

SYMBOLIC: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)


class TorchCalls(TorchFunctionMode):
    """The function mode."""

    def __init__(self, trace: Trace, refuse: Callable[[str, str], None]) -> None:
        super().__init__()
        self.trace: Final = trace
        self.refuse: Final = refuse
        self.raised: Final[list[Exception]] = []
        """What torch's functions raised, which the program may have caught."""

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
                eager_only(f"{name} is called in autocast, in which its kernel may run", "call it outside of autocast")
            return func(*args, **kwargs) if kwargs else func(*args)
        except Exception as error:
            self.raised.append(error)
            if isinstance(error, RuntimeError) and OF_LEAVES in str(error):
                # arguments are leaves in a trace, but perhaps not for the caller: the program must not catch this
                eager_only("an argument that requires a gradient is changed in place", CHANGED)
            raise


def handles(*functions: object) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for function in functions:
            HANDLERS[function] = handler
        return handler

    return register


# ---------------------------------------------------------------------- tensors from numbers


@handles(torch.tensor, torch.as_tensor, torch.asarray)
def tensor(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
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
def shape_as_tensor(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """The sizes as a tensor."""
    (found,) = args
    return tensor(mode, torch.tensor, (list(found.shape),), {"dtype": torch.int64})


@handles(torch.Tensor.new_tensor)
def new_tensor(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
    like, data = args[0], args[1] if len(args) > 1 else kwargs.get("data")
    options = {"device": like.device, **{name: value for name, value in kwargs.items() if name != "data"}}
    return tensor(mode, torch.tensor, (data,), options)


def has_symbolic(data: object) -> bool:
    if isinstance(data, list | tuple):
        return any(has_symbolic(item) for item in data)
    return isinstance(data, SYMBOLIC)


def has_traced(data: object) -> bool:
    """Whether nested lists contain traced scalars: other tensors are lists of their rows."""
    if not isinstance(data, list | tuple):
        return False
    leaves = tree_leaves(data)
    return any(isinstance(leaf, Traced) for leaf in leaves) and all(
        leaf.dim() == 0 if isinstance(leaf, torch.Tensor) else isinstance(leaf, int | float) for leaf in leaves
    )


def dtype_of(data: object) -> torch.dtype:
    """The dtype that torch infers for nested lists of numbers."""
    leaves = tree_leaves(data)
    if any(isinstance(leaf, torch.Tensor) for leaf in leaves):
        return reduce(torch.promote_types, [dtype_of_one(leaf) for leaf in leaves])
    if all(isinstance(leaf, bool | torch.SymBool) for leaf in leaves):
        return torch.bool
    if all(isinstance(leaf, int | torch.SymInt | torch.SymBool) for leaf in leaves):
        return torch.int64
    return torch.complex64 if any(isinstance(leaf, complex) for leaf in leaves) else torch.get_default_dtype()


def dtype_of_one(leaf: object) -> torch.dtype:
    return leaf.dtype if isinstance(leaf, torch.Tensor) else dtype_of([leaf])


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
def getitem(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """`x[:, n - 1]`: the axes with symbolic indices first."""
    found, index = args
    split = selected(found, index)
    if split is None:
        return NotImplemented
    picked, rest = split
    return picked[rest] if rest else picked


@handles(torch.Tensor.__setitem__)
def setitem(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
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
    def handler(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
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
def one_hot(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """The operator itself: its C++ decomposition in a trace does not check classes, and has another layout."""
    tensor, *more = args or (kwargs["tensor"],)
    if not isinstance(tensor, Traced):
        return NotImplemented
    with torch._C.DisableTorchFunction():
        return mode.trace.operator(
            aten.one_hot.default, (tensor, *more, *[kwargs[name] for name in ("num_classes",) if name in kwargs]), {}
        )


# ---------------------------------------------------------------------- leaving torch

OUTSIDE: Final = "keep it in torch (`torch.where`, `torch.cond`, tensor operators), or do it outside of the function"


def _leaving(what: str) -> Handler:
    def handler(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
        if args and isinstance(args[0], Traced):
            mode.refuse(what, OUTSIDE)
        return NotImplemented

    return handler


for names, why in (
    (("numpy", "__array__"), "the elements are known only when the graph runs"),
    (("data_ptr", "untyped_storage", "storage", "share_memory_", "__dlpack__"), "a tensor of a trace has no memory"),
    (("apply_", "map_", "map2_"), "Python is called with elements, known only when the graph runs"),
):
    for name in names:
        HANDLERS[getattr(torch.Tensor, name)] = _leaving(f"{name}(): {why}")
HANDLERS[torch.save] = _leaving("torch.save: the elements are known only when the graph runs")


@handles(torch._make_dual)
def make_dual(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """A separate tangent, which C++ compares with the tensor and stores with it; under `vmap`, as in `jacfwd`, it is
    not traced."""
    tangent = args[1] if len(args) > 1 else kwargs.get("tangent")
    if isinstance(tangent, Traced):
        eager_only("a tensor is given a tangent (forward-mode differentiation)", "torch.func.vjp, jacrev or grad")
    return NotImplemented


# ---------------------------------------------------------------------- data-dependent truth values


@handles(torch.equal, torch.Tensor.equal, torch.allclose, torch.Tensor.allclose)
def compared(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """An unbacked truth value, which C++ would need at once."""
    operator = aten.equal.default if func in (torch.equal, torch.Tensor.equal) else aten.allclose.default
    return mode.trace.number(operator, args, kwargs, mode.trace.env.unbacked(kind="bool"))


@handles(torch.Tensor.__bool__)
def truth(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """The truth value of a tensor with one element, of any rank."""
    (found,) = args
    if not isinstance(found, Traced) or found.dim() == 0:
        return NotImplemented
    if found.numel() == 1:
        return bool(found.reshape(()))
    count = "no values" if found.numel() == 0 else "more than one value"
    raise RuntimeError(f"Boolean value of Tensor with {count} is ambiguous")


@handles(torch.is_nonzero, torch.Tensor.is_nonzero)
def is_nonzero(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """The truth value of a tensor with one element."""
    (tensor,) = args or kwargs.values()
    return tensor.item() != 0


def _none(condition: torch.Tensor) -> bool:
    aten._assert_async.msg(~condition.any(), "var has negative entry/entries")
    return False


GAUSSIAN: Final = FunctionType(
    torch.nn.functional.gaussian_nll_loss.__code__,
    {
        **vars(torch.nn.functional),
        "has_torch_function_variadic": lambda *values: False,
        "torch": SimpleNamespace(**{**vars(torch), "any": _none}),
    },
    argdefs=torch.nn.functional.gaussian_nll_loss.__defaults__,
)
"""Torch's function, with its check of the variances at run time."""


@handles(torch.nn.functional.gaussian_nll_loss)
def gaussian_nll_loss(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
    return GAUSSIAN(*args, **kwargs)


# ---------------------------------------------------------------------- numbers computed by torch's Python


def _by_ratio(axes: int) -> None:
    """`fractional_max_pool2d` with a ratio of the sizes."""
    names = [f"fractional_max_pool{axes}d", f"fractional_max_pool{axes}d_with_indices"]

    @handles(*[getattr(torch.nn.functional, name) for name in names])
    def fractional(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
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
