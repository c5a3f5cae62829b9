"""Graphs of ragged programs are called only for the tensors that they are right for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from frontends.pytorch import compile
from frontends.pytorch.errors import GraphBreak
from tests.frontends.pytorch.ragged.comparing import difference, ran, rows, unlike

COMPILING: dict[str, Callable[..., Any]] = {
    "compile": compile,
    "dynamic": lambda program: compile(program, dynamic=True),
    "kernels": lambda program: compile(program, backend="cpu"),
    "torch.compile": lambda program: torch.compile(program, backend="symshape"),
}


@pytest.mark.parametrize("how", COMPILING)
def test_a_branch_on_the_number_of_rows(how: str) -> None:
    """Fails when a call takes the branch of another number of rows: torch guards none of them."""
    torch._dynamo.reset()

    def program(x: Tensor) -> Tensor:
        return x * 2 if x.size(0) > 3 else x * 3

    compiled = COMPILING[how](program)
    for count in (2, 3, 6, 4, 5, 2, 1, 3):
        x = rows(range(1, count + 1))
        assert difference(compiled(x), program(x)) == ""


def test_a_branch_on_the_longest_row() -> None:
    """Fails when a call takes the branch of another length."""

    def program(x: Tensor) -> Tensor:
        return x * 2 if x._get_max_seqlen() > 3 else x * 3

    compiled = compile(program, dynamic=True)
    for lengths in ([1, 2], [5, 1], [3, 3, 2], [0, 4], [0, 0, 1]):
        x = rows(lengths)
        assert difference(compiled(x), program(x)) == ""
    assert len(compiled.graphs) == 2


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_layouts_in_turn(backend: str) -> None:
    """Fails when a graph of one layout runs for another, or a guard raises on a tensor without strides."""

    def program(x: Tensor) -> Tensor:
        return (x * 2).relu()

    values, offsets = torch.randn(6, 4), torch.tensor([0, 2, 6])
    compiled = compile(program, backend=backend)
    for x in (
        torch.randn(2, 3, 4),
        torch.randn(5, 3, 4),
        rows([1, 2]),
        torch.randn(2, 3, 4),
        rows([3, 1], gradients=False),
        rows([2, 2, 2]).transpose(1, 2),
        torch.nested.nested_tensor_from_jagged(values, offsets, lengths=torch.tensor([1, 3])),
        torch.nested.nested_tensor_from_jagged(values, offsets),
        torch.nested.nested_tensor_from_jagged(values, offsets, max_seqlen=4),
    ):
        assert unlike(ran(compiled, ((x,), {}), gradients=False), ran(program, ((x,), {}), gradients=False)) == ""
    strided = torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(1, 4)], layout=torch.strided)
    got = compiled(strided)
    assert all(torch.equal(one, other) for one, other in zip(got.unbind(), program(strided).unbind()))
    assert [each.reason for each in compiled.fallbacks] == [
        "a tensor without strides, as a nested one of the strided layout"
    ]
    assert torch._C._is_torch_function_enabled()


def test_a_strided_nested_tensor_is_no_graph() -> None:
    """Fails when what is no graph is an error of C++, or none."""
    compiled = compile(lambda x: x * 2, fullgraph=True)
    compiled(torch.ones(2, 3))
    with pytest.raises(GraphBreak, match=r"strided layout\n  fix:    make it with layout=torch.jagged"):
        compiled(torch.nested.nested_tensor([torch.ones(2), torch.ones(1)], layout=torch.strided))
    assert torch._C._is_torch_function_enabled()


def test_other_offsets_are_an_error_as_in_eager_torch() -> None:
    """Fails when tensors with other rows are combined element by element."""

    def program(a: Tensor, b: Tensor) -> Tensor:
        return a * b

    compiled = compile(program)
    x = rows([2, 3], gradients=False)
    assert difference(compiled(x, x * 2), program(x, x * 2)) == ""
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
        compiled(x, rows([3, 2], gradients=False))


class Scaled(nn.Module):
    """A module with a jagged parameter."""

    def __init__(self, lengths: list[int]) -> None:
        super().__init__()
        self.weight = nn.Parameter(rows(lengths))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x


@pytest.mark.parametrize("how", COMPILING)
def test_ragged_parameters(how: str) -> None:
    """Fails when a jagged parameter is no part of a graph, its gradient is lost, or a graph runs for another one."""
    torch._dynamo.reset()
    module, plain = Scaled([1, 2]), Scaled([1, 2])
    compiled = COMPILING[how](module)
    for lengths in ([1, 2], [1, 2], [2, 1], [3, 1, 2], [4]):
        module.weight, plain.weight = nn.Parameter(rows(lengths)), nn.Parameter(rows(lengths))
        x = torch.rand(len(lengths), 1, 4)
        found, expected = compiled(x), plain(x)
        assert difference(found, expected) == ""
        losses = [each.values().square().sum() for each in (found, expected)]
        gradients = [torch.autograd.grad(*each) for each in zip(losses, (module.weight, plain.weight))]
        assert difference(*gradients) == ""
        assert how == "torch.compile" or not compiled.fallbacks


def test_a_ragged_parameter_beside_an_argument() -> None:
    """Fails when an argument with other rows is multiplied with the parameter's."""
    module = Scaled([1, 3])
    compiled = compile(module, dynamic=True)
    for x in (module.weight.detach() * 2, module.weight.detach() + 1):
        assert difference(compiled(x), module(x)) == ""
    for lengths in ([1, 3], [3, 1]):
        with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
            compiled(rows(lengths))
    assert difference(compiled(x), module(x)) == ""


def test_results_share_their_offsets() -> None:
    """Fails when results of one graph cannot be combined, since their ragged axes count as different sizes."""

    def program(x: Tensor) -> tuple[Tensor, ...]:
        return x * 2, x.sin(), x.offsets()

    for backend in ("eager", "cpu"):
        compiled = compile(program, backend=backend)
        x = rows([2, 3])
        for _ in range(2):
            double, sine, offsets = compiled(x)
            assert offsets is double.offsets() and double.offsets() is x.offsets()
            assert difference(double + sine + x, x * 3 + x.sin()) == ""


def test_the_same_gradient_for_two_results() -> None:
    """Fails when a backward runs operator by operator because a tensor is given twice."""
    compiled = compile(lambda x: (x * 2, x.sin()))
    x = rows([2, 3])
    first, second = compiled(x)
    gradient = torch.ones_like(first)
    torch.autograd.backward([first, second], [gradient, gradient])
    assert difference(x.grad.values(), 2 + x.detach().cos().values()) == ""
    (graph,) = compiled.graphs
    assert [len(part.variants) for part in graph.parts] == [1, 1]
