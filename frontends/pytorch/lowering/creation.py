"""Lowering of tensor creation: constants, iotas, and random numbers, which torch draws in program order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

from backends.cpu.mersenne import bernoulli
from frontends.pytorch.lowering.registry import Argument, Declined, Lowered, Site, lowering
from frontends.pytorch.lowering.values import Value

aten: Final = torch.ops.aten


ONES: Final = (aten.ones.default, aten.ones_like.default, aten.new_ones.default)


@lowering(
    *ONES, aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default, aten.zero.default,
    aten.empty.memory_format, aten.empty_like.default, aten.empty_strided.default, aten.empty_permuted.default,
    aten.new_empty.default, aten.new_empty_strided.default,
)  # fmt: skip
def constant(at: Site, *given: object, **options: object) -> Value:
    """Lower a tensor of zeros or ones; elements that are not initialized are zeros, where anything reads them."""
    return at.full(int(at.operation.target in ONES))


@lowering(aten.full.default, aten.full_like.default, aten.new_full.default, aten.scalar_tensor.default)
@lowering(aten.fill.Scalar, aten.fill.Tensor)
def full(at: Site, *given: Argument, **options: object) -> Value:
    """Lower `full` and its like: the fill value is the last argument."""
    return at.operand(given[-1])


@lowering(aten.arange.default, aten.arange.start, aten.arange.start_step)
def arange(at: Site, *numbers: Argument, **options: object) -> Value:
    """Lower `arange`: integers are exact; floats are start + i * step in double, as in eager."""
    start, _, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    if isinstance(start, Value) or isinstance(step, Value) or at.dtype == "bool":
        raise Declined
    place = at.iota(0)
    whole = not isinstance(start, float) and not isinstance(step, float)
    if not whole and at.dtype not in ("float32", "float64"):
        raise Declined
    dtype = "int64" if whole else "float64"
    place = place.cast(dtype)
    if not (type(step) is int and step == 1):
        place = place * step
    if not (type(start) is int and start == 0):
        place = place + start
    return place.cast(at.dtype)


@dataclass(frozen=True, slots=True)
class Kept:
    """Draw a dropout mask with given sizes and strides."""

    share: float
    rank: int
    device: torch.device

    def __call__(self, *layout: int) -> torch.Tensor:
        sizes, strides = layout[: self.rank], layout[self.rank :]
        return bernoulli(torch.empty_strided(sizes, strides, dtype=torch.bool, device=self.device), self.share)


@lowering(aten.native_dropout.default)
def native_dropout(at: Site, x: Value, share: float, training: bool | None) -> Lowered:
    """Lower dropout; on accelerators it uses another generator sequence than `bernoulli_`."""
    kind = at.kinds[1]
    if kind is None or kind.device.type != "cpu" or training is False or not isinstance(share, float):
        raise Declined
    if not 0 < share < 1:
        raise Declined
    mask = at.called(Kept(1 - share, x.rank, kind.device), kind)
    return [at.operand(x) * at.operand(mask) * (1 / (1 - share)), mask]
