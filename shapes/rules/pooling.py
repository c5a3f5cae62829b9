"""Pooling: sliding windows, adaptive and fractional windows, and unpooling.

>>> from shapes import ShapeEnv
>>> from shapes.rules import rules
>>> env = ShapeEnv(origin=lambda: None)
>>> b, c, h, w = env.sizes("b c h w", lo=1)
>>> rules["max_pool2d"](env, (b, c, h, w), 3, stride=2, padding=1)
Shape(b, c, ceildiv(h, 2), ceildiv(w, 2))
>>> rules["avg_pool2d"](env, (b, c, h, w), (h, w))       # a kernel may be symbolic
Shape(b, c, 1, 1)
>>> rules["adaptive_avg_pool2d"](env, (b, c, h, w), (None, 7))
Shape(b, c, h, 7)
>>> env.guards()
()
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.broadcasting import agree, agree_all
from shapes.rules.expectations import expect_rank
from shapes.rules.registry import Output, rule
from shapes.rules.shape import Shape
from shapes.rules.windows import at_least, exactly, per_axis, positive, reaches, require_at_least, split, window_reach
from shapes.symbolic.choices import Int, Truth, sym_and, sym_int, sym_max, sym_min, sym_or
from shapes.symbolic.numbers import SymInt

Ints = Int | Sequence[Int]
Floats = float | Sequence[float]


def pooled(
    env: ShapeEnv, axes: int, x: Shape, kernel_size: Ints, stride: Ints | None, padding: Ints, dilation: Ints,
    ceil_mode: bool, whole: bool = False,
) -> Shape:  # fmt: skip
    """(batch, channels, windows...) of (batch, channels, sizes...); `whole` if a window has to fit into the input."""
    batch, channels, sizes = split(x, axes)
    kernels = per_axis(kernel_size, axes, "kernel_size")
    no_stride = stride is None or (isinstance(stride, tuple | list) and not stride)
    strides = kernels if stride is None or no_stride else per_axis(stride, axes, "stride")
    paddings, dilations = per_axis(padding, axes, "padding"), per_axis(dilation, axes, "dilation")
    positive(env, kernels, "the kernel has an axis without elements")
    positive(env, strides, "stride is not positive")
    positive(env, dilations, "dilation is not positive")
    positive(env, (channels,), "there are no channels")
    windows: list[Int] = []
    for size, kernel, step, pad, factor in zip(sizes, kernels, strides, paddings, dilations, strict=True):
        if not (isinstance(pad, int) and pad == 0):
            env.require(pad >= 0, "padding is negative")
            env.require(pad <= kernel // 2, "padding is more than half of the kernel")
        reach = window_reach(kernel, factor)
        least = sym_max(1, reach - 2 * pad - (step - 1 if ceil_mode else 0))
        least = sym_max(least, kernel) if whole else least
        require_at_least(env, size, least, "the input is too small for a window")
        if not ceil_mode:
            windows.append((size + 2 * pad - reach) // step + 1)
            continue
        # the last window may lack elements, but has to start before the padding on the right
        last = (size + sym_min(2 * pad - reach + step - 1, pad - 1)) // step
        windows.append(last + 1)
    return Shape((*batch, channels, *windows), dtype=x.dtype)


def _register_windows(axes: int) -> None:
    """Pooling over windows with the given number of axes."""

    @rule(f"lp_pool{axes}d")
    def lp_pool(
        env: ShapeEnv, input: Shape, norm_type: float, kernel_size: Ints, stride: Ints | None = None,
        ceil_mode: bool = False,
    ) -> Shape:  # fmt: skip
        """Windows after batch and channels."""
        if norm_type == 0:
            raise ShapeError("norm_type=0: expected another number")
        largest = math.isinf(norm_type)
        if axes == 1 and isinstance(kernel_size, tuple | list) and not largest:
            raise ShapeError("kernel_size: expected a number")
        kernels = exactly(kernel_size, axes, "kernel_size")
        return pooled(env, axes, input, kernels, stride, 0, 1, ceil_mode, whole=axes == 3 and not largest)


for _axes in (1, 2, 3):
    _register_windows(_axes)


AVG_POOL: Final = "input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True"


@rule("avg_pool1d", schema=AVG_POOL, axes=1, divisor_override=None)
@rule("avg_pool2d", schema=f"{AVG_POOL}, divisor_override=None", axes=2)
@rule("avg_pool3d", schema=f"{AVG_POOL}, divisor_override=None", axes=3)
def avg_pool(
    env: ShapeEnv, axes: int, input: Shape, kernel_size: Ints, stride: Ints | None, padding: Ints, ceil_mode: bool,
    divisor_override: int | None,
) -> Shape:  # fmt: skip
    """Windows after batch and channels."""
    if divisor_override is not None:
        env.require(divisor_override != 0, "divisor_override is zero")
    return pooled(env, axes, input, kernel_size, stride, padding, 1, ceil_mode, whole=axes == 3)


def divided(env: ShapeEnv, axes: int, x: Shape, output_size: object, *, average: bool) -> Shape:
    """(batch, channels, output sizes...); a size of None is kept."""
    listed = isinstance(output_size, tuple | list)
    if isinstance(output_size, tuple | list) and len(output_size) != axes:
        raise ShapeError(f"output_size: expected one number or {axes}, not {len(output_size)}")
    sizes: Sequence[object] = output_size if isinstance(output_size, tuple | list) else (output_size,) * axes
    # the average in one window is a plain mean, whatever there is
    mean = sym_and(*[size == 1 for size in sizes if size is not None]) if average else False
    if None in sizes and not (isinstance(mean, bool) and not mean):
        mean = False if axes == 1 or len(x) < axes else sym_and(mean, *_kept_single(x, sizes))
    lenient = axes > 1 and not (isinstance(mean, bool) and not mean)
    if not axes + 1 <= len(x) <= axes + 2:
        if not lenient or len(x) < axes + listed:
            raise ShapeError(f"input has {len(x)} axes: expected {axes + 1} or {axes + 2}")
        env.require(mean, "input has neither the axes of an image nor those of a batch of them")
    results: list[Int] = []
    for axis, size in enumerate(sizes):
        if isinstance(size, int | SymInt):
            require_at_least(env, size, 0, "output_size is negative")
            results.append(size)
        elif size is None and axes > 1 and listed:
            results.append(x[axis - axes])
        else:
            raise ShapeError(f"output_size={size!r}: expected a number of elements")
    # torch takes the first axis for the batch, also where there is none
    for needed in x[-axes:] if average and axes < 3 else x[1:]:
        if not reaches(needed, 1):
            env.require(sym_or(mean, needed >= 1), "an axis of the input is empty")
    return Shape((*x[:-axes], *results), dtype=x.dtype)


def _kept_single(x: Shape, sizes: Sequence[object]) -> list[Truth]:
    """Return True if each of the kept sizes is 1."""
    return [x[axis - len(sizes)] == 1 for axis, size in enumerate(sizes) if size is None]


def _register_divisions(axes: int) -> None:
    """Pooling to a given number of windows along the given number of axes."""

    @rule(f"adaptive_avg_pool{axes}d")
    def adaptive_avg_pool(env: ShapeEnv, input: Shape, output_size: Ints | Sequence[Int | None]) -> Shape:
        """The output size after batch and channels."""
        return divided(env, axes, input, output_size, average=True)


for _axes in (1, 2, 3):
    _register_divisions(_axes)


def at_random(
    env: ShapeEnv, axes: int, x: Shape, kernel_size: Ints, output_size: Ints | None, output_ratio: Floats | None,
    samples: Shape | None,
) -> Shape:  # fmt: skip
    """(batch, channels, output sizes...), for windows at random places."""
    batch, channels, sizes = split(x, axes)
    kernels = exactly(kernel_size, axes, "kernel_size")
    if output_size is not None:
        results = exactly(output_size, axes, "output_size")
    elif output_ratio is None:
        raise ShapeError("expected output_size or output_ratio")
    else:
        results = tuple([sym_int(size * ratio) for size, ratio in zip(sizes, _ratios(output_ratio, axes), strict=True)])
    positive(env, x[1:], "an axis of the input is empty")
    for size, kernel, result in zip(sizes, kernels, results, strict=True):
        require_at_least(env, result, 0, "output_size is negative")
        # over three axes torch leaves one element to spare
        env.require(result + kernel - (1 if axes == 2 else 0) <= size, "the windows do not fit into the input")
    if samples is not None:
        expect_rank(samples, 3, "_random_samples")
        if samples.dtype is not None and x.dtype is not None and samples.dtype != x.dtype:
            raise ShapeError("_random_samples has another dtype than input")
        env.require(samples[0] >= (batch[0] if batch else 1), "_random_samples is too short for the batch")
        agree(env, samples[1], channels, "_random_samples has not the channels of input")
        env.require(samples[2] == axes, "_random_samples has not one number for each axis")
    return Shape((*batch, channels, *results), dtype=x.dtype)


def _ratios(ratio: Floats, axes: int) -> Sequence[float]:
    """One ratio for each axis; over three axes a single one will do, and what is too many is left out."""
    if not isinstance(ratio, tuple | list):
        if axes == 2:
            raise ShapeError("output_ratio: expected two numbers")
        return (float(ratio),) * axes  # type: ignore[arg-type]
    if len(ratio) < axes or len(ratio) > axes == 2:
        raise ShapeError(f"output_ratio: expected {axes} numbers, not {len(ratio)}")
    return ratio[:axes]


def _register_maxima(axes: int, suffix: str) -> None:
    """Largest elements of windows, whose indices are given where they are asked for, or the name has the suffix."""

    def with_indices(values: Shape, wanted: bool) -> Output:
        return (values, Shape(values, dtype="int64")) if wanted or suffix else values

    @rule(f"max_pool{axes}d{suffix}")
    def max_pool(
        env: ShapeEnv, input: Shape, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
        dilation: Ints = 1, ceil_mode: bool = False, return_indices: bool = False,
    ) -> Output:  # fmt: skip
        """Windows after batch and channels, twice with indices."""
        values = pooled(env, axes, input, kernel_size, stride, padding, dilation, ceil_mode)
        return with_indices(values, return_indices)

    @rule(f"adaptive_max_pool{axes}d{suffix}")
    def adaptive_max_pool(
        env: ShapeEnv, input: Shape, output_size: Ints | Sequence[Int | None], return_indices: bool = False
    ) -> Output:
        """The output size after batch and channels, twice with indices."""
        return with_indices(divided(env, axes, input, output_size, average=False), return_indices)

    if axes == 1:
        return

    @rule(f"fractional_max_pool{axes}d{suffix}")
    def fractional_max_pool(
        env: ShapeEnv, input: Shape, kernel_size: Ints, output_size: Ints | None = None,
        output_ratio: Floats | None = None, return_indices: bool = False, _random_samples: Shape | None = None,
    ) -> Output:  # fmt: skip
        """The output size, or a share of the input's, after batch and channels; twice with indices."""
        values = at_random(env, axes, input, kernel_size, output_size, output_ratio, _random_samples)
        return with_indices(values, return_indices)


