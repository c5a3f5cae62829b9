"""External solvers, the last rungs: z3 proves or refutes; where it answers unknown, sympy proposes a factorization.
(Loading sympy takes longer than most of z3's answers.)

sympy is not trusted: the product of its factors must be the polynomial, and the rungs prove each nonzero. z3 gets the
facts near the question as they were written, in order of relevance, under a resource limit. Its unsat core becomes the
premises of one step, which the checker puts to a fresh solver over that core alone; its model is completed from the
samples and evaluated against every fact.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> from solver.rungs import solvers
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 1, None).declare_range(y, 1, None)
    >>> known = known.learn_prop(terms.eq(x * x, y * y))
    >>> solvers.by_z3(known, terms.eq(x, y), terms.true).rule
    'z3'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from solver.interop.z3 import Proved, Refuted, entails
from solver.knowledge.facts import Facts
from solver.knowledge.laws import definition_of
from solver.knowledge.symbols import declared_symbols
from solver.proofs.fact import Fact
from solver.proofs.step import ProofStep
from solver.rungs.prover import Prover
from solver.terms.deadline import seconds_left
from solver.terms.expr import Atom
from solver.terms.prop import Prop

UNINTERRUPTED: Final = 2.0
"""Seconds that sympy may take, which does not look at a deadline."""
NEAR: Final = 60
"""Facts handed to z3 at most."""


def prove(prover: Prover, facts: Facts, goal: Prop, domain: Prop) -> ProofStep | dict[Atom, int] | None:
    """A proof of the goal, or sizes that satisfy the facts and not the goal."""
    if prover.allows("z3"):
        outcome = by_z3(facts, goal, domain)
        if outcome is not None:
            prover.rung = "z3"
            return outcome
    if prover.allows("sympy"):
        proof = by_factors(prover, facts, goal)
        if proof is not None:
            prover.rung = "sympy"
            return proof
    return None


def by_factors(prover: Prover, facts: Facts, goal: Prop) -> ProofStep | None:
    """`e != 0` by sympy's factors of e."""
    if goal.kind != "ne" or goal.expr.degree < 2 or len(goal.terms) < 2:
        return None
    left = seconds_left()
    if left is not None and left < UNINTERRUPTED:
        return None
    from solver.interop.sympy import factor  # loaded with sympy

    found = factor(goal.expr)
    product = facts.interner.one
    for each in found:
        product = product * each
    if product is not goal.expr or len(found) < 2:
        return None
    proofs = prover.prove_all(facts, [Prop.zero(each).negation for each in found], 1)
    if proofs is None:
        return None
    return ProofStep("nonzero-factors", goal, tuple(proofs), tuple([(each, 1) for each in found]))


def by_z3(facts: Facts, goal: Prop, domain: Prop) -> ProofStep | dict[Atom, int] | None:
    """z3's answer under the facts near the goal, within its limits."""
    leaves = [ProofStep("domain", domain)] if domain.kind != "true" else []
    leaves += definitions(goal)
    for fact in nearby(facts, goal, NEAR):
        leaves += leaves_of(fact)
    outcome = entails([leaf.conclusion for leaf in leaves], goal)
    match outcome:
        case Proved(core=core):
            return ProofStep("z3", goal, tuple([leaves[i] for i in core]))
        case Refuted(model=model):
            return dict(model)
        case _:
            return None


def leaves_of(fact: Fact) -> list[ProofStep]:
    """A fact and its domain as proofs."""
    found = []
    if fact.domain.kind != "true":
        found.append(ProofStep("domain", fact.domain, fact=fact))
    if fact.prop.kind != "true":
        found.append(ProofStep("fact", fact.prop, fact=fact))
    return found


def definitions(goal: Prop) -> list[ProofStep]:
    """The definitions of the names in the goal."""
    found = []
    for atom in sorted(goal.symbols, key=lambda atom: atom.key):
        if atom.definition is not None:
            found.append(definition_of(atom.definition, atom.expr))
    return found


def nearby(facts: Facts, goal: Prop, limit: int) -> list[Fact]:
    """The facts that share symbols with the goal, then those that share symbols with these, and so on."""
    found: dict[int, Fact] = {}
    waiting = [
        symbol
        for atom in goal.symbols
        for symbol in (declared_symbols(atom.expr) if atom.definition is None else declared_symbols(atom.definition))
    ]
    waiting = sorted(dict.fromkeys(waiting), key=lambda atom: atom.key)
    seen = set(waiting)
    while waiting and len(found) < limit:
        touching = facts.samples.touching.get(waiting.pop(0).serial)
        while touching is not None and len(found) < limit:
            fact = touching.fact
            found[fact.serial] = fact
            for symbol in sorted(fact.prop.symbols | fact.domain.symbols, key=lambda atom: atom.key):
                if symbol not in seen:
                    seen.add(symbol)
                    waiting.append(symbol)
            touching = touching.rest
    for fact in facts.records():
        if fact.kind == "range" and not fact.prop.symbols.isdisjoint(seen):
            found[fact.serial] = fact
    return [found[serial] for serial in sorted(found)]


def complete(facts: Facts, model: Mapping[Atom, int], domain: Prop, prop: Prop) -> dict[Atom, int] | None:
    """A model of some symbols extended to all, if it satisfies every fact, the domain and the proposition."""
    values = facts.witness() or dict.fromkeys(facts.all_symbols(), 0)
    values.update((atom, value) for atom, value in model.items() if atom.definition is None)
    try:
        good = facts.holds_at(values) and domain.evaluate(values) and prop.evaluate(values)
    except OverflowError:
        return None
    return values if good else None
