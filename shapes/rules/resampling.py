"""Resampling of images: interpolation, grid sampling and pixel shuffles.

>>> from shapes import ShapeEnv
>>> from shapes.rules import rules
>>> env = ShapeEnv(origin=lambda: None)
>>> b, h, w = env.sizes("b h w", lo=1, hi=4096)
>>> rules["interpolate"](env, (b, 3, h, w), scale_factor=(2.0, 1.5), mode="bilinear")
Shape(b, 3, 2*h, w + w//2)
>>> rules["pixel_shuffle"](env, (b, 16, h, w), 2)
Shape(b, 4, 2*h, 2*w)
>>> env.guards()
()
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeVar

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.broadcasting import agree
from shapes.rules.expectations import expect_axes, expect_one_of, expect_rank
from shapes.rules.pooling import divided
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.windows import positive
from shapes.symbolic.choices import Int, sym_int, sym_or
from shapes.symbolic.numbers import SymInt

T = TypeVar("T")

MODES: Final = {
    "nearest": (3, 4, 5),
    "nearest-exact": (3, 4, 5),
    "area": (3, 4, 5),
    "linear": (3,),
    "bilinear": (4,),
    "bicubic": (4,),
    "lanczos": (4,),
    "trilinear": (5,),
}
"""The ranks that each mode takes."""

CORNERLESS: Final = ("nearest", "nearest-exact", "area")
ANTIALIASED: Final = ("bilinear", "bicubic", "lanczos")
EXACT: Final = 2**53
"""The largest integer up to which all are floats."""


def resized(
    env: ShapeEnv, input: Shape, size: Int | Sequence[Int] | None, scale_factor: float | Sequence[float] | None,
    mode: str, align_corners: bool | None, recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Shape:  # fmt: skip
    """Batch, channels, and either the size or the input's times the factor, rounded towards zero."""
    if mode not in MODES or len(input) not in MODES[mode]:
        raise ShapeError(f"mode={mode!r}: not for {len(input)} axes")
    if align_corners is not None and (mode in CORNERLESS or (mode == "lanczos" and align_corners)):
        raise ShapeError(f"mode={mode!r}: takes no align_corners")
    if antialias and mode not in ANTIALIASED:
        raise ShapeError(f"mode={mode!r}: takes no antialias")
    if mode == "lanczos" and not antialias:
        raise ShapeError("mode='lanczos': needs antialias")
    if (size is None) == (scale_factor is None):
        raise ShapeError("expected either size or scale_factor")
    if recompute_scale_factor and size is not None:
        raise ShapeError("recompute_scale_factor: not with a size")
    axes = len(input) - 2
    factors = [float(factor) for factor in _numbers(scale_factor, axes)]
    if factors:
        sizes = [scaled(env, one, factor) for one, factor in zip(input[2:], factors, strict=True)]
    else:
        sizes = [_size(one) for one in _numbers(size, axes)]
    if mode == "area":
        return divided(env, axes, input, sizes, average=True)
    positive(env, input[1:], "an axis of the input is empty")
    for index, one in enumerate(sizes):
        if not (factors and factors[index] >= 1):
            positive(env, (one,), "an axis of the output is empty")
    return Shape((*input[:2], *sizes), dtype=input.dtype)


def _numbers(value: T | Sequence[T] | None, axes: int) -> Sequence[T]:
    """One for each axis, none if none are given."""
    if value is None:
        return ()
    if not isinstance(value, tuple | list):
        return (value,) * axes  # type: ignore[return-value]
    if len(value) != axes:
        raise ShapeError(f"expected {axes} numbers, not {len(value)}")
    return value


def scaled(env: ShapeEnv, size: Int, factor: float) -> Int:
    """A size times a factor as floats compute it, which is exact while the numbers are not too large."""
    if isinstance(size, SymInt) and factor > 0 and not math.isinf(factor):
        multiplier, divisor = factor.as_integer_ratio()
        hi = env.known.bounds(size.expr)[1]
        if hi is not None and hi * multiplier <= EXACT:
            return size * multiplier // divisor
    return sym_int(size * factor)


def _size(value: object) -> Int:
    if isinstance(value, bool) or not isinstance(value, int | SymInt):
        raise ShapeError(f"size={value!r}: expected a number of elements")
    return value


