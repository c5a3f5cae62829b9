"""Facts that cannot hold together are reported with their core; facts that only look so are not."""

import pytest

from shapes import Contradiction, ShapeEnv

CONTRADICTORY = [
    ["a < b", "b < a"],
    ["a <= b", "b <= c", "c < a"],
    ["a % 2 == 0", "a % 2 == 1"],
    ["a % 4 == 2", "a % 8 == 0"],
    ["a == 2 * b", "a == 2 * c + 1"],
    ["a * b == 7", "a >= 2", "b >= 2"],
    ["3 * a + 6 * b == 7"],
    ["a > 5", "a * a < 30"],
    ["a // 4 == 3", "a < 12"],
    ["max(a, b) <= 3", "a >= 4"],
    ["a == b + 1", "b == c + 1", "c == a + 1"],
    ["a * b >= 10", "a <= 3", "b <= 3"],
    ["a >= 1 and a <= 0"],
    ["a != 0", "a != 1", "a <= 1"],
]
CONSISTENT = [
    ["a <= b", "b <= a"],
    ["a % 4 == 2", "a % 6 == 4"],
    ["a * b == 77", "a >= 2", "b >= 2"],
    ["3 * a + 6 * b == 9"],
    ["a > 5", "a * a < 50"],
    ["a // 4 == 3", "a < 13"],
    ["a != 0", "a != 1", "a <= 2"],
    ["a * b >= 10", "a <= 3", "b <= 4"],
    ["1000 * a - 999 * b == 1"],
    ["a - b >= 2**62", "b >= 2**62"],
]


@pytest.mark.parametrize("facts", CONTRADICTORY, ids=" & ".join)
def test_contradictions_are_reported(facts: list[str]) -> None:
    """Assumptions that no size satisfies are reported."""
    env = ShapeEnv(solvers=False)
    env.sizes("a b c")
    with pytest.raises(Contradiction) as caught:
        for fact in facts:
            env.assume(fact)
        env.check_consistent()
        env.ask("a >= 3")
    core = {fact.text for fact in caught.value.core}
    assert core <= {*facts, "a >= 0", "b >= 0", "c >= 0"} and len(core & set(facts)) == len(facts), core


@pytest.mark.parametrize("facts", CONSISTENT, ids=" & ".join)
def test_lookalikes_are_not_refused(facts: list[str]) -> None:
    """Programs with satisfiable sizes are not refused."""
    env = ShapeEnv(solvers=False)
    env.sizes("a b c")
    for fact in facts:
        env.assume(fact)
    sizes = env.check_consistent()
    assert sizes is not None and all(eval(fact, {}, sizes) for fact in facts)
