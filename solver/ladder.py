"""Does a proposition follow from the facts? The rungs in order, and what they cost.

`decide` brings the question into canonical form, then asks cheap rungs first. Bounds settle most questions; the samples
of the facts show which are open and in which direction the others are worth proving; the rest is climbed rung by rung
until one proves it or the budget is used up.

    >>> from solver.interner import Interner
    >>> from solver.facts import Facts
    >>> from solver.ladder import decide
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(b, 0, None).declare_range(s, 0, None)
    >>> known = known.assume_prop(terms.divides(16, s))
    >>> decide(known, terms.divides(64, b * s))
    Depends(true_at={'b': ..., 's': ...}, false_at={'b': ..., 's': ...})
    >>> decide(known.assume_prop(terms.divides(4, b)), terms.divides(64, b * s)).rung
    'substitution'
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from solver.dividing import factored, without_factors
from solver.errors import Contradictory, Undefined
from solver.expr import Atom
from solver.fact import Fact
from solver.facts import Conflict, Facts
from solver.integer import Budget, Point
from solver.integer.meter import Meter
from solver.laws import rewritten
from solver.prop import Prop
from solver.reasons import Reason, absurd, apart, equal, every, some
from solver.rungs import bounds, box, extremes, factor, isolate, linear, refine, residues, shift
from solver.rungs.linear import Rows
from solver.rungs.model import Model
from solver.search import find, near, scattered
from solver.settled import prove_by_intervals
from solver.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.witness import Witness

Effort = Literal["fast", "full"]

PARANOID: Final = os.environ.get("SHAPES_PARANOID", "") not in ("", "0")
"""Whether every verdict is checked again and cross-checked with z3 (see `solver.paranoid`)."""
FORKS: Final = {"fast": 12, "full": 48}
"""How many times one question may suppose something."""
WORK: Final = {"fast": 100_000, "full": 400_000}
"""Numbers that the linear solver may touch for one question, roughly 0.1 µs each."""
SOLVING: Final = Budget(work=60_000, cuts=24, branches=24)
"""The limits of one linear problem."""
FORK: Final = 2_000
"""What it costs to suppose something, in the same unit, and for each statement learned from it."""
STEP: Final = 500
POINT: Final = 12_000
POINTS: Final = 6
"""Points of linear relaxations that are tried as witnesses of one question."""


class Open(Exception):
    """A witness against the goal was found on the way: the question is open."""

    def __init__(self, witness: Witness) -> None:
        super().__init__(witness)
        self.witness = witness


@dataclass(slots=True)
class Climb:
    """One question being decided: its budget, and what was tried."""

    facts: Facts
    effort: Effort
    solvers: bool
    rungs: frozenset[str]
    forks: int
    tried: dict[str, None]
    work: int
    rung: str = ""
    opposite: tuple[Prop, ...] | None = None
    base: int | None = None
    solved: tuple[Atom, ...] = ()
    points: int = POINTS

    def allows(self, rung: str) -> bool:
        if rung not in self.rungs:
            return False
        self.tried[rung] = None
        return True

    # ------------------------------------------------------------------ proving

    def prove(self, facts: Facts, goal: Prop, depth: int = 0) -> Reason | None:
        """A proof of the goal by any rung, or None."""
        canonical, rounds = facts.canonical_prop(goal)
        proof = self.prove_canonical(facts, canonical, depth)
        if proof is None or canonical is goal:
            return proof
        return rewritten(goal, proof if canonical.kind != "true" else None, rounds)

    def prove_canonical(self, facts: Facts, goal: Prop, depth: int) -> Reason | None:
        match goal.kind:
            case "true":
                return Reason("trivial", goal)
            case "false":
                return None
            case "and":
                reasons = []
                for p in goal.parts:
                    reason = self.prove(facts, p, depth)
                    if reason is None:
                        return None
                    reasons.append(reason)
                return every(goal, reasons)
            case "or":
                return self.prove_disjunction(facts, goal, depth)
            case _:
                return self.prove_comparison(facts, goal, depth)

    def prove_disjunction(self, facts: Facts, goal: Prop, depth: int) -> Reason | None:
        alive = facts.pool.alive
        likely = []
        for p in goal.parts:
            truths = facts.pool.truths(p) if alive else []
            if all(truths[row] for row in alive):
                likely.append(p)
                proof = self.prove_quickly(facts, p)
                if proof is not None:
                    self.rung = "parts"
                    return some(goal, proof)
        for name, rung in (("box", box.prove), ("refine", refine.prove)):
            if self.allows(name):
                proof = rung(self, facts, goal, depth)
                if proof is not None:
                    self.rung = name
                    return proof
        for p in likely:
            proof = self.prove(facts, p, depth + 1)
            if proof is not None:
                self.rung = "parts"
                return some(goal, proof)
        return None

    def prove_quickly(self, facts: Facts, goal: Prop) -> Reason | None:
        """A comparison by the cheap rungs."""
        proof = prove_by_intervals(facts, goal)
        if proof is None and goal.kind == "ge" and self.allows("shift"):
            proof = shift.prove_nonnegative(facts, goal.expr)
        if proof is None and self.allows("linear"):
            proof = linear.prove(self, facts, goal, 0)
        return proof

    def prove_comparison(self, facts: Facts, goal: Prop, depth: int) -> Reason | None:
        if "bounds" in self.rungs:
            settled = bounds.settle(facts, goal)
            if settled is not None:
                self.rung = self.rung or "bounds"
                return settled[1] if settled[0] else None
        if self.allows("factor"):
            smaller = without_factors(facts, goal)
            if smaller is not None:
                proof = self.prove(facts, smaller.goal, depth)
                return None if proof is None else factored(smaller, goal, proof)
        if goal.kind == "eq":
            above = self.prove(facts, Prop.nonnegative(goal.expr), depth)
            if above is None:
                return None
            below = self.prove(facts, Prop.nonnegative(-goal.expr), depth)
            return None if below is None else equal(above, below)
        if goal.kind == "ne":
            proof = self.prove_apart(facts, goal)
            if proof is not None:
                return proof
        elif self.allows("shift"):
            proof = shift.prove_nonnegative(facts, goal.expr)
            if proof is not None:
                self.rung = "shift"
                return proof
        for name, rung in CLIMBED:
            if self.allows(name):
                proof = rung(self, facts, goal, depth)
                if proof is not None:
                    self.rung = name
                    return proof
        return None

    def prove_apart(self, facts: Facts, goal: Prop) -> Reason | None:
        """`e != 0` because e is positive, or negative: the side that the samples show."""
        if not self.allows("shift"):
            return None
        values = facts.pool.values(goal.expr)
        signs = {(values[row] > 0) - (values[row] < 0) for row in facts.pool.alive}
        for sign in (1, -1):
            if signs <= {sign}:
                proof = shift.prove_nonnegative(facts, goal.expr * sign - 1)
                if proof is not None:
                    self.rung = "shift"
                    return apart(proof, goal)
        return None

    def suppose(self, facts: Facts, p: Prop) -> Facts | Conflict | None:
        """The facts with a hypothesis; None when the budget is used up."""
        if self.forks <= 0 or self.work <= 0:
            return None
        self.forks -= 1
        supposed = facts.suppose(p)
        self.work -= FORK + (STEP * supposed.steps if isinstance(supposed, Facts) else 0)
        return supposed

    def solve(self, rows: Rows) -> Reason | Point | None:
        """A contradiction of linear rows, or a point; None when the budget is used up."""
        meter = Meter(replace(SOLVING, work=min(SOLVING.work, self.work)))
        before = meter.work
        if before <= 0:
            return None
        outcome = rows.contradiction(meter)
        self.work -= before - meter.work + rows.cost
        rows.cost = 0
        return outcome

    # ------------------------------------------------------------------ witnesses

    def sample(self, atom: Atom) -> int:
        """The value of a symbol in the sample that points are completed from."""
        return self.facts.pool.atom_column(atom)[self.base or 0]

    def consider(self, model: Model) -> None:
        """Whether a point of a relaxation is a witness of the question.

        Raises:
            Open: it is.
        """
        values = model.symbols()
        solved = model.rows.known.solved
        for p in self.opposite or ():
            for symbol in p.symbols:  # those that hypotheses have eliminated
                if symbol not in values and solved.get(symbol.monomial) is not None:
                    values[symbol] = model.atom(symbol)
        self.consider_values(values)

    def consider_values(self, values: Mapping[Atom, int]) -> None:
        """Whether these values of some symbols are part of a witness of the question.

        Raises:
            Open: they are.
        """
        if self.opposite is None or not self.points or "search" not in self.rungs:
            return
        self.points -= 1
        self.work -= POINT
        found = near(self.facts, self.opposite, values, row=self.base, solved=self.solved)
        if found is not None:
            raise Open(found)


Rung = Callable[[Climb, Facts, Prop, int], Reason | None]

CLIMBED: Final[Sequence[tuple[str, Rung]]] = (
    ("linear", linear.prove),
    ("box", box.prove),
    ("residues", residues.prove),
    ("extremes", extremes.prove),
    ("factor", factor.prove),
    ("isolate", isolate.prove),
    ("refine", refine.prove),
)
RUNGS: Final = frozenset(
    ("bounds", "factor", "isolate", "shift", "linear", "box", "residues", "extremes", "refine", "search", "sympy", "z3")
)


def decide(
    facts: Facts,
    prop: Prop,
    *,
    domain: Prop | None = None,
    effort: Effort = "full",
    solvers: bool = True,
    rungs: frozenset[str] = RUNGS,
) -> Verdict:
    """Whether the proposition follows from the facts, inside its domain.

    Args:
        domain: where the question makes sense; assignments outside are left out of consideration.
        effort: "fast" leaves out sympy, z3 and the longer searches.
        solvers: whether sympy and z3 may be asked.
        rungs: the rungs that may be used; for measurements.

    Raises:
        Undefined: the facts refute the domain.
        Contradictory: the facts refute themselves. (Where that is only possible, what is proven is still proven.)
    """
    if domain is None:
        domain = facts.interner.true
    if domain.kind != "true":
        canonical, _ = facts.canonical_prop(domain)
        if canonical.kind != "true" and prove_by_intervals(facts, canonical) is None:
            inside = facts.suppose(domain, leaf="domain")
            if isinstance(inside, Facts) and facts.pool.alive and not inside.pool.alive:
                from solver.consistency import inhabited

                inside = inhabited(facts, inside, domain)
            if isinstance(inside, Conflict):
                raise Undefined(f"`{prop}` makes no sense here: the facts refute `{domain}`")
            facts = inside
    if prop.kind == "true":
        return Always(prop, domain, "syntactic", Reason("trivial", prop))
    if prop.kind == "false":
        return Never(prop, domain, "syntactic", Reason("trivial", prop.negation))
    climb = Climb(facts, effort, solvers and effort == "full", rungs, FORKS[effort], {}, WORK[effort])
    verdict = _decide(climb, facts, prop, domain)
    if PARANOID:
        from solver.paranoid import audit

        audit(verdict)
    return verdict


def _decide(climb: Climb, facts: Facts, prop: Prop, domain: Prop) -> Verdict:
    canonical, rounds = facts.canonical_prop(prop)

    def settle(truth: bool, proof: Reason | None, rung: str) -> Verdict:
        if rounds:
            proof = rewritten(prop if truth else prop.negation, proof, rounds)
        assert proof is not None
        return (Always if truth else Never)(prop, domain, rung, proof, facts)

    if canonical.kind in ("true", "false"):
        return settle(canonical.kind == "true", None, "substitution")
    if canonical.parts:
        for truth, p in ((True, canonical), (False, canonical.negation)):
            proof = prove_by_intervals(facts, p)
            if proof is not None:
                return settle(truth, proof, "bounds")
    elif "bounds" in climb.rungs:
        settled = bounds.settle(facts, canonical)
        if settled is not None:
            return settle(*settled, "bounds")
    pool = facts.pool
    yes, no = pool.classify(canonical, domain)
    if yes is not None and no is not None:
        return Depends(prop, domain, "samples", facts, Witness(yes), Witness(no))
    if not pool.alive:
        sampled = _with_sample(facts, solvers=climb.solvers)
        if sampled is not None:
            climb.facts = sampled
            return _decide(climb, sampled, prop, domain)
    directions = (True, False) if yes is None and no is None else (yes is not None,)
    for truth in directions:
        goal = canonical if truth else canonical.negation
        climb.rung = ""
        proof = _cheap(climb, facts, goal)
        if proof is not None:
            return settle(truth, proof, climb.rung)
    if climb.allows("search") and len(directions) == 1:
        truth = directions[0]
        found = find(facts, canonical.negation if truth else canonical, domain, rows=2, effort=1)
        if found is not None:
            return _open(climb, facts, prop, domain, truth, yes if truth else no, found)
    for truth in directions:
        goal = canonical if truth else canonical.negation
        climb.rung = ""
        climb.opposite = (domain, goal.negation) if len(directions) == 1 else None
        climb.base = pool.alive[0] if pool.alive else None
        try:
            proof = climb.prove_canonical(facts, goal, 0)
        except Open as found:
            return _open(climb, facts, prop, domain, truth, yes if truth else no, found.witness)
        if proof is not None:
            return settle(truth, proof, climb.rung or "parts")
    return _last_rungs(climb, facts, prop, canonical, domain, directions, yes, no, settle)


def _cheap(climb: Climb, facts: Facts, goal: Prop) -> Reason | None:
    """Shift alone: cheaper than looking for a witness."""
    if goal.kind == "ge" and climb.allows("shift"):
        climb.rung = "shift"
        return shift.prove_nonnegative(facts, goal.expr)
    if goal.kind == "ne":
        return climb.prove_apart(facts, goal)
    return None


def _open(
    climb: Climb, facts: Facts, prop: Prop, domain: Prop, truth: bool, row: int | None, found: Witness
) -> Verdict:
    assert row is not None
    first = Witness(row)
    return Depends(prop, domain, "search", facts, first if truth else found, found if truth else first)


def _last_rungs(
    climb: Climb,
    facts: Facts,
    prop: Prop,
    canonical: Prop,
    domain: Prop,
    directions: tuple[bool, ...],
    yes: int | None,
    no: int | None,
    settle: Callable[[bool, Reason | None, str], Verdict],
) -> Verdict:
    """The longer search for a second witness, then the solvers."""
    if climb.allows("search") and len(directions) == 1 and climb.effort == "full":
        truth = directions[0]
        opposite = canonical.negation if truth else canonical
        found = scattered(facts, opposite, domain, row=facts.pool.alive[0])
        if found is None:
            found = find(facts, opposite, domain, rows=8, effort=4)
        if found is not None:
            return _open(climb, facts, prop, domain, truth, yes if truth else no, found)
    if climb.solvers:
        from solver.rungs import solvers

        for truth in directions:
            goal = canonical if truth else canonical.negation
            outcome = solvers.prove(climb, facts, goal, domain)
            if isinstance(outcome, Reason):
                return settle(truth, outcome, climb.rung)
            if isinstance(outcome, dict):
                full = solvers.complete(facts, outcome, domain, prop if not truth else prop.negation)
                if full is not None:
                    row = yes if truth else no
                    if row is not None:
                        return _open(climb, facts, prop, domain, truth, row, Witness(row, full))
    return GaveUp(prop, domain, "no rung settled it within its budget", tuple(climb.tried))


def _with_sample(facts: Facts, *, solvers: bool) -> Facts | None:
    """Facts without samples, with one; None where it stays unknown whether there is any.

    Raises:
        Contradictory: there is none.
    """
    from solver.consistency import Consistent, consistency, revived

    outcome = consistency(facts, solvers=solvers)
    match outcome:
        case Conflict(core=core, proof=proof):
            raise Contradictory(core, proof)
        case Consistent(witness=witness):
            return revived(facts, Witness(0, witness))
        case _:
            return None


def question_fact(domain: Prop) -> Fact:
    """The domain of a question as a hypothesis of its own."""
    return Fact(domain, domain, "hypothesis", f"domain: {domain}", None, None, -1)


__all__ = ["Climb", "RUNGS", "absurd", "decide"]
