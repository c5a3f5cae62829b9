"""Proofs of bounds that interval arithmetic found.

Bounds are computed first and explained lazily, when one is used. The explanation prefers the oldest (weakest) recorded
bound that suffices, which keeps cores small:

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.explain import prove_nonnegative
    >>> from solver.knowledge.facts import Facts
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(b, 2, None).declare_range(s, 3, None)
    >>> proof = prove_nonnegative(known, b * s - 6)
    >>> proof.conclusion is terms.ge(b * s, 6), proof.rule
    (True, 'monomial')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from solver.knowledge.base import Knowledge
from solver.knowledge.entries import Range
from solver.knowledge.quotient_bounds import ordered_interval
from solver.proofs.step import ProofStep, combine
from solver.terms.atoms import interval_of_atom, interval_reader, intervals_of_product
from solver.terms.deadline import look
from solver.terms.expr import Atom, Expr
from solver.terms.intervals import Interval
from solver.terms.intervals import product as product_of
from solver.terms.prop import Prop

NESTED: Final = 2
"""Nesting from which the bound of an atom is explained once: subterms are shared, and a proof written out as a tree
would be exponential in the depth."""
Bound = tuple[Expr, bool]
"""An expression and a side: True for its lower bound."""


def prove_nonnegative(known: Knowledge, e: Expr) -> ProofStep:
    """`e >= 0`, for an expression whose lower bound is at least 0."""
    interner = known.interner
    if not e.terms:
        return ProofStep("trivial", Prop.nonnegative(e))
    goal = Prop.nonnegative(e)
    if len(e.terms) == 1:
        m, c = e.terms[0]
        # c*m + k >= 0 says m >= ceil(-k/c), or m <= floor(k/-c)
        proof = prove_bound(known, m, c > 0, -(e.constant // c) if c > 0 else e.constant // -c)
        if proof.conclusion is goal:
            return proof
        return weakened(proof, goal)
    slack = _term_low(known, e)
    if slack is None or slack < 0:
        r, k = known.form_range(e)
        assert r is not None
        lower = k > 0
        needed = -(e.constant // k) if lower else e.constant // -k
        proof_of_form = _oldest(r, lower, needed)
        assert proof_of_form is not None
        if proof_of_form.conclusion is goal:
            return proof_of_form
        return weakened(proof_of_form, goal)
    premises: list[ProofStep] = []
    multipliers: list[int] = []
    for m, c in sorted(e.terms, key=lambda term: interner.monomial_keys[term[0]]):
        r = known.range_of(m)
        if c > 0:
            assert r.lo is not None
            proof = prove_bound(known, m, True, r.lo - slack // c)
            reached = -proof.conclusion.expr.constant
            slack -= c * (r.lo - reached)
        else:
            assert r.hi is not None
            proof = prove_bound(known, m, False, r.hi + slack // -c)
            reached = proof.conclusion.expr.constant
            slack -= -c * (reached - r.hi)
        premises.append(proof)
        multipliers.append(abs(c))
    if goal.expr is not e:
        return combine(premises, multipliers, slack)
    return ProofStep("combine", goal, tuple(premises), (tuple(multipliers), slack))


def weakened(proof: ProofStep, goal: Prop) -> ProofStep:
    """An inequality from a tighter one of the same form."""
    return ProofStep("combine", goal, (proof,), ((1,), goal.expr.constant - proof.conclusion.expr.constant))


def _term_low(known: Knowledge, e: Expr) -> int | None:
    """The lower bound term by term, without the recorded range of the whole form."""
    total = e.constant
    for m, c in e.terms:
        r = known.range_of(m)
        bound = r.lo if c > 0 else r.hi
        if bound is None:
            return None
        total += c * bound
    return total


def _chain(r: Range | None) -> list[Range]:
    """A range and the weaker ones before it, oldest first."""
    found = []
    while r is not None:
        found.append(r)
        r = r.older
    found.reverse()
    return found


def _oldest(r: Range | None, lower: bool, needed: int) -> ProofStep | None:
    """The proof of the oldest recorded bound that is tight enough; those before it are weaker."""
    found: ProofStep | None = None
    spare = 0
    while r is not None:
        bound = r.lo if lower else r.hi
        if bound is None or (bound < needed if lower else bound > needed):
            break
        proof = r.lo_proof if lower else r.hi_proof
        if proof is not None:
            found, spare = proof, abs(bound - needed)
        r = r.older
    return None if found is None else _unstrengthened(found, spare)


def _unstrengthened(proof: ProofStep, spare: int) -> ProofStep:
    """The proof without steps over excluded values that the bound does not need."""
    while spare and proof.rule == "strengthen":
        proof, spare = proof.premises[0], spare - 1
    return proof


def prove_bound(known: Knowledge, m: int, lower: bool, needed: int) -> ProofStep:
    """`m >= v` for some v >= needed (lower), or `m <= v` for some v <= needed."""
    look()
    recorded = _oldest(known.ranges.get(m), lower, needed)
    if recorded is not None:
        return recorded
    atoms = known.interner.monomials[m]
    if len(atoms) > 1:
        return _prove_product(known, m, atoms, lower, needed)
    if atoms[0].depth < NESTED:
        return _prove_atom(known, atoms[0], lower, needed)
    key = (m, lower, needed)
    found = known.caches.explained.get(key)
    if found is None:
        found = known.caches.explained[key] = _prove_atom(known, atoms[0], lower, needed)
    return found


def prove_side(known: Knowledge, e: Expr, lower: bool, needed: int) -> ProofStep:
    """`e >= needed` or `e <= needed` for any expression, as a normalized inequality."""
    return prove_nonnegative(known, e - needed if lower else needed - e)


def _prove_atom(known: Knowledge, atom: Atom, lower: bool, needed: int) -> ProofStep:
    """The bound of a composite atom from bounds of its arguments."""
    arguments = [arg for arg in atom.args if isinstance(arg, Expr) and arg.terms]

    def value(interval: Callable[[Expr], Interval]) -> int | None:
        return interval_of_atom(atom, interval)[0 if lower else 1]

    plain = value(known.expr_interval)
    if plain is None or (plain < needed if lower else plain > needed):
        return _prove_quotient(known, atom, lower)
    bounds = _needed_bounds(known, arguments, value, lower, needed)
    premises = [prove_side(known, e, low, at) for (e, low), at in bounds.items()]
    reached = value(_reading(premises))
    assert reached is not None
    return ProofStep("operation", _bound_prop(atom.expr, lower, reached), tuple(premises), (atom, lower))


def _prove_quotient(known: Knowledge, atom: Atom, lower: bool) -> ProofStep:
    """The bound of a quotient from the order of a multiple of its divisor and its dividend."""
    n, d = atom.args
    assert isinstance(n, Expr) and isinstance(d, Expr)
    value = ordered_interval(atom, interval_of_atom(atom, known.expr_interval), known.low)[0 if lower else 1]
    assert value is not None
    order = prove_nonnegative(known, n - d * value if lower else d * (value + 1) - 1 - n)
    positive = prove_side(known, d, True, 1)
    rest, sign = known.interner.constant(-value if lower else value), 1 if lower else -1
    return ProofStep("isolate", _bound_prop(atom.expr, lower, value), (order, positive), (atom, rest, sign))


def _prove_product(known: Knowledge, m: int, atoms: tuple[Atom, ...], lower: bool, needed: int) -> ProofStep:
    """The bound of a product from bounds of its atoms."""
    if lower:
        simple = _prove_product_of_lows(known, m, atoms, needed)
        if simple is not None:
            return simple
    distinct = list(dict.fromkeys(atom.expr for atom in atoms))

    def value(interval: Callable[[Expr], Interval]) -> int | None:
        return intervals_of_product(atoms, lambda n: interval(known.interner.monomials[n][0].expr))[0 if lower else 1]

    plain = value(known.expr_interval)
    if plain is None or (plain < needed if lower else plain > needed):
        return _prove_grouped(known, m, lower, needed)
    bounds = _needed_bounds(known, distinct, value, lower, needed)
    premises = [prove_bound(known, e.terms[0][0], low, at) for (e, low), at in bounds.items()]
    reached = value(_reading(premises))
    assert reached is not None
    whole = known.interner.expr(((m, 1),), 0)
    return ProofStep("monomial", _bound_prop(whole, lower, reached), tuple(premises), (m, lower))


def _prove_product_of_lows(known: Knowledge, m: int, atoms: tuple[Atom, ...], needed: int) -> ProofStep | None:
    """The common case: no atom is negative, and the minimum is the product of the minima."""
    lows: dict[Atom, int] = {}
    reached = 1
    for atom in atoms:
        low = known.range_of(atom.monomial).lo
        if low is None or low < 0:
            return None
        lows[atom] = low
        reached *= low
    if reached < needed:
        return None
    premises = []
    for atom, low in lows.items():
        others, power = 1, 0
        for other in atoms:
            if other is atom:
                power += 1
            else:
                others *= lows[other]
        weakest = low
        for r in _chain(known.ranges.get(atom.monomial)):
            if r.lo is not None and 0 <= r.lo < low and others * r.lo**power >= needed:
                weakest = r.lo
                break
        proof = prove_bound(known, atom.monomial, True, weakest)
        lows[atom] = -proof.conclusion.expr.constant
        premises.append(proof)
    reached = 1
    for atom in atoms:
        reached *= lows[atom]
    whole = known.interner.expr(((m, 1),), -reached)
    return ProofStep("monomial", Prop.make(known.interner, "ge", whole), tuple(premises), (m, True))


def _prove_grouped(known: Knowledge, m: int, lower: bool, needed: int) -> ProofStep:
    """The bound of a product as a product of two, one of them with recorded bounds."""
    interner = known.interner
    for product, other, interval in known.groupings(m):
        bound = interval[0 if lower else 1]
        if bound is None or (bound < needed if lower else bound > needed):
            continue
        halves = [interner.expr(((product, 1),), 0), interner.expr(((other, 1),), 0)]

        def value(of: Callable[[Expr], Interval], halves: list[Expr] = halves) -> int | None:
            return product_of(of(halves[0]), of(halves[1]))[0 if lower else 1]

        bounds = _needed_bounds(known, halves, value, lower, needed)
        premises = [prove_bound(known, e.terms[0][0], low, at) for (e, low), at in bounds.items()]
        reached = value(_reading(premises))
        assert reached is not None
        goal = _bound_prop(interner.expr(((m, 1),), 0), lower, reached)
        return ProofStep("grouped", goal, tuple(premises), (product, other, lower))
    raise AssertionError("a bound without a proof")


def _bound_prop(e: Expr, lower: bool, value: int) -> Prop:
    return Prop.nonnegative(e - value if lower else value - e)


def _needed_bounds(
    known: Knowledge,
    arguments: list[Expr],
    value: Callable[[Callable[[Expr], Interval]], int | None],
    lower: bool,
    needed: int,
) -> dict[Bound, int]:
    """The bounds of the arguments that the result rests on, each as weak as possible.

    Starting from all of them, each is dropped, or else replaced by an older one, where the result still follows.
    """
    chosen: dict[Bound, int] = {}
    for e in arguments:
        low, high = known.low(e), known.high(e)
        if low is not None:
            chosen[(e, True)] = low
        if high is not None:
            chosen[(e, False)] = high

    def suffices(trial: dict[Bound, int]) -> bool:
        reached = value(
            lambda e: (trial.get((e, True)), trial.get((e, False))) if e.terms else (e.constant, e.constant)
        )
        return reached is not None and (reached >= needed if lower else reached <= needed)

    for bound in [b for b in chosen if not b[1]] + [b for b in chosen if b[1]]:
        trial = {key: at for key, at in chosen.items() if key != bound}
        if suffices(trial):
            chosen = trial
            continue
        for weaker in _weaker(known, *bound):
            if suffices(chosen | {bound: weaker}):
                chosen[bound] = weaker
                break
    return chosen


def _weaker(known: Knowledge, e: Expr, lower: bool) -> Iterator[int]:
    """Recorded bounds of an atom, oldest first; zero for anything known to be nonnegative."""
    if len(e.terms) == 1 and e.terms[0][1] == 1 and not e.constant:
        for r in _chain(known.ranges.get(e.terms[0][0])):
            bound = r.lo if lower else r.hi
            if bound is not None:
                yield bound


def _reading(premises: list[ProofStep]) -> Callable[[Expr], Interval]:
    """Intervals of expressions as the premises state them."""
    return interval_reader([premise.conclusion for premise in premises])
