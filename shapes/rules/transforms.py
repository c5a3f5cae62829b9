"""Fourier transforms.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", lo=1)
    >>> rules["fft.rfft"](env, (b, s))
    Shape(b, s//2 + 1)
    >>> rules["fft.irfft2"](env, (b, 8, 5), s=(8, 8))
    Shape(b, 8, 8)
    >>> rules["stft"](env, (b, s), n_fft=400, hop_length=160, return_complex=True)
    Shape(b, 201, s//160 + 1)
    >>> [guard.text for guard in env.guards()]
    ['s >= 201']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.axes import axes_of, axis_of
from shapes.rules.broadcasting import agree
from shapes.rules.expectations import expect_axes, expect_rank
from shapes.rules.promotion import COMPLEX_OF, floating, real
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.windows import require_at_least
from shapes.symbolic.choices import Int, sym_or

Axes = int | Sequence[int] | None
POINTS = "there are no data points"


def _complex(dtype: str | None) -> str | None:
    dtype = floating(dtype)
    return None if dtype is None else COMPLEX_OF.get(dtype, dtype)


def _full(env: ShapeEnv, sizes: list[Int], given: Sequence[Int | None], axes: Sequence[int]) -> None:
    """As many points as are given, or as there are."""
    for axis, n in zip(axes, given):
        points = sizes[axis] if n is None else n
        require_at_least(env, points, 1, POINTS)
        sizes[axis] = points


def _half(sizes: list[Int], axis: int) -> None:
    """The half of the spectrum that a real signal needs: the rest are conjugates."""
    sizes[axis] = sizes[axis] // 2 + 1


def _doubled(env: ShapeEnv, sizes: list[Int], n: Int | None, axis: int) -> None:
    """As many points as are given, or the even number whose half these are."""
    points = 2 * (sizes[axis] - 1) if n is None else n
    require_at_least(env, points, 1, POINTS)
    sizes[axis] = points


def _several_axes(
    input: Shape, s: Sequence[Int] | None, dim: Axes, *, least: int = 0
) -> tuple[tuple[int, ...], list[Int | None]]:
    """The axes that are transformed, and the number of points given for each."""
    rank = len(input)
    if dim is None:
        count = rank if s is None else len(s)
        if count > rank:
            raise ShapeError(f"s: expected at most {rank} numbers, not {count}")
        axes = tuple(range(rank - count, rank))
    else:
        if not input and dim != ():
            raise ShapeError("input: expected at least 1 axis")
        axes = axes_of(dim, rank)
        if s is not None and len(s) != len(axes):
            raise ShapeError(f"s: expected {len(axes)} numbers, not {len(s)}")
    if len(axes) < least:
        raise ShapeError("expected at least one axis to transform")
    # -1 stands for as many points as there are
    if s is None:
        return axes, [None] * len(axes)
    return axes, [None if isinstance(n, int) and n == -1 else n for n in s]


def _points(env: ShapeEnv, input: Shape, s: Sequence[Int] | None, dim: Axes) -> Shape:
    """As many frequencies as points in every axis."""
    sizes = list(input)
    axes, given = _several_axes(input, s, dim)
    _full(env, sizes, given, axes)
    return Shape(sizes, dtype=_complex(input.dtype))


def _half_of_last(env: ShapeEnv, input: Shape, s: Sequence[Int] | None, dim: Axes) -> Shape:
    """As many frequencies as points, in the last axis half as many and one."""
    sizes = list(input)
    axes, given = _several_axes(input, s, dim, least=1)
    _full(env, sizes, given, axes)
    _half(sizes, axes[-1])
    return Shape(sizes, dtype=_complex(input.dtype))


def _doubled_last(env: ShapeEnv, input: Shape, s: Sequence[Int] | None, dim: Axes) -> Shape:
    """As many points as are given; in the last axis, the even number that has these frequencies."""
    sizes = list(input)
    axes, given = _several_axes(input, s, dim, least=1)
    _full(env, sizes, given[:-1], axes)
    _doubled(env, sizes, given[-1], axes[-1])
    return Shape(sizes, dtype=real(floating(input.dtype)))


def _register(several: Callable[[ShapeEnv, Shape, Sequence[Int] | None, Axes], Shape], *names: str) -> None:
    """Register transforms over one axis, over several (by default all), and over two (by default the last)."""

    def over_one(env: ShapeEnv, input: Shape, n: Int | None, dim: int) -> Shape:
        if n is not None:
            require_at_least(env, n, 1, POINTS)
        return several(env, input, None if n is None else (n,), (dim,))

    def over_any(env: ShapeEnv, input: Shape, s: Sequence[Int] | None, dim: Axes) -> Shape:
        return several(env, input, s, dim)

    over_one.__doc__ = over_any.__doc__ = several.__doc__
    rule(*[f"fft.{name}" for name in names], schema="input, n=None, dim=-1, norm=None")(over_one)
    rule(*[f"fft.{name}n" for name in names], schema="input, s=None, dim=None, norm=None")(over_any)
    rule(*[f"fft.{name}2" for name in names], schema="input, s=None, dim=(-2, -1), norm=None")(over_any)


_register(_points, "fft", "ifft")
_register(_half_of_last, "rfft", "ihfft")
_register(_doubled_last, "irfft", "hfft")


@rule("fft.fftshift", "fft.ifftshift")
def fftshift(env: ShapeEnv, input: Shape, dim: Axes = None) -> Shape:
    """As the input."""
    axes = range(len(input)) if dim is None else (dim,) if isinstance(dim, int) else dim
    if not input or not axes:
        raise ShapeError("input and dim: expected at least 1 axis")
    for axis in axes:
        axis_of(axis, len(input))
    return Shape(input, dtype=input.dtype)


@rule("fft.fftfreq")
def fftfreq(env: ShapeEnv, n: Int, d: float = 1.0) -> Shape:
    """A frequency for each point."""
    require_at_least(env, n, 0, "n: expected no negative number")
    return Shape((n,))


@rule("fft.rfftfreq")
def rfftfreq(env: ShapeEnv, n: Int, d: float = 1.0) -> Shape:
    """Half as many frequencies as points, and one."""
    require_at_least(env, n, 0, "n: expected no negative number")
    return Shape((n // 2 + 1,))


# ------------------------------------------------------------------ short windows


@rule("stft")
def stft(
    env: ShapeEnv,
    input: Shape,
    n_fft: Int,
    hop_length: Int | None = None,
    win_length: Int | None = None,
    window: Shape | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Shape:
    """The frequencies, then the frames; real and imaginary parts in an axis of their own unless complex."""
    expect_axes(input, 1, "input", most=2)
    is_complex = any(shape is not None and _is_complex(shape) for shape in (input, window))
    if return_complex is None and not is_complex:
        raise ShapeError("return_complex: expected True or False")
    if is_complex and onesided:
        raise ShapeError("onesided=True: expected real numbers")
    if center and align_to_window is not None:
        raise ShapeError(f"align_to_window={align_to_window}: expected with center=False alone")
    hop, width = _windows(env, n_fft, hop_length, win_length, window)
    length = input[-1]
    if center:
        length = _padded(env, length, n_fft // 2, pad_mode)
    env.require(n_fft <= length, "n_fft is longer than the signal")
    frames = 1 + (length - (width if align_to_window else n_fft)) // hop
    frequencies = n_fft if onesided is False or is_complex else n_fft // 2 + 1
    parts = () if return_complex or (return_complex is None and is_complex) else (2,)
    return Shape((*input[:-1], frequencies, frames, *parts))


def _is_complex(shape: Shape) -> bool:
    return shape.dtype is not None and shape.dtype.startswith("complex")


def _windows(
    env: ShapeEnv, n_fft: Int, hop_length: Int | None, win_length: Int | None, window: Shape | None
) -> tuple[Int, Int]:
    """The step from window to window and their width."""
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    require_at_least(env, n_fft, 1, "n_fft: expected a positive number")
    require_at_least(env, hop, 1, "hop_length: expected a positive number")
    if win_length is not None:
        require_at_least(env, width, 1, "win_length: expected a positive number")
        env.require(width <= n_fft, "win_length: longer than n_fft")
    if window is not None:
        expect_rank(window, 1, "window")
        agree(env, window[0], width, "window: not as long as win_length")
    return hop, width


def _padded(env: ShapeEnv, length: Int, pad: Int, mode: str) -> Int:
    """The length of a signal padded on both sides."""
    match mode:
        case "reflect":
            env.require(pad < length, "the padding of n_fft // 2 reaches the length of the signal")
        case "circular":
            env.require(pad <= length, "the padding of n_fft // 2 is longer than the signal")
        case "replicate":
            require_at_least(env, length, 1, "the signal is empty")
        case "constant":
            pass
        case _:
            raise ShapeError(f"pad_mode={mode!r}: expected 'constant', 'reflect', 'replicate' or 'circular'")
    return length + 2 * pad


@rule("istft")
def istft(
    env: ShapeEnv,
    input: Shape,
    n_fft: Int,
    hop_length: Int | None = None,
    win_length: Int | None = None,
    window: Shape | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: Int | None = None,
    return_complex: bool = False,
) -> Shape:
    """The signal: as long as is given, or as the frames reach, without what centering had added."""
    expect_axes(input, 2, "input", most=3)
    if input.dtype is not None and not _is_complex(input):
        raise ShapeError("input: expected complex numbers")
    if onesided and return_complex:
        raise ShapeError("onesided=True: a complex signal is not conjugate to itself")
    for size in input:
        require_at_least(env, size, 1, "input: expected no empty axis")
    hop, width = _windows(env, n_fft, hop_length, win_length, window)
    env.require(hop <= width, "hop_length: longer than win_length")
    *batch, frequencies, frames = input
    half = n_fft // 2 + 1
    if onesided is None and not return_complex:
        fits = sym_or(frequencies == n_fft, frequencies == half)
    else:
        fits = frequencies == (half if onesided else n_fft)
    env.require(fits, "input: not as many frequencies as n_fft gives")
    reached = n_fft + hop * (frames - 1)
    start = n_fft // 2 if center else 0
    if length is None:
        reached = reached - 2 * start
        require_at_least(env, reached, 1, "input: too few frames")
        return Shape((*batch, reached))
    require_at_least(env, length, 1, "length: expected a positive number")
    env.require(start < reached, "input: too few frames")
    return Shape((*batch, length))
