"""Operators with data-dependent output sizes: unbacked symbols with their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch

from frontends.operator_names.aten_operators import aten as vocabulary
from frontends.pytorch.errors import unsupported
from frontends.pytorch.meta_rules.layouts import Order, elementwise_strides, is_packed, order_of, strides_of
from frontends.pytorch.meta_rules.registry import (
    Ruled,
    by_rule_alone,
    kind_rule,
    kind_rules,
    made,
    metadata_of,
    packed,
    ruled,
    sizes_of,
)
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules import Shape
from shapes.rules.broadcasting import same
from shapes.rules.elements import Elements
from shapes.symbolic.choices import Int

aten: Final = torch.ops.aten


@kind_rule(aten.nonzero.default, once=True)
def nonzero(recorder: Trace, self: torch.Tensor) -> object:
    """A row of coordinates for each element that is not 0, stored column by column."""
    shape = ruled(recorder, aten.nonzero.default, known(recorder, self))
    learn_count(recorder, self, shape[0])
    kind = recorder.kinds.laid(shape, (1, shape[0]), 0, torch.int64, self.device)
    if self.dim() > 1:
        # with one row or none, every order is correct
        kind.order = Order((0, 1), dense=True)
    return kind


@kind_rule(aten.index.Tensor, once=True)
def index(recorder: Trace, self: torch.Tensor, indices: list[torch.Tensor | None]) -> object:
    """Advanced indexing; a mask selects as many elements as are true.

    Torch's meta function answers if all indices are contiguous integers, since it ignores their strides.
    """
    kinds = [None if each is None else metadata_of(recorder, each) for each in indices]
    given = [kind for kind in kinds if kind is not None]
    has_mask = any(is_mask(kind) for kind in given)
    if not has_mask and all(is_packed(kind) or kind.dtype not in (torch.int64, torch.int32) for kind in given):
        return NotImplemented
    shapes = [None if each is None else known(recorder, each) for each in indices]
    shape = ruled(recorder, aten.index.Tensor, self, shapes)
    if len(given) == 1:
        (place,) = [place for place, each in enumerate(indices) if each is not None]
        learn_count(recorder, indices[place], shape[place] if given[0].sizes else None)
    strides = picked_strides(recorder, metadata_of(recorder, self), kinds, shape)
    if strides is None and not has_mask:
        unsupported(
            "indices with different memory layouts, so that the result's layout is ambiguous", "`.contiguous()` of each"
        )
    return recorder.kinds.laid(shape, strides, 0, self.dtype, self.device)


def known(recorder: Trace, tensor: torch.Tensor) -> Shape:
    """The shape of an index, with the facts about its elements."""
    shape = metadata_of(recorder, tensor).shape
    if shape.dtype not in ("bool", "int64", "int32"):
        return shape
    return Shape(shape, dtype=shape.dtype, strides=shape.strides, elements=recorder.elements(tensor))


def learn_count(recorder: Trace, tensor: torch.Tensor | None, count: Int | None) -> None:
    """Learn that another selection by an equal mask has as many elements."""
    if tensor is not None and tensor.dtype is torch.bool and count is not None:
        recorder.learn(tensor, Elements(total=count))


@kind_rule(aten.masked_select.default, once=True)
def masked_select(recorder: Trace, self: torch.Tensor, mask: torch.Tensor) -> object:
    """One element for each True in the mask, which broadcasts with the tensor."""
    shape = ruled(recorder, aten.masked_select.default, self, known(recorder, mask))
    sizes, own = metadata_of(recorder, self).shape, metadata_of(recorder, mask).shape
    if len(own) >= len(sizes) and all(map(same, sizes[::-1], own[::-1])):
        learn_count(recorder, mask, shape[0])
    return packed(recorder, shape, self.dtype, self.device)


def is_mask(kind: Metadata) -> bool:
    return kind.dtype in (torch.bool, torch.uint8)


def picked_strides(
    recorder: Trace, source: Metadata, indices: Sequence[Metadata | None], sizes: Shape
) -> Sequence[Int] | None:
    """The strides of an indexing result; None if unclear.

    ATen uses an elementwise kernel. Its first operand is the tensor, expanded along the axes of the indices; the others
    are the indices, expanded along the axes that are kept.
    """
    picked: list[int] = []
    axis = 0
    for kind in indices:
        count = len(kind.shape) if kind is not None and is_mask(kind) else 1
        picked.extend([] if kind is None else range(axis, axis + count))
        axis += count
    before = picked[0] if picked == list(range(picked[0], picked[0] + len(picked))) else 0
    kept = [step for place, step in enumerate(strides_of(source.shape)) if place not in picked]
    behind = len(kept) - before
    count = len(sizes) - len(kept)
    repeated = (*kept[:before], *[0] * count, *kept[before:])
    operands = [recorder.kinds.laid(sizes, repeated, 0, source.dtype, source.device)]
    for kind in indices:
        if kind is None:
            continue
        # a mask is replaced by one list of indices for each of its axes
        lengths, steps = ((sizes[before + count - 1],), (1,)) if is_mask(kind) else (kind.shape, strides_of(kind.shape))
        left = before + count - len(lengths)
        lengths, steps = (*[1] * left, *lengths, *[1] * behind), (*[0] * left, *steps, *[0] * behind)
        operands.append(recorder.kinds.laid(lengths, steps, 0, torch.int64, source.device))
        order = None if is_mask(kind) else order_of(recorder.env, kind)
        if order is not None:
            operands[-1].order = Order(tuple([left + each for each in order.axes]), order.dense)
    return elementwise_strides(recorder.env, operands, sizes)


kind_rules(aten.one_hot.default, aten._padded_dense_to_jagged_forward.default, once=True)(by_rule_alone)


@kind_rule(aten.bincount.default, once=True)
def bincount(recorder: Trace, self: torch.Tensor, *args: object) -> object:
    """A bin for each number: no more than the facts about the elements allow."""
    shape = ruled(recorder, aten.bincount.default, known(recorder, self), *args)
    return made(recorder, shape, metadata_of(recorder, self))


@kind_rule(aten.repeat_interleave.Tensor, once=True)
def repeat_interleave(recorder: Trace, repeats: torch.Tensor, *, output_size: Any = None) -> object:
    """A vector of as many indices as the repeats add up to."""
    shape = ruled(recorder, aten.repeat_interleave.Tensor, known(recorder, repeats), output_size=output_size)
    recorder.learn(repeats, Elements(total=shape[0]))
    return packed(recorder, shape, repeats.dtype, repeats.device)


@kind_rules(
    aten._unique2.default, aten._unique.default, aten.unique_consecutive.default, aten.unique_dim.default,
    aten.unique_dim_consecutive.default, once=True,
)  # fmt: skip
def unique(func: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, *args: Any, **kwargs: Any) -> object:
    """The distinct elements or slices, or one for each run of equal ones.

    The inverse indices and the counts, where none requested are empty, but of slices.
    """
    options = dict(zip([argument.name for argument in func._schema.arguments[1:]], args)) | kwargs
    dim = options.get("dim")
    found: Ruled = vocabulary["unique"](
        recorder.env, sizes_of(self), return_inverse=True, return_counts=True, dim=dim
    )
    values, *others = found
    wanted = [dim is not None or options.get(name) for name in ("return_inverse", "return_counts")]
    numbers = [other if want else Shape((0,), dtype="int64") for other, want in zip(others, wanted)]
    count = len(func._schema.returns)
    return made(recorder, (values, *numbers)[:count], metadata_of(recorder, self))
