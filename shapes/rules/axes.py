"""Axes by number, counted from the front or from the back.

    >>> from shapes.rules.axes import axis_of, axes_of
    >>> axis_of(-1, 3), axes_of((0, -1), 3), axes_of(None, 2)
    (2, (0, 2), (0, 1))
    >>> axis_of(3, 3)
    Traceback (most recent call last):
    solver.errors.ShapeError: dim=3: expected one of -3 to 2

A tensor without axes takes 0 and -1, as the operators of most libraries do.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from shapes.errors import ShapeError
from shapes.symbolic.choices import Int


def axis_of(dim: int, rank: int, name: str = "dim") -> int:
    """An axis counted from the front.

    Raises:
        ShapeError: there is no such axis.
    """
    dim = operator.index(dim)
    bound = max(rank, 1)
    if not -bound <= dim < bound:
        raise ShapeError(f"{name}={dim}: expected one of {-bound} to {bound - 1}")
    return dim + bound if dim < 0 else dim


def axes_of(dims: int | Sequence[int] | None, rank: int, name: str = "dim") -> tuple[int, ...]:
    """Axes counted from the front, in the order given; all of them for None.

    Raises:
        ShapeError: there is no such axis, or one is named twice.
    """
    if dims is None:
        return tuple(range(rank))
    axes = tuple([axis_of(dim, rank, name) for dim in ((dims,) if isinstance(dims, int) else dims)])
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{name}={dims}: an axis appears twice")
    return axes


def replaced(sizes: Sequence[Int], axis: int, size: Int) -> tuple[Int, ...]:
    """The sizes with one of them changed."""
    return (*sizes[:axis], size, *sizes[axis + 1 :])


def without(sizes: Sequence[Int], axes: Sequence[int]) -> tuple[Int, ...]:
    """The sizes without some axes."""
    return tuple([size for axis, size in enumerate(sizes) if axis not in axes])


def reduced(sizes: Sequence[Int], axes: Sequence[int], keepdim: bool) -> tuple[Int, ...]:
    """The sizes after a reduction over some axes: those go, or stay with size 1."""
    if not keepdim:
        return without(sizes, axes)
    return tuple([1 if axis in axes else size for axis, size in enumerate(sizes)])
