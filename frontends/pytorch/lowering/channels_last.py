"""Group normalization of channels-last images.

Vector lanes hold all channels, not only those of one group. So each channel is summed first, and the statistics of a
group are stored for each of its channels.
"""

from __future__ import annotations

from typing import TypeAlias

from backends.loops.affine import packed
from backends.loops.channels_last import is_channels_last
from frontends.pytorch.lowering.registry import Site
from frontends.pytorch.lowering.values import Value
from solver.terms.expr import Expr

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
