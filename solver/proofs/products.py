"""Rules of inference for the checker: products, factors, and enumeration of small boxes and residues."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Final

from solver.proofs.inference import (
    Rules,
    Wrong,
    disequality_of,
    equality_of,
    inequality_of,
    monomial_expr,
    payload_of,
    positive_bound,
    premises_of,
    require,
    without_payload,
)
from solver.proofs.step import ProofStep
from solver.terms import intervals
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

VOLUME: Final = 1 << 14
"""Assignments in the largest box that is enumerated."""


# ---------------------------------------------------------------------- products


def _times(step: ProofStep) -> Prop:
    left, right = without_payload(step, 2)
    return Prop.nonnegative(inequality_of(left) * inequality_of(right))


def _multiply(step: ProofStep) -> Prop:
    (premise,) = premises_of(step, 1)
    return Prop.zero(equality_of(premise) * payload_of(step, Expr))


def _square(step: ProofStep) -> Prop:
    premises_of(step, 0)
    e = payload_of(step, Expr)
    return Prop.nonnegative(e * e)


def _gap(step: ProofStep) -> Prop:
    """`e*(e - 1) >= 0`: no integer is strictly between 0 and 1."""
    premises_of(step, 0)
    e = payload_of(step, Expr)
    return Prop.nonnegative(e * e - e)


def _product_nonzero(step: ProofStep) -> Prop:
    e = disequality_of(step.conclusion)
    require(len(e.terms) == 1 and not e.constant, "is about no product")
    atoms = list(dict.fromkeys(e.interner.monomials[e.terms[0][0]]))
    for atom, p in zip(atoms, without_payload(step, len(atoms)), strict=True):
        if p is not Prop.zero(atom.expr).negation:
            raise Wrong(f"`{p}` does not say that {atom} is not zero")
    return step.conclusion


def _nonzero_factors(step: ProofStep) -> Prop:
    """A product of powers of expressions none of which is zero."""
    require(isinstance(step.data, tuple), "has no factors")
    assert isinstance(step.data, tuple)
    product = step.conclusion.interner.one
    for nonzero, each in zip(premises_of(step, len(step.data)), step.data, strict=True):
        match each:
            case (Expr() as factor, int() as power) if power >= 1:
                if nonzero is not Prop.zero(factor).negation:
                    raise Wrong(f"`{nonzero}` does not say that {factor} is not zero")
                for _ in range(power):
                    product = product * factor
            case _:
                raise Wrong("has no factors")
    return Prop.zero(product).negation


def _cancelled(step: ProofStep) -> Prop:
    """`rest == 0` from `rest * factor**power == 0` and `factor != 0`."""
    match step.data:
        case (Expr() as rest, Expr() as factor, int() as power) if power >= 1:
            product, nonzero = premises_of(step, 2)
            if nonzero is not Prop.zero(factor).negation:
                raise Wrong(f"`{nonzero}` does not say that {factor} is not zero")
            whole = rest
            for _ in range(power):
                whole = whole * factor
            if product is not Prop.zero(whole):
                raise Wrong(f"`{product}` is not `{Prop.zero(whole)}`")
            return Prop.zero(rest)
    raise Wrong("has no other factor")


def _factor_nonzero(step: ProofStep) -> Prop:
    """An atom in every monomial, where substituting zero leaves a false constant."""
    (premise,) = premises_of(step, 1)
    e, atom = premise.expr, payload_of(step, Atom)
    false_at_zero = {"ge": e.constant < 0, "eq": e.constant != 0, "ne": e.constant == 0}
    require(false_at_zero.get(premise.kind, False), "allows every factor to be zero")
    monomials = e.interner.monomials
    if not all(atom in monomials[m] for m, _ in e.terms):
        raise Wrong(f"{atom} is no factor of every term of {e}")
    return Prop.zero(atom.expr).negation


def _multiple(step: ProofStep) -> Prop:
    """An atom that is larger than the constant, and divides every other term."""
    (premise,) = premises_of(step, 1)
    e, atom = disequality_of(step.conclusion), payload_of(step, Atom)
    monomials = e.interner.monomials
    if not all(atom in monomials[m] for m, _ in e.terms):
        raise Wrong(f"{atom} is no factor of every term of {e}")
    require(0 < abs(e.constant) < positive_bound(premise, atom), "is not too close to zero for a multiple")
    return step.conclusion


def _factored(step: ProofStep) -> Prop:
    """A comparison of `factor * rest` with zero and the same of `rest`, either way round.

    The factor is positive, or for equalities and disequalities not zero.
    """
    match step.data:
        case (Expr() as factor, Expr() as rest, "ge" | "eq" as kind):
            ((m, one),) = factor.terms
            require(one == 1 and not factor.constant, "divides by no monomial")
            atoms = sorted(set(factor.interner.monomials[m]), key=lambda atom: atom.key)
            premise, *signs = premises_of(step, 1 + len(atoms))
            for atom, p in zip(atoms, signs, strict=True):
                if kind == "ge" or p is not Prop.zero(atom.expr).negation:
                    positive_bound(p, atom)
            compare = Prop.nonnegative if kind == "ge" else Prop.zero
            whole, part = compare(factor * rest), compare(rest)
            for p, q in ((whole, part), (part, whole)):
                if premise is p:
                    return q
                if premise is p.negation:
                    return q.negation
            raise Wrong(f"`{premise}` is not about {factor}*({rest})")
    raise Wrong("has no factor")


def _factor_bounded(step: ProofStep) -> Prop:
    """`x**n * others <= h`, h >= 0, the others positive: `x**n` is at most h over the least value of the others."""
    match step.data:
        case (int() as m, Atom() as atom):
            interner = atom.expr.interner
            whole, atoms = monomial_expr(interner, m), interner.monomials[m]
            others = [other for other in dict.fromkeys(atoms) if other is not atom]
            product, *lows = premises_of(step, 1 + len(others))
            most = whole + inequality_of(product)
            require(most.is_constant and most.constant >= 0 and atom in atoms, "bounds another product")
            least = 1
            for other, p in zip(others, lows, strict=True):
                least *= positive_bound(p, other) ** atoms.count(other)
            return Prop.nonnegative(intervals.root(most.constant // least, atoms.count(atom)) - atom.expr)
    raise Wrong("names no product and factor")


# ---------------------------------------------------------------------- enumeration


def _box(step: ProofStep) -> Prop:
    """The goal at every assignment of the symbols within their bounds at which the other premises hold."""
    goal, sides = step.conclusion, payload_of(step, tuple)
    premises = premises_of(step, len(step.premises))
    bounds, others = premises[: 2 * len(sides)], premises[2 * len(sides) :]
    volume = 1
    for (atom, low, high), least, most in zip(sides, bounds[::2], bounds[1::2], strict=True):
        if least is not Prop.nonnegative(atom.expr - low) or most is not Prop.nonnegative(high - atom.expr):
            raise Wrong(f"has no bounds of {atom} that say {low} and {high}")
        volume *= max(high - low + 1, 0)
    require(volume <= VOLUME, "is too large a box")
    symbols = [atom for atom, _, _ in sides]
    used = frozenset().union(goal.symbols, *[p.symbols for p in others])
    require(used <= set(symbols) and all(atom.kind == "symbol" for atom in symbols), "is about other symbols too")
    for point in product(*[range(low, high + 1) for _, low, high in sides]):
        values = dict(zip(symbols, point, strict=True))
        if not goal.evaluate(values) and all(p.evaluate(values) for p in others):
            raise Wrong(f"does not hold at {values}")
    return goal


def _residues(step: ProofStep) -> Prop:
    """`e != 0`, as e is not zero modulo m for any residues of its atoms."""
    premises_of(step, 0)
    m, e = payload_of(step, int), disequality_of(step.conclusion)
    terms = [(c % m, e.interner.monomials[n]) for n, c in e.terms if c % m]
    atoms = list(dict.fromkeys([atom for _, factors in terms for atom in factors]))
    require(m > 1 and m ** len(atoms) <= VOLUME, "has no small modulus")
    for point in product(range(m), repeat=len(atoms)):
        values = dict(zip(atoms, point, strict=True))
        if (e.constant + sum([c * prod([values[atom] for atom in factors]) for c, factors in terms])) % m == 0:
            raise Wrong(f"is zero modulo {m} at {values}")
    return step.conclusion


PRODUCTS: Final[Rules] = {
    "times": _times,
    "multiply": _multiply,
    "square": _square,
    "gap": _gap,
    "product-nonzero": _product_nonzero,
    "nonzero-factors": _nonzero_factors,
    "cancelled": _cancelled,
    "factor-nonzero": _factor_nonzero,
    "multiple": _multiple,
    "factored": _factored,
    "factor-bounded": _factor_bounded,
    "box": _box,
    "residues": _residues,
}
"""The rules by name."""
