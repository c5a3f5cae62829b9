"""Ranks decide alike what is dynamic, and do not wait for ever for one that does not come."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.distributed as dist

from frontends.pytorch import compile
from frontends.pytorch.errors import ConstraintViolation
from frontends.pytorch.shape_env import ranks
from frontends.pytorch.shape_env.ranks import AbsentRanks
from frontends.pytorch.variants.policy import Policy
from tests.frontends.pytorch.distributed import exchanging
from tests.frontends.pytorch.distributed.processes import run

TOGETHER = Policy(ranks_timeout=300.0)


def calls(rank: int, *, policy: Policy | None) -> list[list[str]]:
    """The causes of the variants of a program in one graph, and of one in two parts."""
    ranks.PATIENCE = 300.0  # type: ignore[misc]
    one = compile(exchanging.reduced, policy=policy)
    two = compile(exchanging.branching, policy=policy)
    for rows in ((3, 4), (5, 4), (5, 6), (6, 2)):
        x = torch.ones(rows[rank], 4)
        assert torch.equal(one(x), exchanging.reduced(x))
        # nested arguments are exchanged too
        others = [torch.ones(rows[rank] + 1, 4)]
        assert torch.equal(two(x, others), exchanging.branching(x, others))
    return [[variant.cause for variant in each.variants] for each in (one, two)]


def alone(rank: int) -> tuple[str, bool] | None:
    """The error of the first rank when the other one does not call; the rank goes on, and may compile alone."""
    if rank:
        # until the other is done
        dist.barrier()
        return None
    try:
        compile(exchanging.branching, policy=Policy(ranks_timeout=0.5))(torch.ones(3, 4), [torch.ones(2, 4)])
    except AbsentRanks as error:
        text = str(error)
    else:
        text = "no error"
    ranks.PATIENCE = 0.5  # type: ignore[misc]
    own = [
        compile(exchanging.branching, policy=policy)(torch.ones(3, 4), [torch.ones(2, 4)])
        for policy in (None, Policy(ranks_timeout=0))
    ]
    dist.barrier()
    return text, all(isinstance(each, torch.Tensor) and each.shape == (3, 4) for each in own)


def with_one_dead(rank: int) -> str | None:
    """The error of the first rank when the other one is dead."""
    if rank:
        import os

        os._exit(3)
    try:
        compile(exchanging.branching, policy=Policy(ranks_timeout=0.5))(torch.ones(3, 4), [torch.ones(2, 4)])
    except AbsentRanks as error:
        return str(error)
    return "no error"


def recompiles(rank: int) -> int:
    """One rank alone compiles again: it does not wait for the other, which has a variant."""
    compiled = compile(exchanging.reduced, policy=TOGETHER)
    for rows in ((3, 3), (3, 4), (3, 5)):
        x = torch.ones(rows[rank], 4)
        assert torch.equal(compiled(x), exchanging.reduced(x))
    return len(compiled.variants)


HISTORIES = ("reduced", "reduced_in_place", "gathered", "scattered", "sent", "padded", "overlapped", "broadcast")


def histories(rank: int, *, seeds: range, least: int) -> list[tuple[str, list[str], bool]]:
    """Each random history's program, its variants' code, and if its sizes varied; calls are compared with eager."""
    found = []
    for seed in seeds:
        numbers = random.Random(seed)
        name = numbers.choice(HISTORIES)
        fn = getattr(exchanging, name)
        compiled = compile(fn, policy=TOGETHER)
        # often the same as in the call before, on some ranks
        rows = [numbers.randint(least, 9) for _ in range(dist.get_world_size())]
        seen = set[int]()
        for call in range(numbers.randint(2, 6)):
            x = torch.randn(rows[rank], 4, generator=torch.Generator().manual_seed(100 * call + rank))
            torch.testing.assert_close(compiled(x), fn(x))
            seen.add(rows[rank])
            rows = [numbers.choice((size, numbers.randint(least, 9))) for size in rows]
        assert not compiled.fallbacks
        found.append((name, sorted(str(variant.graph.code) for variant in compiled.variants), len(seen) > 1))
    return found


def check_histories(seeds: range) -> None:
    one, other = run(2, partial(histories, seeds=seeds, least=2))
    assert one is not None and other is not None and len(one) == len(other) == len(seeds)
    for (name, mine, varied), (_, theirs, other_varied) in zip(one, other):
        assert 1 <= min(len(mine), len(theirs)) and max(len(mine), len(theirs)) <= 2
        # a rank whose sizes never change has no need of a second one
        assert varied or set(mine) <= set(theirs), name
        assert other_varied or set(theirs) <= set(mine), name
        assert mine == theirs or not (varied and other_varied), name


def test_histories() -> None:
    """Ranks that see different sizes have different variants, or wrong results."""
    check_histories(range(3))


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(0, 200, 25))
def test_many_histories(first: int) -> None:
    """The same for many histories."""
    check_histories(range(first, first + 25))


@pytest.mark.thorough
def test_histories_with_few_rows() -> None:
    """A rank with no row, or one, has a variant for that, and does not wait for those that have none."""
    found = run(2, partial(histories, seeds=range(40), least=0))
    for one, other in zip(*found):
        assert one[0] == other[0]
        assert all(1 <= len(variants) <= 4 for _, variants, _ in (one, other))


def killed_later(rank: int) -> tuple[str, str] | None:
    """The errors of the first rank after the other one died between two calls: in an exchange, and when it compiles."""
    compiled = compile(exchanging.reduced, policy=TOGETHER)
    compiled(torch.ones(3 + rank, 4))
    if rank:
        import os

        os._exit(3)
    said = list[str]()
    for program in (compiled, compile(exchanging.branching, policy=Policy(ranks_timeout=0.5))):
        others = [[torch.ones(2, 4)]] if said else []
        try:
            program(torch.ones(7, 4), *others)
        except RuntimeError as error:
            said.append(f"{type(error).__name__}: {error}")
        else:
            said.append("no error")
    return said[0], said[1]


@pytest.mark.thorough
def test_a_rank_that_dies_later() -> None:
    """The others wait as long as the group allows, not as long as the connection lives."""
    result = run(2, killed_later)[0]
    assert result is not None
    exchange, compilation = result
    assert "closed by peer" in exchange or "Connection reset" in exchange, exchange
    assert "rank 1 did not compile it within 0.5 s" in compilation


@pytest.mark.parametrize("policy", [TOGETHER, pytest.param(None, marks=pytest.mark.thorough)])
def test_sizes_that_differ_between_ranks_are_dynamic_at_once(policy: Policy | None) -> None:
    """Each rank compiles again when its own size changes: one rank works, the others wait for it."""
    assert run(2, partial(calls, policy=policy)) == [[["first call"], ["first call", "first call"]]] * 2


@pytest.mark.parametrize("program", [alone, with_one_dead])
def test_absent_ranks(program: Callable[[int], tuple[str, bool] | str | None]) -> None:
    """A rank waits for ever, or does not say for whom."""
    result = run(2, program)[0]
    text, goes_on = result if isinstance(result, tuple) else (result, True)
    assert text is not None and text.startswith(
        "rank 0 compiles branching and waits for the sizes of the other ranks: rank 1 did not compile it within 0.5 s"
    )
    assert goes_on


@pytest.mark.thorough
def test_recompilation_of_one_rank() -> None:
    """A recompilation that the other rank has no cause for waits for it."""
    assert run(2, recompiles) == [1, 2]


def test_without_a_group() -> None:
    """The option is an error, or waits, in a process that is in no group."""
    compiled = compile(lambda x: x + x.sum(0), policy=Policy(ranks_timeout=0.1))
    for rows in (3, 4, 5):
        assert torch.equal(torch.as_tensor(compiled(torch.ones(rows, 4))), torch.full((rows, 4), rows + 1.0))
    assert len(compiled.variants) == 2


@pytest.mark.parametrize("timeout", [-0.1, -1.0, float("inf"), float("nan"), True, "60"])
def test_bad_timeouts(timeout: float | str) -> None:
    """A wait of less than no time, or without end, is accepted."""
    with pytest.raises(ConstraintViolation, match="ranks_timeout"):
        Policy(ranks_timeout=timeout)  # type: ignore[arg-type]


def test_by_torch_compile() -> None:
    """`torch.compile` takes the option and does nothing with it."""
    compiled = torch.compile(lambda x: x * 2, backend="symshape", options={"policy": Policy(ranks_timeout=1.0)})
    with pytest.raises(ConstraintViolation, match="TORCH_COMPILER_COLLECTIVES"):
        compiled(torch.ones(3))
