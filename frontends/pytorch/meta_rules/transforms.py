"""Fourier transforms: the layout of MKL's results, where torch's meta functions predict cuFFT's.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: torch.fft.hfftn(x, dim=(0, 2)), (torch.randn(4, 6, 5),), dynamic=False)
    >>> variant.outputs[0].metadata.strides == torch.fft.hfftn(torch.randn(4, 6, 5), dim=(0, 2)).stride()
    True

As in `_exec_fft` of ATen's `mkl/SpectralOps.cpp`: axes that are not transformed come first, sorted by their strides in
the argument, then the transformed ones. Without MKL, results are contiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from frontends.pytorch.meta_rules.layouts import strides_of
from frontends.pytorch.meta_rules.registry import kind_rules, metadata_of
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import value_of
from frontends.pytorch.symbolic.tensor import Trace
from shapes.symbolic.choices import Int

aten: Final = torch.ops.aten
REAL: Final = {torch.complex64: torch.float32, torch.complex128: torch.float64, torch.complex32: torch.float16}
COMPLEX: Final = {real: complex_ for complex_, real in REAL.items()}


@kind_rules(aten._fft_r2c.default, aten._fft_c2c.default, aten._fft_c2r.default)
def transformed(
    func: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, dim: Sequence[int], normalization: int,
    last: bool | int | torch.SymInt,
) -> object:  # fmt: skip
    """Real to complex, `last` if half of the last axis is left out; complex to complex; and complex to real along the
    last axis, of the size `last`, after a complex transform along the others."""
    base = metadata_of(recorder, self)
    if base.device.type != "cpu" or not dim or base.dtype not in (COMPLEX if func is aten._fft_r2c.default else REAL):
        return NotImplemented
    *along, inner = [axis % len(base.shape) for axis in dim]
    sizes = list(base.shape)
    if func is aten._fft_c2c.default:
        return _made(recorder, base, _by_stride(base, [*along, inner]), sizes, base.dtype)
    if func is aten._fft_r2c.default:
        if last:
            sizes[inner] = sizes[inner] // 2 + 1
        return _made(recorder, base, [*_by_stride(base, along), inner], sizes, COMPLEX[base.dtype])
    if along:
        base = _made(recorder, base, _by_stride(base, along), sizes, base.dtype)
    sizes[inner] = value_of(last)
    return _made(recorder, base, [inner], sizes, REAL[base.dtype])


def _by_stride(given: Metadata, axes: Sequence[int]) -> list[int]:
    """The axes, outermost first, by a stable sort; a guard where hints decide."""
    strides = strides_of(given.shape)
    placed: list[int] = []
    for axis in axes:
        before = [place for place, other in enumerate(placed) if strides[other] < strides[axis]]
        placed.insert(before[0] if before else len(placed), axis)
    return placed


def _made(
    recorder: Trace, given: Metadata, along: Sequence[int], sizes: Sequence[Int], dtype: torch.dtype
) -> Metadata:
    """The metadata of a transform's result along these axes, the last one innermost."""
    if not torch.backends.mkl.is_available():
        return recorder.kinds.laid(sizes, None, 0, dtype, given.device)
    rank = len(sizes)
    others = _by_stride(given, _partitioned(rank, along))
    steps: list[Int] = [1] * rank
    step: Int = 1
    for axis in reversed([*others, *along]):
        steps[axis] = step
        step = step * sizes[axis]
    return recorder.kinds.laid(sizes, steps, 0, dtype, given.device)


def _partitioned(rank: int, along: Sequence[int]) -> list[int]:
    """The axes that are not transformed, in the order of `std::partition`: it is not stable, which matters for equal
    strides."""
    left, found = list(range(rank)), []
    while left:
        axis = left.pop(0)
        if axis in along:
            # the last one of the others takes its place
            left = left[: max([place + 1 for place, other in enumerate(left) if other not in along], default=0)]
            axis = left.pop() if left else -1
        found.append(axis)
    return [axis for axis in found if axis >= 0]
