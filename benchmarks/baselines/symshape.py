"""This project's engine as a compiler would use it: text in, verdict out, and its evidence read, as it was found.

Cores are made minimal and witnesses small for people who read them: `shapes replay --evidence` says what that takes.
"""

from benchmarks.baselines import OPEN, Answer
from shapes import Always, Depends, Never, ShapeEnv
from solver.terms.expr import Atom


class WithSolvers:
    """A fresh environment for each session; sympy and z3 are loaded before the first clock, like baselines."""

    solvers = True

    def __init__(self) -> None:
        if self.solvers:
            import sympy  # noqa: F401
            import z3  # noqa: F401
        self.env = ShapeEnv(solvers=self.solvers, decimals="real")

    def symbol(self, name: str, hint: int | None, lo: int | None, hi: int | None) -> None:
        if hint is None:
            self.env.unbacked(name, lo=lo, hi=hi)
        else:
            self.env.symbol(name, lo=lo, hi=hi, hint=hint)

    def assume(self, prop: str) -> None:
        self.env.assume(prop)

    def ask(self, prop: str) -> Answer:
        match verdict := self.env.ask(prop):
            case Always(used=facts):
                return Answer("always", verdict.rung) if facts is not None else OPEN
            case Never(used=facts):
                return Answer("never", verdict.rung) if facts is not None else OPEN
            case Depends(found=(true, false)):
                return Answer("depends", verdict.rung, _named(true), _named(false))
        return Answer(None, verdict.rung)

    def checkpoint(self) -> None:
        self.mark = self.env.checkpoint()

    def rollback(self) -> None:
        self.env.rollback(self.mark)

    def consistent(self) -> bool | None:
        return None if self.env.check_consistent() is None else True  # a contradiction is raised

    def simplify(self, expr: str) -> str:
        return str(self.env.simplify(expr))

    def close(self) -> None:
        pass


class Unread(WithSolvers):
    """The verdict alone; its evidence is made when someone looks, and here nobody does."""

    def ask(self, prop: str) -> Answer:
        match verdict := self.env.ask(prop):
            case Always():
                return Answer("always", verdict.rung)
            case Never():
                return Answer("never", verdict.rung)
            case Depends():
                return Answer("depends", verdict.rung)
        return Answer(None, verdict.rung)


class WithoutSolvers(WithSolvers):
    solvers = False


def _named(values: dict[Atom, int]) -> dict[str, int]:
    return {atom.name: value for atom, value in values.items()}
