"""Any history of commands leaves what a fresh environment with the surviving facts would have, and answers as
enumeration does."""

import itertools
from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shapes import Always, Contradiction, Depends, Never, ShapeEnv, UndecidedGuard
from shapes.environment import questions, reader
from shapes.environment.ledger import Checkpoint
from solver.terms.sweep import size
from tests.effort import examples

SIDE = range(-3, 8)
NAMES = ("a", "b", "u")
PROPS = [
    "a >= 2",
    "a > b",
    "a % 2 == 0",
    "b % 3 == 1",
    "a + b >= 4",
    "b <= 3",
    "a * b <= 6",
    "u <= a",
    "u == 2 * b",
    "max(a, u) <= 5",
    "u != 1",
    "a == b + 1",
    "a // 2 >= 1",
    "u % 2 == 0 or b >= 2",
]
QUESTIONS = [
    *PROPS,
    "a >= 0",
    "u <= 7",
    "a * a >= 0",
    "a - b <= 6",
    "2 * u != 3",
    "a * b % 2 == 0",
    "u >= b",
    "a + b + u >= 1",
]


def points() -> list[dict[str, int]]:
    values = itertools.product(range(8), range(8), SIDE)
    return [dict(zip(NAMES, point)) for point in values]


class Environments(RuleBasedStateMachine):
    """Commands in any order, against the list of facts that should stand."""

    def __init__(self) -> None:
        super().__init__()
        self.env = self.environment()
        self.env.symbol("a", 0, 7, hint=3)
        self.env.symbol("b", 0, 7, hint=2)
        self.env.unbacked("u", -3, 7)
        self.facts: list[str] = []
        self.marks: list[tuple[Checkpoint, list[str]]] = []
        self.scopes = 0

    def environment(self) -> ShapeEnv:
        return ShapeEnv(solvers=False)

    def allowed(self, facts: list[str]) -> list[dict[str, int]]:
        return [point for point in points() if all(eval(fact, {}, point) for fact in facts)]

    def hints_possible(self, facts: list[str]) -> bool:
        """Checks of values known only at run time may have shown that this run fails."""
        return any((point["a"], point["b"]) == (3, 2) for point in self.allowed(facts))

    @rule(prop=st.sampled_from(PROPS))
    def assume(self, prop: str) -> None:
        before = self.env.events
        try:
            self.env.assume(prop)
        except Contradiction:
            assert self.env.events == before
            assert not self.hints_possible([*self.facts, prop]), "refused, though the hints allow it"
        else:
            self.facts.append(prop)

    @rule(prop=st.sampled_from(PROPS))
    def guard(self, prop: str) -> None:
        before = self.env.events
        try:
            taken = self.env.guard(prop)
        except UndecidedGuard as error:
            assert "u" in prop and self.env.events == before and error.sizes is not None
            return
        except Contradiction:
            assert self.env.events == before and not self.hints_possible(self.facts)
            return
        if "u" not in prop and self.hints_possible(self.facts):
            assert taken == eval(prop, {}, {"a": 3, "b": 2}), "a branch that this run does not take"
        if len(self.env.events) > len(before):
            self.facts.append(prop if taken else f"not ({prop})")

    @rule(prop=st.sampled_from(PROPS))
    def expect(self, prop: str) -> None:
        before = self.env.events
        try:
            self.env.expect_true(prop)
        except Contradiction:
            assert self.env.events == before
        else:
            self.facts.append(prop)

    @rule()
    def checkpoint(self) -> None:
        self.marks.append((self.env.checkpoint(), list(self.facts)))

    @precondition(lambda self: self.marks)
    @rule(data=st.data())
    def rollback(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.marks) - 1))
        mark, self.facts = self.marks[index][0], list(self.marks[index][1])
        self.env.rollback(mark)
        del self.marks[index + 1 :]

    @rule(prop=st.sampled_from(PROPS), question=st.sampled_from(QUESTIONS))
    def suppose(self, prop: str, question: str) -> None:
        before = (self.env.known, self.env.events)
        try:
            with self.env.hypothesis(prop):
                self.judge(question, [*self.facts, prop])
        except Contradiction:
            assert not self.allowed([*self.facts, prop])
        assert (self.env.known, self.env.events) == before

    @rule(question=st.sampled_from(QUESTIONS))
    def ask(self, question: str) -> None:
        self.judge(question, self.facts)

    def judge(self, question: str, facts: list[str]) -> None:
        answers = {bool(eval(question, {}, point)) for point in self.allowed(facts)}
        match self.env.ask(question):
            case Always() as verdict:
                assert answers <= {True} and verdict.check()
            case Never() as verdict:
                assert answers <= {False} and verdict.check()
            case Depends(true_at, false_at) as verdict:
                assert answers == {True, False}
                for values in (verdict.true_values, verdict.false_values):
                    point = {atom.name: value for atom, value in values.items()}
                    assert point in self.allowed(facts), "a witness that no longer holds"
                assert eval(question, {}, true_at) and not eval(question, {}, false_at)

    @invariant()
    def as_if_from_scratch(self) -> None:
        fresh = ShapeEnv(solvers=False)
        fresh.symbol("a", 0, 7, hint=3)
        fresh.symbol("b", 0, 7, hint=2)
        fresh.unbacked("u", -3, 7)
        kept = [event.fact for event in self.env.events[3:]]  # type: ignore[union-attr]
        for fact in kept:
            fresh.restore_fact(fact.text, fact.kind, "", None)
        for question in QUESTIONS[:: 1 + len(kept) % 5]:
            ours, theirs = type(self.env.ask(question)), type(fresh.ask(question))
            assert {ours, theirs} not in ({Always, Never}, {Always, Depends}, {Never, Depends}), question
        assert [str(guard.prop) for guard in self.env.guards()] == [str(guard.prop) for guard in fresh.guards()]

    @invariant()
    def facts_are_those_of_the_model(self) -> None:
        known = [event.fact for event in self.env.events[3:]]  # type: ignore[union-attr]
        texts = {atom.name: atom for atom in self.env.symbols}
        for point in points()[::37]:
            values = {texts[name]: value for name, value in point.items()}
            holds = all(fact.domain.evaluate(values) and fact.prop.evaluate(values) for fact in known)
            assert holds == all(eval(fact, {}, point) for fact in self.facts)


class ForgetfulEnvironments(Environments):
    """The same with room for few answers."""

    def environment(self) -> ShapeEnv:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(questions, "ANSWERS_KEPT", 6)
            patch.setattr(reader, "TEXTS_KEPT", 6)
            return ShapeEnv(solvers=False)


Environments.TestCase.settings = settings(max_examples=examples(25), stateful_step_count=14, deadline=None)
ForgetfulEnvironments.TestCase.settings = settings(max_examples=examples(15), stateful_step_count=14, deadline=None)
TestEnvironments = Environments.TestCase
TestForgetfulEnvironments = ForgetfulEnvironments.TestCase


def test_what_was_said_of_symbols_that_are_gone_is_forgotten() -> None:
    """State about symbols that were rolled back is freed."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes("x y")
    env._memory.nodes_allowed = before = 2000
    sizes = []
    for _ in range(1000):
        mark = env.checkpoint()
        z = env.symbol("z", hint=3)
        env.guard(z * 3 >= 4)
        env.ask("z + x >= 2*y")
        env.rollback(mark)
        sizes.append(size(env.interner))
    assert max(sizes) < 11_000 and any(later < earlier for earlier, later in pairwise(sizes)), "13 nodes in each round"
    assert isinstance(env.ask("x >= 0"), Always) and env._memory.nodes_allowed >= before
