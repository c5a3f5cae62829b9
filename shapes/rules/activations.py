"""Activations and dropout: nearly all keep the sizes of their input.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, h = env.sizes("b h")
    >>> rules["gelu"](env, (b, h), approximate="tanh")
    Shape(b, h)
    >>> rules["glu"](env, (b, h))
    Shape(b, h//2)
    >>> [guard.text for guard in env.guards()]
    ['h % 2 == 0']
"""

from __future__ import annotations

from shapes.env import ShapeEnv
from shapes.environment.layout import numel
from shapes.rules.axes import axis_of, replaced
from shapes.rules.broadcasting import agree, same
from shapes.rules.expectations import expect_one_of
from shapes.rules.promotion import floating
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.structure import empty
from shapes.symbolic.choices import sym_or


def _kept(input: Shape) -> Shape:
    return Shape(input, dtype=input.dtype)


@rule("relu", "relu6", "selu", "silu", "mish", "hardswish", "hardsigmoid", schema="input, inplace=False")
@rule("elu", "celu", schema="input, alpha=1.0, inplace=False")
@rule("leaky_relu", schema="input, negative_slope=0.01, inplace=False")
@rule("hardshrink", schema="input, lambd=0.5")
@rule("softplus", schema="input, beta=1.0, threshold=20.0")
@rule("threshold", schema="input, threshold, value, inplace=False")
@rule("logsigmoid")
def relu(env: ShapeEnv, input: Shape) -> Shape:
    """The sizes of the input."""
    return _kept(input)


@rule("relu_", "selu_")
def relu_in_place(env: ShapeEnv, input: Shape) -> Shape:
    """The input."""
    return input


@rule("sigmoid", "tanh", "softsign", "tanhshrink")
def sigmoid(env: ShapeEnv, input: Shape) -> Shape:
    """The sizes of the input."""
    return Shape(input, dtype=floating(input.dtype))


@rule("gelu")
def gelu(env: ShapeEnv, input: Shape, *, approximate: str = "none") -> Shape:
    """The sizes of the input."""
    expect_one_of(approximate, ("none", "tanh"), "approximate")
    return _kept(input)


@rule("softshrink")
def softshrink(env: ShapeEnv, input: Shape, lambd: float = 0.5) -> Shape:
    """The sizes of the input."""
    env.require(lambd >= 0, "lambd: expected 0 or more")
    return _kept(input)


@rule("hardtanh", schema="input, min_val=-1.0, max_val=1.0, inplace=False")
def hardtanh(env: ShapeEnv, input: Shape, min_val: float, max_val: float) -> Shape:
    """The sizes of the input."""
    env.require(min_val <= max_val, "min_val and max_val: expected in this order")
    return _kept(input)


@rule("rrelu", schema="input, lower=1 / 8, upper=1 / 3, training=False, inplace=False")
def rrelu(env: ShapeEnv, input: Shape, lower: float, upper: float) -> Shape:
    """The sizes of the input."""
    env.require(lower <= upper, "lower and upper: expected in this order")
    return _kept(input)


@rule("glu")
def glu(env: ShapeEnv, input: Shape, dim: int = -1) -> Shape:
    """The sizes with an axis of half the size, for one half gates the other."""
    env.require(len(input) > 0, "input: expected at least one axis")
    axis = axis_of(dim, len(input))
    env.require(input[axis] % 2 == 0, "dim: expected an axis of even size")
    return Shape(replaced(input, axis, input[axis] // 2), dtype=input.dtype)


@rule("prelu")
def prelu(env: ShapeEnv, input: Shape, weight: Shape) -> Shape:
    """The sizes of the input; one weight, or one for each channel."""
    env.require(len(weight) < 2, "weight: expected at most one axis")
    count = numel(weight)
    channels = input[1] if len(input) > 1 else 1
    if not (isinstance(count, int) and count == 1) and not same(count, channels):
        message = "weight: expected one element, or one for each channel"
        if isinstance(channels, int) and channels == 1:
            agree(env, count, 1, message)
        else:
            env.require(sym_or(count == 1, count == channels), message)
    return _kept(input)


def _probable(env: ShapeEnv, p: float) -> None:
    env.require(0 <= p <= 1, "p: expected a probability")


@rule("dropout", schema="input, p=0.5, training=True, inplace=False")


@rule("alpha_dropout", schema="input, p=0.5, training=False, inplace=False")
def alpha_dropout(env: ShapeEnv, input: Shape, p: float) -> Shape:
    """The sizes of the input."""
    _probable(env, p)
    return _kept(input)


@rule("dropout2d", schema="input, p=0.5, training=True, inplace=False")
@rule("feature_alpha_dropout", schema="input, p=0.5, training=False, inplace=False")
def feature_alpha_dropout(env: ShapeEnv, input: Shape, p: float, training: bool) -> Shape:
    """The sizes of the input, which in training has channels."""
    return _of_channels(env, input, p, training)


@rule("dropout3d")
def dropout3d(env: ShapeEnv, input: Shape, p: float = 0.5, training: bool = True, inplace: bool = False) -> Shape:
    """The sizes of the input, which in training has channels; the batch may be missing."""
    return _of_channels(env, input, p, training, batched=False)


def _of_channels(env: ShapeEnv, input: Shape, p: float, training: bool, *, batched: bool = True) -> Shape:
    _probable(env, p)
    least = 2 if batched else 1
    if training and 0 < p < 1 and len(input) < least:
        env.require(empty(input), f"input: expected at least {least} axes")
    return _kept(input)


@rule("dropout1d")
def dropout1d(env: ShapeEnv, input: Shape, p: float = 0.5, training: bool = True, inplace: bool = False) -> Shape:
    """The sizes of the input, which has channels."""
    _probable(env, p)
    env.require(len(input) in (2, 3), "input: expected two or three axes")
    return _kept(input)
