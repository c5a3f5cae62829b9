"""Reductions: sums, extremes, moments, norms, quantiles.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, h = env.sizes("b s h")
    >>> rules["mean"](env, (b, s, h), dim=(0, -1), keepdim=True)
    Shape(1, s, 1)
    >>> rules["max"](env, (b, s, h), 1)
    (Shape(b, h), Shape(b, h, dtype=int64))
    >>> [guard.text for guard in env.guards()]              # there is no largest of none
    ['s != 0']

Most take no axes, or an empty list of them, to mean all. What has no value for no elements needs some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.axes import axes_of, axis_of, reduced
from shapes.rules.broadcasting import broadcast
from shapes.rules.expectations import expect_one_of
from shapes.rules.pointwise import met
from shapes.rules.promotion import floating, named, promoted, real, summed
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.structure import filled
from shapes.symbolic.choices import Int

Dims = int | Sequence[int] | None
Accumulator = Callable[[str | None], str | None]

NO_IDENTITY: Final = "dim: there are no elements to choose from"


def all_or(dims: Dims, rank: int) -> tuple[int, ...]:
    """Axes by number, where no axes mean all of them."""
    return axes_of(None if dims is None or (not isinstance(dims, int) and not dims) else dims, rank)


def need_elements(env: ShapeEnv, sizes: Sequence[Int], axes: Sequence[int]) -> None:
    """Require that axes to be reduced have elements, where an operator has no value for none."""
    env.require(filled([sizes[axis] for axis in axes if axis < len(sizes)]), NO_IDENTITY)


SUM: Final = "input, dim=None, keepdim=False, *, dtype=None"


@rule("sum", "nansum", schema=SUM, accumulator=summed)
@rule("mean", "nanmean", schema=SUM, accumulator=floating)
def sum_or_mean(
    env: ShapeEnv, accumulator: Accumulator, input: Shape, dim: Dims, keepdim: bool, dtype: object
) -> Shape:
    """The sizes without the axes that are reduced."""
    result = accumulator(input.dtype) if dtype is None else named(dtype)
    return Shape(reduced(input, all_or(dim, len(input)), keepdim), dtype=result)


@rule("prod")
def prod(
    env: ShapeEnv, input: Shape, dim: int | None = None, keepdim: bool = False, *, dtype: object = None
) -> Shape:
    """The sizes without the axis that is reduced, or none."""
    axes = range(len(input)) if dim is None else (axis_of(dim, len(input)),)
    return Shape(reduced(input, axes, keepdim), dtype=summed(input.dtype) if dtype is None else named(dtype))


@rule("amax", "amin")
def amax(env: ShapeEnv, input: Shape, dim: Dims = (), keepdim: bool = False) -> Shape:
    """The sizes without the axes that are reduced."""
    axes = all_or(dim, len(input))
    need_elements(env, input, axes if dim not in ((), None) else range(len(input)))
    return Shape(reduced(input, axes, keepdim), dtype=input.dtype)


@rule("all", "any")
def all_true(env: ShapeEnv, input: Shape, dim: Dims = None, keepdim: bool = False) -> Shape:
    """The sizes without the axes that are reduced; here an empty list of axes means none."""
    dtype = None if input.dtype is None else "uint8" if input.dtype == "uint8" else "bool"
    return Shape(reduced(input, axes_of(dim, len(input)), keepdim), dtype=dtype)


@rule("logsumexp", "special.logsumexp")
def logsumexp(env: ShapeEnv, input: Shape, dim: int | Sequence[int], keepdim: bool = False) -> Shape:
    """The sizes without the axes that are reduced."""
    return Shape(reduced(input, all_or(dim, len(input)), keepdim), dtype=floating(input.dtype))


@rule("count_nonzero")
def count_nonzero(env: ShapeEnv, input: Shape, dim: Dims = None) -> Shape:
    """The sizes without the axes that are counted over."""
    return Shape(reduced(input, all_or(dim, len(input)), False), dtype="int64")


def _moment(input: Shape, dim: Dims, keepdim: bool) -> Shape:
    # a bool in the place of the axes is the older form's `unbiased`
    axes = all_or(None if isinstance(dim, bool) else dim, len(input))
    return Shape(reduced(input, axes, keepdim), dtype=real(input.dtype))


@rule("std", "var", schema="input, dim=None, unbiased=True, keepdim=False, *, correction=None")
def std(env: ShapeEnv, input: Shape, dim: Dims, keepdim: bool) -> Shape:
    """The sizes without the axes that are reduced."""
    return _moment(input, dim, keepdim)


@rule("std_mean", "var_mean", schema="input, dim=None, unbiased=True, keepdim=False, *, correction=None")
def std_mean(env: ShapeEnv, input: Shape, dim: Dims, keepdim: bool) -> tuple[Shape, Shape]:
    """The sizes without the axes that are reduced, twice."""
    moment = _moment(input, dim, keepdim)
    return moment, Shape(moment, dtype=input.dtype)


@rule("linalg.vector_norm")
def vector_norm(
    env: ShapeEnv, x: Shape, ord: float | str = 2, dim: Dims = None, keepdim: bool = False, *, dtype: object = None
) -> Shape:
    """The sizes without the axes that the norm is taken over."""
    if isinstance(ord, str):
        raise ShapeError(f"ord={ord!r}: expected a number")
    return _norm(env, x, ord, all_or(dim, len(x)), keepdim, dtype)


@rule("norm", schema="input, p='fro', dim=None, keepdim=False, out=None, dtype=None")
def norm(env: ShapeEnv, input: Shape, p: float | str | None, dim: Dims, keepdim: bool, dtype: object) -> Shape:
    """The sizes without the axes that the norm is taken over; a matrix norm has two of them."""
    if p not in ("fro", "nuc") and isinstance(p, str):
        raise ShapeError(f"p={p!r}: expected a number, 'fro' or 'nuc'")
    axes = axes_of(dim, len(input)) if p == "nuc" else all_or(dim, len(input))
    if p == "nuc" or (p == "fro" and not isinstance(dim, int) and dim and len(axes) > 2):
        env.require(len(axes) == 2, "dim: expected two axes, for the norm of a matrix")
    return _norm(env, input, p, axes, keepdim, dtype)


def _norm(
    env: ShapeEnv, input: Shape, order: float | str | None, axes: Sequence[int], keepdim: bool, dtype: object
) -> Shape:
    if isinstance(order, int | float) and (order < 0 or order == inf):
        need_elements(env, input, axes)
    return Shape(reduced(input, axes, keepdim), dtype=real(input.dtype) if dtype is None else named(dtype))


@rule("dist")
def dist(env: ShapeEnv, input: Shape, other: Shape, p: float = 2) -> Shape:
    """A single number; both have to broadcast."""
    sizes = broadcast(env, input, other)
    if p < 0 or p == inf:
        env.require(filled(sizes), NO_IDENTITY)
    return Shape((), dtype=promoted(input, other))


def _of_axis(input: Shape, dim: int, keepdim: bool) -> tuple[Shape, Shape]:
    """The elements chosen along an axis, and where they were."""
    sizes = reduced(input, (axis_of(dim, len(input)),), keepdim)
    return Shape(sizes, dtype=input.dtype), Shape(sizes, dtype="int64")


@rule("max", "min")
def max_or_maximum(
    env: ShapeEnv,
    input: Shape,
    dim: int | Shape | None = None,
    keepdim: bool = False,
    *,
    other: Shape | None = None,
) -> Shape | tuple[Shape, Shape]:
    """One number; or the sizes without an axis, for values and indices; or, of two tensors, what they broadcast to."""
    if isinstance(dim, Shape):
        other, dim = dim, None
    if other is not None:
        return Shape(met(env, input, other), dtype=promoted(input, other))
    if dim is None:
        need_elements(env, input, range(len(input)))
        return Shape((), dtype=input.dtype)
    need_elements(env, input, (axis_of(dim, len(input)),))
    return _of_axis(input, dim, keepdim)


@rule("argmax", "argmin")
def argmax(env: ShapeEnv, input: Shape, dim: int | None = None, keepdim: bool = False) -> Shape:
    """The sizes without the axis that is searched, or none."""
    axes = range(len(input)) if dim is None else (axis_of(dim, len(input)),)
    need_elements(env, input, axes)
    return Shape(reduced(input, axes, keepdim), dtype="int64")


@rule("aminmax")
def aminmax(env: ShapeEnv, input: Shape, *, dim: int | None = None, keepdim: bool = False) -> tuple[Shape, Shape]:
    """The sizes without the axis that is searched, or none, for least and largest."""
    axes = range(len(input)) if dim is None else (axis_of(dim, len(input)),)
    need_elements(env, input, axes)
    least = Shape(reduced(input, axes, keepdim), dtype=input.dtype)
    return least, least


@rule("median", "nanmedian")
def median(
    env: ShapeEnv, input: Shape, dim: int | None = None, keepdim: bool = False
) -> Shape | tuple[Shape, Shape]:
    """One number, which there is without elements as well; or the sizes without an axis, for values and indices."""
    if dim is None:
        return Shape((), dtype=input.dtype)
    need_elements(env, input, (axis_of(dim, len(input)),))
    return _of_axis(input, dim, keepdim)


@rule("mode")
def mode(env: ShapeEnv, input: Shape, dim: int = -1, keepdim: bool = False) -> tuple[Shape, Shape]:
    """The sizes without the axis that is searched, for values and indices."""
    need_elements(env, input, (axis_of(dim, len(input)),))
    return _of_axis(input, dim, keepdim)


@rule("quantile", "nanquantile")
def quantile(
    env: ShapeEnv,
    input: Shape,
    q: Shape | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Shape:
    """The sizes without the axis that is reduced, or none; one of these for each q, where there are several."""
    expect_one_of(interpolation, ("linear", "lower", "higher", "midpoint", "nearest"), "interpolation")
    env.require(filled(input), "input: expected elements")
    axes = range(len(input)) if dim is None else (axis_of(dim, len(input)),)
    sizes = reduced(input, axes, keepdim)
    if isinstance(q, Shape):
        env.require(len(q) <= 1, "q: expected a number or a vector")
        same_dtype = q.dtype == input.dtype or None in (q.dtype, input.dtype)
        env.require(same_dtype, "q: expected the dtype of the input")
        sizes = (*q, *sizes)
    else:
        env.require(0 <= q <= 1, "q: expected a number from 0 to 1")
    return Shape(sizes, dtype=input.dtype)