@rule("interpolate")
def interpolate(
    env: ShapeEnv, input: Shape, size: Int | Sequence[Int] | None = None,
    scale_factor: float | Sequence[float] | None = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Shape:  # fmt: skip
    """Batch, channels, and either the size or the input's times the factor, rounded towards zero."""
    return resized(env, input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)


@rule("upsample")
def upsample(
    env: ShapeEnv, input: Shape, size: Int | Sequence[Int] | None = None,
    scale_factor: float | Sequence[float] | None = None, mode: str = "nearest", align_corners: bool | None = None,
) -> Shape:  # fmt: skip
    """As `interpolate`."""
    return resized(env, input, size, scale_factor, mode, align_corners)


@rule("upsample_nearest")
def upsample_nearest(
    env: ShapeEnv, input: Shape, size: Int | Sequence[Int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Shape:  # fmt: skip
    """As `interpolate`."""
    return resized(env, input, size, scale_factor, "nearest", None)


@rule("upsample_bilinear")
def upsample_bilinear(
    env: ShapeEnv, input: Shape, size: Int | Sequence[Int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Shape:  # fmt: skip
    """As `interpolate`."""
    return resized(env, input, size, scale_factor, "bilinear", True)


@rule("grid_sample", schema="input, grid, mode='bilinear', padding_mode='zeros', align_corners=None")
def grid_sample(env: ShapeEnv, input: Shape, grid: Shape, mode: str, padding_mode: str) -> Shape:
    """Batch and channels of the input, then the sizes of the grid without its coordinates."""
    expect_one_of(mode, ("bilinear", "nearest", "bicubic"), "mode")
    expect_one_of(padding_mode, ("zeros", "border", "reflection"), "padding_mode")
    rank = len(input)
    if rank not in (4, 5) or len(grid) != rank:
        raise ShapeError(f"input has {rank} axes and grid {len(grid)}: expected 4 or 5 of both")
    if mode == "bicubic" and rank == 5:
        raise ShapeError("mode='bicubic': expected an input with 4 axes")
    agree(env, input[0], grid[0], "grid has another batch than input")
    agree(env, grid[-1], rank - 2, "grid has not one coordinate for each axis of the image")
    positive(env, input[2:], "an axis of the input is empty")
    return Shape((*input[:2], *grid[1:-1]), dtype=input.dtype)


@rule("affine_grid")
def affine_grid(env: ShapeEnv, theta: Shape, size: Sequence[Int], align_corners: bool | None = None) -> Shape:
    """Batch and image sizes, then one coordinate for each of them."""
    axes = len(size) - 2
    if axes not in (2, 3):
        raise ShapeError(f"size has {len(size)} numbers: expected 4 or 5")
    expect_rank(theta, 3, "theta")
    env.require(theta[1] == axes, "theta has not one row for each axis of the image")
    env.require(theta[2] == axes + 1, "theta has not one column for each axis of the image and one more")
    positive(env, size[2:], "size is not positive")
    for number in size[:2]:
        # torch looks no further once one of the corners has no direction
        alone = sym_or(*[one == 1 for one in size[2:]]) if align_corners else False
        env.require(sym_or(number >= 1, alone), "size is not positive")
    agree(env, theta[0], size[0], "theta has another batch than size")
    return Shape((size[0], *size[2:], axes), dtype=theta.dtype)


@rule("pixel_shuffle")
def pixel_shuffle(env: ShapeEnv, input: Shape, upscale_factor: Int) -> Shape:
    """Channels become pixels: (..., channels / factor**2, height * factor, width * factor)."""
    _image(env, input, upscale_factor)
    square = upscale_factor * upscale_factor
    env.require(input[-3] % square == 0, "channels are not divisible by the square of the factor")
    sizes = (input[-3] // square, input[-2] * upscale_factor, input[-1] * upscale_factor)
    return Shape((*input[:-3], *sizes), dtype=input.dtype)


@rule("pixel_unshuffle")
def pixel_unshuffle(env: ShapeEnv, input: Shape, downscale_factor: Int) -> Shape:
    """Pixels become channels: (..., channels * factor**2, height / factor, width / factor)."""
    _image(env, input, downscale_factor)
    for size in input[-2:]:
        env.require(size % downscale_factor == 0, "an axis of the image is not divisible by the factor")
    square = downscale_factor * downscale_factor
    sizes = (input[-3] * square, input[-2] // downscale_factor, input[-1] // downscale_factor)
    return Shape((*input[:-3], *sizes), dtype=input.dtype)


def _image(env: ShapeEnv, x: Shape, factor: Int) -> None:
    expect_axes(x, 3, "input")
    positive(env, (factor,), "the factor is not positive")


@rule("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(env: ShapeEnv, input: Shape, groups: Int) -> Shape:
    """The sizes of the input."""
    expect_axes(input, 3, "input")
    positive(env, (groups,), "groups is not positive")
    env.require(input[1] % groups == 0, "channels are not divisible by groups")
    return Shape(input, dtype=input.dtype)
