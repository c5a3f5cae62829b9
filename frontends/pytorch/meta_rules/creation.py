"""Factories: tensors of given sizes, tensors like another one, and copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import torch

from frontends.pytorch.meta_rules.dtypes import dtypes_of
from frontends.pytorch.meta_rules.layouts import elementwise_strides, order_of
from frontends.pytorch.meta_rules.registry import kind_rule, kind_rules, metadata_of, packed, sizes_of
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules.broadcasting import same

aten: Final = torch.ops.aten
CPU: Final = torch.device("cpu")
PRESERVED: Final = (None, torch.preserve_format)


def copied(
    recorder: Trace,
    base: Metadata,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
    memory_format: torch.memory_format | None = None,
) -> Metadata | object:
    """A new tensor of these sizes in the other one's dimension order, without its gaps and expanded axes."""
    dtype = base.dtype if dtype is None else dtype
    device = base.device if device is None else torch.device(device)
    if device.type != "cpu" and device.index is None:
        return NotImplemented
    if memory_format is torch.contiguous_format:
        return packed(recorder, base.shape, dtype, device)
    if memory_format not in PRESERVED:
        return NotImplemented
    order = order_of(recorder.env, base)
    if order is None:
        return NotImplemented
    if order.dense:
        return recorder.kinds.like(base, dtype, device)
    strides = elementwise_strides(recorder.env, [base], base.shape)
    return NotImplemented if strides is None else recorder.kinds.laid(base.shape, strides, 0, dtype, device)


def is_dense(options: Mapping[str, object]) -> bool:
    """Return True if a strided tensor in pageable memory is requested."""
    return options.get("layout") in (None, torch.strided) and not options.get("pin_memory")


def is_on_cpu(options: Mapping[str, object]) -> bool:
    return is_dense(options) and torch.device(options.get("device") or "cpu").type == "cpu"


@kind_rule(
    aten.clone.default, aten._to_copy.default, aten.ones_like.default, aten.zeros_like.default, aten.empty_like.default,
    aten.rand_like.default, aten.randn_like.default, aten.full_like.default,
)  # fmt: skip
def like(
    recorder: Trace, self: torch.Tensor, *values: object, dtype: torch.dtype | None = None,
    device: torch.device | None = None, memory_format: torch.memory_format | None = None, **options: object,
) -> object:  # fmt: skip
    """A copy with another dtype or device, or a new tensor like this one."""
    if not is_dense(options):
        return NotImplemented
    return copied(recorder, metadata_of(recorder, self), dtype, device, memory_format)


@kind_rule(aten.new_zeros.default, aten.new_ones.default, aten.new_empty.default, aten.new_full.default)
def new(
    recorder: Trace, self: torch.Tensor, size: Sequence[object], *values: object, dtype: torch.dtype | None = None,
    device: torch.device | None = None, **options: object,
) -> object:  # fmt: skip
    """A new tensor with the dtype of another one; torch's function asks whether sizes are negative."""
    if not is_on_cpu({**options, "device": device}):
        return NotImplemented
    base = metadata_of(recorder, self)
    place = base.device if device is None else torch.device(device)
    return packed(recorder, sizes_of(size), base.dtype if dtype is None else dtype, place)


@kind_rules(
    aten.zeros.default, aten.ones.default, aten.empty.memory_format, aten.full.default, aten.rand.default,
    aten.randn.default, aten.rand.generator, aten.randn.generator,
)  # fmt: skip
def fresh(
    operator: torch._ops.OpOverload, recorder: Trace, size: Sequence[object], *values: object, **options: object
) -> object:
    """A new tensor of given sizes; torch's function asks whether they are negative."""
    if not is_on_cpu(options) or options.get("memory_format") not in (None, torch.contiguous_format):
        return NotImplemented
    asked = {"dtype": options.get("dtype"), "device": torch.device("meta")}
    dtypes = dtypes_of(operator, ((), *values), asked | {"generator": None} if "generator" in options else asked)
    return NotImplemented if dtypes is None else packed(recorder, sizes_of(size), dtypes[0], CPU)


@kind_rule(aten.copy_.default)
def copy_into(recorder: Trace, self: torch.Tensor, src: torch.Tensor, non_blocking: bool = False) -> object:
    """The tensor written to."""
    target, source = metadata_of(recorder, self).shape, metadata_of(recorder, src).shape
    alike = len(target) == len(source) and all(same(one, other) for one, other in zip(target, source))
    return 0 if alike or not source else NotImplemented
