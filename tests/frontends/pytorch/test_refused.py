"""Refusals: each error says what is wrong, in whose line, and what to do; nothing is taken without a word."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from torch import randn

from frontends.pytorch import (
    compile,
    dims,
    mark_dynamic,
    mark_static,
    mark_unbacked,
    one_of,
)
from shapes.errors import ShapeError


def double(x):
    return x * 2


def no_such_dimension() -> None:
    mark_dynamic(randn(3), 1)


def out_of_bounds() -> None:
    mark_dynamic(randn(12), 0, lo=1, hi=8)


def two_marks() -> None:
    x = randn(3)
    mark_dynamic(x, 0)
    mark_static(x, 0)


def mark_and_relation() -> None:
    x = randn(3)
    mark_static(x)
    compile(double, dynamic={"x": ("b",)})(x)


def strict_and_pinned() -> None:
    def program(x):
        for step in range(x.shape[0]):
            x = x * step
        return x

    x = randn(3)
    mark_dynamic(x, 0)
    compile(program)(x)


def undecided() -> None:
    x = randn(3)
    mark_unbacked(x, 0)
    compile(lambda x: x * 2 if x.shape[0] > 2 else x, fullgraph=True)(x)


def wrong_multiple() -> None:
    compile(double, dynamic={"x": ("b", "5*b")})(randn(2, 12))


def no_multiple() -> None:
    compile(double, dynamic={"x": ("3*b + 1",)})(randn(12))


def none_of_several() -> None:
    compile(double, dynamic={"x": (one_of(4, 8),)})(randn(5))


def condition() -> None:
    (s,) = dims("s", where="s % 16 == 0")
    compile(double, dynamic={"x": (s,)})(randn(24))


def beyond_a_dim() -> None:
    (b,) = dims("b", hi=8)
    compile(double, dynamic={"x": (b,)})(randn(9))


def contradiction() -> None:
    b, s = dims("b", "s", where=("b > s", "s > b"))
    compile(double, dynamic={"x": (b, s)})


LINE = r"test_refused\.py:\d+"
CASES: list[tuple[Callable[[], None], str, str]] = [
    (no_such_dimension, r"mark_dynamic\(dim=1\): the tensor has 1 dimensions", "a dimension that it has"),
    (out_of_bounds, r"mark_dynamic\(dim=0, lo=1, hi=8\): the size is 12", "bounds that hold"),
    (two_marks, r"mark_static\(dim=0\): it is marked otherwise by mark_dynamic\(dim=0\)", "one of the two"),
    (mark_and_relation, r"x: mark_static\(dim=0\), but a relation is stated for size\(0\)", "the mark or the relation"),
    (strict_and_pinned, r"x.shape\[0\] is marked as dynamic, but would become the constant 3", "make that line hold"),
    (undecided, "cannot decide `u0 >= 3`", "torch.cond"),
    (wrong_multiple, r"`x.shape\[1\] == 5\*b` is stated, .* with x.shape\[1\] = 12, b = 2", "state what holds"),
    (no_multiple, r"`x.shape\[0\] == 3\*\(\(x.shape\[0\] - 1\)//3\) \+ 1` is stated", "state what holds"),
    (none_of_several, r"`x.shape\[0\] == 4 or x.shape\[0\] == 8` is stated, .* = 5", "state what holds"),
    (condition, "`s % 16 == 0` is stated, but is false with s = 24", "state what holds"),
    (beyond_a_dim, "`b <= 8` is stated, but is false with b = 9", "state what holds"),
    (contradiction, "what is stated contradicts itself", "state what holds"),
]


@pytest.mark.parametrize(("program", "what", "fix"), [pytest.param(*case, id=case[0].__name__) for case in CASES])
def test_says_what_where_and_the_fix(program: Callable[[], None], what: str, fix: str) -> None:
    """Fails when it is accepted without a word, or the error does not help."""
    with pytest.raises(ShapeError) as error:
        program()
    text = str(error.value)
    for expected in (what, LINE, f"fix:.*{fix}"):
        assert re.search(expected, text), text


def test_coverage_of_nothing() -> None:
    """Fails when coverage is judged before any arguments are known."""
    with pytest.raises(ShapeError, match="was never called"):
        compile(double).coverage()
