"""Sums of sizes that only the run tells: what a fact about them says is decided, for two of them and for 64.

If one of these fails, a program that splits a tensor by counts from its data asks at run time what is known, or a
question that is open is given up.
"""

import pytest

from shapes import Always, Depends, Never, ShapeEnv, SymInt, sym_max, sym_sum
from tests.effort import processor_seconds

COUNTS = (2, 3, 8, 16, 64)


@pytest.mark.parametrize("promised", ["postulate", "expect_true", "assume"])
@pytest.mark.parametrize("count", COUNTS)
def test_parts_of_a_sum_that_is_known(count: int, promised: str) -> None:
    """Whatever order the sizes are added in, and whichever way the fact was stated."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    rows, width, other = env.sizes("rows width other")
    sizes = [env.unbacked(lo=0) for _ in range(count)]
    getattr(env, promised)(sym_sum(sizes) == rows)
    half = count // 2
    added: SymInt | int = 0
    for size in reversed(sizes):
        added = added + size
    follows = [
        added == rows,
        sym_sum(sizes[:half]) + sym_sum(sizes[half:]) == rows,
        sym_sum(sizes[:half]) <= rows,
        sizes[0] + sizes[-1] <= rows,
        rows - sym_sum(sizes[:-1]) == sizes[-1],
        sym_sum([size * width for size in sizes]) == rows * width,
        sym_sum(sizes[:half]) * width <= rows * width,
        sym_max(*sizes) <= rows,
    ]
    open_ones = [
        sizes[0] <= sizes[1],
        sizes[0] > sizes[1],
        sym_sum(sizes[:half]) == rows,
        added == other,
        sizes[-1] >= 5,
        sym_sum(sizes[:half]) <= sym_sum(sizes[half:]),
        sizes[0] * width == rows,
    ]
    with processor_seconds(60):
        for number, question in enumerate(follows):
            assert isinstance(env.ask(question), Always), number
        assert isinstance(env.ask(added == rows + 1), Never)
        for number, question in enumerate(open_ones):
            verdict = env.ask(question)
            assert isinstance(verdict, Depends) and verdict.check(), number


@pytest.mark.parametrize("count", COUNTS)
def test_splits_of_both_sides_of_an_exchange(count: int) -> None:
    """Two sums beside each other: what is sent and what arrives are not confused."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    rows, peer = env.sizes("rows peer")
    sent, received = ([env.unbacked(lo=0) for _ in range(count)] for _ in range(2))
    env.postulate(sym_sum(sent) == rows)
    env.postulate(sym_sum(received) == peer)
    assert isinstance(env.ask(sym_sum(sent) + sym_sum(received) == rows + peer), Always)
    for question in (
        sent[0] <= received[0],
        sent[0] > received[0],
        sent[-1] <= received[-1],
        sent[0] + sent[1] <= received[-1],
        rows <= peer,
        sym_sum(sent) == peer,
        sent[0] < 5,
        sym_sum(sent[: count // 2]) <= sym_sum(received[: count // 2]),
    ):
        verdict = env.ask(question)
        assert isinstance(verdict, Depends) and verdict.check(), str(question)
    env.assume(rows == peer)
    assert isinstance(env.ask(sym_sum(sent) == sym_sum(received)), Always)
    env.assume(sym_sum(sent[:-1]) == sym_sum(received[:-1]))
    assert isinstance(env.ask(sent[-1] == received[-1]), Always)
