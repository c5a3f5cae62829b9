"""Does a proposition follow from the facts? Decision procedures, cheapest first: the rungs of a ladder.

`decide` brings the question into canonical form. What answers without a proof search is in `solver.decide.question`;
otherwise the rungs search (`solver.decide.search`).

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(b, 0, None).declare_range(s, 0, None)
    >>> known = known.learn_prop(terms.divides(16, s))
    >>> decide(known, terms.divides(64, b * s))
    Depends(true_at={'b': ..., 's': ...}, false_at={'b': ..., 's': ...})
    >>> decide(known.learn_prop(terms.divides(4, b)), terms.divides(64, b * s)).rung
    'substitution'
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from time import perf_counter
from typing import Final

from solver.decide.question import Question, at_once, inside
from solver.decide.verdict import Always, GaveUp, Never, Verdict
from solver.knowledge.facts import Facts
from solver.proofs.step import ProofStep
from solver.rungs.effort import RUNGS, Effort
from solver.terms.deadline import Late, limited
from solver.terms.depth import SHALLOW, room_for
from solver.terms.prop import Prop

AT_ONCE: Final = 0.005
"""Seconds for the answer that needs no search, however soon a question ends."""
HYPOTHESIS: Final = 10_000
"""Work that allows one hypothesis, where little work is allowed."""
LATE: Final = "no rung decided it before its timeout"

PARANOID: Final = os.environ.get("SHAPES_PARANOID", "") not in ("", "0")
"""True if every verdict is checked again and cross-checked with z3 (see `solver.decide.paranoid`)."""


def _begun(facts: Facts, prop: Prop, domain: Prop, rungs: frozenset[str]) -> Verdict | Question:
    """The verdict that needs no search, or else the question to search for."""
    facts = inside(facts, prop, domain)
    if prop.kind == "true":
        return Always(prop, domain, "syntactic", ProofStep("trivial", prop))
    if prop.kind == "false":
        return Never(prop, domain, "syntactic", ProofStep("trivial", prop.negation))
    question = Question(facts, prop, domain)
    verdict = at_once(question, rungs)
    return question if verdict is None else verdict


def _finished(begun: Verdict | Question, effort: Effort, solvers: bool, rungs: frozenset[str]) -> Verdict:
    if not isinstance(begun, Question):
        return begun
    from solver.decide.search import searched  # loaded on demand, with the rungs

    return searched(begun, effort, solvers=solvers, rungs=rungs)


def _limited(
    facts: Facts,
    prop: Prop,
    domain: Prop,
    effort: Effort,
    timeout: float,
    solvers: bool,
    rungs: frozenset[str],
) -> Verdict:
    """The verdict, or unknown when the time is over."""
    started = perf_counter()
    try:
        with limited(max(timeout, AT_ONCE)):
            begun = _begun(facts, prop, domain, rungs)
        with limited(timeout - (perf_counter() - started)):
            return _finished(begun, effort, solvers, rungs)
    except Late as late:
        return GaveUp(prop, domain, LATE, late.tried, work=late.work)


def decide(
    facts: Facts,
    prop: Prop,
    *,
    domain: Prop | None = None,
    effort: Effort = "thorough",
    timeout: float | None = None,
    solvers: bool = True,
    rungs: frozenset[str] = RUNGS,
) -> Verdict:
    """Decide whether the proposition follows from the facts, inside its domain.

    Args:
        domain: where the question makes sense; assignments outside do not count.
        effort: the budget (`WORK` and `FORKS` of `solver.rungs.effort`), counted in work, so that an answer does not
            depend on the machine; only "thorough" asks sympy and z3.
        timeout: seconds after which the question stays unknown, whatever the effort allows.
        solvers: true if a thorough question may ask sympy and z3.
        rungs: the rungs that may be used; for measurements.

    Raises:
        Undefined: the facts refute the domain.
        Contradictory: the facts refute themselves. (Where that is only possible, what is proven is still proven.)
    """
    if domain is None:
        domain = Prop.truth(facts.interner, True)
    started = perf_counter()
    with room_for(prop.depth) if prop.depth > SHALLOW else nullcontext():
        if timeout is None:
            verdict = _finished(_begun(facts, prop, domain, rungs), effort, solvers, rungs)
        else:
            verdict = _limited(facts, prop, domain, effort, timeout, solvers, rungs)
    if isinstance(verdict, GaveUp):
        verdict.seconds = perf_counter() - started
    _audit(verdict)
    return verdict


def decide_within(facts: Facts, prop: Prop, domain: Prop, *, effort: Effort, work: int) -> tuple[Verdict, int]:
    """The verdict within a budget of work, without other solvers and without the slice of the question; and the work
    spent.

    Raises:
        Undefined, Contradictory: as `decide` does.
    """
    from solver.decide.search import attempt  # loaded on demand, with the rungs

    with room_for(prop.depth) if prop.depth > SHALLOW else nullcontext():
        if prop.kind in ("true", "false"):
            return _finished(_begun(facts, prop, domain, RUNGS), effort, False, RUNGS), 0
        forks = work // HYPOTHESIS
        verdict, spent = attempt(facts, prop, domain, effort=effort, work=work, forks=forks, solvers=False)
    _audit(verdict)
    return verdict, spent


def _audit(verdict: Verdict) -> None:
    if PARANOID:
        from solver.decide.paranoid import audit  # loaded on demand

        audit(verdict)
