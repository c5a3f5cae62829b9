"""Refutation by counterexample-guided refinement: the linear relaxation of the negated goal, lemmas and case splits.

An infeasible relaxation is a proof. A feasible point that satisfies everything is a witness: the question is open. A
spurious point gives some operation a value that its arguments do not call for, or violates a nonlinear fact. A lemma
then cuts it off (`solver.rungs.lemmas`), or the prover branches on the cases in which that operation is linear.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> x, y, z = (terms.symbol(name) for name in "xyz")
    >>> known = Facts.empty(terms)
    >>> for symbol in (x, y, z):
    ...     known = known.declare_range(symbol, None, None)
    >>> sizes = [terms.maximum(e, -e) for e in (x - y, y - z, x - z)]                  # |x - y|, |y - z|, |x - z|
    >>> decide(known, terms.ge(sizes[0] + sizes[1], sizes[2]), rungs=frozenset({"refine"})).rung
    'refine'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from solver.integer.certificate import Point
from solver.knowledge.by_intervals import prove_nonzero
from solver.knowledge.facts import Conflict, Facts
from solver.knowledge.laws import rewritten, unfold
from solver.proofs.step import ProofStep, cases, hypothesis, part
from solver.proofs.step import refute as by_contradiction
from solver.rungs import box, lemmas, residues
from solver.rungs.model import Model
from solver.rungs.prover import Prover
from solver.rungs.rows import Rows, distinct, given, rows_near
from solver.terms.expr import Atom, Expr
from solver.terms.monomials import without
from solver.terms.polynomials import all_factors_of, product_of
from solver.terms.prop import Prop

ROUNDS: Final = 8
NESTED: Final = 8
LOOKED: Final = 32
COFACTORS: Final = 2
CLOSE: Final = 2
FACTORED: Final = 8
WIDE: Final = 120
"""Rows beyond which nothing is added to a relaxation."""
LONG: Final = 1 << 14
"""Largest point, in bits, that is refined: each level multiplies the bits by the degree."""


def prove(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """The goal, because the facts refute its negation."""
    if depth > 2:
        return None
    supposed = prover.suppose(facts, goal.negation)
    if supposed is None:
        return None
    if isinstance(supposed, Conflict):
        return by_contradiction(supposed.proof, goal)
    found = contradiction(prover, supposed, conjuncts(hypothesis(goal.negation)), 0)
    return None if found is None else by_contradiction(found, goal)


def conjuncts(supposed: ProofStep) -> tuple[ProofStep, ...]:
    """A hypothesis, or each of its parts."""
    p = supposed.conclusion
    return tuple([part(supposed, i) for i in range(len(p.parts))]) if p.kind == "and" else (supposed,)


def contradiction(prover: Prover, facts: Facts, hypotheses: Sequence[ProofStep], level: int) -> ProofStep | None:
    """False, from the facts and the hypotheses, which the facts include."""
    if facts.samples.alive:
        return None  # a sample satisfies all of them
    stated: list[ProofStep] = []
    near: list[Expr] = []
    for proof in hypotheses:
        now = restated(facts, proof)
        near += _near(facts, proof.conclusion, now.conclusion)
        stated += conjuncts(now)
    stated += cancelled(facts, [*hypotheses, *stated])
    for proof in [*stated, *hypotheses]:
        p = proof.conclusion
        if p.kind == "false":
            return proof
        if p.kind == "eq" and 1 < p.expr.degree and len(p.terms) <= residues.TERMS:
            never = residues.nonzero(prover, p.expr)
            if never is not None:
                return ProofStep("clash", Prop.truth(facts.interner, False), (proof, never))
    symbols = frozenset().union(*[e.symbols for e in near], *[each.conclusion.symbols for each in stated])
    found = box.exhaust(prover, facts, Prop.truth(facts.interner, False), symbols)
    if found is not None:
        return found
    rows = rows_near(facts, near, stated)
    rows.mark_question()
    model = None
    violated: list[ProofStep] = []
    for _ in range(ROUNDS):
        outcome = prover.solve(rows)
        if not isinstance(outcome, Point):
            return outcome
        if any(value.bit_length() > LONG for value in outcome.values):
            return None  # cases of cubes of cubes
        model = Model(rows, outcome, prover.sample)
        prover.consider(model)
        violated = []
        added = 0
        unsettled: dict[Atom, None] = {}
        for proof in _violated(facts, rows, model, stated, unsettled):
            match proof.conclusion.kind:
                case "false":
                    return proof
                case "ge" | "eq":
                    added += rows.add(proof.conclusion, given(proof))
                case "or" | "ne":
                    violated.append(proof)
        if len(rows.rows) > WIDE:
            break
        if added:
            rows.grow()
            rows.mark_question()
        elif not lemmas.strengthen(rows, model, model.spurious()):
            break
    if model is None or level >= NESTED:
        return None
    supposed = {proof.conclusion for proof in hypotheses}
    violated = [proof for proof in violated if supposed.isdisjoint(proof.conclusion.parts)]
    useful = [each for each in conditions(facts, model, violated, unsettled) if each not in supposed]
    for condition in useful[: 2 if level == 0 else 1]:
        by_cases = _by_cases(prover, facts, hypotheses, condition, level)
        if by_cases is not None:
            return by_cases
    return None


def cancelled(facts: Facts, stated: Sequence[ProofStep]) -> list[ProofStep]:
    """Equalities with their known nonzero factors cancelled."""
    nonzero = {proof.conclusion: proof for proof in stated if proof.conclusion.kind == "ne"}
    found = []
    for proof in stated:
        e = proof.conclusion.expr
        if proof.conclusion.kind != "eq" or e.degree < 2 or len(e.terms) > FACTORED:
            continue
        factors = all_factors_of(e)
        last = proof
        for factor, power in list(factors) if len(factors) > 1 else ():
            against = Prop.zero(factor).negation
            why = nonzero.get(against) or prove_nonzero(facts, against)
            if why is not None:
                factors.remove((factor, power))
                rest = product_of(factors, facts.interner.one)
                last = ProofStep("cancelled", Prop.zero(rest), (last, why), (rest, factor, power))
        if last is not proof:
            found.append(last)
    return found


def restated(facts: Facts, proof: ProofStep) -> ProofStep:
    """A statement with the current substitutions applied."""
    canonical, rounds = facts.canonical_prop(proof.conclusion)
    return rewritten(canonical, proof, rounds) if rounds else proof


def _violated(
    facts: Facts, rows: Rows, model: Model, hypotheses: Sequence[ProofStep], unsettled: dict[Atom, None]
) -> list[ProofStep]:
    """Facts about the atoms of the relaxation that its point violates, restated; operations that an equality replaces
    go to `unsettled`.
    """
    nearby: dict[Prop, ProofStep] = {proof.conclusion: proof for proof in hypotheses}
    for atom in _atoms(rows):
        uses = facts.uses.get(atom.serial)
        for _ in range(LOOKED):
            if uses is None:
                break
            nearby.setdefault(uses.entry.prop, uses.entry.proof)
            uses = uses.rest
    found: dict[Prop, ProofStep] = {}
    for p, proof in nearby.items():
        if p not in rows.seen and not model.prop(p):
            now = restated(facts, proof)
            if now.conclusion.kind == "true" and p.kind == "eq":  # it defines an operation whose value is spurious
                unfolded = unfold(facts, proof)
                if unfolded is None:
                    unsettled.update(dict.fromkeys(atom for atom in p.schedule if atom.kind in ("relu", "ite")))
                    if p.expr.degree > 1:
                        found.setdefault(p, proof)
                    continue
                now = unfolded
            for each in conjuncts(now):
                if each.conclusion not in rows.seen and each.conclusion.kind != "true":
                    found.setdefault(each.conclusion, each)
    return list(found.values())


def _near(facts: Facts, p: Prop, canonical: Prop) -> list[Expr]:
    """The expressions of a hypothesis that is no row itself."""
    if canonical.kind == "true":  # an equality that is substituted everywhere
        return [facts.canonical(atom.expr)[0] for atom in sorted(p.symbols, key=lambda atom: atom.key)]
    return [] if canonical.kind in ("ge", "eq") else [q.expr for q in canonical.comparisons()]


def _by_cases(
    prover: Prover, facts: Facts, hypotheses: Sequence[ProofStep], condition: Prop | ProofStep, level: int
) -> ProofStep | None:
    parts = condition.conclusion.parts if isinstance(condition, ProofStep) else (condition, condition.negation)
    branches = []
    for p in parts:
        inner = prover.suppose(facts, p)
        if inner is None:
            return None
        proof = (
            inner.proof
            if isinstance(inner, Conflict)
            else contradiction(prover, inner, [*hypotheses, *conjuncts(hypothesis(p))], level + 1)
        )
        if proof is None:
            return None
        branches.append(proof)
    return cases(Prop.truth(facts.interner, False), condition, branches)


def _atoms(rows: Rows) -> list[Atom]:
    interner = rows.known.interner
    return list(dict.fromkeys([atom for m in rows.monomials for atom in distinct(interner, m)]))


def conditions(
    facts: Facts, model: Model, violated: Sequence[ProofStep], unsettled: Iterable[Atom]
) -> list[Prop | ProofStep]:
    """Case splits that exclude the point: disjunctive facts, then operations, innermost first, then products."""
    found: dict[Prop, Prop | ProofStep] = {
        proof.conclusion: proof for proof in violated if proof.conclusion.kind == "or"
    }
    interner = facts.interner
    wrong = sorted(
        [*model.spurious(), *[atom.expr for atom in unsettled]],
        key=lambda e: (e.depth, e.degree, interner.monomial_keys[e.terms[0][0]]),
    )
    late: dict[Prop, Prop] = {}
    for e in wrong:
        atoms = interner.monomials[e.terms[0][0]]
        if len(atoms) > 1:
            late.update((p, p) for p in _of_cofactors(facts, model, e.terms[0][0]))
            late.update((p, p) for p in _of_product(facts, model, distinct(interner, e.terms[0][0])))
            continue
        atom = _named(atoms[0])
        match atom.kind, atom.args:
            case "relu", (Expr() as inner,):
                condition = Prop.nonnegative(_innermost(facts, inner))
                found.setdefault(condition, condition)
            case "ite", (Prop() as p, _):
                for q in facts.canonical_prop(p)[0].comparisons():
                    found.setdefault(q, q)
            case "floordiv", (_, Expr() as d) if not d.is_constant:
                d = facts.canonical(d)[0]
                low, high = facts.low(d), facts.high(d)
                if (low is None or low < 1) and (high is None or high > -1):
                    condition = Prop.nonnegative(d - 1)
                    found.setdefault(condition, condition)
            case "power" | "bitand", args:
                for arg in args:
                    if isinstance(arg, Expr) and arg.terms:
                        late.update((p, p) for p in _halves(facts, model, facts.canonical(arg)[0]))
            case _:
                pass
    for proof in violated:
        if proof.conclusion.kind == "ne":
            condition = Prop.nonnegative(proof.conclusion.expr - 1)
            found.setdefault(condition, condition)
    found.update((key, condition) for key, condition in late.items() if key not in found)
    return [condition for key, condition in found.items() if key.kind not in ("true", "false")]


def _named(atom: Atom) -> Atom:
    """The operation that a symbol names; other atoms are themselves."""
    e = atom.definition
    if e is None or e.constant or len(e.terms) != 1 or e.terms[0][1] != 1:
        return atom
    named = e.interner.monomials[e.terms[0][0]]
    return named[0] if len(named) == 1 else atom


def _innermost(facts: Facts, e: Expr) -> Expr:
    """The argument of a relu, or that of one inside of it: orders of symbols come back more often than those of their
    combinations.
    """
    e = facts.canonical(e)[0]
    while e.depth:
        inner = min(
            [atom for atom in e.atoms if atom.kind == "relu"], key=lambda atom: (atom.depth, atom.key), default=None
        )
        if inner is None:
            break
        (argument,) = inner.args
        assert isinstance(argument, Expr)
        e = facts.canonical(argument)[0]
    return e


def _of_product(facts: Facts, model: Model, atoms: Sequence[Atom]) -> list[Prop]:
    """A split on the sign of a factor, else at the point's value of the factor closest to an end of its range."""
    signs, sides = [], []
    for atom in atoms:
        r = facts.range_of(atom.monomial)
        if (r.lo is None or r.lo < 0) and (r.hi is None or r.hi > 0):
            signs.append(Prop.nonnegative(atom.expr))
        else:
            value = model.atom(atom)
            distance = min([abs(value - end) for end in (r.lo, r.hi) if end is not None])
            sides.append((distance, atom.key, atom))
    found = list(signs)
    for _, _, atom in sorted(sides, key=lambda side: side[:2]):
        found += _halves(facts, model, atom.expr)
    return found


