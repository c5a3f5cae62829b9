"""Explanations of verdicts: the premises with their lines, and the steps between.

>>> from shapes import ShapeEnv
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s")
>>> env.assume("s % 16 == 0")
>>> print(env.explain("(b * s) % 8 == 1"))
never: `b*s % 8 == 1`
  because  s % 16 == 0  (given)
  steps    definition  s//16 == _0
           rewrite     16*_0 == s
           rewrite     b*s % 8 != 1
"""

from __future__ import annotations

from dataclasses import dataclass

from shapes.errors import known_lines, outcome_of
from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.proofs.step import ProofStep
from solver.syntax.short_text import with_names
from solver.terms.prop import Prop

LONGEST = 24
LEAVES = frozenset(("fact", "domain", "hypothesis", "trivial"))


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict with its words.

    Attributes:
        verdict: the verdict itself.
        question: what was asked.
        obligation: where the question is defined, unless everywhere.
        steps: the intermediate conclusions, each with its rule, premises first.
    """

    verdict: Verdict
    question: str
    obligation: str | None
    steps: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        lines = []
        match self.verdict:
            case Always(core=core) | Never(core=core):
                word = "always" if isinstance(self.verdict, Always) else "never"
                lines.append(f"{word}: `{self.question}`")
                lines += known_lines(core, label="because") or ["  because  of its form alone"]
            case Depends():
                lines.append(f"depends: `{self.question}`, {outcome_of(self.verdict)}")
            case GaveUp(tried=tried):
                lines += [
                    f"unknown: `{self.question}`, {self.verdict.reason}",
                    f"  tried    {', '.join(tried)}",
                    f"  cost     {self.verdict.work:,} numbers of linear problems",
                ]
        if self.obligation is not None:
            lines.append(f"  where    {self.obligation}")
        width = max([len(rule) for rule, _ in self.steps], default=0)
        for number, (rule, conclusion) in enumerate(self.steps[-LONGEST:]):
            lines.append(f"  {'steps' if number == 0 else '':5s}    {rule:{width}s}  {conclusion}")
        return "\n".join(lines)


def explain(verdict: Verdict, prop: Prop, domain: Prop) -> Explanation:
    """The words for a verdict."""
    steps = _steps(verdict.proof) if isinstance(verdict, (Always, Never)) else ()
    return Explanation(verdict, _shown(prop), None if domain.kind == "true" else _shown(domain), steps)


def _steps(proof: ProofStep) -> tuple[tuple[str, str], ...]:
    """The conclusions of a proof that say something new, premises first."""
    found: dict[Prop, str] = {}
    visited: set[int] = set()
    stack = [(proof, False)]
    while stack:
        reason, expanded = stack.pop()
        if expanded:
            if reason.rule not in LEAVES:
                found.setdefault(reason.conclusion, reason.rule)
        elif id(reason) not in visited:
            visited.add(id(reason))
            stack.append((reason, True))
            stack.extend([(premise, False) for premise in reversed(reason.premises)])
    return tuple([(rule, _shown(conclusion)) for conclusion, rule in found.items()])


def _shown(prop: Prop) -> str:
    """A proposition with the names that people read."""
    return with_names(str(prop), prop.interner.shown_names)
