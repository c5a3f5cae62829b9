"""Congruences: an expression that is no multiple of d is no multiple of d's multiples, however it is scaled.

>>> from solver.knowledge.facts import Facts
>>> from solver.terms.interner import Interner
>>> from solver.knowledge.multiples import prove_no_multiple
>>> terms = Interner()
>>> s = terms.symbol("s")
>>> known = Facts.empty(terms).declare_range(s, 0, None).learn_prop(terms.ne(s % 3, 0))
>>> goal = terms.ne((7 * s) % 12, 6)
>>> prove_no_multiple(known, goal).conclusion is goal
True

A disequality of a remainder has a canonical form: `n % d` with coefficients below d, the first one that has an inverse
modulo d being 1. So `2*s % 3 != 1` and `s % 3 != 2` are one statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Final, NamedTuple

from solver.knowledge.base import Knowledge
from solver.knowledge.laws import rewritten
from solver.proofs.rewriting import Round, apply_round_to_prop
from solver.proofs.step import ProofStep, hypothesis, refute
from solver.terms.expr import Expr
from solver.terms.prop import Prop

LARGEST: Final = 1 << 16
"""Largest number whose divisors are enumerated."""


class Remainder(NamedTuple):
    """`n % modulus` compared with a number; `whole` is n where they are equal."""

    n: Expr
    modulus: int
    value: int
    whole: Expr


def remainder_in(p: Prop) -> Remainder | None:
    """An equality or disequality as the comparison of one remainder with a number."""
    interner = p.interner
    for m, c in p.expr.terms:
        size = abs(c)
        if not 1 < size < LARGEST or len(interner.monomials[m]) > 1:
            continue
        atom = interner.monomials[m][0]
        if atom.kind != "floordiv":
            continue
        n, divisor = atom.args
        if not isinstance(n, Expr) or not isinstance(divisor, Expr) or divisor.terms or divisor.constant != size:
            continue
        multiple = interner.scale(atom.expr, size)
        rest = n - (p.expr if c < 0 else -p.expr) - multiple
        if not rest.terms and 0 <= rest.constant < size:
            return Remainder(n, size, rest.constant, multiple + rest.constant)
    return None


def prove_no_multiple(known: Knowledge, p: Prop) -> ProofStep | None:
    """`n % i != r`, where `n % d != r % d` is known for a divisor d of i: were it r, n would be `i*(n//i) + r`."""
    found = remainder_in(p)
    if found is None:
        return None
    for d in divisors(found.modulus):
        goal = canonical(found, d)
        if goal is not None and goal.expr.terms:
            values, k = known.excluded_values(goal.expr)
            proof = None if values is None or goal.expr.constant % k else values.get(-goal.expr.constant // k)
            if proof is not None:
                return _refuted(p, found, d, proof)
    return None


def reduced(p: Prop, proof: ProofStep) -> ProofStep | None:
    """A disequality of a remainder in canonical form; None where it is canonical."""
    found = remainder_in(p)
    goal = None if found is None else canonical(found, found.modulus)
    if goal is None or found is None or goal is p or goal.kind != "ne":
        return None
    other = remainder_in(goal)
    return None if other is None else _refuted(goal, other, other.modulus, proof)


def canonical(found: Remainder, d: int) -> Prop | None:
    """`n % d != value` for a divisor d of the modulus: coefficients below d, the first with an inverse being 1."""
    interner = found.n.interner
    terms = [(m, c % d) for m, c in found.n.terms if c % d]
    unit = next((c for _, c in terms if gcd(c, d) == 1), None)
    if unit is None:
        return None
    inverse = pow(unit, -1, d)
    n = interner.expr(tuple([(m, c * inverse % d) for m, c in terms]), 0)
    return Prop.ne(n % d, (found.value - found.n.constant) * inverse % d)


def without_inverse(p: Prop, proof: ProofStep) -> ProofStep | None:
    """`t % 2 == 0` from `3*t % 2 == 0`: a coefficient that has an inverse modulo the divisor is removed."""
    found = remainder_in(p)
    goal = None if found is None or len(found.n.terms) != 1 else canonical(found, found.modulus)
    if found is None or goal is None or goal.kind != "ne" or goal.negation is p:
        return None
    interner = p.interner
    ((m, c),) = found.n.terms
    atoms = interner.monomials[m]
    if len(atoms) != 1:
        return None
    image = atoms[0].expr + interner.scale(found.whole - found.n, pow(c, -1, found.modulus))
    steps: Round = ((m, image, proof),)
    if Prop.zero(atoms[0].expr - image) is not p or apply_round_to_prop(goal.negation, steps).kind != "true":
        return None
    return rewritten(goal.negation, None, (steps,))


def coprime(p: Prop, proof: ProofStep) -> list[ProofStep]:
    """`x % d != 0`, for the prime divisors d of a number, from `gcd(x, number) == g`: were it 0, x would be `d*(x//d)`,
    whose greatest common divisor with the number is another.
    """
    interner = p.interner
    found: list[ProofStep] = []
    if len(p.terms) != 1:
        return found
    atoms = interner.monomials[p.terms[0][0]]
    if len(atoms) != 1 or not any(law.divides for law in atoms[0].operation.laws):
        return found
    arguments = [arg for arg in atoms[0].args if isinstance(arg, Expr)]
    for number in [arg.constant for arg in arguments if arg.is_constant and 1 < abs(arg.constant) < LARGEST]:
        for x in arguments:
            if len(x.terms) != 1 or x.constant or x.terms[0][1] != 1 or len(interner.monomials[x.terms[0][0]]) != 1:
                continue
            for d in primes(abs(number)):
                multiple = (x // d) * d
                zero = Prop.zero(x - multiple)
                if zero.kind != "eq":
                    continue
                steps: Round = ((x.terms[0][0], multiple, hypothesis(zero)),)
                if apply_round_to_prop(p, steps).kind == "false":
                    false = rewritten(Prop.truth(interner, False), proof, (steps,))
                    found.append(refute(false, zero.negation))
    return found


def primes(number: int) -> Iterator[int]:
    """The prime divisors of a positive number."""
    d = 2
    while d * d <= number:
        if number % d == 0:
            yield d
            while number % d == 0:
                number //= d
        d += 1
    if number > 1:
        yield number


def divisors(number: int) -> Iterator[int]:
    """The divisors above one, in pairs, including the number itself."""
    yield number
    d = 2
    while d * d <= number:
        if number % d == 0:
            yield d
            if d * d != number:
                yield number // d
        d += 1


def _refuted(p: Prop, found: Remainder, d: int, proof: ProofStep) -> ProofStep | None:
    """Refute the negation of p: what is known is false where n is `whole`.

    An atom with an inverse modulo d is rewritten so that n is `whole`.
    """
    opposite = hypothesis(p.negation)
    interner = p.interner
    for m, c in found.n.terms:
        atoms = interner.monomials[m]
        if len(atoms) == 1 and gcd(c, d) == 1:
            atom = atoms[0]
            image = atom.expr + interner.scale(found.whole - found.n, pow(c, -1, d))
            if Prop.zero(atom.expr - image) is not opposite.conclusion:
                return None
            steps: Round = ((m, image, opposite),)
            if apply_round_to_prop(proof.conclusion, steps).kind == "false":
                return refute(rewritten(Prop.truth(interner, False), proof, (steps,)), p)
    return None
