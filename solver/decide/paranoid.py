"""Self-checking: with SHAPES_PARANOID=1 in the environment every verdict is verified, and cross-checked with z3.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.decide.ladder import decide
    >>> from solver.decide.paranoid import audit
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 2, None)
    >>> audit(decide(known, terms.ge(s * s, 4)))

An answer that fails raises `Unsound` with the question, the answer and the refutation. Nothing catches it.
"""

from __future__ import annotations

from typing import Final

from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.interop.z3 import Limits, Refuted, entails

LIMITS: Final = Limits(steps=300_000, milliseconds=300)


class Unsound(AssertionError):
    """A wrong verdict."""


def audit(verdict: Verdict) -> None:
    """Verify the evidence of a verdict, and a proof also by z3 over its core alone.

    Raises:
        Unsound: the verdict is wrong.
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
