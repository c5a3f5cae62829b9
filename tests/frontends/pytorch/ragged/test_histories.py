"""Random histories of calls with jagged tensors of all kinds: no call takes a graph that is wrong for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from frontends.pytorch import compile
from tests.frontends.pytorch.ragged.comparing import fresh, ran, unlike

COMPILING: list[Callable[[Callable[..., Any]], Any]] = [
    compile,
    lambda program: compile(program, dynamic=True),
    lambda program: compile(program, backend="cpu"),
    lambda program: torch.compile(program, backend="symshape", options={"kernels": "eager"}),
    lambda program: torch.compile(program, backend="symshape", dynamic=True, options={"kernels": "eager"}),
]


def branching(x: Tensor) -> Tensor:
    y = x * 2 if x.size(0) % 2 else x * 3
    return y.sin() if x.values().size(0) > 6 else y


def by_the_longest(x: Tensor) -> Tensor:
    longest = x._maybe_max_seqlen
    return x * 2 if longest is None else x * 3 if longest > 3 else x + longest


def by_layout(x: Tensor) -> Tensor:
    return (x * 2 if x.is_contiguous() else x.cos()) * x.size(-1 if x._ragged_idx == 1 else 1)


def jagged(draw: random.Random) -> Tensor:
    """A jagged tensor of any kind."""
    count, width = draw.choice((1, 2, 3, 4)), draw.choice((1, 4, 5))
    lengths = [draw.choice((0, 1, 2, 3, 5)) for _ in range(count)]
    dtype = draw.choice((torch.float32, torch.float32, torch.float64))
    learns = draw.random() < 0.5
    values = torch.linspace(-1, 1, sum(lengths) * width, dtype=dtype).reshape(-1, width)
    offsets = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()])
    kind = draw.choice(("parts", "cached", "made", "transposed", "holes"))
    if kind == "holes":
        left = torch.tensor([max(length - 1, 0) for length in lengths])
        x = torch.nested.nested_tensor_from_jagged(values, offsets, lengths=left)
    elif kind == "made":
        x = torch.nested.nested_tensor(list(values.split(lengths)), layout=torch.jagged)
    else:
        cached = {"min_seqlen": min(lengths), "max_seqlen": max(lengths)} if kind == "cached" else {}
        x = torch.nested.nested_tensor_from_jagged(values, offsets, **cached)
    x = x.transpose(1, 2) if kind == "transposed" else x
    found: Any = fresh(x)
    return found.requires_grad_(learns)


@pytest.mark.parametrize(
    "seed", [*range(5), *[pytest.param(seed, marks=pytest.mark.thorough) for seed in range(5, 100)]]
)
def test_history(seed: int) -> None:
    """Fails when a call takes a graph of another layout, dtype, number of rows, or length."""
    torch._dynamo.reset()
    draw = random.Random(seed)
    program = draw.choice((branching, by_the_longest, by_layout))
    compiled = COMPILING[seed % len(COMPILING)](program)
    for _ in range(6):
        given = (jagged(draw),), {}
        assert unlike(ran(compiled, given), ran(program, given)) == ""
