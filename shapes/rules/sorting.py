"""Sorting, and searching in what is sorted.

>>> from shapes import ShapeEnv
>>> from shapes.rules import rules
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s")
>>> rules["topk"](env, (b, s), 5)
(Shape(b, 5), Shape(b, 5, dtype=int64))
>>> [guard.text for guard in env.guards()]
['s >= 5']
"""

from __future__ import annotations

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.axes import axis_of, replaced, without
from shapes.rules.broadcasting import agree_all
from shapes.rules.expectations import expect_axes, expect_one_of
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.structure import typed
from shapes.symbolic.choices import Int


@rule("sort", schema="input, dim=-1, descending=False, stable=False")
def sort(env: ShapeEnv, input: Shape, dim: int) -> tuple[Shape, Shape]:
    """The sizes of the input: the elements, and where they were."""
    axis_of(dim, len(input))
    return Shape(input, dtype=input.dtype), Shape(input, dtype="int64")


@rule("argsort")
def argsort(env: ShapeEnv, input: Shape, dim: int = -1, descending: bool = False, stable: bool = False) -> Shape:
    """The sizes of the input."""
    axis_of(dim, len(input))
    return Shape(input, dtype="int64")


@rule("msort")
def msort(env: ShapeEnv, input: Shape) -> Shape:
    """The sizes of the input."""
    return Shape(input, dtype=input.dtype)


@rule("topk", schema="input, k, dim=-1, largest=True, sorted=True")
def topk(env: ShapeEnv, input: Shape, k: Int, dim: int) -> tuple[Shape, Shape]:
    """The axis k long: the elements, and where they were."""
    axis = axis_of(dim, len(input))
    _among(env, k, 0, input[axis] if input else 1)
    sizes = replaced(input, axis, k) if input else ()
    return Shape(sizes, dtype=input.dtype), Shape(sizes, dtype="int64")


@rule("kthvalue")
def kthvalue(env: ShapeEnv, input: Shape, k: Int, dim: int = -1, keepdim: bool = False) -> tuple[Shape, Shape]:
    """Without the axis, or with 1 in its place: the element, and where it was."""
    axis = axis_of(dim, len(input))
    _among(env, k, 1, input[axis] if input else 1)
    sizes = input if not input else replaced(input, axis, 1) if keepdim else without(input, (axis,))
    return Shape(sizes, dtype=input.dtype), Shape(sizes, dtype="int64")


def _among(env: ShapeEnv, k: Int, least: int, length: Int) -> None:
    if not isinstance(k, int) or k < least:
        env.require(k >= least, "k: out of range")
    env.require(k <= length, "k: out of range")


@rule("searchsorted")
def searchsorted(
    env: ShapeEnv,
    sorted_sequence: Shape,
    input: Shape | Int | float,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Shape | None = None,
) -> Shape:
    """The sizes of what is looked for, in one sequence or each row in its own."""
    expect_one_of(side, ("left", "right", None), "side")
    if side == "left" and right:
        raise ShapeError("side='left': contradicts right=True")
    wanted = input if isinstance(input, Shape) else Shape()
    expect_axes(sorted_sequence, 1, "sorted_sequence")
    if len(sorted_sequence) > 1:
        if len(wanted) != len(sorted_sequence):
            raise ShapeError("input: has another rank than the sequences that it is looked for in")
        agree_all(env, wanted[:-1], sorted_sequence[:-1], "input: not one row for each sequence")
    if sorter is not None:
        typed(sorter, ("int64",), "sorter")
        if len(sorter) != len(sorted_sequence):
            raise ShapeError("sorter: has another rank than the sequence")
        agree_all(env, sorter, sorted_sequence, "sorter: has other sizes than the sequence")
    return Shape(wanted, dtype="int32" if out_int32 else "int64")


@rule("bucketize", schema="input, boundaries, *, out_int32=False, right=False")
def bucketize(env: ShapeEnv, input: Shape | Int | float, boundaries: Shape, out_int32: bool) -> Shape:
    """The sizes of the input."""
    if len(boundaries) != 1:
        raise ShapeError(f"boundaries: expected 1 axis, not {len(boundaries)}")
    return Shape(input if isinstance(input, Shape) else (), dtype="int32" if out_int32 else "int64")
