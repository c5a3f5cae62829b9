"""Activation functions and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import torch

from backends.loops.operations import is_float
from frontends.pytorch.lowering.pointwise import clamp
from frontends.pytorch.lowering.registry import Argument, Declined, Lowered, Number, Site, lowering
from frontends.pytorch.lowering.values import Value
from frontends.pytorch.lowering.views import sliced

aten: Final = torch.ops.aten

SLOPE: Final = math.sqrt(2 / math.pi)
CUBIC: Final = 0.044715
ROOT_HALF: Final = math.sqrt(0.5)
DENSITY: Final = 1 / math.sqrt(2 * math.pi)


@lowering(aten.relu.default)
def relu(at: Site, x: Value) -> Value:
    # of two zeros x
    return at.operand(0).apply("maximum", x)


@lowering(aten.threshold.default)
def threshold(at: Site, x: Value, least: Number, value: Number) -> Value:
    return (x <= least).select(at.full(value), x)


@lowering(aten.threshold_backward.default)
def threshold_backward(at: Site, grad: Value, x: Value, least: Number) -> Value:
    x = x.expanded(at.sizes)
    return (x <= least).select(0, at.operand(grad))


@lowering(aten.gelu.default)
def gelu(at: Site, x: Value, *, approximate: str = "none") -> Value:
    if approximate == "tanh":
        return 0.5 * x * (1 + _inner(x).apply("tanh"))
    return x * 0.5 * (1 + (x * ROOT_HALF).apply("erf"))


def _inner(x: Value) -> Value:
    return SLOPE * (x + CUBIC * (x * x * x))


@lowering(aten.gelu_backward.default)
def gelu_backward(at: Site, grad: Value, x: Value, *, approximate: str = "none") -> Value:
    if approximate == "tanh":
        tanh = _inner(x).apply("tanh")
        right = 0.5 * x * (1 - tanh * tanh) * (SLOPE * (1 + 3 * CUBIC * (x * x)))
        return at.operand(grad) * (0.5 * (1 + tanh) + right)
    share = 0.5 * (1 + (x * ROOT_HALF).apply("erf"))
    density = DENSITY * (x * x * -0.5).apply("exp")
    return at.operand(grad) * (share + x * density)


@lowering(aten.silu_backward.default)
def silu_backward(at: Site, grad: Value, x: Value) -> Value:
    share = x.apply("sigmoid")
    return at.operand(grad) * share * (1 + x * (1 - share))


@lowering(aten.sigmoid_backward.default)
def sigmoid_backward(at: Site, grad: Value, output: Value) -> Value:
    output = at.operand(output)
    return at.operand(grad) * (1 - output) * output


@lowering(aten.tanh_backward.default)
def tanh_backward(at: Site, grad: Value, output: Value) -> Value:
    output = at.operand(output)
    return at.operand(grad) * (1 - output * output)


@lowering(aten.elu.default)
def elu(at: Site, x: Value, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Value:
    below = (x * input_scale).apply("expm1") * _product(alpha, scale)
    return (x <= 0).select(below, x * scale)


@lowering(aten.elu_backward.default)
def elu_backward(
    at: Site, grad: Value, alpha: Number, scale: Number, input_scale: Number, is_result: bool, x: Value
) -> Value:
    grad, factor = at.operand(grad), _product(alpha, scale)
    if is_result:
        below = grad * input_scale * (x + factor)
    else:
        below = grad * input_scale * factor * (x * input_scale).apply("exp")
    return (x <= 0).select(below, grad * scale)


def _product(a: Number, b: Number) -> float:
    if not isinstance(a, int | float) or not isinstance(b, int | float):
        raise Declined
    return a * b


@lowering(aten.leaky_relu.default)
def leaky_relu(at: Site, x: Value, slope: Number = 0.01) -> Value:
    return (x > 0).select(x, x * slope)


@lowering(aten.leaky_relu_backward.default)
def leaky_relu_backward(at: Site, grad: Value, x: Value, slope: Number, is_result: bool) -> Value:
    grad = at.operand(grad)
    return (at.operand(x) > 0).select(grad, grad * slope)


@lowering(aten._prelu_kernel.default)
def prelu(at: Site, x: Value, weight: Value) -> Value:
    return (x > 0).select(x, x * weight)


@lowering(aten._prelu_kernel_backward.default)
def prelu_backward(at: Site, grad: Value, x: Value, weight: Value) -> Lowered:
    above = x > 0
    return [above.select(grad, grad * weight), above.select(0, x * grad)]


@lowering(aten.hardtanh.default)
def hardtanh(at: Site, x: Value, low: Number = -1, high: Number = 1) -> Value:
    return clamp(at, x, low, high)


@lowering(aten.hardtanh_backward.default)
def hardtanh_backward(at: Site, grad: Value, x: Value, low: Number, high: Number) -> Value:
    return ((x <= low) | (x >= high)).select(0, at.operand(grad))


@lowering(aten.hardsigmoid_backward.default)
def hardsigmoid_backward(at: Site, grad: Value, x: Value) -> Value:
    return ((x > -3) & (x < 3)).select(at.operand(grad) / 6, 0)


@lowering(aten.hardswish_backward.default)
def hardswish_backward(at: Site, grad: Value, x: Value) -> Value:
    grad = at.operand(grad)
    inside = grad * (x / 3 + 0.5)
    return (x <= -3).select(0, (x < 3).select(inside, grad))


@lowering(aten.softplus.default)
def softplus(at: Site, x: Value, beta: Number = 1, threshold: Number = 20) -> Value:
    scaled = x * beta
    return (scaled > threshold).select(x, scaled.apply("exp").apply("log1p") / beta)


@lowering(aten.softplus_backward.default)
def softplus_backward(at: Site, grad: Value, x: Value, beta: Number, threshold: Number) -> Value:
    grad, scaled = at.operand(grad), x * beta
    power = scaled.apply("exp")
    return (scaled > threshold).select(grad, grad * power / (power + 1))


@lowering(aten.mish_backward.default)
def mish_backward(at: Site, grad: Value, x: Value) -> Value:
    tanh = x.apply("exp").apply("log1p").apply("tanh")
    return at.operand(grad) * (tanh + x * x.apply("sigmoid") * (1 - tanh * tanh))


@lowering(aten.log_sigmoid_forward.default)
def log_sigmoid_forward(at: Site, x: Value) -> Lowered:
    """The second result is saved for eager's backward; it is empty on some devices."""
    kind = at.kinds[1]
    if kind is None or len(at.sizes_of(kind)) != x.rank:
        raise Declined
    return [log_sigmoid(x), (-x.apply("abs")).apply("exp")]


