"""Training on several ranks, each with sizes of its own, is as without compilation, in the same variants everywhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from torch import nn

from tests.frontends.pytorch.distributed.processes import run
from tests.frontends.pytorch.distributed.training import (
    GPT2,
    data_parallel,
    fully_sharded,
    in_buckets,
    tensor_parallel,
    trained,
)  # fmt: skip


def check(parallel: Callable[[GPT2], nn.Module], steps: int, layers: int, world: int = 2, **options: Any) -> list[int]:
    """The number of variants of each graph, the same on all ranks."""
    found = run(world, partial(trained, parallel=parallel, steps=steps, layers=layers, **options))
    for each in found:
        assert each is not None
        compiled, eager, _ = each
        assert compiled == pytest.approx(eager, abs=1e-5)
    variants = [each[2] for each in found if each is not None]
    assert all(each == variants[0] for each in variants)
    return variants[0]


@pytest.mark.thorough
@pytest.mark.parametrize("parallel", [data_parallel, fully_sharded])
@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_sizes_of_each_rank(parallel: Callable[[GPT2], nn.Module], backend: str) -> None:
    """A rank compiles for its own sizes while the other waits in the exchange of gradients."""
    assert check(parallel, 20, 2, backend=backend) == [1]


@pytest.mark.thorough
def test_buckets_of_gradients() -> None:
    """Parts of a split graph are called with the arguments of the whole, or one of them in the place of all."""
    found = check(in_buckets, 6, 2, backend="cpu")
    assert len(found) > 1 and set(found) == {1}


@pytest.mark.thorough
@pytest.mark.parametrize("parallel", [data_parallel, fully_sharded])
def test_four_ranks(parallel: Callable[[GPT2], nn.Module]) -> None:
    """The same for more ranks than two."""
    assert check(parallel, 6, 2, 4, backend="cpu") == [1]


@pytest.mark.thorough
def test_tensor_parallel() -> None:
    """A size that the ranks do not divide takes a graph of its own, or the backward one for each shape."""
    # forward and backward
    assert check(tensor_parallel, 20, 1, dynamic=True) == [1, 1]
