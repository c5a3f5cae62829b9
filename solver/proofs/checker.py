"""The proof checker: it recomputes every step of a certificate, by arithmetic alone.

    >>> from solver.proofs.checker import examine, verify
    >>> from solver.terms.interner import Interner
    >>> from solver.proofs.fact import Fact
    >>> from solver.proofs.step import ProofStep, combine
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> given = Fact(terms.ge(s, 3), terms.true, "given", "s >= 3", None, 1, 0)
    >>> proof = combine([ProofStep("fact", given.prop, fact=given)], [1], 2)              # (s - 3) + 2 >= 0
    >>> verify(proof, terms.ge(s, 1), terms.true)
    True
    >>> proof.data = ((1,), 1)
    >>> print(examine(proof, terms.ge(s, 1), terms.true))
    combine: gives `s >= 2`, not `s >= 1`

It does not search, and imports nothing that does: no rung, no ladder, no knowledge. Normal forms, substitution and
interval arithmetic are those of the search; `docs/evidence.md` lists all modules that are to be trusted. The conclusion
of each step is recomputed from those of its premises and from its payload, and must be the identical proposition, not
one that implies it, so a changed number does not pass. Payloads are canonical for the same reason: multipliers in
lowest terms, no more slack than rounding leaves.

A step rests on the hypotheses of its premises, without those that it discharges: `refute` the negation of its goal,
`cases` in each branch its case. At the end none may be left but the domain of the question. A fact counts with its
domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from solver.proofs.definitions import DEFINITIONS
from solver.proofs.fact import Fact, Record
from solver.proofs.inference import (
    INFERENCES,
    Rules,
    Wrong,
    cases_of,
    require,
)
from solver.proofs.products import PRODUCTS
from solver.proofs.step import ProofStep
from solver.terms.expr import Atom
from solver.terms.prop import Prop


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first wrong step, premises before conclusions, and the reason."""

    step: ProofStep
    why: str

    def __str__(self) -> str:
        return f"{self.step.rule}: {self.why}"


Oracle = Callable[[Sequence[Prop], Prop], str | None]
"""A solver that decides whether a proposition follows from others: None where it does, else its answer."""


def verify(proof: ProofStep, goal: Prop, domain: Prop, oracle: Oracle | None = None) -> bool:
    """Return True if the proof shows the goal from the facts at its leaves, inside the domain of the question.

    A proof by z3 has no steps: the `oracle` decides it again (`solver.interop.z3.objection`).
    """
    return examine(proof, goal, domain, oracle) is None


def examine(proof: ProofStep, goal: Prop, domain: Prop, oracle: Oracle | None = None) -> Refusal | None:
    """The objection to the proof, or None."""
    open_at: dict[int, frozenset[Prop]] = {}
    step = proof
    try:
        for step in _in_order(proof):
            if step.conclusion.interner is not goal.interner:
                raise Wrong("is about other expressions")
            _examine_step(step, oracle)
            open_at[id(step)] = _open_hypotheses(step, open_at)
        if proof.conclusion is not goal:
            raise Wrong(f"proves `{proof.conclusion}`, not `{goal}`")
        for left in open_at[id(proof)]:
            if left is not domain:
                raise Wrong(f"rests on the hypothesis `{left}`")
    except Wrong as wrong:
        return Refusal(step, str(wrong))
    return None


def verify_core(proof: ProofStep, core: Sequence[Fact], recorded: Record | None) -> bool:
    """Return True if the core consists of the facts at the leaves of the proof, each equal to a recorded one."""
    used = {id(step.fact): step.fact for step in _in_order(proof) if step.fact is not None}
    if [id(fact) for fact in core] != sorted(used, key=lambda key: used[key].serial):
        return False
    while used and recorded is not None:
        if used.pop(id(recorded.fact), None) is not None and not recorded.is_shown_unchanged():
            return False
        recorded = recorded.before
    return not used


def verify_assignment(values: Mapping[Atom, int], recorded: Record | None) -> bool:
    """Return True if an assignment satisfies every fact as it was recorded."""
    while recorded is not None:
        if not (recorded.domain.evaluate(values) and recorded.prop.evaluate(values) and recorded.is_unchanged()):
            return False
        recorded = recorded.before
    return True


def _in_order(proof: ProofStep) -> Iterator[ProofStep]:
    """The steps in topological order, premises first; without recursion, as proofs may be deep."""
    finished: set[int] = set()
    entered: set[int] = set()
    stack = [proof]
    while stack:
        step = stack[-1]
        if id(step) in finished:
            stack.pop()
        elif id(step) in entered:
            stack.pop()
            finished.add(id(step))
            yield step
        else:
            entered.add(id(step))
            for premise in step.premises:
                require(id(premise) in finished or id(premise) not in entered, "rests on itself")
            stack.extend([premise for premise in step.premises if id(premise) not in finished])


def _examine_step(step: ProofStep, oracle: Oracle | None) -> None:
    compute = RULES.get(step.rule)
    if compute is None and step.rule != "z3":
        raise Wrong("no such rule")
    require(step.fact is None or step.rule in ("fact", "domain"), "names a fact that it does not state")
    try:
        conclusion = _found_by_solver(step, oracle) if compute is None else compute(step)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise Wrong(f"is malformed: {error}") from error
    if conclusion is not step.conclusion:
        raise Wrong(f"gives `{conclusion}`, not `{step.conclusion}`")


def _open_hypotheses(step: ProofStep, open_at: dict[int, frozenset[Prop]]) -> frozenset[Prop]:
    """The hypotheses that a step leaves open."""
    if step.rule == "hypothesis" or (step.rule == "domain" and step.fact is None):
        return frozenset((step.conclusion,))
    of = [open_at[id(premise)] for premise in step.premises]
    if step.rule == "refute":
        return of[0] - {step.conclusion.negation}
    if step.rule == "cases":
        split, branches = cases_of(step)
        of = [*of[: len(split)], *[left - {case} for left, case in zip(of[len(split) :], branches, strict=True)]]
    return frozenset().union(*of)


def _found_by_solver(step: ProofStep, oracle: Oracle | None) -> Prop:
    """The conclusion of a step, which a fresh solver proves again from the premises alone."""
    require(step.data is None, "has a payload")
    if oracle is None:
        raise Wrong("needs a solver that finds it again")
    objection = oracle([premise.conclusion for premise in step.premises], step.conclusion)
    require(objection is None, f"z3 finds {objection}")
    return step.conclusion


RULES: Final[Rules] = {**INFERENCES, **PRODUCTS, **DEFINITIONS}
"""All rules of inference. (`z3` is left to an oracle.)"""
