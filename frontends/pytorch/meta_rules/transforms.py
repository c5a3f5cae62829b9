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
from frontends.pytorch.meta_rules.registry import kind_rule, metadata_of
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import value_of
from frontends.pytorch.symbolic.tensor import Trace
from shapes.symbolic.choices import Int

aten: Final = torch.ops.aten
REAL: Final = {torch.complex64: torch.float32, torch.complex128: torch.float64, torch.complex32: torch.float16}
COMPLEX: Final = {real: complex_ for complex_, real in REAL.items()}


@kind_rule(aten._fft_r2c.default)
def from_real(recorder: Trace, self: torch.Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> object:
    """Real to complex: the last axis has n // 2 + 1 elements."""
    given = metadata_of(recorder, self)
    if not _is_known(given, dim) or given.dtype not in COMPLEX:
        return NotImplemented
    *along, last = _axes(given, dim)
    sizes = list(given.shape)
    if onesided:
        sizes[last] = sizes[last] // 2 + 1
    return _made(recorder, given, [*_by_stride(given, along), last], sizes, COMPLEX[given.dtype])


@kind_rule(aten._fft_c2c.default)
def between_complex(
    recorder: Trace, self: torch.Tensor, dim: Sequence[int], normalization: int, forward: bool
) -> object:
    """Complex to complex: the layout is kept."""
    given = metadata_of(recorder, self)
    if not _is_known(given, dim) or given.dtype not in REAL:
        return NotImplemented
    return _made(recorder, given, _by_stride(given, _axes(given, dim)), given.shape, given.dtype)


@kind_rule(aten._fft_c2r.default)
def to_real(
    recorder: Trace, self: torch.Tensor, dim: Sequence[int], normalization: int, last_dim_size: int | torch.SymInt
) -> object:
    """Complex to real: along the last axis, after a complex transform along the others."""
    given = metadata_of(recorder, self)
    if not _is_known(given, dim) or given.dtype not in REAL:
        return NotImplemented
    *along, last = _axes(given, dim)
    if along:
        given = _made(recorder, given, _by_stride(given, along), given.shape, given.dtype)
    sizes = list(given.shape)
    sizes[last] = value_of(last_dim_size)
    return _made(recorder, given, [last], sizes, REAL[given.dtype])


def _is_known(given: Metadata, dim: Sequence[int]) -> bool:
    return given.device.type == "cpu" and len(dim) > 0


def _axes(given: Metadata, dim: Sequence[int]) -> list[int]:
    return [axis % len(given.shape) for axis in dim]


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
    axes = list(range(rank))
    first, last = 0, rank
    while True:
        while first != last and axes[first] not in along:
            first += 1
        if first == last:
            return axes[:first]
        last -= 1
        while first != last and axes[last] in along:
            last -= 1
        if first == last:
            return axes[:first]
        axes[first], axes[last] = axes[last], axes[first]
        first += 1
