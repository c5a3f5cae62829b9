"""The arguments of a traced function: which sizes are symbols, and what else they were that a variant relies on.

A size of 0 is a number of its own variant, as nearly every operator branches on it; any other is a symbol from 1 up.
Strides are those of a packed tensor where the input was contiguous, whose strides of axes of size 1 mean nothing;
otherwise they are symbols, expressed through the sizes where they are products of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.errors import Unsupported
from frontends.pytorch.recording import Recorder, Result
from frontends.pytorch.tensor import Traced, tensor_of

if TYPE_CHECKING:
    from shapes.env import ShapeEnv

LARGEST: Final = 2**63 - 1

Dynamic = Callable[[str, int, int], bool]
"""Whether a size is a symbol: by the input's name, the axis, and the size this time."""


@dataclass(frozen=True, slots=True)
class Input:
    """One tensor among the arguments, as it was when the function was traced."""

    name: str
    result: Result
    dtype: torch.dtype
    device: torch.device
    requires_grad: bool
    contiguous: bool
    symbols: tuple[tuple[str, int], ...]
    """The symbols that are its sizes: name and axis."""


def symbolic_input(recorder: Recorder, name: str, tensor: torch.Tensor, dynamic: Dynamic) -> tuple[Traced, Input]:
    """A tensor of the trace for a tensor argument."""
    check_supported(name, tensor)
    env, nodes = recorder.env, recorder.nodes
    sizes: list[object] = []
    symbols: list[tuple[str, int]] = []
    for axis, size in enumerate(tensor.shape):
        if size == 0 or not dynamic(name, axis, size):
            sizes.append(size)
            continue
        word = free_name(env, f"{name}_size{axis}")
        symbols.append((word, axis))
        sizes.append(nodes.wrap(env.symbol(word, lo=1, hi=LARGEST, hint=size, source=f"{name}.size({axis})")))
    if tensor.is_contiguous():
        metadata = recorder.kinds.packed(sizes, tensor.dtype, tensor.device)
    else:
        metadata = recorder.kinds.of(
            sizes, strides_of(recorder, name, tensor, sizes), 0, tensor.dtype, tensor.device
        )
    result = recorder.recording.result(metadata)
    recorder.given.add(result)
    made = tensor_of(metadata, result)
    if tensor.requires_grad:
        made.requires_grad_(True)
    return made, Input(
        name, result, tensor.dtype, tensor.device, tensor.requires_grad, tensor.is_contiguous(), tuple(symbols)
    )


def strides_of(recorder: Recorder, name: str, tensor: torch.Tensor, sizes: Sequence[object]) -> list[object]:
    """The strides of an input that is not contiguous, those that are products of sizes expressed so."""
    env, nodes = recorder.env, recorder.nodes
    strides: list[object] = [None] * tensor.dim()
    order = sorted(range(tensor.dim()), key=lambda axis: (tensor.stride(axis), -axis))
    inner: list[int] = []
    for axis in order:
        stride = tensor.stride(axis)
        if stride in (0, 1):
            strides[axis] = stride
        else:
            word = free_name(env, f"{name}_stride{axis}")
            symbol = env.symbol(word, lo=0, hi=LARGEST, hint=stride, source=f"{name}.stride({axis})")
            strides[axis] = nodes.wrap(symbol)
            for other in inner:
                product = strides[other] * sizes[other]
                if tensor.stride(other) * tensor.shape[other] == stride:
                    env.require(symbol == product.node.value if isinstance(product, torch.SymInt) else symbol == product)
                    strides[axis] = product
                    break
        inner.append(axis)
    return strides


def check_supported(name: str, tensor: torch.Tensor) -> None:
    """Refuse what no graph of ours can take.

    Raises:
        Unsupported: a layout other than strided, a quantized tensor, or a subclass with behaviour of its own.
    """
    if tensor.layout is not torch.strided:
        raise Unsupported(f"{name}: a tensor of layout {tensor.layout}; pass `{name}.to_dense()`, or keep it outside")
    if tensor.is_quantized:
        raise Unsupported(f"{name}: a quantized tensor; pass `{name}.dequantize()`")
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer) and isinstance(tensor, Traced):
        raise Unsupported(f"{name}: a tensor of another trace")


def free_name(env: ShapeEnv, name: str) -> str:
    """A name for a symbol that is not taken."""
    found, number = name, 1
    while found in env.names:
        found, number = f"{name}_{number}", number + 1
    return found
