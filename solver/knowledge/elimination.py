"""The range test (Blume and Eigenmann): replace a term by a symbolic bound of it, until bounds settle the rest.

A fact or law `p >= 0` in which a term stands with the sign that it has in the inequality is subtracted, as often as the
term occurs: with its cofactor, where that is not negative. What is left is shorter, and nonnegative by its bounds:

    >>> from solver.knowledge.elimination import prove_nonnegative
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> a, b, c, m = (terms.symbol(name) for name in "abcm")
    >>> known = Facts.empty(terms).declare_range(m, 9, None)
    >>> for symbol in (a, b, c):
    ...     known = known.declare_range(symbol, 0, None).learn_prop(terms.le(symbol, m))
    >>> print(prove_nonnegative(known, 3 * m - a - b - c).conclusion)
    a + b + c <= 3*m

A sample says which terms need it: those further from their bounds than the inequality is from equality there; and a
fact that makes the inequality false in any sample is not the one. Without backtracking: what was replaced stays so.
"""

from __future__ import annotations

from typing import Final

from solver.knowledge import quotients
from solver.knowledge.explain import prove_side
from solver.knowledge.facts import Facts
from solver.knowledge.laws import laws_of, size_of, times_nonnegative
from solver.knowledge.remainder import multiplied
from solver.proofs.step import ProofStep, combine
from solver.terms.atoms import arguments
from solver.terms.deadline import look
from solver.terms.expr import Atom, Expr
from solver.terms.monomials import divides, without
from solver.terms.prop import Prop

TERMS: Final = 1_200
DEGREE: Final = 20
LONGEST: Final = 80
"""Terms of a fact that has a degree, or is multiplied."""
LOOKED: Final = 12
"""The newest facts about an atom that are tried."""
TRIED: Final = 1_500
"""Terms examined per term of the inequality, and in total at least."""
ORDERS: Final = 32
"""Pairs of dividends that are compared for one inequality, those inside each other included."""


class Replacement:
    """An inequality to be subtracted, times a number or a nonnegative expression."""

    __slots__ = ("constant", "factor", "made", "proof", "terms", "times")

    def __init__(
        self, proof: ProofStep, times: int, factor: Expr | None, terms: list[tuple[int, int]], constant: int
    ) -> None:
        self.proof = proof
        self.times = times
        self.factor = factor
        self.terms = terms
        self.constant = constant


def prove_nonnegative(facts: Facts, e: Expr) -> ProofStep | None:
    """`e >= 0` by symbolic bounds of its terms."""
    if not _is_eliminable(facts, e):
        return None
    orders: dict[Expr, ProofStep | None] = {}
    proof = _Elimination(facts, e, orders).prove()
    if proof is None and e.degree > 1 and e.depth > 1:
        proof = _Elimination(facts, e, orders).prove_inward()
    return proof


def _is_eliminable(facts: Facts, e: Expr) -> bool:
    return 1 < len(e.terms) <= TERMS and e.degree <= DEGREE and bool(facts.samples.alive)


