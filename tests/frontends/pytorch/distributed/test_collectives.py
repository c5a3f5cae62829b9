"""Programs with collectives on several processes: values and gradients are eager's, whatever each rank's sizes are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.distributed as dist

from frontends.pytorch import compile
from frontends.pytorch.variants.policy import Policy
from tests.frontends.pytorch.distributed import exchanging
from tests.frontends.pytorch.distributed.processes import run

ROWS = {
    2: ((3, 4), (3, 4), (3, 5), (5, 2), (1, 6), (0, 2), (0, 4), (9, 0)),
    4: ((3, 4, 1, 2), (0, 2, 7, 1), (5, 5, 0, 0)),
}
"""Rows of each rank, call by call."""


WITHOUT_GRADIENT = frozenset((
    "gathered", "scattered", "reduced_in_place", "gathered_in_place", "scattered_in_place", "listed", "broadcast",
    "broadcast_in_place", "asynchronous", "from_first", "sent_in_place",
))  # fmt: skip
WHOLE = (
    "sent", "padded", "reduced", "reduced_in_place", "gathered", "scattered", "gathered_in_place", "scattered_in_place",
    "listed", "broadcast", "permuted", "overlapped", "sent_in_place",
)  # fmt: skip
"""Programs that are one graph."""
BROKEN = {
    "broadcast_in_place": "marked as skipped", "asynchronous": "async_op=True", "meeting": "marked as skipped",
    "from_first": "marked as skipped",
}  # fmt: skip
"""Programs that Dynamo ends a graph in, and its reason."""
UNEVEN = ((3, 4), (5, 4), (2, 7), (6, 6), (9, 2), (4, 3))
TOGETHER = Policy(ranks_timeout=300.0)


def differences(rank: int, *, name: str, world: int, by_torch: bool, dynamic: bool | None) -> list[str]:
    """The differences from eager, by call."""
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
        if name in WITHOUT_GRADIENT:
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


def graphs(rank: int, *, names: tuple[str, ...]) -> dict[str, tuple[int, list[str]]]:
    """The number of variants of each program after calls with uneven sizes, and its breaks; values are checked."""
    found = {}
    for name in names:
        fn: Callable[[torch.Tensor], torch.Tensor] = getattr(exchanging, name)
        compiled = compile(fn, policy=TOGETHER)
        for call, rows in enumerate(UNEVEN):
            x = torch.randn(rows[rank], 4, generator=torch.Generator().manual_seed(100 * call + rank))
            ours, theirs = (x.clone().requires_grad_(name not in WITHOUT_GRADIENT) for _ in range(2))
            got, expected = compiled(ours), fn(theirs)
            torch.testing.assert_close(got, expected)
            if expected.requires_grad:
                got.square().sum().backward()
                expected.square().sum().backward()
                torch.testing.assert_close(ours.grad, theirs.grad)
        assert not compiled.fallbacks
        found[name] = len(compiled.variants), [each.cause for each in compiled.breaks]
    return found


@pytest.mark.thorough
def test_one_variant_of_each_collective() -> None:
    """A collective is no longer part of a graph, or has constants for sizes; the ones that end a graph are known."""
    for found in run(2, partial(graphs, names=(*WHOLE, *BROKEN))):
        assert found is not None
        for name, (variants, breaks) in found.items():
            # the rest after a break may break again, where it waits
            assert bool(breaks) == (name in BROKEN), (name, breaks)
            assert all(BROKEN[name] in cause for cause in breaks[:1]), (name, breaks)
            assert variants <= 1 + 2 * len(breaks), (name, variants)


def routings(rank: int, *, count: int) -> tuple[int, int, int, float]:
    """Graphs, variants, routings in which some expert had no row, and the largest difference from eager."""
    world = dist.get_world_size()
    compiled = compile(exchanging.routed, policy=TOGETHER)
    empty, largest = 0, 0.0
    for call in range(count):
        numbers = torch.Generator().manual_seed(100 * call + rank)
        rows = int(torch.randint(2, 7, (), generator=numbers))
        x = torch.randn(rows, 4, generator=numbers)
        weights = torch.randn(4, 4, generator=torch.Generator().manual_seed(rank))
        # the same on all ranks; some experts are better than any other for every row
        router = torch.randn(4, world, generator=torch.Generator().manual_seed(call))
        if call % 5 == 0:
            x, router[:, call % world] = x.abs(), 20
        ours, theirs = ([each.clone().requires_grad_() for each in (x, router, weights)] for _ in range(2))
        got, expected = compiled(*ours), exchanging.routed(*theirs)
        got.square().sum().backward()
        expected.square().sum().backward()
        pairs = [(got, expected), *((one.grad, other.grad) for one, other in zip(ours, theirs))]
        for one, other in pairs:
            assert one is not None and other is not None and one.shape == other.shape
            largest = max(largest, float((one - other).detach().abs().max()))
        counts = ((x @ router).argmax(1)[:, None] == torch.arange(world)).sum(0)
        dist.all_reduce(counts)
        empty += bool((counts == 0).any())
    return len(compiled.graphs), len(compiled.variants), empty, largest


def check_routings(world: int, count: int) -> None:
    for found in run(world, partial(routings, count=count)):
        assert found is not None
        graphs, variants, empty, largest = found
        assert (graphs, variants) == (1, 1) and empty > 0 and largest < 1e-4, found


def test_routings() -> None:
    """Rows that data sends to experts on two ranks take a graph for each routing, or come to the wrong one."""
    check_routings(2, 4)


@pytest.mark.thorough
def test_fifty_routings_of_four_ranks() -> None:
    """The same for many routings on four ranks, some with experts that no row of any rank is sent to."""
    check_routings(4, 50)
