"""Triton's interpreter completed: device functions, and reductions that are fast and propagate nan.

    >>> from backends.triton.interpreted import libdevice
    >>> libdevice.tanh.__name__
    'tanh'

Each computes on the arrays behind the interpreter's tensors, with torch's own functions.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy
import torch
import triton.language as tl
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from backends.triton.operations import LIBRARY


def wrapped(data: object, scalar: tl.dtype, shape: tuple[int, ...]) -> tl.tensor:
    """An array as a tensor of the interpreter; no shape is a number."""
    kind = tl.block_type(scalar, list(shape)) if shape else scalar
    return tl.tensor(TensorHandle(data, scalar), kind)


def splat(builder: InterpreterBuilder, kind: tl.block_type, number: TensorHandle) -> TensorHandle:
    """A number for a whole block. The interpreter's own makes what a comparison gave a float again."""
    data = numpy.full(kind.shape, numpy.ravel(number.data)[0], dtype=number.data.dtype)
    return TensorHandle(data, number.dtype.scalar)


InterpreterBuilder.create_splat = splat


# of any number of operands, as torch's functions have them
def elementwise(  # type: ignore[explicit-any]
    name: str, function: Callable[..., torch.Tensor]
) -> Callable[..., tl.tensor]:
    """A function of elements."""

    def apply(*operands: tl.tensor) -> tl.tensor:
        arrays = [torch.from_numpy(numpy.ascontiguousarray(operand.handle.data)) for operand in operands]
        shape = numpy.broadcast_shapes(*[tuple(map(int, operand.shape)) for operand in operands])
        return wrapped(function(*arrays).numpy(), operands[0].dtype, shape)

    apply.__name__ = name
    return apply


def bfloat(x: tl.tensor) -> tl.tensor:
    """Convert to bfloat16, which the interpreter holds as 16 bits."""
    rounded = torch.from_numpy(numpy.ascontiguousarray(x.handle.data)).to(torch.bfloat16)
    return wrapped(rounded.view(torch.uint16).numpy(), tl.bfloat16, tuple(map(int, x.shape)))


# with options, as NumPy's functions have them
def reduction(function: Callable[..., numpy.ndarray]) -> Callable[[tl.tensor], tl.tensor]:  # type: ignore[explicit-any]
    """Rows to one value each."""

    def apply(x: tl.tensor) -> tl.tensor:
        data = function(x.handle.data, axis=1, keepdims=True).astype(x.handle.data.dtype)
        return wrapped(data, x.dtype, data.shape)

    return apply


libdevice = SimpleNamespace(**{name: elementwise(name, getattr(torch, name)) for name in LIBRARY.split()})
libdevice.rint = elementwise("rint", torch.round)
largest = reduction(numpy.max)
smallest = reduction(numpy.min)
multiplied = reduction(numpy.prod)
