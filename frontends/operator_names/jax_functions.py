"""JAX's primitives as `jax.lax` names them: `lax["dot_general"]`, `lax["conv_general_dilated"]`. None of it needs JAX.

`jax.numpy` has the names of NumPy (`frontends.operator_names.numpy`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from frontends.operator_names.named_rules import OperatorNames, renamed
from shapes.env import ShapeEnv
from shapes.environment.layout import numel
from shapes.errors import ShapeError
from shapes.rules import Rule, Shape, rules
from shapes.rules.broadcasting import agree, broadcast, same
from shapes.rules.windows import window_reach
from shapes.symbolic.choices import Int, sym_max, sym_or

UNARY: Final = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh", "digamma", "erf", "erfc",
    "exp", "exp2", "expm1", "floor", "lgamma", "log", "log1p", "neg", "reciprocal", "round", "rsqrt", "sign", "sin",
    "sinh", "sqrt", "square", "tan", "tanh",
)  # fmt: skip
BINARY: Final = (
    "add", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "div", "eq", "ge", "gt", "le", "lt", "max", "min",
    "mul", "ne", "nextafter", "pow", "rem", "sub",
)  # fmt: skip

TABLE: Final = """
    argmax(operand, axis, index_dtype=None) = argmax(operand, axis)
    argmin(operand, axis, index_dtype=None) = argmin(operand, axis)
    batch_matmul(lhs, rhs) = matmul(lhs, rhs)
    broadcast(operand, sizes) = expand(operand, (*sizes, *operand))
    concatenate(operands, dimension) = cat(operands, dimension)
    cumsum(operand, axis=0, reverse=False) = cumsum(operand, axis)
    cumprod(operand, axis=0, reverse=False) = cumprod(operand, axis)
    cummax(operand, axis=0, reverse=False) = cumsum(operand, axis)
    rev(operand, dimensions) = flip(operand, dimensions)
    squeeze(array, dimensions) = squeeze(array, dimensions)
    top_k(operand, k) = topk(operand, k)
    transpose(operand, permutation) = permute(operand, permutation)
"""


def _like(name: str) -> Rule | None:
    if name in UNARY and name in rules:
        return renamed(f"lax.{name}", rules[name], {"input": "x"})
    return None


lax: Final = OperatorNames("lax", TABLE, like=_like)


def _elementwise(env: ShapeEnv, x: Shape, y: Shape) -> Shape:
    """The sizes to which both arrays broadcast; their ranks are equal, unless one is a scalar."""
    if len(x) and len(y) and len(x) != len(y):
        raise ShapeError(f"arrays have {len(x)} and {len(y)} axes")
    return Shape(broadcast(env, x, y), dtype=x.dtype)


for _name in BINARY:
    lax.define(_name)(_elementwise)


@lax.define("select")
def select(env: ShapeEnv, pred: Shape, on_true: Shape, on_false: Shape) -> Shape:
    """The sizes of both choices; the predicate has the same sizes, or is a scalar."""
    if len(on_true) != len(on_false) or len(pred) not in (0, len(on_true)):
        raise ShapeError(f"arrays have {len(pred)}, {len(on_true)} and {len(on_false)} axes")
    pairs = [*zip(on_true, on_false), *zip(on_true, pred)]
    for one, other in pairs:
        agree(env, one, other, "arrays have different sizes")
    return Shape(on_true, dtype=on_true.dtype)


@lax.define("reshape")
def reshape(env: ShapeEnv, operand: Shape, new_sizes: Sequence[Int], dimensions: Sequence[int] | None = None) -> Shape:
    """The new sizes, which have as many elements; none is inferred."""
    env.require(numel(operand) == numel(new_sizes), "the number of elements is another one")
    return Shape(new_sizes, dtype=operand.dtype)


@lax.define("broadcast_in_dim")
def broadcast_in_dim(
    env: ShapeEnv, operand: Shape, shape: Sequence[Int], broadcast_dimensions: Sequence[int]
) -> Shape:
    """The given sizes, of which some are the operand's where that is not 1."""
    if len(operand) != len(broadcast_dimensions):
        raise ShapeError(f"broadcast_dimensions={broadcast_dimensions}: expected one for each of {len(operand)} axes")
    if list(broadcast_dimensions) != sorted(set(broadcast_dimensions)):
        raise ShapeError(f"broadcast_dimensions={broadcast_dimensions}: expected axes in order")
    for size, axis in zip(operand, broadcast_dimensions, strict=True):
        if not 0 <= axis < len(shape):
            raise ShapeError(f"broadcast_dimensions={broadcast_dimensions}: expected one of 0 to {len(shape) - 1}")
        if not same(size, shape[axis]):
            env.require(sym_or(size == 1, size == shape[axis]), "an axis does not broadcast to the given size")
    return Shape(shape, dtype=operand.dtype)


