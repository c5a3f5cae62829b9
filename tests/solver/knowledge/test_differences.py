"""Difference constraints: paths against Floyd and Warshall's closure, long chains, and repair along them."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapes import ShapeEnv
from solver.decide.assume import assume
from solver.decide.ladder import decide
from solver.decide.verdict import Always, Depends, Never
from solver.knowledge.differences import prove_nonnegative
from solver.knowledge.facts import Conflict, Facts
from solver.proofs.checker import verify
from solver.samples.pushing import Pushing
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

SYMBOLS = 4
CONSTRAINTS = st.lists(
    st.tuples(st.integers(0, SYMBOLS - 1), st.integers(0, SYMBOLS - 1), st.integers(-3, 3)), max_size=7
)


def learned(facts: Facts, constraints: list[tuple[int, int, int]], symbols: list[Expr]) -> Facts | None:
    """The facts with `symbols[j] - symbols[i] >= c` for each constraint; None if they contradict each other."""
    for i, j, c in constraints:
        larger = assume(facts, facts.next_fact(Prop.ge(symbols[j] - symbols[i], c)))
        if isinstance(larger, Conflict):
            return None
        facts = larger
    return facts


@given(CONSTRAINTS, st.integers(0, SYMBOLS - 1), st.integers(0, SYMBOLS - 1), st.integers(-6, 6))
def test_a_difference_is_proven_if_and_only_if_a_path_leads_there(
    constraints: list[tuple[int, int, int]], start: int, target: int, constant: int
) -> None:
    """If this fails, a difference that follows from others is missed, or one that does not is proven."""
    interner = Interner()
    symbols = [interner.symbol(f"s{i}") for i in range(SYMBOLS)]
    known = Facts.empty(interner)
    for symbol in symbols:
        known = known.declare_range(symbol, None, None)
    closure: dict[tuple[int, int], int] = {}
    for i, j, c in constraints:
        closure[i, j] = max(c, closure.get((i, j), c))
    for k, i, j in product(range(SYMBOLS), repeat=3):
        if (i, k) in closure and (k, j) in closure:
            closure[i, j] = max(closure[i, k] + closure[k, j], closure.get((i, j), -99))
    facts = learned(known, constraints, symbols)
    if any(closure.get((i, i), 0) > 0 for i in range(SYMBOLS)):
        assert facts is None or not facts.samples.alive
        return
    assert facts is not None
    follows = start == target and constant >= 0 or closure.get((start, target), -99) >= -constant
    goal = interner.ge(symbols[target] - symbols[start] + constant, 0)
    if facts.samples.alive and goal.kind == "ge":
        proof = prove_nonnegative(facts, facts.canonical(goal.expr)[0])
        if proof is not None:
            assert follows and verify(proof, proof.conclusion, interner.true)
    verdict = decide(facts, goal)
    assert isinstance(verdict, Always) is follows
    assert not isinstance(verdict, (Always, Never)) or verdict.check()


BOUNDED = st.lists(st.tuples(*[st.integers(-1, 1)] * 3, st.integers(-4, 4)), min_size=1, max_size=4)


@given(BOUNDED, st.tuples(*[st.integers(-1, 1)] * 3, st.integers(-4, 4)))
def test_proofs_hold_at_every_assignment_of_a_box(
    rows: list[tuple[int, int, int, int]], asked: tuple[int, int, int, int]
) -> None:
    """If this fails, a bound of a further term is taken from the wrong side."""
    interner = Interner()
    symbols = [interner.symbol(name) for name in "abc"]
    known = Facts.empty(interner)
    for symbol in symbols:
        known = known.declare_range(symbol, -2, 3)
    forms = [sum([c * x for c, x in zip(row, symbols)], interner.constant(row[3])) for row in [*rows, asked]]
    facts: Facts | Conflict = known
    for form in forms[:-1]:
        if isinstance(facts, Facts):
            facts = assume(facts, facts.next_fact(interner.ge(form, 0)))
    if isinstance(facts, Conflict) or not facts.samples.alive:
        return
    goal, _ = facts.canonical_prop(interner.ge(forms[-1], 0))
    proof = prove_nonnegative(facts, goal.expr) if goal.kind == "ge" else None
    if proof is None:
        return
    assert proof.conclusion is goal and verify(proof, goal, interner.true)
    for values in product(range(-2, 4), repeat=3):
        assignment = {symbol.atom: value for symbol, value in zip(symbols, values)}
        if all(form.evaluate(assignment) >= 0 for form in forms[:-1]):
            assert forms[-1].evaluate(assignment) >= 0


@pytest.mark.parametrize("size", [10, 28, 100, 300])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_offsets_of_ragged_batches(size: int, strict: bool, reverse: bool) -> None:
    """If this fails, the first and the last of a chain of offsets are not ordered, at some length."""
    interner = Interner()
    offsets = [interner.symbol(f"o{i}") for i in range(size)]
    known = Facts.empty(interner)
    for offset in offsets:
        known = known.declare_range(offset, 0, None)
    links = [(i, i + 1, int(strict)) for i in range(size - 1)]
    facts = learned(known, links[::-1] if reverse else links, offsets)
    assert facts is not None
    least = (size - 1) * strict
    first, last = offsets[0], offsets[-1]
    verdict = decide(facts, interner.ge(last, first + least), effort="default")
    assert isinstance(verdict, Always) and len(verdict.core) == size - 1 and verdict.check()
    assert isinstance(decide(facts, interner.lt(last, first), effort="default"), Never)
    assert isinstance(decide(facts, interner.ge(last, least), effort="default"), Always)
    assert isinstance(decide(facts, interner.ge(last, first + least + 1), effort="default"), Depends)


@given(st.permutations(range(6)))
def test_pushed_samples_satisfy_every_fact(order: list[int]) -> None:
    """If this fails, a pushed sample violates a fact, or a chain learned in some order has no sample left."""
    interner = Interner()
    offsets = [interner.symbol(f"o{i}") for i in range(7)]
    known = Facts.empty(interner)
    for offset in offsets:
        known = known.declare_range(offset, 0, 40, hint=0)
    facts = learned(known, [(i, i + 1, 3) for i in order[1:]], offsets)
    assert facts is not None
    goal = interner.ge(offsets[order[0] + 1] - offsets[order[0]], 3)
    for row in facts.samples.alive:
        moved = Pushing(facts, facts.samples, row).reach(goal)
        values = facts.samples.row_values(facts.all_symbols(), row) | (moved or {})
        assert moved is None or goal.evaluate(values) and facts.holds_at(values)
    assert learned(facts, [(order[0], order[0] + 1, 3)], offsets) is not None


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(0, 2), st.integers(-3, 3)), max_size=4),
    st.tuples(st.integers(1, 2), st.integers(0, 2), st.integers(0, 2), st.integers(-3, 3)),
)
def test_witnesses_satisfy_the_question_among_scaled_differences(facts, question) -> None:
    """A sample that moves along `y >= k*x + c` may violate the question again, as for `2*u0 < u1` and `u0 >= u1`."""
    env = ShapeEnv()
    sizes = [env.unbacked(f"u{place}") for place in range(3)]
    for k, i, j, c in facts:
        fact = sizes[j] >= k * sizes[i] + c
        if i != j and not isinstance(env.ask(fact), Never):
            env.assume(fact)
    k, i, j, c = question
    if i != j:
        assert env.ask(sizes[j] >= k * sizes[i] + c).check()


def test_the_question_is_no_fact() -> None:
    """The repair of a sample moved on after the question held, and violated it."""
    env = ShapeEnv()
    first, second = env.unbacked("u0", lo=0), env.unbacked("u1")
    env.assume(2 * first < second)
    assert isinstance(env.ask(first >= second), Never)
