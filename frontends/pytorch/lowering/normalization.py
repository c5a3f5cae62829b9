"""Group normalization and its gradient; other normalizations are decomposed (`decomposed`).

Vector lanes hold all channels of a channels-last image, not only those of one group. So each channel is summed first,
and the statistics of a group are stored for each of its channels.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from backends.loops.affine import packed
from backends.loops.channels_last import is_channels_last
from backends.loops.statistics import moments
from backends.loops.values import Value
from frontends.pytorch.lowering.registry import Declined, Lowered, Site, lowering
from frontends.pytorch.lowering.views import reshaped

aten: Final = torch.ops.aten


class Groups:
    """The channels of an image, in groups.

    Attributes:
        count: the number of elements in a group of one image.
        space: the axes behind the channels.
    """

    def __init__(self, at: Site, x: Value, groups: int) -> None:
        channels = x.sizes[1]
        each = channels // groups
        if not at.build.decisions.equal(each * groups, channels):
            raise Declined
        self.at = at
        self.space = tuple(range(2, x.rank))
        self.count = x.count(self.space) * each
        self._sizes = (x.sizes[0], at.build.lift(groups), each)
        self._channels = x.sizes[:2]

    def split(self, x: Value) -> Value:
        """The channels of a tensor as two axes, groups and those of a group."""
        sizes, axes = (*self._sizes, *x.sizes[2:]), range(3, x.rank + 1)
        return Value(x.build, x.build.split(x.tensor, ((0,), (1, 2), *[(axis,) for axis in axes]), sizes), sizes)

    def mean(self, x: Value) -> Value:
        """The mean of each group, of sums over each channel."""
        return self.split(x).sum((2,)) / self.count

    def shown(self, x: Value) -> Value:
        """A value for each group, materialized for each of its channels."""
        build = x.build
        wide = x.unsqueezed((2,)).expanded(self._sizes)
        memory = self.at.program.stored(wide.tensor, packed(self._sizes))
        made = build.reshape(memory, self._channels)
        assert made is not None
        return Value(build, made, self._channels).unsqueezed(self.space)


@lowering(aten.native_group_norm.default)
def native_group_norm(at: Site, x: Value, weight: Value | None, bias: Value | None, *numbers: Any) -> Lowered:
    *_, count, eps = numbers
    groups = Groups(at, x, count)
    vectors = [None if each is None else each.along(1, x.rank) for each in (weight, bias)]
    if x.is_float and is_channels_last(x.tensor):
        made = x.computed()
        mean = groups.mean(made.sum(groups.space))
        away = made - groups.shown(mean)
        deviation = (groups.mean((away * away).sum(groups.space)) + eps).apply("rsqrt")
        return [scaled(away * groups.shown(deviation), *vectors), mean, deviation]
    parts = groups.split(x)
    inside = range(2, parts.rank)
    variance, mean = moments(parts, tuple(inside), keepdim=True, normalizes=True)
    deviation = (variance + eps).apply("rsqrt")
    normalized = (parts.computed() - mean) * deviation
    whole = scaled(normalized, *[None if each is None else groups.split(each.expanded(x.sizes)) for each in vectors])
    return [reshaped(whole, x.sizes), mean.squeezed(inside), deviation.squeezed(inside)]


def scaled(x: Value, weight: Value | None, bias: Value | None) -> Value:
    if weight is not None:
        x = x * weight.cast(x.dtype)
    return x if bias is None else x + bias.cast(x.dtype)


@lowering(aten.native_group_norm_backward.default)
def native_group_norm_backward(
    at: Site, grad: Value, x: Value, mean: Value, deviation: Value, weight: Value | None, *numbers: Any
) -> Lowered:
    *_, count, wanted = numbers
    groups = Groups(at, x, count)
    if grad.is_float and is_channels_last(grad.tensor):
        grad = Value(at.build, at.memory(at.operation.args[0]), grad.sizes)
    grad, x = grad.computed(), x.computed()
    mean, deviation = [groups.shown(each.cast(x.dtype)) for each in (mean, deviation)]
    normalized = (x - mean) * deviation
    total, along = grad.sum(groups.space), (grad * normalized).sum(groups.space)
    factor = None if weight is None else weight.cast(x.dtype)
    average, slope = [groups.shown(groups.mean(each if factor is None else each * factor)) for each in (total, along)]
    grad = scaled(grad, None if factor is None else factor.along(1, x.rank), None)
    gradients = (grad - average - normalized * slope) * deviation, along.sum((0,)), total.sum((0,))
    return [gradient if is_wanted else None for gradient, is_wanted in zip(gradients, wanted)]
