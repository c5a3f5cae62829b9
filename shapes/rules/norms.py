"""Normalizing layers, and distances between rows.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, h, c = env.sizes("b s h c")
    >>> rules["softmax"](env, (b, h, s, s), dim=-1)
    Shape(b, h, s, s)
    >>> rules["layer_norm"](env, (b, s, 64 * h), (64 * h,), (64 * h,))
    Shape(b, s, 64*h)
    >>> rules["group_norm"](env, (b, c, s, s), 8)
    Shape(b, c, s, s)
    >>> [guard.text for guard in env.guards()]           # one number alone has no variance
    ['c % 8 == 0', 'b != 1 or c != 8 or s != 1']
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from shapes.env import ShapeEnv
from shapes.environment.layout import numel
from shapes.rules.axes import axes_of, axis_of, reduced, without
from shapes.rules.broadcasting import agree, agree_all, broadcast, same
from shapes.rules.expectations import expect_one_of
from shapes.rules.promotion import floating, named, promoted
from shapes.rules.reductions import all_or, need_elements
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.structure import empty
from shapes.symbolic.choices import Int, Real, sym_or

ALONE = "input: one number alone has no variance"
CDIST_MODES = (
    "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"
)  # fmt: skip


def _alike(input: Shape, dtype: object) -> Shape:
    return Shape(input, dtype=floating(input.dtype) if dtype is None else named(dtype))


@rule("softmax", "log_softmax", "softmin", schema="input, dim=None, _stacklevel=3, dtype=None")
def softmax(env: ShapeEnv, input: Shape, dim: int | None, dtype: object) -> Shape:
    """The sizes of the input."""
    if dim is not None:
        axis_of(dim, len(input))
    return _alike(input, dtype)


@rule("special.softmax", "special.log_softmax")
def special_softmax(env: ShapeEnv, input: Shape, dim: int, *, dtype: object = None) -> Shape:
    """The sizes of the input."""
    axis_of(dim, len(input))
    return _alike(input, dtype)


@rule("gumbel_softmax", schema="logits, tau=1, hard=False, eps=1e-10, dim=-1")
def gumbel_softmax(env: ShapeEnv, logits: Shape, hard: bool, dim: int) -> Shape:
    """The sizes of the logits; a hard choice needs something to choose from."""
    axis = axis_of(dim, len(logits))
    if hard:
        need_elements(env, logits, (axis,))
    return Shape(logits, dtype=logits.dtype)


def _normalized(env: ShapeEnv, input: Shape, normalized_shape: Sequence[Int], **parameters: Shape | None) -> Shape:
    """Check the last axes of the input, and the parameters that have those sizes."""
    count = len(normalized_shape)
    env.require(count > 0, "normalized_shape: expected at least one size")
    env.require(count <= len(input), "normalized_shape: expected no more sizes than the input has axes")
    agree_all(env, input[-count:], normalized_shape, "input: its last axes are not of normalized_shape")
    for name, parameter in parameters.items():
        if parameter is not None:
            env.require(len(parameter) == count, f"{name}: expected as many axes as normalized_shape")
            agree_all(env, parameter, normalized_shape, f"{name}: expected the sizes of normalized_shape")
    return Shape(input, dtype=input.dtype)


@rule("layer_norm", schema="input, normalized_shape, weight=None, bias=None, eps=1e-05")
def layer_norm(
    env: ShapeEnv, input: Shape, normalized_shape: Sequence[Int], weight: Shape | None, bias: Shape | None
) -> Shape:
    """The sizes of the input."""
    return _normalized(env, input, normalized_shape, weight=weight, bias=bias)


@rule("native_layer_norm", schema="input, normalized_shape, weight, bias, eps")
def native_layer_norm(
    env: ShapeEnv, input: Shape, normalized_shape: Sequence[Int], weight: Shape | None, bias: Shape | None
) -> tuple[Shape, Shape, Shape]:
    """The sizes of the input; and those of mean and deviation, with 1 for the normalized axes."""
    result = _normalized(env, input, normalized_shape, weight=weight, bias=bias)
    count = len(normalized_shape)
    statistics = Shape((*input[:-count], *[1] * count))
    return result, statistics, statistics


@rule("rms_norm", schema="input, normalized_shape, weight=None, eps=None")
def rms_norm(env: ShapeEnv, input: Shape, normalized_shape: Sequence[Int], weight: Shape | None) -> Shape:
    """The sizes of the input."""
    return _normalized(env, input, normalized_shape, weight=weight)


def _of_channels(env: ShapeEnv, channels: Int, **parameters: Shape | None) -> None:
    """Require of each parameter one element for each channel."""
    for name, parameter in parameters.items():
        if parameter is not None:
            # torch does not compare them where the input has no elements, and looks at their first
            elements = numel(parameter)
            if not same(elements, channels):
                env.require(elements == channels, f"{name}: expected one element for each channel")


def _vectors(env: ShapeEnv, *parameters: Shape | None) -> None:
    """Require of the parameters that are there one axis."""
    env.require(all(one is None or len(one) == 1 for one in parameters), "running_mean and the like: expected vectors")


def _statistics(env: ShapeEnv, mean: Shape | None, variance: Shape | None) -> None:
    """Require both running statistics or none, and of each one axis."""
    env.require((mean is None) is (variance is None), "running_mean and running_var: expected both or none")
    _vectors(env, mean, variance)


def _not_alone(env: ShapeEnv, sizes: Sequence[Int]) -> None:
    """Require that the product of some sizes is not 1."""
    env.require(sym_or(*[size != 1 for size in sizes]), ALONE)


@rule("batch_norm")
def batch_norm(
    env: ShapeEnv,
    input: Shape,
    running_mean: Shape | None,
    running_var: Shape | None,
    weight: Shape | None = None,
    bias: Shape | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Shape:
    """The sizes of the input; in training each channel needs more than one number."""
    found = channels_normalized(env, input, running_mean, running_var, weight, bias, training)
    if training:
        _not_alone(env, without(input, (1,)))
    return found


def channels_normalized(
    env: ShapeEnv,
    input: Shape,
    running_mean: Shape | None,
    running_var: Shape | None,
    weight: Shape | None,
    bias: Shape | None,
    training: bool,
) -> Shape:
    """The sizes of the input, of which each channel may have a single number, as the kernels have it."""
    env.require(len(input) > 1, "input: expected at least two axes")
    _statistics(env, running_mean, running_var)
    if not training:
        env.require(running_mean is not None, "running_mean and running_var: expected in evaluation")
    _of_channels(env, input[1], running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    return Shape(input, dtype=input.dtype)


@rule("instance_norm")
def instance_norm(
    env: ShapeEnv,
    input: Shape,
    running_mean: Shape | None = None,
    running_var: Shape | None = None,
    weight: Shape | None = None,
    bias: Shape | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Shape:
    """The sizes of the input; its own statistics need more than one number in each channel."""
    env.require(len(input) > 1, "input: expected at least two axes")
    _statistics(env, running_mean, running_var)
    _vectors(env, weight, bias)
    if use_input_stats:
        _not_alone(env, input[2:])
    else:
        env.require(running_mean is not None, "running_mean and running_var: expected without use_input_stats")
    _of_channels(env, input[1], running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    return Shape(input, dtype=input.dtype)


@rule("group_norm", schema="input, num_groups, weight=None, bias=None, eps=1e-05")
def group_norm(env: ShapeEnv, input: Shape, num_groups: Int, weight: Shape | None, bias: Shape | None) -> Shape:
    """The sizes of the input; each group needs more than one number."""
    env.require(len(input) > 1, "input: expected at least two axes")
    env.require(num_groups > 0, "num_groups: expected at least 1")
    batch, channels = input[:2]
    env.require(channels % num_groups == 0, "input: its channels are not divisible by num_groups")
    env.require(sym_or(batch != 1, channels != num_groups, *[size != 1 for size in input[2:]]), ALONE)
    for parameter in (weight, bias):
        if parameter is not None:
            env.require(len(parameter) == 1, "weight and bias: expected vectors")
            agree(env, channels, parameter[0], "weight and bias: expected one element for each channel")
    return Shape(input, dtype=input.dtype)


@rule("local_response_norm", schema="input, size, alpha=0.0001, beta=0.75, k=1.0")
def local_response_norm(env: ShapeEnv, input: Shape, size: Int) -> Shape:
    """The sizes of the input."""
    env.require(len(input) > 2, "input: expected at least three axes")
    if not isinstance(size, int) or size < 1:
        env.require(sym_or(size >= 1, empty(input)), "size: expected at least 1")
    return Shape(input, dtype=input.dtype)


@rule("normalize", schema="input, p=2.0, dim=1, eps=1e-12, out=None")
def normalize(env: ShapeEnv, input: Shape, p: float, dim: int | Sequence[int]) -> Shape:
    """The sizes of the input."""
    axes = all_or(dim, len(input))
    if p < 0 or p == inf:
        need_elements(env, input, axes)
    return Shape(input, dtype=input.dtype)


@rule("renorm")
def renorm(env: ShapeEnv, input: Shape, p: Real, dim: int, maxnorm: Real) -> Shape:
    """The sizes of the input."""
    env.require(len(input) > 1, "input: expected at least two axes")
    env.require(p > 0, "p: expected more than 0")
    env.require(maxnorm >= 0, "maxnorm: expected 0 or more")
    axis_of(dim, len(input))
    return Shape(input, dtype=input.dtype)


@rule("cosine_similarity")
def cosine_similarity(env: ShapeEnv, x1: Shape, x2: Shape, dim: int = 1, eps: float = 1e-08) -> Shape:
    """The sizes that both broadcast to, without the axis of the vectors."""
    sizes = broadcast(env, x1, x2)
    return Shape(without(sizes, axes_of(dim, len(sizes))), dtype=floating(promoted(x1, x2)))


@rule("pairwise_distance", schema="x1, x2, p=2.0, eps=1e-06, keepdim=False")
def pairwise_distance(env: ShapeEnv, x1: Shape, x2: Shape, p: float, keepdim: bool) -> Shape:
    """The sizes that both broadcast to, without the last axis."""
    sizes = broadcast(env, x1, x2)
    axis = axis_of(-1, len(sizes))
    if p < 0 or p == inf:
        need_elements(env, sizes, (axis,))
    return Shape(reduced(sizes, (axis,), keepdim), dtype=promoted(x1, x2))


@rule("cdist")
def cdist(env: ShapeEnv, x1: Shape, x2: Shape, p: float = 2.0, compute_mode: str = CDIST_MODES[0]) -> Shape:
    """The numbers of rows of both, behind the batch that both broadcast to."""
    expect_one_of(compute_mode, CDIST_MODES, "compute_mode")
    env.require(p >= 0, "p: expected 0 or more")
    env.require(len(x1) > 1 and len(x2) > 1, "x1 and x2: expected at least two axes")
    agree(env, x1[-1], x2[-1], "x1 and x2: rows of different sizes")
    return Shape((*broadcast(env, x1[:-2], x2[:-2]), x1[-2], x2[-2]), dtype=x1.dtype)


@rule("pdist")
def pdist(env: ShapeEnv, input: Shape, p: float = 2.0) -> Shape:
    """The number of pairs of rows."""
    env.require(len(input) == 2, "input: expected two axes")
    env.require(p >= 0, "p: expected 0 or more")
    rows = input[0]
    return Shape((rows * (rows - 1) // 2,), dtype=input.dtype)
