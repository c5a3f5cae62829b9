"""Random lives of an environment: declare, assume, ask, guard, check, checkpoint, roll back; always the same as an
environment that only did what stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shapes import Always, Depends, GaveUp, Never, ShapeEnv
from shapes.environment.ledger import Checkpoint
from shapes.errors import ShapeError
from tests.effort import examples

QUESTIONS = (
    "a >= 1",
    "a % 2 == 0",
    "a <= b",
    "a + b >= 8",
    "b // 4 * 4 == b",
    "a * b >= 16",
    "min(a, b) == a",
    "a == b or a != 5",
)
FACTS = (
    "a % 2 == 0",
    "a <= b",
    "b % 4 == 0",
    "a + b <= 60",
    "a != 6",
    "b == 2 * a",
    "a >= 4",
    "a * b >= 8",
    "a == 8 or a == 12",
    "max(a, b) <= 40",
)

Command = Callable[[ShapeEnv], object]


@dataclass
class Mark:
    """A checkpoint and how long the list of commands was."""

    checkpoint: Checkpoint
    commands: int
    symbols: int
    seen: tuple[object, ...] = field(default=())


def fresh() -> ShapeEnv:
    env = ShapeEnv(solvers=False)
    env.symbol("a", lo=0, hint=8)
    env.symbol("b", lo=0, hint=16)
    return env


def state(env: ShapeEnv) -> tuple[object, ...]:
    """The visible state of an environment: its facts, guards, checks and specializations."""
    return (
        tuple(guard.text for guard in env.guards()),
        tuple(env.preconditions()) and tuple(str(given) for given in env.preconditions()),
        tuple(str(check) for check in env.runtime_asserts()),
        tuple(str(one) for one in env.specializations()),
    )


class Machine(RuleBasedStateMachine):
    """An environment beside the commands that stand."""

    def __init__(self) -> None:
        super().__init__()
        self.env = fresh()
        self.commands: list[Command] = []
        self.marks: list[Mark] = []

    def perform(self, command: Command) -> None:
        before = state(self.env)
        try:
            command(self.env)
        except ShapeError:
            assert state(self.env) == before, "a command that failed left something behind"
        else:
            self.commands.append(command)

    @rule(fact=st.sampled_from(FACTS))
    def assume(self, fact: str) -> None:
        self.perform(lambda env: env.assume(fact))

    @rule(fact=st.sampled_from(QUESTIONS))
    def guard(self, fact: str) -> None:
        self.perform(lambda env: env.guard(fact))

    @rule(fact=st.sampled_from(FACTS))
    def check(self, fact: str) -> None:
        self.perform(lambda env: env.expect_true(fact, "said so"))

    @rule(question=st.sampled_from(QUESTIONS))
    def ask(self, question: str) -> None:
        before = state(self.env)
        assert self.env.ask(question).check()
        assert state(self.env) == before, "asking changed something"

    @rule(question=st.sampled_from(QUESTIONS), fact=st.sampled_from(FACTS))
    def suppose(self, question: str, fact: str) -> None:
        before = state(self.env)
        try:
            with self.env.hypothesis(fact):
                self.env.ask(question)
        except ShapeError:
            pass
        assert state(self.env) == before, "a hypothesis left something behind"

    @rule()
    def mark(self) -> None:
        self.marks.append(Mark(self.env.checkpoint(), len(self.commands), 0, state(self.env)))

    @precondition(lambda self: self.marks)
    @rule(data=st.data())
    def go_back(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.marks) - 1))
        mark = self.marks[index]
        del self.marks[index:]
        self.env.rollback(mark.checkpoint)
        del self.commands[mark.commands :]
        assert state(self.env) == mark.seen, "a rolled-back stretch left something behind"

    @invariant()
    def same_as_replayed(self) -> None:
        again = fresh()
        for command in self.commands:
            command(again)
        assert state(again) == state(self.env)
        for question in QUESTIONS:
            match self.env.ask(question), again.ask(question):
                case (
                    (Always(), Never() | Depends())
                    | (Never(), Always() | Depends())
                    | (Depends(), Always() | Never()) as pair
                ):
                    raise AssertionError(f"{question}: {pair}")
                case GaveUp(), _:
                    pass


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=examples(40), stateful_step_count=14, deadline=None)
