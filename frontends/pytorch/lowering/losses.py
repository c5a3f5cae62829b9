"""Losses and their gradients. `reduction` is torch's number: 0 leaves the elements, 1 is the mean, 2 the sum."""

from __future__ import annotations

from typing import Final

import torch

from backends.loops.nodes import GatherIndices
from frontends.pytorch.lowering.activations import log_sigmoid
from frontends.pytorch.lowering.registry import Declined, Lowered, Number, Site, lowering
from frontends.pytorch.lowering.values import Value

aten: Final = torch.ops.aten
MEAN: Final = 1


def _reduced(loss: Value, reduction: int) -> Value:
    axes = range(loss.rank)
    loss = loss.computed()
    return loss if reduction == 0 else loss.mean(axes) if reduction == MEAN else loss.sum(axes)


def _both(x: Value, y: Value) -> tuple[Value, Value]:
    """Operands of equal sizes: losses have broadcast them."""
    if x.rank != y.rank or not all(map(x.build.decisions.equal, x.sizes, y.sizes)) or x.dtype != y.dtype:
        raise Declined
    return x, y.expanded(x.sizes)


def _share(at: Site, grad: Value, x: Value, reduction: int) -> Value:
    """The gradient of each element's loss."""
    grad = at.operand(grad)
    return grad / x.count(range(x.rank)) if reduction == MEAN else grad


@lowering(aten.mse_loss.default)
def mse_loss(at: Site, x: Value, y: Value, reduction: int = MEAN) -> Value:
    x, y = _both(x, y)
    return _reduced((x - y) * (x - y), reduction)


@lowering(aten.mse_loss_backward.default)
def mse_loss_backward(at: Site, grad: Value, x: Value, y: Value, reduction: int) -> Value:
    x, y = _both(x, y)
    return 2 * (x - y) * _share(at, grad, x, reduction)


@lowering(aten.smooth_l1_loss.default)
def smooth_l1_loss(at: Site, x: Value, y: Value, reduction: int = MEAN, beta: Number = 1.0) -> Value:
    x, y = _both(x, y)
    away = (x - y).apply("abs")
    return _reduced((away < beta).select(0.5 * away * away / beta, away - _half(beta)), reduction)


def _half(number: Number) -> float:
    if not isinstance(number, int | float):
        raise Declined
    return 0.5 * number


@lowering(aten.smooth_l1_loss_backward.default)
def smooth_l1_loss_backward(at: Site, grad: Value, x: Value, y: Value, reduction: int, beta: Number) -> Value:
    x, y = _both(x, y)
    if not isinstance(beta, int | float):
        raise Declined
    away, share = x - y, _share(at, grad, x, reduction)
    return (away <= -beta).select(-share, (away >= beta).select(share, share * away / beta))


@lowering(aten.huber_loss.default)
def huber_loss(at: Site, x: Value, y: Value, reduction: int = MEAN, delta: Number = 1.0) -> Value:
    x, y = _both(x, y)
    away = (x - y).apply("abs")
    return _reduced((away <= delta).select(0.5 * away * away, (away - _half(delta)) * delta), reduction)


@lowering(aten.huber_loss_backward.default)
def huber_loss_backward(at: Site, grad: Value, x: Value, y: Value, reduction: int, delta: Number) -> Value:
    x, y = _both(x, y)
    if not isinstance(delta, int | float):
        raise Declined
    away, share = x - y, _share(at, grad, x, reduction)
    outside = (away > delta).select(share * delta, share * away)
    return (away < -delta).select(share * -delta, outside)


@lowering(aten.binary_cross_entropy_backward.default)
def binary_cross_entropy_backward(
    at: Site, grad: Value, x: Value, y: Value, weight: Value | None = None, reduction: int = MEAN
) -> Value:
    x, y = _both(x, y)
    made = _share(at, grad, x, reduction) * (x - y) / ((1 - x) * x).apply("maximum", 1e-12)
    return made if weight is None else made * at.operand(weight)


@lowering(aten.binary_cross_entropy_with_logits.default)
def binary_cross_entropy_with_logits(
    at: Site,
    x: Value,
    y: Value,
    weight: Value | None = None,
    positive: Value | None = None,
    reduction: int = MEAN,
) -> Value:
    x, y = _both(x, y)
    if positive is None:
        loss = (1 - y) * x - log_sigmoid(x)
    else:
        loss = (1 - y) * x - ((positive.cast(x.dtype).expanded(x.sizes) - 1) * y + 1) * log_sigmoid(x)
    return _reduced(loss if weight is None else loss * weight.cast(x.dtype), reduction)


@lowering(aten.nll_loss_forward.default, aten.nll_loss2d_forward.default)
def nll_loss_forward(
    at: Site, x: Value, target: Value, weight: Value | None, reduction: int, ignored: int
) -> Lowered:
    """The element of each target; all targets are in bounds."""
    if x.rank < 2 or type(ignored) is not int or x.dtype not in ("float32", "float64"):
        raise Declined
    counts = target.differs(ignored)
    inside = (target >= 0) & (target < x.sizes[1])
    at.require(inside | ~counts, IndexError, "a target is out of bounds")
    places: GatherIndices = (at.build.axis(0), target.tensor, *[at.build.axis(axis) for axis in range(1, target.rank)])
    sizes = inside.sizes
    share = counts.cast(x.dtype)
    if weight is not None:
        share = counts.select(weight.gather((target.tensor,), sizes, inside), 0)
    chosen = -x.gather(places, sizes, inside)
    chosen = counts.select(chosen if weight is None else chosen * share, 0)
    axes = range(target.rank)
    if reduction == 0:
        return [chosen, at.full(0, sizes=())]
    count = share.sum(axes)
    total = chosen.sum(axes)
    return [total / count if reduction == MEAN else total, count]


def _is_target(at: Site, x: Value, target: Value, ignored: int) -> Value:
    target = target.unsqueezed([1]).expanded(x.sizes)
    return at.iota(1, x.sizes).equals(target) & target.differs(ignored)


@lowering(aten.nll_loss_backward.default, aten.nll_loss2d_backward.default)
def nll_loss_backward(
    at: Site,
    grad: Value,
    x: Value,
    target: Value,
    weight: Value | None,
    reduction: int,
    ignored: int,
    total: Value,
) -> Value:
    """Only the target's element has a gradient. The forward has checked that targets are in bounds."""
    if x.rank < 2 or type(ignored) is not int:
        raise Declined
    if reduction == 0:
        share = at.operand(grad.unsqueezed([1]))
    else:
        share = at.operand(grad) / at.operand(total) if reduction == MEAN else at.operand(grad)
    if weight is not None:
        share = share.expanded(x.sizes) * weight.along(1, x.rank).expanded(x.sizes)
    return _is_target(at, x, target, ignored).select(-share, 0)
