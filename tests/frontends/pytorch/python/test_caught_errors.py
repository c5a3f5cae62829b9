"""Errors that a program catches while it is traced: its own are branches, those of the trace are errors."""

from __future__ import annotations

import contextlib
import sys

import pytest
import torch

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import GraphBreak
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


def caught_key(x):
    try:
        return x + {3: 1.0}.get(x.shape[0], 3.0)
    except TypeError:
        return x


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


@pytest.mark.parametrize("program", [caught_branch, caught_loop, caught_key, another_error, caught_deep_inside])
def test_errors_of_the_trace_that_the_program_catches(program):
    """If it fails, a graph is of a path that the program takes only because it is traced."""
    with pytest.raises((GraphBreak, UndecidedGuard), match=r"test_caught_errors\.py"):
        trace(program, (torch.ones(5),))
    compiled = compile(program, dynamic=True)
    for size in (5, 3, 2):
        x = torch.ones(size)
        torch.testing.assert_close(compiled(x), program(x))


def test_errors_of_the_program_that_it_catches():
    """If it fails, a program that tries something else when an operator does not take its sizes has no graph."""

    def program(x, y):
        try:
            return x @ y
        except RuntimeError:
            return x.sum() + y.sum()

    compiled = compile(program, dynamic=True, fullgraph=True)
    for sizes in (((2, 3), (3, 4)), ((2, 3), (4, 4)), ((5, 6), (6, 7)), ((5, 6), (7, 7))):
        x, y = [torch.ones(size) for size in sizes]
        torch.testing.assert_close(compiled(x, y), program(x, y))
    assert len(compiled.variants) == 2


def test_a_leaf_of_the_trace_is_none_to_the_caller():
    """If it fails, a program catches what autograd says of an argument that is a leaf in the trace only."""

    def program(x, y):
        with torch.no_grad():
            _ = y[0]
        with contextlib.suppress(RuntimeError):
            y[0] = 2.0
        return x + y

    results = []
    for function in (program, compile(program, dynamic=True)):
        x, y = (torch.ones(3, requires_grad=True) * 1 for _ in range(2))
        results.append((function(x, y), y))
    torch.testing.assert_close(*results)


def told_of_view(x):
    try:
        return x.view(7, 13), ""
    except RuntimeError as error:
        return x * len(str(error)), str(error)


def told_of_cat(x):
    try:
        return torch.cat([x, x.new_ones(2, x.shape[1] + 1)]), ""
    except RuntimeError as error:
        return x, error.args[0]


def told_of_sum(x):
    try:
        return x + x.new_ones(x.shape[0] + 1, 1, x.shape[1] + 3), ""
    except Exception as error:
        return x, f"{error}"


def told_of_index(x):
    try:
        return x[x.shape[0] + 1], ""
    except (IndexError, RuntimeError) as error:
        return x, repr(error)


def told_by_the_caller(x):
    def inner():
        return x @ x.new_ones(x.shape[1] + 1, 3)

    try:
        return inner(), ""
    except RuntimeError as error:
        return x, str(error)


def told_as_it_is(x):
    try:
        return x.reshape(7, 13), ""
    except RuntimeError:
        return x, str(sys.exc_info()[1])


TOLD = [told_of_view, told_of_cat, told_of_sum, told_of_index, told_by_the_caller, told_as_it_is]


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("program", TOLD)
def test_what_an_error_says(program, backend):
    """The text of an error names `x_size0` where eager torch prints the number."""
    compiled = compile(program, backend=backend, dynamic=True)
    for rows in (3, 5, 2):
        x = torch.randn(rows, 4, generator=torch.Generator().manual_seed(rows))
        (found, text), (expected, said) = compiled(x), program(x)
        assert text == said and said
        assert torch.equal(found, expected)


def test_an_error_without_a_name_is_a_branch():
    """A program that does not ask what an error says has no graph."""

    def program(x):
        try:
            return x.view(7, 13)
        except RuntimeError:
            return x * 2

    compiled = compile(program, dynamic=True, fullgraph=True)
    for rows in (3, 5):
        assert torch.equal(compiled(torch.ones(rows, 4)), torch.ones(rows, 4) * 2)
    assert len(compiled.variants) == 1
