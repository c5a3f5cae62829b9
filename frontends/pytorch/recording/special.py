"""Operators that are not functions of metadata: reading data as a number, changing metadata in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeAlias

import torch

from frontends.pytorch.errors import Unsupported, unsupported
from frontends.pytorch.symbolic.function_mode import Arguments, Keywords
from frontends.pytorch.symbolic.tensor import Traced, tensor_of

Recorder: TypeAlias = Any
"""The recorder, which looks into the table here."""
aten = torch.ops.aten

SPECIAL: Final[dict[object, Callable[..., object]]] = {}


GENERATED: Final = "Runtime assertion failed for expression"
"""The beginning of Dynamo's message where the program has given none: the check has its own text."""
CONTROL: Final = "a loop or branch in Python, or tensor operators"


def special(*functions: object) -> Callable[[Callable[..., object]], Callable[..., object]]:
    def register(handler: Callable[..., object]) -> Callable[..., object]:
        for function in functions:
            SPECIAL[function] = handler
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


def refuse_control_flow(name: str) -> NoReturn:
    """Refuse an unsupported higher-order operator.

    Raises:
        Unsupported: always.
    """
    unsupported(f"{name}: torch's operators that take functions are not traced", CONTROL)
