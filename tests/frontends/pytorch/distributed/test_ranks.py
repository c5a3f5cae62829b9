"""`ranks_timeout`: ranks decide alike what is dynamic, and a rank that does not come is an error in time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist

from frontends.pytorch import compile
from frontends.pytorch.errors import ConstraintViolation
from frontends.pytorch.shape_env.ranks import AbsentRanks
from frontends.pytorch.variants.policy import Policy
from tests.frontends.pytorch.distributed import exchanging
from tests.frontends.pytorch.distributed.processes import run

TOGETHER = Policy(ranks_timeout=300.0)


def calls(rank: int) -> list[list[str]]:
    """The causes of the variants of a program in one graph, and of one in two parts."""
    one = compile(exchanging.reduced, policy=TOGETHER)
    two = compile(exchanging.branching, policy=TOGETHER)
    for rows in ((3, 4), (5, 4), (5, 6), (6, 2)):
        x = torch.ones(rows[rank], 4)
        assert torch.equal(one(x), exchanging.reduced(x))
        # nested arguments are exchanged too
        others = [torch.ones(rows[rank] + 1, 4)]
        assert torch.equal(two(x, others), exchanging.branching(x, others))
    return [[variant.cause for variant in each.variants] for each in (one, two)]


def alone(rank: int) -> tuple[str, bool] | None:
    """What the first rank says when the other one does not call; the rank goes on, and may compile alone."""
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
    own = compile(exchanging.branching)(torch.ones(3, 4), [torch.ones(2, 4)])
    dist.barrier()
    return text, isinstance(own, torch.Tensor) and own.shape == (3, 4)


def with_one_dead(rank: int) -> str | None:
    """What the first rank says when the other one is dead."""
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


def test_sizes_that_differ_between_ranks_are_dynamic_at_once() -> None:
    """Each rank compiles again when its own size changes: one rank works, the others wait for it."""
    assert run(2, calls) == [[["first call"], ["first call", "first call"]]] * 2


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


@pytest.mark.parametrize("timeout", [0, -1.0, float("inf"), float("nan"), True, "60"])
def test_bad_timeouts(timeout: float | str) -> None:
    """A wait that is over at once, or has no end, is accepted."""
    with pytest.raises(ConstraintViolation, match="ranks_timeout"):
        Policy(ranks_timeout=timeout)  # type: ignore[arg-type]


def test_by_torch_compile() -> None:
    """`torch.compile` takes the option and does nothing with it."""
    compiled = torch.compile(lambda x: x * 2, backend="symshape", options={"policy": Policy(ranks_timeout=1.0)})
    with pytest.raises(ConstraintViolation, match="TORCH_COMPILER_COLLECTIVES"):
        compiled(torch.ones(3))
