"""Distrust: with SHAPES_PARANOID=1 in the environment every verdict is checked again, and cross-checked with z3.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.decide.ladder import decide
    >>> from solver.decide.paranoid import audit
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 2, None)
    >>> audit(decide(known, terms.ge(s * s, 4)))

An answer that does not stand is an `Unsound` error with the question, the answer and what refutes it: the worst there
is, so it is never swallowed.
"""

from __future__ import annotations

from typing import Final

from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.interop.z3 import Limits, Refuted, entails

LIMITS: Final = Limits(steps=300_000, milliseconds=300)


class Unsound(AssertionError):
    """A verdict that does not stand."""


def audit(verdict: Verdict) -> None:
    """Check a verdict by its evidence, and a proof also with z3 over its core alone.

    Raises:
        Unsound: it does not stand.
    """
    if isinstance(verdict, GaveUp):
        return
    if not verdict.check():
        raise Unsound(f"the evidence of {verdict!r} for `{verdict.prop}` (by {verdict.rung}) does not check")
    if isinstance(verdict, Depends):
        return
    goal = verdict.prop if isinstance(verdict, Always) else verdict.prop.negation
    assert isinstance(verdict, (Always, Never))
    facts = [p for fact in verdict.core for p in (fact.domain, fact.prop) if p.kind != "true"]
    outcome = entails([*facts, verdict.domain], goal, LIMITS, minimal=False)
    if isinstance(outcome, Refuted):
        sizes = ", ".join(f"{atom.name}={value}" for atom, value in outcome.model.items())
        raise Unsound(f"{verdict!r} for `{verdict.prop}` (by {verdict.rung}) is refuted at {sizes}")
