"""Modular arithmetic: values that a polynomial does not take, because it does not take them modulo a small m.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, None, None).declare_range(y, None, None)
    >>> decide(known, terms.ne(x * x + y * y, 4 * x * y + 3)).rung, decide(known, terms.le(x * x % 4, 1)).rung
    ('residues', 'residues')

A sum of two squares is 0, 1 or 2 modulo 4. A factor with few values has none that divides the number a product would
have to be:

    >>> known = Facts.empty(terms).declare_range(x, 2, 4).declare_range(y, 0, None)
    >>> decide(known, terms.eq(y // x * x, 2**63 - 1)).rung
    'residues'

An inequality follows where the values below its end, down to a known bound,
are excluded one by one.
"""

from __future__ import annotations

from itertools import product
from typing import Final

from solver.knowledge import shift
from solver.knowledge.base import Knowledge
from solver.knowledge.explain import prove_side
from solver.knowledge.facts import Facts
from solver.knowledge.laws import rewritten
from solver.proofs.step import ProofStep, cases, equal, hypothesis, residues, strengthen
from solver.rungs.prover import Prover
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop
from solver.terms.quotients import common_atoms

SMALL: Final = (2, 3, 4, 5, 7, 8, 9, 16)
LARGEST: Final = 64
VOLUME: Final = 1024
"""Combinations of residues enumerated."""
GAP: Final = 16
"""Values excluded one by one."""
TERMS: Final = 12


def prove(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """A comparison of a polynomial with zero."""
    del depth
    e = goal.expr
    if goal.kind not in ("ne", "ge") or e.degree < 2 or len(e.terms) > TERMS:
        return None
    if goal.kind == "ne":
        return nonzero(prover, e) or indivisible(prover, facts, goal)
    bound = lower_bound(facts, e)
    if bound is None:
        return None
    gap = bound.conclusion.expr - e
    end = -gap.constant
    if gap.terms or not -GAP <= end <= 0:
        return None
    excluded = []
    for value in range(end, 0):
        proof = nonzero(prover, e - value)
        if proof is None:
            return None
        excluded.append(proof)
    for proof in excluded:
        bound = strengthen(bound, proof)
    return bound


def nonzero(prover: Prover, e: Expr) -> ProofStep | None:
    """`e != 0`, because e is not zero modulo some small number."""
    goal = Prop.zero(e).negation
    if goal.kind != "ne":
        return ProofStep("trivial", goal) if goal.kind == "true" else None
    e = goal.expr
    candidates = sorted({abs(c) for _, c in e.terms if 1 < abs(c) <= LARGEST} | set(SMALL))
    for m in candidates:
        if e.constant % m == 0:
            continue  # zero where all atoms are
        atoms = atoms_modulo(e, m)
        if len(atoms) <= 4 and m ** len(atoms) <= VOLUME:
            prover.work -= 4 * m ** len(atoms) * len(e.terms)
            if prover.work <= 0:
                return None
            if not vanishes_modulo(e, m, atoms):
                return residues(goal, m)
    return None


def indivisible(prover: Prover, known: Knowledge, goal: Prop) -> ProofStep | None:
    """`a*p != c`, because no value of the atom a in its range divides c."""
    interner = goal.interner
    whole = goal.expr - goal.expr.constant
    if not goal.expr.constant or len(whole.terms) > TERMS:
        return None
    for atom in dict.fromkeys(common_atoms(interner, whole)):
        r = known.range_of(atom.monomial)
        if r.lo is None or r.hi is None or r.hi - r.lo >= GAP:
            continue
        values = range(r.lo, r.hi + 1)
        prover.work -= TERMS * len(values) * len(whole.terms)
        if prover.work <= 0:
            return None
        goals = [goal.substitute({atom: interner.constant(value)}) for value in values]
        if all(each.kind == "true" for each in goals):
            return _value_by_value(known, goal, atom, values)
    return None


def _value_by_value(known: Knowledge, goal: Prop, atom: Atom, values: range) -> ProofStep:
    """A goal that is true at each value of an atom: a chain of cases from the least value up."""
    above = prove_side(known, atom.expr, True, values[0])
    lows = [above, *[hypothesis(Prop.ge(atom.expr, value)) for value in values[1:]]]
    high = prove_side(known, atom.expr, False, values[-1])
    proof: ProofStep | None = None
    for value, low in zip(reversed(values), reversed(lows), strict=True):
        case = Prop.le(atom.expr, value)
        equality = equal(low, high if proof is None else hypothesis(case))
        branch = rewritten(goal, None, (((atom.monomial, goal.interner.constant(value), equality),),))
        proof = branch if proof is None else cases(goal, case, [branch, proof])
    assert proof is not None
    return proof


def atoms_modulo(e: Expr, m: int) -> list[Atom]:
    """The atoms with a nonzero coefficient modulo m."""
    monomials = e.interner.monomials
    return list(dict.fromkeys([atom for n, c in e.terms if c % m for atom in monomials[n]]))


def vanishes_modulo(e: Expr, m: int, atoms: list[Atom]) -> bool:
    """Return True if the expression is zero modulo m at some residues of its atoms."""
    monomials = e.interner.monomials
    places = {atom: i for i, atom in enumerate(atoms)}
    terms = [(c % m, [places[atom] for atom in monomials[n]]) for n, c in e.terms if c % m]
    for point in product(range(m), repeat=len(atoms)):
        total = e.constant
        for c, factors in terms:
            for i in factors:
                c *= point[i]
            total += c
        if total % m == 0:
            return True
    return False


def lower_bound(known: Knowledge, e: Expr) -> ProofStep | None:
    """A lower bound of an expression, from its form as a remainder or from the facts."""
    bound = shift.of_remainder(known, e)
    if bound is not None:
        return bound
    low = known.low(e)
    return None if low is None else prove_side(known, e, True, low)