class _Elimination:
    """One inequality, and the multiples of facts and laws subtracted from it."""

    __slots__ = (
        "alive", "bounds", "constant", "e", "facts", "gone", "left", "orders", "row", "scaled", "spare", "taken",
        "terms",
    )  # fmt: skip

    def __init__(self, facts: Facts, e: Expr, orders: dict[Expr, ProofStep | None]) -> None:
        self.facts = facts
        self.e = e
        self.orders = orders
        self.scaled = multiplied(facts, e)
        self.terms: dict[int, int] = dict(self.scaled.terms)
        self.constant: int = self.scaled.constant
        self.gone: set[int] = set()
        self.taken: list[Replacement] = []
        self.bounds: dict[Atom, list[ProofStep]] = {}
        self.left: int = TRIED + 40 * len(e.terms)
        self.alive: list[int] = list(facts.samples.alive)
        self.spare: list[int] = list(facts.samples.values(self.scaled))
        self.row: int = min(self.alive, key=self.spare.__getitem__)

    def prove(self) -> ProofStep | None:
        if self.spare[self.row] < 0:
            return None
        first = self.ordered(unbounded_first=False)[0]
        if self.facts.interner.monomials[first][0].depth > 1 and not self.is_bounded():
            self.replace(first, improving=True)  # of clamps inside each other, the outermost cancels the rest
        changed = True
        while changed and self.left > 0:
            look()
            if self.is_bounded():
                return self.total()
            if self.is_hopeless():
                return None
            changed = False
            for m in self.ordered(unbounded_first=True):
                if m in self.terms and self.is_open(m, self.terms[m]):
                    changed = self.replace(m, improving=True) or changed
            if not changed:
                for m in self.ordered(unbounded_first=False):
                    if m in self.terms and self.replace(m, improving=False):
                        changed = True
                        break
        return self.total() if self.is_bounded() else None

    def prove_inward(self) -> ProofStep | None:
        """Multiples of clamps first, outermost first, until those that a sample points to are left: they are in the
        arguments of the others, which cancel them.
        """
        if self.spare[self.row] < 0:
            return None
        monomials = self.facts.interner.monomials
        replaced = False
        while self.terms and self.left > 0:
            look()
            m = self.ordered(unbounded_first=False)[0]
            clamped = self.terms[m] > 0 and any(atom.kind == "relu" for atom in monomials[m])
            if not clamped or not self.replace(m, improving=False):
                break
            replaced = True
        return self.prove() if replaced else None

    def ordered(self, *, unbounded_first: bool) -> list[int]:
        """The terms, the deepest first: it may hold others. Those without a bound are before them, or not."""
        interner = self.facts.interner
        monomials, keys = interner.monomials, interner.monomial_keys
        ranked = [
            (unbounded_first and not self.is_unbounded(m, c), -max([atom.depth for atom in monomials[m]]), keys[m], m)
            for m, c in self.terms.items()
        ]
        ranked.sort()
        return [m for _, _, _, m in ranked]

    def is_bounded(self) -> bool:
        total = self.constant
        for m, c in self.terms.items():
            r = self.facts.range_of(m)
            bound = r.lo if c > 0 else r.hi
            if bound is None:
                return False
            total += c * bound
        return total >= 0

    def is_hopeless(self) -> bool:
        """Return True if a term without a bound is in no inequality that could replace it."""
        monomials = self.facts.interner.monomials
        unbounded = [m for m, c in self.terms.items() if self.is_unbounded(m, c)]
        if not unbounded:
            return False
        inside: set[Atom] = set()
        for m in self.terms:
            for atom in monomials[m]:
                solved = self.facts.solved.get(atom.monomial)
                if solved is not None:
                    inside |= solved.image.atoms
                for e in arguments(atom) if atom.args else ():
                    inside |= e.atoms
        return any(inside.isdisjoint(monomials[m]) and not self.has_bound(m, self.terms[m]) for m in unbounded)

    def has_bound(self, m: int, c: int) -> bool:
        """Return True if a law or a fact bounds a term."""
        monomials = self.facts.interner.monomials
        for atom in dict.fromkeys(monomials[m]):
            for proof in self.bounds_of(atom):
                p = proof.conclusion
                for n, k in p.terms:
                    if atom in monomials[n] and divides(monomials[n], monomials[m]) and (k * c > 0 or p.kind == "eq"):
                        return True
        return False

    def value(self, m: int) -> int:
        value = 1
        for atom in self.facts.interner.monomials[m]:
            value *= self.facts.samples.atom_column(atom)[self.row]
        return value

    def is_unbounded(self, m: int, c: int) -> bool:
        r = self.facts.range_of(m)
        return (r.lo if c > 0 else r.hi) is None

    def is_open(self, m: int, c: int) -> bool:
        """Return True if a term is further from its bound than the inequality is from equality."""
        r = self.facts.range_of(m)
        bound = r.lo if c > 0 else r.hi
        return bound is None or c * (self.value(m) - bound) > self.spare[self.row]

    def replace(self, m: int, *, improving: bool) -> bool:
        """Subtract the best inequality that removes a term.

        One that leaves fewer terms open, where `improving`.
        """
        best: Replacement | None = None
        best_score = (0, 0, 0, 0, 0)
        for atom in dict.fromkeys(self.facts.interner.monomials[m]):
            for proof in self.bounds_of(atom):
                for found in self.replacements(m, atom, proof):
                    score = self.score(found)
                    if score is not None and (best is None or score < best_score):
                        best, best_score = found, score
                if self.left <= 0:
                    break
        if best is None or (improving and best_score[:2] >= (0, 0)):
            return False
        self.take(best)
        return True

    def bounds_of(self, atom: Atom) -> list[ProofStep]:
        """The laws of an atom, and facts about it."""
        found = self.bounds.get(atom)
        if found is None:
            found = [law for law in laws_of(self.facts, atom) if law.conclusion.kind == "ge"] if atom.args else []
            if atom.kind == "floordiv" and self.facts.range_of(atom.monomial).hi is None:
                monomials = self.facts.interner.monomials
                others = [each for m, c in self.terms.items() if c > 0 for each in monomials[m]]
                found += quotients.upper_bounds(self.facts, atom, others, self.prove_order)
            solved = self.facts.solved.get(atom.monomial)  # of an image too long to be substituted
            if solved is not None:
                found.append(solved.proof)
            uses = self.facts.uses.get(atom.serial)
            looked = 0
            while uses is not None and looked < LOOKED:
                p = uses.entry.prop
                looked += 1
                if p.kind in ("ge", "eq") and len(p.terms) > 1 and self.facts.is_inert(p.expr):
                    found.append(uses.entry.proof)
                uses = uses.rest
            self.bounds[atom] = found
        return found

    def prove_order(self, e: Expr) -> ProofStep | None:
        """`e >= 0` for the difference of two dividends: in quotients of quotients, the same ones over and over."""
        orders = self.orders
        if e not in orders:
            if len(orders) >= ORDERS:
                return None
            orders[e] = None  # the order of two dividends does not rest on itself
            orders[e] = self.facts.prove_sign(e)
            if orders[e] is None and _is_eliminable(self.facts, e):
                orders[e] = _Elimination(self.facts, e, orders).prove()
        return orders[e]

    def replacements(self, m: int, atom: Atom, proof: ProofStep) -> list[Replacement]:
        """An inequality as often as it removes the term, or another of its terms on the way."""
        p = proof.conclusion
        interner = self.facts.interner
        monomials = interner.monomials
        self.left -= len(p.terms)
        found: list[Replacement] = []
        for n, k in p.terms:
            if n == m:
                times, rest = divmod(self.terms[m], k)
                if rest or (times < 0 and p.kind == "ge"):
                    continue
                amounts = [times]
                if p.kind == "ge":
                    for other, d in p.terms:
                        amount, rest = divmod(self.terms.get(other, 0), d)
                        if not rest and 0 < amount < times and amount not in amounts:
                            amounts.append(amount)
                for t in amounts:
                    terms = [(other, t * d) for other, d in p.terms]
                    found.append(Replacement(proof, t, None, terms, t * p.expr.constant))
            elif atom in monomials[n] and divides(monomials[n], monomials[m]) and len(p.terms) <= LONGEST:
                factor = self.cofactor(n, k)
                if factor is not None:
                    product = p.expr * factor
                    self.left -= len(product.terms)
                    found.append(Replacement(proof, 1, factor, list(product.terms), product.constant))
        return found

    def cofactor(self, n: int, k: int) -> Expr | None:
        """The cofactor of a term of an inequality, if it is not negative, as a multiple of its coefficient."""
        interner = self.facts.interner
        atoms = interner.monomials[n]
        coefficients: dict[int, int] = {}
        constant = 0
        self.left -= len(self.terms) // 4
        for m, c in self.terms.items():
            if divides(atoms, interner.monomials[m]):
                if c % k:
                    return None
                rest = without(interner.monomials[m], atoms)
                if rest:
                    coefficients[interner.monomial(rest)] = c // k
                else:
                    constant = c // k
        factor = interner.collect(coefficients, constant)
        low = self.facts.low(factor)
        return factor if low is not None and low >= 0 else None

    def score(self, replacement: Replacement) -> tuple[int, int, int, int, int] | None:
        """Unbounded terms more than before, or out of reach, open terms, and terms.

        The distance from equality; and how often it is subtracted, negated. None for one that makes the inequality
        false in a sample, or brings back what was removed.
        """
        values = self.values(replacement)
        for row in self.alive:
            if self.spare[row] < values[row]:
                return None
        unbounded = worse = longer = 0
        removed = False
        for m, c in replacement.terms:
            before = self.terms.get(m, 0)
            after = before - c
            if not before and m in self.gone:
                return None
            removed = removed or (before != 0 and after == 0)
            longer += (after != 0) - (before != 0)
            unbounded += (after != 0 and self.is_unbounded(m, after)) - (before != 0 and self.is_unbounded(m, before))
            worse += (after != 0 and self.is_open(m, after)) - (before != 0 and self.is_open(m, before))
        if not removed:
            return None
        return unbounded + self.lost(replacement), worse, longer, values[self.row], -replacement.times

    def lost(self, replacement: Replacement) -> int:
        """The unbounded terms that occurred in arguments of what is removed, and occur in none of what is left: a max
        is at least each of its arguments, but some other argument need not be.
        """
        monomials = self.facts.interner.monomials
        left = dict(self.terms)
        removed: list[int] = []
        for m, c in replacement.terms:
            before = left.get(m, 0)
            left[m] = before - c
            if before == c:
                del left[m]
                removed.append(m)
        unbounded = [m for m, c in left.items() if self.is_unbounded(m, c)]
        inside: set[Atom] = set()
        for m in removed if unbounded else ():
            for atom in monomials[m]:
                if atom.args:
                    inside |= atom.expr.atoms
        if not inside:
            return 0
        count = 0
        for m in unbounded:
            if inside.isdisjoint(monomials[m]):
                continue
            others = [atom for n in left if n != m for atom in monomials[n] if atom.args]
            count += all(atom.expr.atoms.isdisjoint(monomials[m]) for atom in others)
        return count

    def values(self, replacement: Replacement) -> list[int]:
        samples = self.facts.samples
        values = samples.values(replacement.proof.conclusion.expr)
        if replacement.factor is None:
            return [replacement.times * value for value in values]
        return [a * b for a, b in zip(values, samples.values(replacement.factor))]

    def take(self, replacement: Replacement) -> None:
        values = self.values(replacement)
        self.spare = [a - b for a, b in zip(self.spare, values)]
        self.constant -= replacement.constant
        for m, c in replacement.terms:
            after = self.terms.get(m, 0) - c
            if after:
                self.terms[m] = after
            else:
                self.terms.pop(m, None)
                self.gone.add(m)
        self.taken.append(replacement)
        self.row = min(self.alive, key=self.spare.__getitem__)

    def total(self) -> ProofStep | None:
        """The sum of what was subtracted and of the bounds of the rest."""
        facts = self.facts
        premises: list[ProofStep] = []
        multipliers: list[int] = []
        for each in self.taken:
            if each.factor is None:
                premises.append(each.proof)
                multipliers.append(each.times)
                continue
            proof = each.proof
            if each.factor.is_constant:
                premises.append(proof)
                multipliers.append(each.factor.constant)
                continue
            if proof.conclusion.kind == "eq":
                proof = combine([proof], [1])
            scaled = times_nonnegative(facts, proof, each.factor)
            if scaled is None:
                return None
            premises.append(scaled)
            multipliers.append(size_of(proof.conclusion.expr * each.factor))
        rest = facts.interner.collect(dict(self.terms), self.constant)
        if rest.terms:
            premises.append(prove_side(facts, rest, True, 0))
            multipliers.append(size_of(rest))
        left = self.scaled
        constant = left.constant - sum([k * p.conclusion.expr.constant for p, k in zip(premises, multipliers)])
        if constant < 0 or not premises:
            return None
        proof = combine(premises, multipliers, constant)
        return proof if proof.conclusion is Prop.nonnegative(self.e) else None
