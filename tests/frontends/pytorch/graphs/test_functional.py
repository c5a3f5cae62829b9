"""The form without changes in place does what the recording does, at the traced sizes and at others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from frontends.pytorch import trace
from frontends.pytorch.graphs.functional import functional
from tests.frontends.pytorch import test_mutation
from tests.frontends.pytorch.against_eager import Program, agrees_at
from tests.frontends.pytorch.against_eager import agrees as recorded

randn = torch.randn


def agrees(program: Program, *samples: Sequence[torch.Tensor]) -> None:
    """The recorded graph and its form do as eager; no operator of the form but the last writes anything."""
    variant = recorded(program, *samples)
    form = functional(variant)
    pure(form.graph)
    for inputs in samples:
        agrees_at(variant, program, inputs, form.graph)


def pure(graph: torch.fx.GraphModule) -> None:
    """Only the copies into arguments change something."""
    targets = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    mutable = [each for each in targets if isinstance(each, torch._ops.OpOverload) and each._schema.is_mutable]
    assert set(mutable) <= {torch.ops.aten.copy_.default}, mutable


@pytest.mark.parametrize("program", sorted(test_mutation.ONE, key=lambda each: each.__name__))
def test_one_argument(program: Program) -> None:
    """Fails when a change in place is lost, or reaches a tensor that does not share the memory."""
    agrees(program, (randn(4, 3),), (randn(7, 5),), (randn(3, 6),))


@pytest.mark.parametrize("program", [test_mutation.given_tensors, test_mutation.swapped])
def test_two_arguments(program: Program) -> None:
    """Fails when `out=` and copies between arguments happen in another order."""
    agrees(program, (randn(4, 3), randn(4, 3)), (randn(7, 5), randn(7, 5)))


def test_written_by_index() -> None:
    """Fails when writing by index has no form without it."""
    samples = [(randn(6, 3), torch.tensor([1, 4])), (randn(9, 2), torch.tensor([8, 0, 3]))]
    agrees(test_mutation.index_written, *samples)


def test_a_loop_over_pieces() -> None:
    """Fails when pieces written one after the other do not come together again."""
    agrees(test_mutation.in_a_loop, (randn(4, 3),), (randn(4, 5),))


def test_running_statistics() -> None:
    """Fails when batch normalization does not update its statistics."""
    norm, other = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
    form = functional(trace(norm, (randn(4, 3),)))
    pure(form.graph)
    x = randn(6, 3)
    with torch.no_grad():
        got = form.graph(x)[0]
    torch.testing.assert_close(got, other(x))
    torch.testing.assert_close(norm.running_mean, other.running_mean)
    torch.testing.assert_close(norm.running_var, other.running_var)


def test_random_numbers() -> None:
    """Fails when numbers are drawn in another order or way."""

    def program(x):
        y = torch.empty_like(x).normal_()
        y.bernoulli_(0.5)
        return torch.nn.functional.dropout(x, 0.5) + y

    agrees(program, (randn(4, 3),), (randn(5, 2),))
