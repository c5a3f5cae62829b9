"""Euclidean division: replace a dividend, or a multiple of a quotient, by the other plus a remainder.

For d > 0 and `q = n // d` the remainder `r = n - d*q` is in 0..d - 1. Where a monomial of r stands in an
inequality with coefficient f, `e = rest + f*r`: for f >= 0 it is enough that `rest >= 0`, for f <= 0 that
`rest - f*(d - 1) >= 0`. The monomial is gone, and what is left is often a product of factors of known sign:

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.knowledge import remainder
    >>> terms = Interner()
    >>> n, d, i = (terms.symbol(name) for name in "ndi")
    >>> known = Facts.empty(terms).declare_range(n, 0, None).declare_range(d, 1, None).declare_range(i, 0, None)
    >>> known = known.learn_prop(terms.lt(i, d))
    >>> remainder.prove_nonnegative(known, n - n // d * i)
    <combine: i*(n//d) <= n>

Here `n - n//d*i` is `n//d*(d - i)` and the remainder of n. An inequality with other coefficients is multiplied first:
`2*(n//4) <= n//2` is `4*(n//4) <= 2*(n//2) + 1`. In the same way `max(X, 0)` in a product is replaced by a lower
or upper bound. Only a few of these steps are tried, each once.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, lcm
from typing import Final

from solver.knowledge import extremes, shift, single
from solver.knowledge.base import Knowledge
from solver.knowledge.explain import prove_side
from solver.knowledge.isolation import oriented
from solver.knowledge.laws import floordiv_law, law_expr, times_nonnegative
from solver.proofs.step import ProofStep, axiom, combine
from solver.terms.expr import Atom, Expr
from solver.terms.monomials import divides, without
from solver.terms.prop import Prop

STEPS: Final = 3
"""Monomials replaced one after the other."""
TRIED: Final = 16
"""Expressions examined for one inequality."""
TERMS: Final = 16
NESTED: Final = 3
"""Nesting of quotients from which the outermost is examined first."""
LARGEST: Final = 1 << 12
"""Largest common multiple of divisors that is formed."""
DEGREE: Final = 4


def prove_nonnegative(known: Knowledge, e: Expr) -> ProofStep | None:
    """`e >= 0` by division with remainder."""
    if len(e.terms) > TERMS:
        return prove_long(known, e)
    if e.degree > DEGREE or not _replaced(known, e):
        return None
    if e.depth > NESTED:
        proof = prove_long(known, e)
        if proof is not None:
            return proof
    return _Search(known).prove(e, STEPS) or single.prove_nonnegative(known, e)


def prove_long(known: Knowledge, e: Expr) -> ProofStep | None:
    """`e >= 0` for a long or deep sum: a remainder, or its distance from the divisor, plus something nonnegative.

    Without search: a remainder is the dividend minus a multiple of the divisor, and the quotient, which contains the
    whole dividend, is the deepest atom.
    """
    deepest = e.depth
    for atom in [atom for atom in shift.direct_atoms(e) if atom.kind == "floordiv" and atom.depth == deepest][:STEPS]:
        if oriented(known, atom) is None:
            continue
        for lower in (True, False):
            law_of = _law_expr(known, atom, lower)
            rest = e - law_of
            if _is_nonnegative(known, rest):
                law = _law(known, atom, lower)
                total = None if law is None else added(e, rest, prove_side(known, rest, True, 0), law_of, law)
                if total is not None:
                    return total
    return None


class _Search:
    """One inequality, and the expressions examined for it."""

    __slots__ = ("known", "seen")

    def __init__(self, known: Knowledge) -> None:
        self.known = known
        self.seen: set[Expr] = set()

    def prove(self, e: Expr, steps: int) -> ProofStep | None:
        """`e >= 0`, with at most this many replacements."""
        known = self.known
        if e in self.seen or len(self.seen) >= TRIED:
            return None
        self.seen.add(e)
        proof = directly(known, e)
        if proof is not None or not steps or known.refuted(e):
            return proof
        e = multiplied(known, e)
        for atom, lower, factor in self.replacements(e):
            law_of = _law_expr(known, atom, lower)
            rest = e - factor * law_of
            if len(rest.terms) > TERMS or rest.degree > DEGREE:
                continue
            proof = self.prove(rest, steps - 1)
            if proof is not None:
                law = _law(known, atom, lower)
                scaled = law if law is None or factor.is_constant else times_nonnegative(known, law, factor)
                total = None if scaled is None else added(e, rest, proof, e - rest, scaled)
                if total is not None:
                    return total
        return None

    def replacements(self, e: Expr) -> Iterator[tuple[Atom, bool, Expr]]:
        """Quotients in the expression, the law to use of each, and its multiplicity."""
        known = self.known
        found: set[tuple[Atom, bool, Expr]] = set()
        for atom in _replaced(known, e):
            law = _law_expr(known, atom, True) if atom.kind == "floordiv" else -atom.expr
            for m, a in law.terms:
                whole = _cofactor(e, m, a)
                for factor in _nonnegative_parts(known, whole):
                    for lower, multiple in ((True, factor), (False, -factor)):
                        step = (atom, lower, multiple)
                        if step not in found and _is_nonnegative(known, multiple):
                            found.add(step)
                            yield step


def multiplied(known: Knowledge, e: Expr) -> Expr:
    """The inequality scaled until the constant divisors of its quotients divide their coefficients."""
    times = 1
    for m, c in e.terms:
        atoms = known.interner.monomials[m]
        for atom in atoms:
            if atom.kind == "floordiv":
                divisor = atom.args[1]
                assert isinstance(divisor, Expr)
                if divisor.is_constant and divisor.constant > 0:
                    times = lcm(times, divisor.constant // gcd(c, divisor.constant))
    return e * times + (times - 1) if 1 < times <= LARGEST else e


def directly(known: Knowledge, e: Expr) -> ProofStep | None:
    """`e >= 0` by bounds, by shifting, or by a fact."""
    low = known.low(e)
    if low is not None and low >= 0:
        return prove_side(known, e, True, 0)
    if low is not None and (e.degree <= 1 or e.depth):  # shifting is no stronger than bounds, or costs too much
        return single.prove_by_facts(known, e, 1)
    proof = shift.prove_nonnegative(known, e) if e.degree > 1 else shift.by_remainder(known, e)
    return proof or single.prove_by_facts(known, e, 1)


def added(e: Expr, rest: Expr, proof: ProofStep, part: Expr, scaled: ProofStep) -> ProofStep | None:
    """`e >= 0` for `e == rest + part`, both proven, up to rounding."""
    k, times = max(1, rest.content()), max(1, part.content())
    premises = [(proof, k), (scaled, times)] if rest.terms else [(scaled, times)]
    left = e
    for premise, multiple in premises:
        left = left - premise.conclusion.expr * multiple
    if left.terms or left.constant < 0:
        return None
    return combine([premise for premise, _ in premises], [multiple for _, multiple in premises], left.constant)


def _replaced(known: Knowledge, e: Expr) -> list[Atom]:
    """The quotients by a divisor of known sign, and the relus in products, in the terms."""
    found = []
    for atom in shift.direct_atoms(e):
        if atom.kind == "floordiv":
            if oriented(known, atom) is not None:
                found.append(atom)
        elif atom.kind == "relu" and e.degree > 1:
            found.append(atom)
    return sorted(found, key=lambda atom: atom.key)


def _is_negative(known: Knowledge, atom: Atom) -> bool:
    """Return True if the divisor of a quotient is negative; its sign is known."""
    found = oriented(known, atom)
    return found is not None and found[1] is not atom.args[1]


def _law_expr(known: Knowledge, atom: Atom, lower: bool) -> Expr:
    """The nonnegative side of a law: a remainder, or its distance from the divisor.

    The distance of a relu from its argument without negative terms, or from its argument.
    """
    if atom.kind == "floordiv":
        return law_expr(atom, lower, negative=_is_negative(known, atom))
    (argument,) = atom.args
    assert isinstance(argument, Expr)
    return _without_negative(known, argument) - atom.expr if lower else atom.expr - argument


def _law(known: Knowledge, atom: Atom, lower: bool) -> ProofStep | None:
    """The proof of that law."""
    if atom.kind == "floordiv":
        return floordiv_law(known, atom, lower, negative=_is_negative(known, atom))
    (argument,) = atom.args
    assert isinstance(argument, Expr)
    if not lower:
        return axiom(Prop.nonnegative(atom.expr - argument), (atom, "above argument"))
    return extremes.prove_nonnegative(known, _law_expr(known, atom, lower))


def _without_negative(known: Knowledge, e: Expr) -> Expr:
    """The expression without its nonpositive terms."""
    kept = []
    for m, c in e.terms:
        r = known.range_of(m)
        if (r.lo is None or r.lo < 0) if c < 0 else (r.hi is None or r.hi > 0):
            kept.append((m, c))
    return known.interner.expr(tuple(kept), max(e.constant, 0))


def _cofactor(e: Expr, m: int, a: int) -> Expr:
    """The cofactor of a monomial, with its coefficient, in the expression."""
    interner = e.interner
    atoms = interner.monomials[m]
    coefficients: dict[int, int] = {}
    constant = 0
    for n, c in e.terms:
        if c % a == 0 and divides(atoms, interner.monomials[n]):
            rest = without(interner.monomials[n], atoms)
            if rest:
                coefficients[interner.monomial(rest)] = c // a
            else:
                constant = c // a
    return interner.collect(coefficients, constant)


def _nonnegative_parts(known: Knowledge, e: Expr) -> list[Expr]:
    """The expression, and its terms if there are several."""
    interner = known.interner
    if len(e.terms) + (e.constant != 0) < 2:
        return [e] if e.terms or e.constant else []
    single = [interner.expr((term,), 0) for term in e.terms]
    return [e, *single, interner.constant(e.constant)] if e.constant else [e, *single]


def _is_nonnegative(known: Knowledge, e: Expr) -> bool:
    low = known.low(e)
    return low is not None and low >= 0
