"""Padding, and cropping where a pad is negative; rows of different lengths, padded to one length and back.

>>> from shapes import ShapeEnv
>>> from shapes.rules import rules
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s")
>>> rules["pad"](env, (b, s), (0, -s % 8))            # up to a multiple of 8
Shape(b, 8*ceildiv(s, 8))
>>> rules["pad"](env, (b, 3, s), (2, 2), mode="reflect")
Shape(b, 3, s + 4)
>>> [guard.text for guard in env.guards()]
['s >= 3']
>>> rows, total, width = env.sizes("rows total width")
>>> rules["_jagged_to_padded_dense_forward"](env, (total, 8), [(rows + 1,)], [width])
Shape(rows, width, 8)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.broadcasting import known
from shapes.rules.expectations import expect_axes, expect_one_of, expect_rank
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.windows import exactly, positive, reaches, require_at_least
from shapes.symbolic.choices import Int, sym_max, sym_min, sym_or

MODES: Final = ("reflect", "replicate", "circular")


def grown(env: ShapeEnv, x: Shape, pads: Sequence[Int]) -> list[Int]:
    """The sizes with a pad before and one after each axis, the last axis first; what is cropped has to be there."""
    if len(pads) % 2:
        raise ShapeError(f"pad has {len(pads)} numbers: expected an even one")
    if len(pads) > 2 * len(x):
        raise ShapeError(f"pad has {len(pads)} numbers: expected at most {2 * len(x)}")
    sizes = list(x)
    for index in range(len(pads) // 2):
        before, after = pads[2 * index], pads[2 * index + 1]
        axis = len(x) - 1 - index
        kept = x[axis]
        cropped = False
        for pad in (before, after):
            if not reaches(pad, 0) and not known(env, pad >= 0):
                kept, cropped = kept + sym_min(pad, 0), True
        if cropped:
            env.require(kept >= 0, "more is cropped than there is")
        sizes[axis] = x[axis] + before + after
    return sizes


def reached(env: ShapeEnv, x: Shape, pads: Sequence[Int], mode: str) -> Shape:
    """Sizes with pads that repeat what is there, in one to three axes of an image that may come in a batch."""
    axes = len(pads) // 2
    if not 1 <= axes <= 3 or not axes + 1 <= len(x) <= axes + 2:
        raise ShapeError(f"mode={mode!r}: cannot pad {axes} axes of {len(x)}")
    sizes = grown(env, x, pads)
    if mode != "circular":
        positive(env, x[-axes - 1 : -axes], "there are no channels")
    for index in range(axes):
        size, pad = x[len(x) - 1 - index], sym_max(pads[2 * index], pads[2 * index + 1])
        if mode == "circular":
            require_at_least(env, size, pad, "a pad is larger than its axis")
        elif mode == "reflect":
            require_at_least(env, size, sym_max(pad + 1, 1), "a pad is not smaller than its axis")
        else:
            require_at_least(env, size, 1, "an axis of the input is empty")
    if mode != "circular" and not any(reaches(size, 1) for size in sizes[-axes:]):
        env.require(sym_or(*[size >= 1 for size in sizes[-axes:]]), "nothing is left")
    return Shape(sizes, dtype=x.dtype)


@rule("pad")
def pad(env: ShapeEnv, input: Shape, pad: Sequence[Int], mode: str = "constant", value: float | None = None) -> Shape:
    """The sizes with a pad before and one after each axis, from the last axis on."""
    if not isinstance(pad, tuple | list):
        raise ShapeError("pad: expected two numbers for each axis")
    if mode == "constant":
        return Shape(grown(env, input, pad), dtype=input.dtype)
    expect_one_of(mode, ("constant", *MODES), "mode")
    if value is not None and value != 0:
        raise ShapeError(f"mode={mode!r}: takes no value")
    if len(pad) % 2:
        raise ShapeError(f"pad has {len(pad)} numbers: expected an even one")
    return reached(env, input, pad, mode)


@rule("constant_pad_nd")
def constant_pad_nd(env: ShapeEnv, input: Shape, pad: Sequence[Int], value: float = 0) -> Shape:
    """The sizes with a pad before and one after each axis, from the last axis on."""
    if not isinstance(pad, tuple | list):
        raise ShapeError("pad: expected two numbers for each axis")
    return Shape(grown(env, input, pad), dtype=input.dtype)


def _repeated(env: ShapeEnv, axes: int, mode: str, input: Shape, padding: Int | Sequence[Int]) -> Shape:
    """The sizes with a pad before and one after each of the last axes."""
    return reached(env, input, exactly(padding, 2 * axes, "padding"), mode)


for _axes in (1, 2, 3):
    rule(f"reflection_pad{_axes}d", schema="input, padding", axes=_axes, mode="reflect")(_repeated)
    rule(f"replication_pad{_axes}d", schema="input, padding", axes=_axes, mode="replicate")(_repeated)


@rule("_jagged_to_padded_dense_forward")
def jagged_to_padded(
    env: ShapeEnv, values: Shape, offsets: Sequence[Shape], max_lengths: Sequence[Int], padding_value: float = 0.0
) -> Shape:
    """A row for each pair of offsets, of the length that it is padded to."""
    expect_axes(values, 1, "values")
    count, (length,) = _rows_between(env, offsets), exactly(max_lengths, 1, "max_lengths")
    env.require(length >= 0, "max_lengths: less than 0")
    return padded_rows(values, count, length)


@rule("_padded_dense_to_jagged_forward")
def padded_to_jagged(
    env: ShapeEnv, dense: Shape, offsets: Sequence[Shape], total_L: Int | None = None
) -> Shape:
    """The elements between the offsets, as many as the last offset says."""
    expect_axes(dense, 2, "dense")
    env.require(_rows_between(env, offsets) <= dense[0], "offsets: there are not as many rows")
    total = env.unbacked(lo=0) if total_L is None else total_L
    return Shape((total, *dense[2:]), dtype=dense.dtype)


def padded_rows(values: Shape, count: Int, length: Int) -> Shape:
    """Rows whose values lie one after another, all of one length."""
    return Shape((count, length, *values[1:]), dtype=values.dtype)


def _rows_between(env: ShapeEnv, offsets: Sequence[Shape]) -> Int:
    """The number of rows that offsets divide an axis into."""
    if len(offsets) != 1:
        raise ShapeError(f"offsets: expected those of 1 ragged axis, not of {len(offsets)}")
    expect_rank(offsets[0], 1, "offsets")
    count = offsets[0][0]
    env.require(count >= 1, "offsets: not even the last one")
    return count - 1