@lowering(aten.log_sigmoid_backward.default)
def log_sigmoid_backward(at: Site, grad: Value, x: Value, buffer: Value) -> Value:
    power = (-x.apply("abs")).apply("exp")
    share = power / (1 + power)
    return at.operand(grad) * (x < 0).select(1 - share, share)


def log_sigmoid(x: Value) -> Value:
    return x.apply("minimum", 0) - (-x.apply("abs")).apply("exp").apply("log1p")


@lowering(aten.glu.default)
def glu(at: Site, x: Value, axis: int = -1) -> Value:
    axis %= x.rank
    half = at.sizes[axis]
    first, second = [sliced(at, x, axis, start, 1, at.sizes) for start in (at.build.zero, half)]
    return first * second.apply("sigmoid")


@lowering(aten.hardshrink.default)
def hardshrink(at: Site, x: Value, width: Number = 0.5) -> Value:
    return _inside(x, width).select(0, x)


@lowering(aten.hardshrink_backward.default, aten.softshrink_backward.default)
def shrink_backward(at: Site, grad: Value, x: Value, width: Number) -> Value:
    return _inside(x, width).select(0, at.operand(grad))


def _inside(x: Value, width: Number) -> Value:
    if not isinstance(width, int | float):
        raise Declined
    return (x >= -width) & (x <= width)


@lowering(aten.softshrink.default)
def softshrink(at: Site, x: Value, width: Number = 0.5) -> Value:
    if not isinstance(width, int | float):
        raise Declined
    return (x > width).select(x - width, (x < -width).select(x + width, x * 0))


@lowering(aten.native_dropout_backward.default)
def native_dropout_backward(at: Site, grad: Value, mask: Value, scale: Number) -> Value:
    return at.operand(grad) * at.operand(mask) * scale


@lowering(aten.xlogy.Tensor, aten.xlogy.Scalar_Other, aten.xlogy.Scalar_Self)
def xlogy(at: Site, x: Argument, y: Argument) -> Value:
    x, y = at.operand(x), at.operand(y)
    return y.apply("isnan").select(y, x.equals(0).select(0, x * y.apply("log")))


@lowering(aten.logaddexp.default)
def logaddexp(at: Site, x: Value, y: Value) -> Value:
    return _log_of_sum(at, x, y, lambda less: (-less).apply("exp").apply("log1p"))


@lowering(aten.logaddexp2.default)
def logaddexp2(at: Site, x: Value, y: Value) -> Value:
    return _log_of_sum(at, x, y, lambda less: (-less).apply("exp2").apply("log1p") * (1 / math.log(2)))


def _log_of_sum(at: Site, x: Value, y: Value, added: Callable[[Value], Value]) -> Value:
    if not is_float(at.dtype):
        raise Declined
    x, y = at.operand(x), at.operand(y)
    total = x.apply("maximum", y) + added((x - y).apply("abs"))
    return (x.apply("isinf") & x.equals(y)).select(x, total)


@lowering(aten.logit.default)
def logit(at: Site, x: Value, eps: Number | None = None) -> Value:
    x = at.operand(x)
    if eps is not None:
        if not isinstance(eps, int | float):
            raise Declined
        x = (x < eps).select(eps, (x > 1 - eps).select(1 - eps, x))
    return (x / (1 - x)).apply("log")
