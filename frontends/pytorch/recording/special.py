"""Operators that are not functions of metadata: reading data as a number, changing metadata in place, masked writes.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def clipped(x):
    ...     x = x.clone()
    ...     x[x > 1] = 1.0
    ...     return x
    >>> variant = trace(clipped, (torch.randn(3, 4),))
    >>> [node.name for node in variant.graph.graph.nodes if "where" in node.name or "index" in node.name]
    ['where_self']

`x[mask] = v` is `where(mask, v, x)`, without unbacked sizes, if the value's sizes do not depend on the number of
selected elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, TypeAlias

import torch

from frontends.pytorch.errors import Unsupported, unsupported
from frontends.pytorch.symbolic.node import value_of
from frontends.pytorch.symbolic.tensor import Arguments, Keywords, Traced, tensor_of
from shapes.rules.memory_order import is_packed
from shapes.symbolic.choices import Int, sym_or
from shapes.symbolic.numbers import SymBool

Recorder: TypeAlias = Any
"""The recorder, which looks into the table here."""
aten = torch.ops.aten

SPECIAL: Final[dict[object, Callable[..., object]]] = {}
GENERATED: Final = "Runtime assertion failed for expression"
"""The beginning of Dynamo's message where the program has given none: the check has its own text."""
CONTROL: Final = "a loop or branch in Python, or tensor operators"


def special(*functions: object) -> Callable[[Callable[..., object]], Callable[..., object]]:
    def register(handler: Callable[..., object]) -> Callable[..., object]:
        SPECIAL.update(dict.fromkeys(functions, handler))
        return handler

    return register


