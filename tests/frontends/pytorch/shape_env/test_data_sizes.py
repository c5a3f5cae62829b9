"""Numbers from data decide branches while Dynamo reads a function, as far as operators say something of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch.utils.checkpoint import checkpoint

from frontends.pytorch.shape_env import installed

Program = Callable[..., Any]
DECIDED: Final[dict[str, Program]] = {}
OPEN: Final[dict[str, Program]] = {}


def decided(program: Program) -> Program:
    DECIDED[program.__name__] = program
    return program


def undecided(program: Program) -> Program:
    OPEN[program.__name__] = program
    return program


@decided
def index_of_the_largest(x):
    return x * 2 if x.argmax().item() < x.shape[0] else x


@decided
def at_most_all_are_selected(x):
    return x * 2 if x[x > 0].shape[0] <= x.shape[0] else x


@decided
def a_mask_and_its_sum(x):
    mask = x > 0
    return x[mask] * 2 if mask.sum().item() == x[mask].shape[0] else x


@decided
def equal_masks(x):
    a, b = x[x > 0], (x + 1)[x > 0]
    return a + b if a.shape[0] == b.shape[0] else a


@decided
def bins_of_indices(x):
    counts = (x > 0).long().bincount(minlength=2)
    return counts * 2 if counts.shape[0] == 2 else counts


@decided
def counts_add_up(x):
    counts = x.view(-1, 2).argmax(-1).bincount(minlength=2).tolist()
    return x * 2 if sum(counts) == x.shape[0] // 2 and counts[0] >= 0 else x


@decided
def repeated_as_often_as_they_add_up_to(x):
    repeats = (x > 0).long()
    return x.repeat_interleave(repeats) * 2 if x.repeat_interleave(repeats).shape[0] <= x.shape[0] else x


@decided
def something_of_something_is_distinct(x):
    found = (x > 0).unique()
    return found if x.shape[0] == 0 or found.shape[0] >= 1 else x


@undecided
def a_mask_that_is_changed(x):
    mask = x > 0
    before = x[mask]
    mask.logical_not_()
    return x * 2 if before.shape[0] == x[mask].shape[0] else x


@undecided
def a_mask_whose_memory_is_changed(x):
    mask = x > 0
    before = x[mask]
    mask.view(-1, 2)[:, 0] = True
    return x * 2 if before.shape[0] == x[mask].shape[0] else x


@undecided
def a_mask_that_a_body_changes(x):
    mask = x > 0
    before = x[mask]
    checkpoint(lambda given: given.logical_not_() | given, mask, use_reentrant=False)
    return x * 2 if before.shape[0] == x[mask].shape[0] else x


@undecided
def random_masks(x):
    a, b = x[torch.rand_like(x) > 0.5], x[torch.rand_like(x) > 0.5]
    return x * 2 if a.shape[0] == b.shape[0] else x


@undecided
def an_index_that_has_moved(x):
    place = x.argmax() + 1
    return x * 2 if place.item() < x.shape[0] else x


def compiled(program: Program) -> tuple[Program, CompileCounterWithBackend]:
    graphs = CompileCounterWithBackend("eager")
    return torch.compile(program, backend=graphs, dynamic=True), graphs


@pytest.fixture(autouse=True)
def captures():
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
        yield


@pytest.mark.parametrize("name", sorted(DECIDED))
def test_facts_decide_a_branch(name: str) -> None:
    program = DECIDED[name]
    with installed():
        run, graphs = compiled(program)
        for size in (4, 6, 2, 8):
            x = torch.randn(size)
            torch.testing.assert_close(run(x), program(x))
    assert graphs.frame_count == 1


@pytest.mark.parametrize("name", sorted(OPEN))
def test_what_the_run_decides_ends_the_graph(name: str) -> None:
    """If this fails, a fact outlived the elements that it was about."""
    program = OPEN[name]
    with installed():
        run, graphs = compiled(program)
        for size in (4, 6, 2, 8, 4, 6):
            x = torch.randn(size)
            torch.manual_seed(size)
            expected = program(x)
            torch.manual_seed(size)
            torch.testing.assert_close(run(x), expected)
    assert graphs.frame_count > 1


def test_a_list_whose_length_only_the_run_tells_is_pythons() -> None:
    def program(x):
        return [each * 2 for each in x[x > 0].long().tolist()], x + 1

    with installed():
        run, _ = compiled(program)
        for size in (4, 6):
            x = 3 * torch.randn(size)
            torch.testing.assert_close(run(x), program(x))


def test_a_carried_number_has_no_facts_of_the_first_round() -> None:
    """An index begins within a tensor, and leaves it in later rounds."""
    from torch._higher_order_ops.while_loop import while_loop

    def rounds(place, total, x):
        return place < 6

    def body(place, total, x):
        inside = torch.where(place < x.shape[0], 1, 0)
        return place + 1, total + inside, x.clone()

    def program(x):
        return while_loop(rounds, body, (x.argmax(), torch.zeros((), dtype=torch.int64), x))

    with installed():
        run, _ = compiled(program)
        for size in (2, 3, 4):
            x = torch.randn(size)
            torch.testing.assert_close(run(x), program(x))