def _of_cofactors(facts: Facts, model: Model, m: int) -> list[Prop]:
    """A split on which of two products that the point orders wrongly has the larger cofactor."""
    interner = facts.interner
    atoms = interner.monomials[m]
    if len(atoms) > 2:
        return []
    pairs = []
    for other in model.rows.monomials:
        others = interner.monomials[other]
        if other == m or len(others) != 2:
            continue
        if atoms[0] is atoms[1] and others[0] is others[1]:
            total = model.atom(atoms[0]) + model.atom(others[0])
            pairs.append((other, atoms[0].monomial, others[0].monomial, total))
        for atom in distinct(interner, m):
            if atom in others:
                left, right = (interner.monomial(without(interner.monomials[n], (atom,))) for n in (m, other))
                pairs.append((other, left, right, model.atom(atom)))
    found = []
    for other, left, right, factor in pairs:
        order = model.monomial(left) - model.monomial(right)
        excess = model.monomial(m) - model.monomial(other) - factor * order
        if factor < 0 or not excess or (abs(order) > CLOSE and (excess > 0) == (order > 0)):
            continue
        end = order if abs(order) <= CLOSE else 0
        difference = interner.expr(((left, 1),), 0) - interner.expr(((right, 1),), 0)
        found.append(Prop.nonnegative(end - difference if excess > 0 else difference - end))
    return found[:COFACTORS]


def _halves(facts: Facts, model: Model, e: Expr) -> list[Prop]:
    """A split `e <= v`, for v the point's value where that is close to an end of the range, else the midpoint, or twice
    as far from its one end.
    """
    value = model.expr(e)
    low, high = facts.low(e), facts.high(e)
    if low is not None and value > low + CLOSE:
        if high is None:
            value += value - low + 1
        elif high > value + CLOSE:
            value = (low + high) // 2
    if high is not None and value >= high:
        value = high - 1
    if low is not None and value < low:
        return []
    return [Prop.nonnegative(value - e)]
