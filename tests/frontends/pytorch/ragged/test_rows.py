"""Single rows, parts of the rows, and rows with holes between them: one graph, also for gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from frontends.pytorch import compile
from tests.frontends.pytorch.ragged.comparing import LENGTHS, difference, ran, rows, unlike


def with_holes(lengths: list[int]) -> Tensor:
    """Rows of these lengths, with one or two elements between them that belong to none."""
    offsets = torch.tensor([0, *[length + 1 + length % 2 for length in lengths]]).cumsum(0)
    values = torch.randn(int(offsets[-1]), 4, generator=torch.Generator().manual_seed(0))
    found = torch.nested.nested_tensor_from_jagged(values, offsets, lengths=torch.tensor(lengths))
    return found.requires_grad_()


def assert_one_graph(program: Callable[..., Any], given: list[tuple[Any, ...]]) -> None:
    compiled = compile(program, dynamic=True)
    for each in given:
        assert unlike(ran(compiled, (each, {})), ran(program, (each, {}))) == ""
    (graph,) = compiled.graphs
    assert not compiled.fallbacks and not compiled.breaks and not graph.reason
    assert all(part.variants for part in graph.parts) and len(graph.parts) == 2


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.select(0, 0) * 2,
        lambda x: x[-1],
        lambda x: x[1].sum() + x.select(0, 0).sin().sum(),
        lambda x: x.transpose(1, 2).select(0, 1).cos(),
        lambda x: x * x[0].sum(),
    ],
)
@pytest.mark.parametrize("made", [rows, with_holes])
def test_a_row(program: Callable[..., Any], made: Callable[..., Tensor]) -> None:
    """Fails when a row is another one, or no part of a graph, or its gradient is lost."""
    assert_one_graph(program, [(made(list(lengths)),) for lengths in LENGTHS])


def test_a_row_is_written_to() -> None:
    """Fails when the row is a copy."""

    def program(x: Tensor) -> Tensor:
        x.select(0, 1).mul_(3)
        return x * 2

    compiled = compile(program, dynamic=True)
    for lengths in LENGTHS:
        mine, theirs = rows(lengths, gradients=False), rows(lengths, gradients=False)
        assert difference(compiled(mine), program(theirs)) == ""
        assert difference(mine, theirs) == ""


def test_a_row_that_is_not_there() -> None:
    """Fails when a call with fewer rows reads the offsets of another one."""

    def program(x: Tensor) -> Tensor:
        return x.select(0, 2) * 2

    compiled = compile(program, dynamic=True)
    for lengths in ([1, 2, 3], [1, 2], [2, 1, 3, 1]):
        given = (rows(lengths),), {}
        assert unlike(ran(compiled, given), ran(program, given)) == ""


@pytest.mark.parametrize("program", [torch.sin, lambda x: x * 2 + x.cos(), lambda x: (x * x, x.exp())])
def test_gradients_with_holes(program: Callable[..., Any]) -> None:
    """Fails when the gradient of rows with holes is that of other rows, or runs operator by operator."""
    assert_one_graph(program, [(with_holes(list(lengths)),) for lengths in LENGTHS])


@pytest.mark.parametrize("program", [lambda x: x.contiguous() * 2, lambda x: x.chunk(2)[0] * 2])
def test_parts_and_holes(program: Callable[..., Any]) -> None:
    """Fails when what lies between rows is kept, or gradients of parts are written into other rows."""
    compiled = compile(program, dynamic=True)
    for lengths in LENGTHS:
        x = with_holes(list(lengths)) if program.__code__.co_names[0] == "contiguous" else rows(list(lengths))
        given = (x.detach().requires_grad_(),), {}
        assert unlike(ran(compiled, given), ran(program, given)) == ""


def test_rows_written_into_others() -> None:
    """Fails when rows of other lengths are written, of which there are as many elements."""

    def program(x: Tensor, y: Tensor) -> Tensor:
        return (x * 1).copy_(y)

    compiled = compile(program, dynamic=True)
    for mine, theirs in (([2, 3], [2, 3]), ([2, 3], [3, 2]), ([1, 4], [1, 4])):
        given = (rows(mine, gradients=False), rows(theirs, gradients=False, seed=1)), {}
        assert unlike(ran(compiled, given), ran(program, given)) == ""