@lax.define("slice")
def slice_(
    env: ShapeEnv, operand: Shape, start_indices: Sequence[Int], limit_indices: Sequence[Int],
    strides: Sequence[Int] | None = None,
) -> Shape:  # fmt: skip
    """From start to limit on every axis; neither counts from the end, and neither is clamped."""
    steps = [1] * len(operand) if strides is None else strides
    sizes: list[Int] = []
    for size, start, limit, step in zip(operand, start_indices, limit_indices, steps, strict=True):
        env.require(start >= 0, "a start is negative")
        env.require(limit <= size, "a limit is behind the end")
        env.require(start <= limit, "a start is behind its limit")
        env.require(step >= 1, "a stride is not positive")
        sizes.append(-((start - limit) // step))
    return Shape(sizes, dtype=operand.dtype)


@lax.define("dynamic_slice")
def dynamic_slice(env: ShapeEnv, operand: Shape, start_indices: object, slice_sizes: Sequence[Int]) -> Shape:
    """The given sizes, which are at most those of the operand."""
    for size, wanted in zip(operand, slice_sizes, strict=True):
        env.require(wanted <= size, "a slice is longer than its axis")
    return Shape(slice_sizes, dtype=operand.dtype)


@lax.define("pad")
def pad(env: ShapeEnv, operand: Shape, padding_value: object, padding_config: Sequence[Sequence[Int]]) -> Shape:
    """Padding before, after and between elements; negative padding removes elements."""
    sizes: list[Int] = []
    for size, (low, high, interior) in zip(operand, padding_config, strict=True):
        env.require(interior >= 0, "interior padding is negative")
        padded = size + sym_max(size - 1, 0) * interior + low + high
        env.require(padded >= 0, "padding takes more than there is")
        sizes.append(padded)
    return Shape(sizes, dtype=operand.dtype)


@lax.define("iota")
def iota(env: ShapeEnv, dtype: object, size: Int) -> Shape:
    """The given number of integers."""
    return Shape((size,))


Contracting = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


@lax.define("dot_general")
def dot_general(env: ShapeEnv, lhs: Shape, rhs: Shape, dimension_numbers: Contracting) -> Shape:
    """Batch axes, then the free axes of the first and of the second."""
    (left, right), (left_batch, right_batch) = dimension_numbers
    for one, other in (*zip(left, right, strict=True), *zip(left_batch, right_batch, strict=True)):
        agree(env, lhs[one], rhs[other], "axes that are paired have different sizes")
    rest = [size for axis, size in enumerate(lhs) if axis not in (*left, *left_batch)]
    rest += [size for axis, size in enumerate(rhs) if axis not in (*right, *right_batch)]
    return Shape((*[lhs[axis] for axis in left_batch], *rest), dtype=lhs.dtype)


@lax.define("conv_general_dilated")
def conv_general_dilated(
    env: ShapeEnv, lhs: Shape, rhs: Shape, window_strides: Sequence[Int], padding: str | Sequence[tuple[Int, Int]],
    lhs_dilation: Sequence[Int] | None = None, rhs_dilation: Sequence[Int] | None = None,
    feature_group_count: int = 1, batch_group_count: int = 1,
) -> Shape:  # fmt: skip
    """Batch, output channels, then one element for each window; none if the kernel does not fit."""
    axes = len(lhs) - 2
    if len(rhs) != len(lhs):
        raise ShapeError(f"operands have {len(lhs)} and {len(rhs)} axes")
    agree(env, rhs[1] * feature_group_count, lhs[1], "input channels are not groups times those of the kernel")
    env.require(rhs[0] % feature_group_count == 0, "output channels are not divisible by feature_group_count")
    env.require(lhs[0] % batch_group_count == 0, "the batch is not divisible by batch_group_count")
    env.require(rhs[0] % batch_group_count == 0, "output channels are not divisible by batch_group_count")
    lhs_steps, reach = lhs_dilation or (1,) * axes, rhs_dilation or (1,) * axes
    sizes: list[Int] = []
    for axis in range(axes):
        size = sym_max((lhs[axis + 2] - 1) * lhs_steps[axis] + 1, 0) if lhs_steps[axis] != 1 else lhs[axis + 2]
        window, stride = window_reach(rhs[axis + 2], reach[axis]), window_strides[axis]
        if isinstance(padding, str) and any(step != 1 for step in lhs_steps):
            raise ShapeError("with lhs_dilation, padding has to be given as numbers")
        if padding == "SAME":
            sizes.append(-(-size // stride))
            continue
        low, high = (0, 0) if isinstance(padding, str) else padding[axis]
        sizes.append(sym_max((size + low + high - window) // stride + 1, 0))
    batch = lhs[0] if batch_group_count == 1 else lhs[0] // batch_group_count
    return Shape((batch, rhs[0], *sizes), dtype=lhs.dtype)


@lax.define("reduce_window")
def reduce_window(
    env: ShapeEnv, operand: Shape, init_value: object, computation: object, window_dimensions: Sequence[Int],
    window_strides: Sequence[Int], padding: str | Sequence[tuple[Int, Int]],
) -> Shape:  # fmt: skip
    """Windows along every axis."""
    sizes: list[Int] = []
    for axis, (size, window, stride) in enumerate(zip(operand, window_dimensions, window_strides, strict=True)):
        if padding == "SAME":
            sizes.append(-(-size // stride))
            continue
        low, high = (0, 0) if isinstance(padding, str) else padding[axis]
        sizes.append(sym_max((size + low + high - window) // stride + 1, 0))
    return Shape(sizes, dtype=operand.dtype)


@lax.define("expand_dims")
def expand_dims(env: ShapeEnv, array: Shape, dimensions: Sequence[int]) -> Shape:
    """New axes of size 1 at these positions of the result."""
    rank = len(array) + len(dimensions)
    places = {axis % rank for axis in dimensions}
    sizes = iter(array)
    return Shape([1 if axis in places else next(sizes) for axis in range(rank)], dtype=array.dtype)
