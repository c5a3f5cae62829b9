"""Programs with collectives on several processes: values and gradients are eager's, whatever each rank's sizes are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch

from frontends.pytorch import compile
from tests.frontends.pytorch.distributed import exchanging
from tests.frontends.pytorch.distributed.processes import run

ROWS = {
    2: ((3, 4), (3, 4), (3, 5), (5, 2), (1, 6), (0, 2), (0, 4), (9, 0)),
    4: ((3, 4, 1, 2), (0, 2, 7, 1), (5, 5, 0, 0)),
}
"""Rows of each rank, call by call."""


def differences(rank: int, *, name: str, world: int, by_torch: bool, dynamic: bool | None) -> list[str]:
    """What differs from eager, by call."""
    fn: Callable[[torch.Tensor], torch.Tensor] = getattr(exchanging, name)
    program = compile(fn, backend="cpu", dynamic=dynamic)
    compiled: Callable[[torch.Tensor], object] = (
        torch.compile(fn, backend="symshape", dynamic=dynamic) if by_torch else program
    )
    found = []
    for call, rows in enumerate(ROWS[world]):
        numbers = torch.Generator().manual_seed(100 * call + rank)
        x = torch.randn(rows[rank], 4, generator=numbers)
        ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
        if name in ("gathered", "scattered", "reduced_in_place"):
            # they have no gradient
            ours, theirs = x, x
        got, expected = compiled(ours), fn(theirs)
        assert isinstance(got, torch.Tensor)
        if got.shape != expected.shape or not torch.allclose(got, expected):
            found.append(f"{rows}: {got} and {expected}")
        if expected.requires_grad:
            got.square().sum().backward()
            expected.square().sum().backward()
            if not torch.allclose(ours.grad, theirs.grad):
                found.append(f"{rows}: gradients {ours.grad} and {theirs.grad}")
    if not by_torch and not program.variants:
        found.append("nothing was compiled")
    return found


@pytest.mark.parametrize("name", [
    "padded",
    *[pytest.param(each, marks=pytest.mark.thorough) for each in (
        "reduced", "reduced_in_place", "gathered", "scattered", "sent",
    )],
])  # fmt: skip
@pytest.mark.parametrize("dynamic", [None, pytest.param(True, marks=pytest.mark.thorough)])
def test_values_and_gradients(name: str, dynamic: bool | None) -> None:
    """Sizes that are constants on one rank and change on the other would give old numbers, or wait for ever."""
    assert run(2, partial(differences, name=name, world=2, by_torch=False, dynamic=dynamic)) == [[], []]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["sent", "padded"])
def test_by_torch_compile(name: str) -> None:
    """The other spelling loses an exchange, or takes other ranks' numbers for constants."""
    assert run(2, partial(differences, name=name, world=2, by_torch=True, dynamic=None)) == [[], []]


@pytest.mark.thorough
@pytest.mark.parametrize("dynamic", [None, True])
def test_experts(dynamic: bool | None) -> None:
    """Rows that data sends to four ranks, some of which get none."""
    assert run(4, partial(differences, name="experts", world=4, by_torch=False, dynamic=dynamic)) == [[]] * 4
