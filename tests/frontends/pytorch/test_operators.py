"""Torch's operators beside the committed table (`make operators` makes it anew): a fair sample of them."""

import warnings

import pytest
import torch

from benchmarks.operators.judging import judge
from benchmarks.operators.record import Outcome, seen

FORWARD = seen("forward")
BACKWARD = seen("backward")
EVERY = 3
"""One operator in so many is looked at, by name, so that all families are."""
EVERY_BACKWARD = 8


@pytest.fixture(autouse=True)
def quiet():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.set_num_threads(threads)


def regressions(now: Outcome, before: Outcome) -> list[str]:
    """Results that are worse than in the table."""
    found = list(now.wrong)
    if before.verdict == "full":
        found += now.failed
    if not before.pinned:
        found += now.pinned
    if not before.refused:
        found += now.refused
    if not before.stopped:
        found += now.stopped
    return found


@pytest.mark.parametrize("name", sorted(FORWARD)[::EVERY])
def test_an_operator_is_as_good_as_in_the_table(name):
    """An operator that was right on its samples and at other sizes no longer is, or refuses or pins sizes."""
    assert regressions(judge(name, 1), FORWARD[name]) == []


@pytest.mark.parametrize("name", sorted(BACKWARD)[::EVERY_BACKWARD])
def test_the_gradient_of_an_operator_is_as_good_as_in_the_table(name):
    """A gradient that was right no longer is."""
    assert regressions(judge(name, 1, backward=True), BACKWARD[name]) == []


def test_nothing_in_the_table_is_wrong():
    """A table was committed in which an operator differs from eager."""
    assert [name for each in (FORWARD, BACKWARD) for name, outcome in each.items() if outcome.wrong] == []


def test_most_of_the_table_is_full():
    """A table was committed that misses what the frontend is to reach."""
    assert sum([outcome.verdict == "full" for outcome in FORWARD.values()]) >= 660
    assert sum([outcome.general for outcome in FORWARD.values()]) >= 620
    assert sum([outcome.verdict == "full" for outcome in BACKWARD.values()]) >= 0.95 * len(BACKWARD)
