"""Questions in one line: symbols with their bounds; facts; and last what is asked.

    >>> asked("x 0.. y 0..9; x <= y; y != 3; x <= 9").question
    'x <= 9'
"""

from __future__ import annotations

from dataclasses import dataclass

from solver.decide.assume import assume
from solver.decide.ladder import decide
from solver.decide.verdict import Verdict
from solver.knowledge.facts import Conflict, Facts, range_prop
from solver.rungs.effort import RUNGS
from solver.syntax.parser import parse
from solver.terms.interner import Interner


@dataclass(frozen=True)
class Asked:
    """Symbols with inclusive bounds (None: unbounded), facts and a question, as text."""

    bounds: tuple[tuple[str, int | None, int | None], ...]
    facts: tuple[str, ...]
    question: str

    def known(self) -> tuple[Facts | Conflict, dict[str, object]]:
        """The facts, or the contradiction among them."""
        interner = Interner()
        facts = Facts.empty(interner)
        names = {}
        for name, lo, hi in self.bounds:
            symbol = names[name] = interner.symbol(name)
            fact = facts.next_fact(range_prop(symbol, lo, hi), kind="range", text=name)
            declared = facts.declare(symbol, lo, hi, fact)
            assert isinstance(declared, Facts)
            facts = declared
        for text in self.facts:
            parsed = parse(text, names, interner)
            extended = assume(facts, facts.next_fact(parsed.prop, domain=parsed.domain, text=text))
            if isinstance(extended, Conflict):
                return extended, names
            facts = extended
        return facts, names

    def verdict(self, *rungs: str) -> Verdict:
        """The verdict of the procedures, all of our own where none are named; their evidence is checked."""
        facts, names = self.known()
        assert isinstance(facts, Facts), "the facts contradict each other"
        parsed = parse(self.question, names, facts.interner)
        verdict = decide(facts, parsed.prop, domain=parsed.domain, solvers=False, rungs=frozenset(rungs) or RUNGS)
        assert verdict.check(), f"the evidence of {verdict!r} does not check"
        return verdict


def asked(line: str) -> Asked:
    symbols, *facts, question = [part.strip() for part in line.split(";")]
    bounds = []
    words = iter(symbols.split())
    for name in words:
        lo, hi = next(words).split("..")
        bounds.append((name, int(lo) if lo else None, int(hi) if hi else None))
    return Asked(tuple(bounds), tuple(facts), question)
