"""Factories: tensors of given sizes, tensors like another one, and copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.meta_rules.dtypes import dtypes_of
from frontends.pytorch.meta_rules.layouts import elementwise_strides, order_of
from frontends.pytorch.meta_rules.registry import kind_rule, metadata_of, packed, ruled, sizes_of
from frontends.pytorch.symbolic.metadata import Metadata
from shapes.rules.broadcasting import same

if TYPE_CHECKING:
    from frontends.pytorch.symbolic.tensor import Trace

aten: Final = torch.ops.aten
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


@kind_rule(aten.clone.default)
def clone(recorder: Trace, self: torch.Tensor, *, memory_format: torch.memory_format | None = None) -> object:
    """A copy."""
    return copied(recorder, metadata_of(recorder, self), memory_format=memory_format)


@kind_rule(aten._to_copy.default)
def to_copy(
    recorder: Trace, self: torch.Tensor, *, dtype: torch.dtype | None = None, layout: object = None,
    device: torch.device | None = None, pin_memory: bool | None = None, non_blocking: bool = False,
    memory_format: torch.memory_format | None = None,
) -> object:  # fmt: skip
    """A copy with another dtype or device."""
    if layout not in (None, torch.strided) or pin_memory:
        return NotImplemented
    return copied(recorder, metadata_of(recorder, self), dtype, device, memory_format)


def _register_like(operator: object, arguments: int) -> None:
    @kind_rule(operator)
    def like(
        recorder: Trace, self: torch.Tensor, *values: object, dtype: torch.dtype | None = None,
        layout: object = None, device: torch.device | None = None, pin_memory: bool | None = None,
        memory_format: torch.memory_format | None = None,
    ) -> object:  # fmt: skip
        """A new tensor like another one."""
        if layout not in (None, torch.strided) or pin_memory or len(values) != arguments:
            return NotImplemented
        return copied(recorder, metadata_of(recorder, self), dtype, device, memory_format)


for _operator, _arguments in (
    (aten.ones_like.default, 0), (aten.zeros_like.default, 0), (aten.empty_like.default, 0),
    (aten.rand_like.default, 0), (aten.randn_like.default, 0), (aten.full_like.default, 1),
):  # fmt: skip
    _register_like(_operator, _arguments)


def _register_new(operator: object) -> None:
    @kind_rule(operator)
    def new(
        recorder: Trace, self: torch.Tensor, size: Sequence[object], *values: object,
        dtype: torch.dtype | None = None, layout: object = None, device: torch.device | None = None,
        pin_memory: bool | None = None,
    ) -> object:  # fmt: skip
        """A new tensor with the dtype of another one."""
        if layout not in (None, torch.strided) or pin_memory or torch.device(device or "cpu").type != "cpu":
            return NotImplemented
        base = metadata_of(recorder, self)
        place = base.device if device is None else torch.device(device)
        return packed(recorder, sizes_of(size), base.dtype if dtype is None else dtype, place)


for _operator in (aten.new_zeros.default, aten.new_ones.default, aten.new_empty.default, aten.new_full.default):
    _register_new(_operator)


def _register_fresh(operator: object) -> None:
    @kind_rule(operator)
    def fresh(recorder: Trace, size: Sequence[object], *values: object, **options: object) -> object:
        """A new tensor of given sizes."""
        device = torch.device(options.get("device") or "cpu")
        if device.type != "cpu" or options.get("pin_memory") or options.get("layout") not in (None, torch.strided):
            return NotImplemented
        if options.get("memory_format") not in (None, torch.contiguous_format):
            return NotImplemented
        asked = {"dtype": options.get("dtype"), "device": torch.device("meta")}
        dtypes = dtypes_of(operator, ((), *values), asked | {"generator": None} if "generator" in options else asked)
        return NotImplemented if dtypes is None else packed(recorder, sizes_of(size), dtypes[0], device)


for _operator in (
    aten.zeros.default, aten.ones.default, aten.empty.memory_format, aten.full.default, aten.rand.default,
    aten.randn.default, aten.rand.generator, aten.randn.generator,
):  # fmt: skip
    _register_fresh(_operator)


def _register_integers(operator: object) -> None:
    @kind_rule(operator)
    def integers(recorder: Trace, *bounds_and_size: object, **options: object) -> object:
        """Random integers of given sizes."""
        device = torch.device(options.get("device") or "cpu")
        if device.type != "cpu" or options.get("pin_memory") or options.get("layout") not in (None, torch.strided):
            return NotImplemented
        return packed(recorder, sizes_of(bounds_and_size[-1]), options.get("dtype") or torch.int64, device)


@kind_rule(aten.randperm.default, aten.randperm.generator)
def permutation(recorder: Trace, n: object, **options: object) -> object:
    """A random permutation of the numbers below n."""
    device = torch.device(options.get("device") or "cpu")
    if device.type != "cpu" or options.get("pin_memory") or options.get("layout") not in (None, torch.strided):
        return NotImplemented
    dtype = options.get("dtype") or torch.int64
    return packed(recorder, ruled(recorder, aten.randperm.default, n), dtype, device)


for _operator in (aten.randint.default, aten.randint.low, aten.randint.generator, aten.randint.low_generator):
    _register_integers(_operator)


def _register_range(operator: object) -> None:
    @kind_rule(operator)
    def counted(recorder: Trace, *numbers: object, **options: object) -> object:
        """Evenly spaced numbers."""
        device = torch.device(options.get("device") or "cpu")
        if device.type != "cpu" or options.get("pin_memory") or any(isinstance(one, float) for one in numbers):
            return NotImplemented
        if any(isinstance(one, torch.SymFloat) for one in numbers):
            return NotImplemented
        dtype = options.get("dtype") or torch.int64
        return packed(recorder, ruled(recorder, aten.arange.default, *numbers), dtype, device)


for _operator in (aten.arange.default, aten.arange.start, aten.arange.start_step):
    _register_range(_operator)


@kind_rule(aten.copy_.default)
def copy_into(recorder: Trace, self: torch.Tensor, src: torch.Tensor, non_blocking: bool = False) -> object:
    """The tensor written to."""
    target, source = metadata_of(recorder, self).shape, metadata_of(recorder, src).shape
    alike = len(target) == len(source) and all(same(one, other) for one, other in zip(target, source))
    return 0 if alike or not source else NotImplemented


@kind_rule(aten.fill_.Scalar, aten.fill_.Tensor, aten.zero_.default)
def filled(recorder: Trace, self: torch.Tensor, value: object = 0) -> object:
    """The tensor written to."""
    return NotImplemented if isinstance(value, torch.Tensor) and value.dim() else 0


@kind_rule(aten.native_dropout.default)
def dropout(recorder: Trace, input: torch.Tensor, p: float, train: bool | None) -> object:
    """The input with elements dropped, and the mask of those that are kept."""
    x = metadata_of(recorder, input)
    order = order_of(recorder.env, x)
    if order is None or not order.dense or not x.dtype.is_floating_point:
        return NotImplemented
    return recorder.kinds.like(x), recorder.kinds.like(x, torch.bool)
