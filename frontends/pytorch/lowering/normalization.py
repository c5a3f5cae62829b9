"""Group normalization and its gradient; other normalizations are decomposed (`decomposed`)."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import torch

from backends.loops.affine import packed
from backends.loops.channels_last import is_channels_last
from backends.loops.values import Value
from frontends.pytorch.lowering.reductions import moments
from frontends.pytorch.lowering.registry import Declined, Lowered, Site, lowering
from frontends.pytorch.lowering.views import reshaped
from solver.terms.expr import Expr

aten: Final = torch.ops.aten


def _scaled(x: Value, weight: Value | None, bias: Value | None) -> Value:
    if weight is not None:
        x = x * weight.cast(x.dtype)
    return x if bias is None else x + bias.cast(x.dtype)


def _asked(wanted: list[bool], *gradients: Value) -> Lowered:
    return [gradient if is_wanted else None for gradient, is_wanted in zip(gradients, wanted)]


def _grouped(x: Value, groups: int) -> Value:
    """Split the channels, axis 1, into groups."""
    channels = x.sizes[1]
    each = channels // groups
    if not x.build.decisions.equal(each * groups, channels):
        raise Declined
    sizes = (x.sizes[0], x.build.lift(groups), each, *x.sizes[2:])
    runs = ((0,), (1, 2), *[(axis,) for axis in range(3, x.rank + 1)])
    return Value(x.build, x.build.split(x.tensor, runs, sizes), sizes)


def _by_group(vector: Value | None, like: Value) -> Value | None:
    """A vector over channels, reshaped to (groups, channels of a group)."""
    if vector is None:
        return None
    sizes = like.sizes[1:3]
    made = Value(vector.build, vector.build.split(vector.tensor, ((0, 1),), sizes), sizes)
    return made.unsqueezed([0, *range(3, like.rank)])


@lowering(aten.native_group_norm.default)
def native_group_norm(at: Site, x: Value, weight: Value | None, bias: Value | None, *numbers: Any) -> Lowered:
    *_, groups, eps = numbers
    parts = _grouped(x, groups)
    if are_channels_last(x):
        normalized, mean, deviation = group_norm(at, x, Groups(at, x, *parts.sizes[1:3]), eps)
        vectors = [None if each is None else each.unsqueezed((0, *range(2, x.rank))) for each in (weight, bias)]
        return [_scaled(normalized, *vectors), mean, deviation]
    variance, mean = moments(parts, tuple(range(2, parts.rank)), 0, keepdim=True, normalizes=True)
    deviation = (variance + eps).apply("rsqrt")
    normalized = (parts.computed() - mean) * deviation
    whole = _scaled(normalized, _by_group(weight, parts), _by_group(bias, parts))
    inside = range(2, parts.rank)
    return [reshaped(whole, x.sizes), mean.squeezed(inside), deviation.squeezed(inside)]


@lowering(aten.native_group_norm_backward.default)
def native_group_norm_backward(
    at: Site, grad: Value, x: Value, mean: Value, deviation: Value, weight: Value | None, *numbers: Any
) -> Lowered:
    *_, groups, wanted = numbers
    grads, parts = _grouped(grad, groups).computed(), _grouped(x, groups).computed()
    if are_channels_last(grad, x):
        grad = Value(at.build, at.memory(at.operation.args[0]), grad.sizes)
        inner, *sums = group_norm_backward(grad, x, Groups(at, x, *parts.sizes[1:3]), mean, deviation, weight)
        return _asked(wanted, inner, *[each.sum((0,)) for each in sums])
    inside = range(2, parts.rank)
    mean, deviation = [each.cast(parts.dtype).unsqueezed(inside) for each in (mean, deviation)]
    normalized = (parts - mean) * deviation
    # per-channel sums first: everything else follows from them, so the large tensors are read once
    space_axes = tuple(range(3, parts.rank))
    total = grads.sum(space_axes, keepdim=True)
    along = (grads * normalized).sum(space_axes, keepdim=True)
    by_group = _by_group(weight, parts)
    count = parts.count(tuple(inside))
    average, slope = [_scaled(each, by_group, None).sum((2,), keepdim=True) / count for each in (total, along)]
    inner = (_scaled(grads, by_group, None) - average - normalized * slope) * deviation
    rest = (0, *space_axes)
    vector = (x.sizes[1],)
    vectors = [reshaped(each.sum(rest), vector) for each in (along, total)]
    return _asked(wanted, reshaped(inner, x.sizes), *vectors)


# ---------------------------------------------------------------------- channels last
#
# Vector lanes hold all channels, not only those of one group. So each channel is summed first, and the statistics of a
# group are stored for each of its channels.


Gradients: TypeAlias = tuple[Value, Value, Value]


def are_channels_last(*images: Value) -> bool:
    """Return True if all of these are channels-last, or elementwise functions of such tensors."""
    return all(image.is_float and is_channels_last(image.tensor) for image in images)


class Groups:
    """The channels of an image, in groups.

    Attributes:
        count: the number of elements in a group of one image.
    """

    def __init__(self, at: Site, x: Value, groups: Expr, each: Expr) -> None:
        self.at = at
        self.space = tuple(range(2, x.rank))
        self.count = x.count(self.space) * each
        self._sizes = (x.sizes[0], groups, each)
        self._channels = x.sizes[:2]

    def of(self, x: Value) -> Value:
        """The sum over the channels of each group."""
        build = x.build
        return Value(build, build.split(x.tensor, ((0,), (1, 2)), self._sizes), self._sizes).sum((2,))

    def shown(self, x: Value) -> Value:
        """A value for each group, materialized for each of its channels."""
        build = x.build
        wide = x.unsqueezed((2,)).expanded(self._sizes)
        memory = self.at.program.stored(wide.tensor, packed(self._sizes))
        made = build.reshape(memory, self._channels)
        assert made is not None
        return Value(build, made, self._channels).unsqueezed(self.space)


def group_norm(at: Site, x: Value, groups: Groups, eps: float) -> tuple[Value, Value, Value]:
    """The normalized values, and the mean and reciprocal deviation of each group."""
    x = x.computed()
    mean = groups.of(x.sum(groups.space)) / groups.count
    away = x - groups.shown(mean)
    variance = groups.of((away * away).sum(groups.space)) / groups.count
    deviation = (variance + eps).apply("rsqrt")
    return away * groups.shown(deviation), mean, deviation


def group_norm_backward(
    grad: Value, x: Value, groups: Groups, mean: Value, deviation: Value, weight: Value | None
) -> Gradients:
    """The gradients of the input, and of weight and bias for each image."""
    grad, x = grad.computed(), x.computed()
    mean, deviation = [groups.shown(each.cast(x.dtype)) for each in (mean, deviation)]
    normalized = (x - mean) * deviation
    total, along = grad.sum(groups.space), (grad * normalized).sum(groups.space)
    factor = None if weight is None else weight.cast(x.dtype)
    average, slope = [
        groups.shown(groups.of(each if factor is None else each * factor) / groups.count) for each in (total, along)
    ]
    if factor is not None:
        grad = grad * factor.unsqueezed((0, *groups.space))
    return (grad - average - normalized * slope) * deviation, along, total
