"""Errors that a program catches while it is traced: its own are branches, those of the trace are errors."""

from __future__ import annotations

import contextlib

import pytest
import torch

from frontends.pytorch import trace
from frontends.pytorch.errors import EagerOnly, GraphBreak
from shapes.errors import ShapeError, UndecidedGuard


def caught_branch(x):
    n = (x > 0).sum().item()
    try:
        if n > 3:
            return x * 2
    except Exception:
        pass
    return x


def caught_loop(x):
    with contextlib.suppress(ShapeError):
        return x * len(list(range(int(x.sum()))))
    return x + 1


def another_error(x):
    try:
        bool(x.nonzero().shape[0] > 2)
    except Exception as error:
        raise ValueError("not this one") from error
    return x * 3


def caught_deep_inside(x):
    def positive():
        try:
            return bool((x > 0).all())
        except Exception:
            return None

    found = positive()
    return x if found is None else x + 1


@pytest.mark.parametrize("program", [caught_branch, caught_loop, another_error, caught_deep_inside])
def test_errors_of_the_trace_that_the_program_catches(program):
    """If it fails, a graph is of a path that the program takes only because it is traced."""
    with pytest.raises((GraphBreak, UndecidedGuard), match=r"test_caught_errors\.py"):
        trace(program, (torch.ones(5),))


def test_errors_of_the_program_that_it_catches():
    """If it fails, a program that tries something else when an operator does not take its sizes has no graph."""

    def program(x, y):
        try:
            return x @ y
        except RuntimeError:
            return x.sum() + y.sum()

    for sizes, more in ((((2, 3), (3, 4)), ((5, 6), (6, 7))), (((2, 3), (4, 4)), ((5, 6), (7, 7)))):
        variant = trace(program, [torch.ones(size) for size in sizes])
        x, y = [torch.ones(size) for size in more]
        torch.testing.assert_close(variant.graph(x, y)[0], program(x, y))


def test_a_leaf_of_the_trace():
    """If it fails, a program catches what autograd says of an argument that is a leaf in the trace only."""

    def program(x, y):
        with contextlib.suppress(RuntimeError):
            y[0] = 2.0
        return x + y

    x, y = (torch.ones(3, requires_grad=True) * 1 for _ in range(2))
    with pytest.raises(EagerOnly, match="an argument that requires a gradient is changed in place"):
        trace(program, (x, y))