for _axes in (1, 2, 3):
    for _suffix in ("", "_with_indices"):
        _register_maxima(_axes, _suffix)


UNPOOL: Final = "input, indices, kernel_size, stride=None, padding=0, output_size=None"


@rule("max_unpool1d", schema=UNPOOL, axes=1)
@rule("max_unpool2d", schema=UNPOOL, axes=2)
@rule("max_unpool3d", schema=UNPOOL, axes=3)
def max_unpool(
    env: ShapeEnv, axes: int, input: Shape, indices: Shape, kernel_size: Ints, stride: Ints | None, padding: Ints,
    output_size: Sequence[Int] | None,
) -> Shape:  # fmt: skip
    """(batch, channels, sizes...) from which pooling makes the input, or one of the other such sizes."""
    split(input, axes)
    kernels = exactly(kernel_size, axes, "kernel_size")
    strides = kernels if stride is None else exactly(stride, axes, "stride")
    paddings = exactly(padding, axes, "padding")
    if axes == 3:
        at_least(env, strides, 1, "stride")
    if indices.dtype not in (None, "int64"):
        raise ShapeError(f"indices has the dtype {indices.dtype}: expected int64")
    if len(indices) != len(input):
        raise ShapeError(f"indices has {len(indices)} axes: expected {len(input)}")
    agree_all(env, input, indices, "indices has another shape than input")
    positive(env, input[1:], "an axis of the input is empty")
    if output_size is not None:
        if not isinstance(output_size, tuple | list) or len(output_size) not in (axes, axes + 2):
            raise ShapeError(f"output_size: expected {axes} or {axes + 2} numbers")
        output_size = output_size[-axes:]
    results: list[Int] = []
    for axis, (kernel, step, pad) in enumerate(zip(kernels, strides, paddings, strict=True)):
        result: Int = (input[axis - axes] - 1) * step + kernel - 2 * pad
        if output_size is not None:
            wanted = output_size[axis]
            env.require(result - step < wanted, "output_size is too small")
            env.require(wanted < result + step, "output_size is too large")
            result = wanted
        require_at_least(env, result, 0, "an axis of the output has a negative size")
        results.append(result)
    return Shape((*input[:-axes], *results), dtype=input.dtype)
