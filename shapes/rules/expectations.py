"""Refusals of arguments: another number of axes than an operator takes, or none of the words that it knows.

    >>> from shapes.rules.expectations import expect_axes, expect_one_of, expect_rank
    >>> expect_rank((2, 3), 2, "input"), expect_axes((2, 3), 1, "input", most=3)
    (None, None)
    >>> expect_axes((), 1, "input")
    Traceback (most recent call last):
    solver.errors.ShapeError: input: expected at least 1 axis, not 0
    >>> expect_one_of("zero", ("zeros", "border"), "padding_mode")
    Traceback (most recent call last):
    solver.errors.ShapeError: padding_mode='zero': expected 'zeros' or 'border'
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.errors import ShapeError
from shapes.symbolic.choices import Int


def expect_rank(shape: Sequence[Int], rank: int, name: str) -> None:
    """Refuse a tensor with more or fewer axes.

    Raises:
        ShapeError: it has.
    """
    if len(shape) != rank:
        raise ShapeError(f"{name}: expected {_axes(rank)}, not {len(shape)}")


def expect_axes(shape: Sequence[Int], least: int, name: str, *, most: int | None = None) -> None:
    """Refuse a tensor with fewer axes, or with more than the most.

    Raises:
        ShapeError: it has.
    """
    if len(shape) < least or most is not None and len(shape) > most:
        wanted = f"at least {_axes(least)}" if most is None else f"{least} to {_axes(most)}"
        raise ShapeError(f"{name}: expected {wanted}, not {len(shape)}")


def _axes(count: int) -> str:
    return "1 axis" if count == 1 else f"{count} axes"


def expect_one_of(value: object, known: Sequence[object], name: str) -> None:
    """Refuse an argument with another value.

    Raises:
        ShapeError: it has.
    """
    if value not in known:
        *others, last = [repr(each) for each in known]
        raise ShapeError(f"{name}={value!r}: expected {', '.join(others)} or {last}")
