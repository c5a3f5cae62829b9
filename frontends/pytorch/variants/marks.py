"""Marks of tensors: callers' statements about their sizes, read when a function is traced for the tensor.

    >>> import torch
    >>> from frontends.pytorch import compile, mark_dynamic
    >>> f = compile(lambda x: x * 2)
    >>> x = torch.randn(3, 8)
    >>> mark_dynamic(x, 0, lo=1, hi=64)
    >>> f(x).shape, f(torch.randn(64, 8)).shape, len(f.variants)
    (torch.Size([3, 8]), torch.Size([64, 8]), 1)

An existing variant that accepts the tensor is used unchanged. `compile` is told of relations between sizes
(`shapes.relations`):

    >>> from frontends.pytorch import dims, one_of
    >>> b, s = dims("b", "s")
    >>> @lambda f: compile(f, dynamic={"x": (b, 5 * b), "y": (s, one_of(4, 8))})
    ... def f(x, y):
    ...     return x.view(5, -1) if x.shape[1] % x.shape[0] == 0 else x
    >>> f(torch.randn(2, 10), torch.randn(3, 4)).shape, [str(guard) for guard in f.variants[0].guards]
    (torch.Size([5, 4]), ['5*x.shape[0] == x.shape[1]'])
    >>> f(torch.randn(3, 14), torch.randn(3, 4))
    Traceback (most recent call last):
    shapes.errors.ConstraintViolation: `x.shape[1] == 5*b` is stated, but is false with ...
    ...

They are assumed in the trace, so that branches on them need no guard, and checked at every call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import torch

from frontends.pytorch.errors import rejected
from frontends.pytorch.source_location import origin
from shapes.accepted import is_truth, shown, whole_number
from shapes.choices import Choice
from shapes.errors import ShapeError
from shapes.origin import Origin

ATTRIBUTE: Final = "marked_sizes"


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark with its source location."""

    choice: Choice
    text: str
    place: Origin | None


def mark_dynamic(
    x: torch.Tensor, dim: int | Sequence[int], lo: int | None = None, hi: int | None = None, *, strict: bool = True
) -> None:
    """Make these sizes symbols between `lo` and `hi`; with `strict`, specializing one is an error.

    Raises:
        ConstraintViolation: the size is out of bounds, or has another mark.
    """
    _mark(x, dim, Choice("dynamic", lo, hi, strict), "mark_dynamic")


def mark_maybe_dynamic(x: torch.Tensor, dim: int | Sequence[int]) -> None:
    """Make these sizes symbols, unless the program specializes them."""
    _mark(x, dim, Choice("dynamic"), "mark_maybe_dynamic")


def mark_static(x: torch.Tensor, dim: int | Sequence[int] | None = None) -> None:
    """Make these sizes, or all, constants."""
    every = range(x.dim()) if isinstance(x, torch.Tensor) else ()
    _mark(x, every if dim is None else dim, Choice("static"), "mark_static")


def mark_unbacked(x: torch.Tensor, dim: int | Sequence[int], lo: int | None = None, hi: int | None = None) -> None:
    """Make these sizes unbacked symbols: an undecided branch on one is an error, never a guard."""
    _mark(x, dim, Choice("unbacked", lo, hi), "mark_unbacked")


def marks_of(x: torch.Tensor) -> dict[int, Mark]:
    """The marks of a tensor, by axis."""
    return getattr(x, ATTRIBUTE, {})


def _mark(x: torch.Tensor, dims: int | Sequence[int], choice: Choice, function: str) -> None:
    if not isinstance(x, torch.Tensor):
        rejected(f"{function}({shown(x)}, ...): expected a tensor", "the tensor itself, not what holds it")
    asked: object = dims
    several = list(asked) if isinstance(asked, Iterable) and not isinstance(asked, str) else [asked]
    try:
        numbers = [whole_number("dim", dim, "a dimension, or several") for dim in several]
        low = None if choice.lo is None else whole_number("lo", choice.lo, "a size, or None")
        high = None if choice.hi is None else whole_number("hi", choice.hi, "a size, or None")
    except ShapeError as error:
        rejected(f"{function}(...): {error}", f"{function}(x, 0), say")
    if not is_truth(choice.strict):
        what = f"{function}(...): strict={shown(choice.strict)}: expected True or False"
        rejected(what, "strict=False, or leave it out")
    choice = replace(choice, lo=low, hi=high)
    marks = dict(marks_of(x))
    for dim in numbers:
        if not -x.dim() <= dim < x.dim():
            rejected(f"{function}(dim={dim}): the tensor has {x.dim()} dimensions", "a dimension that it has")
        axis, size = dim % x.dim(), x.shape[dim]
        lo, hi = choice.lo, choice.hi
        bounds = ", ".join([f"{label}={bound}" for label, bound in (("lo", lo), ("hi", hi)) if bound is not None])
        given = f"{', '.join([f'dim={dim}', bounds] if bounds else [f'dim={dim}'])})"
        if lo is not None and hi is not None and lo > hi:
            rejected(f"{function}({given}: no size lies between", f"lo={hi}, hi={lo}")
        if (lo is not None and size < lo) or (hi is not None and size > hi):
            rejected(f"{function}({given}: the size is {size}", "bounds that hold for every tensor that you pass")
        known = marks.get(axis)
        if known is not None and known.choice.kind != choice.kind:
            where = f" ({known.place})" if known.place is not None else ""
            rejected(f"{function}({given}: it is marked otherwise by {known.text}{where}", "one of the two marks")
        marks[axis] = Mark(choice, f"{function}({given}", origin())
    setattr(x, ATTRIBUTE, marks)