@special(aten.detach.default)
def detach(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """The same value: gradients are handled outside of the graph.

    For an argument a new graph value, since an output that is one has its gradient.
    """
    (tensor,) = args
    tensor = recorder.lift(tensor)
    if tensor.result in recorder.given:
        return recorder.operator(func, args, kwargs)
    recorder.detached.add(tensor.result)
    return tensor_of(tensor.metadata, tensor.result)


@special(aten.detach_.default)
def detach_in_place(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """The same tensor, unless the caller could observe that an argument was detached."""
    (tensor,) = args
    if not isinstance(tensor, Traced) or tensor.result in recorder.given:
        return NotImplemented
    return tensor


@special(aten._efficientzerotensor.default)
def zeros(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """Zeros without memory, as some gradients are in eager: kernels want to read them."""
    return recorder.operator(aten.zeros.default, args, kwargs)


@special(aten.lift_fresh.default)
def lift_fresh(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """A literal tensor: copied in each run, since it may be mutated."""
    (tensor,) = args
    if isinstance(tensor, Traced):
        return NotImplemented
    literal = recorder.lift(tensor.clone())
    return recorder.operator(aten.lift_fresh_copy.default, (literal,), {})


@special(aten._local_scalar_dense.default)
def item(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """An unbacked number: one for each element, as long as that is not written."""
    (tensor,) = args
    contents = recorder.contents
    number = contents.number(recorder.result_of(tensor))
    if number in contents.read:
        return contents.read[number]
    dtype = tensor.dtype
    kind = "bool" if dtype is torch.bool else "float" if dtype.is_floating_point else "int"
    known = contents.value(number) if kind == "int" else None
    if known is not None:
        found = recorder.nodes.wrap(known)
    else:
        value = recorder.env.unbacked(None, None, kind=kind) if kind == "int" else recorder.env.unbacked(kind=kind)
        found = recorder.number(func, args, kwargs, value)
        if kind == "int":
            contents.noted(number, value)
    contents.read[number] = found
    return found


@special(aten._assert_scalar.default)
def asserted(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """Assert a fact from here on; the run checks it, unless it is proven."""
    condition, message = args
    said = "" if str(message).startswith(GENERATED) else str(message)
    if isinstance(condition, torch.SymBool) and condition.node.expect(said):
        return None
    return NotImplemented


@special(aten._use_cudnn_ctc_loss.default, aten._use_cudnn_ctc_loss.Tensor)
def without_cudnn(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """CTC loss by torch's own kernels, which work on all devices; cuDNN needs concrete lengths."""
    return False


@special(aten.size.default, aten.stride.default)
def layout(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """Sizes or strides that a composite C++ operator needs as concrete numbers: specialized."""
    kind = args[0].metadata
    return [int(number) for number in (kind.sizes if func is aten.size.default else kind.strides)]


@special(aten.equal.default, aten.allclose.default, aten.is_nonzero.default)
def compared(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """A truth value that C++ needs at once.

    Raises:
        Unsupported: always.
    """
    raise Unsupported(f"{func}: an operator in C++ branches on the values of a tensor; call it outside of the graph")


@special(aten.squeeze_copy.default, aten.squeeze_copy.dim, aten.squeeze_copy.dims)
def squeeze_copy(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """A copy of the view: torch's meta function assumes sizes other than 1 without a guard."""
    view = recorder.operator(getattr(aten.squeeze, func._overloadname), args, kwargs)
    return recorder.operator(aten.clone.default, (view,), {"memory_format": torch.contiguous_format})


# ---------------------------------------------------------------------- masks


@special(aten.index_put_.default, aten.index_put.default)
def write_through_mask(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """Record a select if one mask is the only index, and the value has no axis for the selected elements."""
    self, indices, values, accumulate = (*args, False)[:4]
    self, values = recorder.lift(self), recorder.lift(values)
    masks = [index for index in indices if index is not None]
    if len(masks) != 1 or masks[0].dtype is not torch.bool or values.dtype is not self.dtype:
        return NotImplemented
    mask = recorder.lift(masks[0])
    before = [index is not None for index in indices].index(True)
    after = self.dim() - before - mask.dim()
    repeated = any(isinstance(stride, int) and stride == 0 for stride in self.metadata.strides)
    if after < 0:
        return NotImplemented
    require_mask(recorder, self, mask, before)
    if values.dim() > after or repeated:
        own, sizes = values.metadata.shape, self.metadata.shape
        guard_equal(recorder, [*zip(own[::-1][:after], sizes[::-1])])
        guard_equal(recorder, [*zip(own, sizes[:before])] if len(own) == before + 1 + after else [])
        return NotImplemented
    require_values(recorder, self, values)
    run = recorder.operator
    if after and mask.dim():
        mask = run(aten.view.default, (packed(recorder, mask), [*mask.shape, *[1] * after]), {})
    chosen = run(aten.add.Tensor, (self, values), {}) if accumulate else values
    result = run(aten.where.self, (mask, chosen, self), {})
    if func is aten.index_put_.default:
        run(aten.copy_.default, (self, result), {})
        return args[0]
    if result.metadata is self.metadata:
        return result
    return run(aten.copy_.default, (run(aten.clone.default, (self,), {}), result), {})


def packed(recorder: Recorder, mask: Traced) -> Traced:
    """A contiguous mask, so that axes can be added by a view."""
    if is_packed(mask.metadata.shape):
        return mask
    return recorder.operator(aten.clone.default, (mask,), {"memory_format": torch.contiguous_format})


def require_mask(recorder: Recorder, self: Traced, mask: Traced, before: int) -> None:
    """Eager's check: the mask matches its axes."""
    for axis, size in enumerate(mask.shape):
        recorder.env.require(
            value_of(size) == value_of(self.shape[before + axis]),
            "the mask has other sizes than what it is an index of",
        )


def require_values(recorder: Recorder, self: Traced, values: Traced) -> None:
    """Eager's check: the value broadcasts to the remaining axes."""
    for axis in range(-values.dim(), 0):
        size, whole = value_of(values.shape[axis]), value_of(self.shape[axis])
        recorder.env.require(sym_or(size == whole, size == 1), "the value does not fit what is written")


@special(aten.masked_select.default, aten.masked_scatter.default, aten.masked_scatter_.default)
def as_large(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """Guard that a mask has the sizes of its tensor, if it has: elements that are selected keep their places then."""
    sizes, own = [recorder.lift(each).metadata.shape for each in args[:2]]
    if len(sizes) == len(own):
        guard_equal(recorder, [*zip(sizes, own)])
    return NotImplemented


def guard_equal(recorder: Recorder, pairs: Sequence[tuple[Int, Int]]) -> None:
    """Guard that sizes which may broadcast are equal, if they are."""
    for size, other in pairs:
        agrees = size == other
        if isinstance(agrees, SymBool) and recorder.env.true_at_hints(agrees):
            recorder.env.guard(agrees)


# ---------------------------------------------------------------------- refused


def refuse_control_flow(name: str) -> NoReturn:
    """Refuse an unsupported higher-order operator.

    Raises:
        Unsupported: always.
    """
    unsupported(f"{name}: torch's operators that take functions are not traced", CONTROL)
