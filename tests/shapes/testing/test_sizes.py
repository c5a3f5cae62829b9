"""Sizes that the solver makes: all satisfy the facts, the edges are among them, and none is thrown away."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.statistics import collector

from shapes import ShapeEnv
from shapes.errors import Contradiction, ShapeError
from shapes.testing import assignments, sizes_for
from shapes.testing.corners import corners, violations
from tests.effort import processor_seconds

COUNT = 30


def many_facts(count: int = COUNT) -> tuple[ShapeEnv, dict[str, str]]:
    """An environment of so many symbols and facts; each fact with what says that it is tight."""
    env = ShapeEnv(origin=lambda: None)
    for i in range(count):
        env.symbol(f"s{i}", hi=2**40 if i % 3 == 0 else None)
    facts = {}
    for i in range(count):
        a, b, c = f"s{i}", f"s{(i + 1) % count}", f"s{(i + 7) % count}"
        fact, tight = [
            (f"{a} % 8 == 0", f"{a} % 8 == 0"),
            (f"{a} + 3 <= 4*{b} + 100", f"{a} + 3 == 4*{b} + 100"),
            (f"{a} // 4 + {b} // 2 >= 2", f"{a} // 4 + {b} // 2 == 2"),
            (f"{a} <= 2**33", f"{a} == 2**33"),
            (f"({a} + 15)//16*16 - {a} + {b} >= 5", f"({a} + 15)//16*16 - {a} + {b} == 5"),
            (f"{a} == {c} or {a} < 1000", f"{a} == {c} or {a} == 999"),
        ][i % 6]
        env.assume(fact)
        facts[fact] = tight
    return env, facts


def true_at(text: str, sizes: dict[str, int]) -> bool:
    return bool(eval(text, {}, sizes))


def test_a_thousand_assignments_of_thirty_symbols():
    """A thousand assignments of thirty symbols satisfy all guards, contain the edges, and take little time."""
    env, facts = many_facts()
    with processor_seconds(20):  # a quarter of one
        found = list(assignments(env, 1000))
    assert len(found) == len({tuple(sizes.values()) for sizes in found}) == 1000
    assert all(len(sizes) == COUNT and true_at(fact, sizes) for sizes in found for fact in facts)
    for tight in facts.values():
        assert any(true_at(tight, sizes) for sizes in found), tight


def test_each_fact_is_violated_alone():
    """Each fact is violated alone."""
    env, facts = many_facts()
    violated = {corner.fact.text for corner in violations(env)}
    assert violated == set(facts)
    for corner in violations(env):
        for fact in facts:
            assert true_at(fact, corner.sizes) == (fact != corner.fact.text)


def test_violations_can_be_varied():
    """A violation can be varied by other symbols, and stays the only one."""
    env, facts = many_facts(12)
    for wanted in facts:
        for sizes in assignments(env, 40, violating=wanted):
            assert [fact for fact in facts if not true_at(fact, sizes)] == [wanted]


def test_hypothesis_rejects_nothing():
    """Hypothesis rejects no example."""
    env, facts = many_facts()
    statistics = []

    @settings(max_examples=300, database=None, deadline=None)
    @given(sizes_for(env))
    def satisfied(sizes):
        assert all(true_at(fact, sizes) for fact in facts)

    with collector.with_value(statistics.append):
        satisfied()
    (run,) = statistics
    cases = run["generate-phase"]["test-cases"]
    assert len(cases) >= 200
    assert {case["status"] for case in cases} == {"valid"}


def test_examples_shrink_to_the_smallest_sizes():
    """Examples shrink to the smallest sizes."""
    env = ShapeEnv(origin=lambda: None)
    env.sizes("b s t")
    env.assume("s % 16 == 0")
    env.assume("b <= s")
    seen = []

    @settings(max_examples=300, database=None, deadline=None, derandomize=True)
    @given(sizes_for(env))
    def small(sizes):
        if sizes["b"] >= 5:
            seen.append(sizes)
            raise AssertionError

    with pytest.raises(AssertionError):
        small()
    assert seen[-1] == {"b": 5, "s": 16, "t": 0}


@pytest.mark.parametrize(
    ("facts", "edge"),
    [
        (["a <= b", "b <= 100"], {"a": 100, "b": 100}),
        (["a * b == 36"], {"a": 36, "b": 1}),
        (["3*a == 5*b"], {"a": 0, "b": 0}),
        (["a % 7 == 3", "a < 2**31"], None),
        (["a >= 2 and b >= 3 or a == 0"], None),
        (["b == 0 or a % b == 0"], None),
        (["max(a, b) == 12", "min(a, b) >= 2"], {"a": 12, "b": 2}),
    ],
)
def test_facts_of_many_kinds(facts, edge):
    """Facts of every kind are satisfied."""
    env = ShapeEnv(origin=lambda: None)
    env.sizes("a b")
    for fact in facts:
        env.assume(fact)
    found = list(assignments(env, 200))
    assert found
    assert all(true_at(fact, sizes) for sizes in found for fact in facts)
    assert edge is None or edge in found


def test_all_of_a_small_box_are_found():
    """All sizes in a small box that the facts allow are found."""
    env = ShapeEnv(origin=lambda: None)
    env.symbol("a", lo=1, hi=6)
    env.symbol("b", lo=0, hi=5)
    env.assume("a + b >= 4")
    found = {(sizes["a"], sizes["b"]) for sizes in assignments(env, 1000)}
    assert found == {(a, b) for a in range(1, 7) for b in range(6) if a + b >= 4}


def test_environments_without_sizes():
    """Environments without symbols or facts can be used."""
    env = ShapeEnv(origin=lambda: None)
    assert list(assignments(env, 5)) == [{}]
    env.symbol("s")
    assert {0, 1, 2**31} <= {sizes["s"] for sizes in assignments(env, 20)}
    assert list(assignments(env, 5, violating=True)) == []


def test_what_cannot_be_violated_says_so():
    """A fact that cannot be violated, or is misspelled, is an error."""
    env = ShapeEnv(origin=lambda: None)
    env.symbol("s")
    env.assume("s >= 4")
    env.assume("s >= 2 or s >= 5")
    with pytest.raises(ShapeError, match="expected one of the facts"):
        sizes_for(env, violating="s >= 7")
    assert [corner.sizes for corner in violations(env, "s >= 4")] == [{"s": 3}]
    with env.hypothesis("s >= 0"):
        assert next(iter(corners(env))).sizes == {"s": 4}
    with pytest.raises(Contradiction):
        env.assume("s < 4")


@st.composite
def bounded(draw):
    """Small boxes with random facts, for which all assignments can be listed."""
    env = ShapeEnv(origin=lambda: None)
    for name in "abc":
        env.symbol(name, lo=draw(st.integers(0, 2)), hi=draw(st.integers(3, 6)))
    for _ in range(draw(st.integers(1, 3))):
        left, right = (draw(st.sampled_from(["a", "b + c", "2*a", "a*b", "c//2", "max(a, c)", "b % 3"])) for _ in "lr")
        relation = draw(st.sampled_from(["<=", "==", "!=", "<"]))
        try:
            env.assume(f"{left} {relation} {right} + {draw(st.integers(0, 3))}")
        except ShapeError:
            continue
    return env


@settings(max_examples=60)
@given(bounded())
def test_random_facts(env):
    """Assignments satisfy random facts, and a violation violates one fact only."""
    facts = [fact for fact in env.known.records() if fact.kind == "given"]
    found = list(assignments(env, 60))
    assert found
    for sizes in found:
        assert all(true_at(fact.text, sizes) for fact in facts)
    for corner in violations(env):
        assert [fact for fact in facts if not true_at(fact.text, corner.sizes)] == [corner.fact]
