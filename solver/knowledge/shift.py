"""Shift every atom to its bound: a polynomial with nonnegative coefficients is nonnegative.

With `s = lo + s'` (or `s = hi - s'`), s' >= 0, only the signs of the coefficients matter:

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.knowledge import shift
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(b, 2, None).declare_range(s, 2, None)
    >>> shift.prove_nonnegative(known, b * s - b - s)
    <shift: b*s >= b + s>

`(b' + 2)*(s' + 2) - (b' + 2) - (s' + 2) = b'*s' + b' + s'`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from solver.knowledge import extremes
from solver.knowledge.base import Knowledge
from solver.knowledge.explain import prove_bound, prove_side, weakened
from solver.knowledge.laws import floordiv_law, times_nonnegative
from solver.proofs.step import ProofStep, axiom, combine, gap
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop
from solver.terms.quotients import common_atoms, divide_atoms

DEGREE: Final = 6
TERMS: Final = 40
CLAMPED: Final = 16
RELUS: Final = 3
"""Terms of an expression whose clamps are replaced by their lower bounds."""
NESTED: Final = 3


def prove_nonnegative(known: Knowledge, e: Expr) -> ProofStep | None:
    """`e >= 0` by shifting atoms to their bounds: lower ones, else upper ones, and a relu to its argument."""
    if len(e.terms) > TERMS:
        return None
    monomials = known.interner.monomials
    atoms: dict[Atom, None] = {}
    for m, _ in e.terms:
        if len(monomials[m]) > DEGREE:
            return None
        atoms.update(dict.fromkeys(monomials[m]))
    proof = _by_ends(known, e, e, atoms, {}) or by_factors(known, e) or by_remainder(known, e)
    if proof is None:
        relus = {atom: argument for atom in atoms if atom.kind == "relu" and isinstance(argument := atom.args[0], Expr)}
        if relus and all(argument.atoms.isdisjoint(relus) for argument in relus.values()):
            above = e.replace({atom: atom.expr + argument for atom, argument in relus.items()})
            over = {atom: (argument, True) for atom, argument in relus.items()}
            proof = _by_ends(known, e, above, direct_atoms(above), over)
        if proof is None and relus and e.degree > 1:
            proof = by_clamps(known, e, list(relus))
    return proof


def by_clamps(known: Knowledge, e: Expr, relus: list[Atom]) -> ProofStep | None:
    """`e >= 0` for a polynomial of clamps, each written as its lower bound plus something nonnegative.

    `min(x, y)` is `x - relu(x - y)`. From `min(x, y) >= c` the relu is at most `x - c`, so it is replaced by `x - c -
    r`, r >= 0: products of clamps become products of `c + r`. `max(x, y)` is `y + relu(x - y)`, which is at least x and
    y, whichever has the larger lower bound.
    """
    if len(e.terms) > CLAMPED or len(relus) > RELUS:
        return None
    over: dict[Atom, tuple[Expr, bool]] = {}
    above = e
    for atom in sorted(relus, key=_outermost_first):
        (argument,) = atom.args
        assert isinstance(argument, Expr)
        upper = _is_subtracted(above, atom)
        clamped = _clamped(known, argument)
        if clamped is None:
            if upper:
                return None
            continue
        x, low, other_low = clamped
        if not upper and low <= other_low:
            continue
        end = x - min(low, other_low) if upper else argument
        if any(atom in other.atoms for other, _ in over.values()) or not end.atoms.isdisjoint(over):
            return None
        over[atom] = (end, not upper)
        above = above.replace({atom: end - atom.expr if upper else end + atom.expr})
        if len(above.terms) > TERMS:
            return None
    return _by_ends(known, e, above, direct_atoms(above), over) if over else None


def _is_subtracted(e: Expr, atom: Atom) -> bool:
    """Return True if a relu decreases the expression somewhere, other relus aside."""
    monomials = e.interner.monomials
    return any(
        c < 0 and atom in monomials[m] and all(other is atom or other.kind != "relu" for other in monomials[m])
        for m, c in e.terms
    )


def _clamped(known: Knowledge, argument: Expr) -> tuple[Expr, int, int] | None:
    """The x of `x - y`, and the lower bounds of x and y.

    Relus belong to the clamp that they are part of: subtracted from x they make it one, or added to it.
    """
    monomials = known.interner.monomials
    for added in (False, True):
        first = [
            (m, c)
            for m, c in argument.terms
            if (c > 0) == (added or all(atom.kind != "relu" for atom in monomials[m]))
        ]
        x = known.interner.expr(tuple(first), max(argument.constant, 0))
        low = _least(known, x, NESTED)
        other_low = None if low is None else _least(known, x - argument, NESTED)
        if low is not None and other_low is not None:
            return x, low, other_low
    return None


def _least(known: Knowledge, e: Expr, nested: int) -> int | None:
    """A lower bound, also of a clamp: `x - k*relu(y)` is the minimum of `x` and `x - k*y`."""
    low = known.low(e)
    if low is not None or not nested:
        return low
    monomials = known.interner.monomials
    for m, c in e.terms:
        atom = monomials[m][0]
        if c < 0 and len(monomials[m]) == 1 and atom.kind == "relu":
            (argument,) = atom.args
            assert isinstance(argument, Expr)
            rest = e - atom.expr * c
            ends = [_least(known, rest, nested - 1), _least(known, rest + argument * c, nested - 1)]
            return None if None in ends else min([end for end in ends if end is not None])
    return None


_outermost_first: Callable[[Atom], tuple[int, tuple[int, ...]]] = lambda atom: (-atom.depth, atom.key)  # noqa: E731


def by_factors(known: Knowledge, e: Expr) -> ProofStep | None:
    """`e >= 0` because e is a product of a monomial and a sum, both nonnegative."""
    if e.constant or e.degree < 2 or len(e.terms) < 2:
        return None
    common = common_atoms(known.interner, e)
    if not common:
        return None
    factor = known.interner.expr(((known.interner.monomial(common), 1),), 0)
    rest = divide_atoms(known.interner, e, common)
    low, least = known.low(rest), known.low(factor)
    if low is None or low < 0 or least is None or least < 0:
        return None
    proof = times_nonnegative(known, prove_side(known, rest, True, 0), factor)
    return proof if proof is not None and proof.conclusion is Prop.nonnegative(e) else None


def by_remainder(known: Knowledge, e: Expr) -> ProofStep | None:
    """`e >= 0` because a remainder in it is between 0 and the divisor minus 1."""
    bound = of_remainder(known, e)
    if bound is None:
        return None
    slack = e - bound.conclusion.expr
    return combine([bound], [1], slack.constant) if not slack.terms and slack.constant >= 0 else None


def of_remainder(known: Knowledge, e: Expr) -> ProofStep | None:
    """A lower bound of an expression by a remainder `n - d*(n//d)` in it."""
    monomials = known.interner.monomials
    quotients = [(m, c) for m, c in e.terms if monomials[m][0].kind == "floordiv" and len(monomials[m]) == 1]
    if len(quotients) > 1:
        keys = known.interner.monomial_keys
        quotients.sort(key=lambda term: keys[term[0]])  # in structural order: terms are in the order of their first use
    for m, c in quotients:
        atom = monomials[m][0]
        n, d = atom.args
        assert isinstance(n, Expr) and isinstance(d, Expr)
        if not d.is_constant or c % d.constant:
            continue
        times = -c // d.constant  # e == times*(n - d*q) + rest, and n - d*q is in 0..d - 1
        rest = e - (n - d * atom.expr) * times
        low = known.low(rest)
        if low is not None:
            law = floordiv_law(known, atom, times > 0)
            if rest.is_constant:
                return law
            return combine([law, prove_side(known, rest, True, low)], [abs(times), max(1, rest.content())])
    return None


def direct_atoms(e: Expr) -> list[Atom]:
    """The atoms of its monomials."""
    return list(dict.fromkeys([atom for m, _ in e.terms for atom in e.interner.monomials[m]]))


def _by_ends(
    known: Knowledge, e: Expr, above: Expr, atoms: Iterable[Atom], relus: dict[Atom, tuple[Expr, bool]]
) -> ProofStep | None:
    """`e >= 0` with its atoms at ends of their ranges.

    `above` is `e` with these relus written as their lower end plus, or their upper end minus, something nonnegative.
    """
    ends: dict[Atom, tuple[int, bool]] = {}
    both = []
    for atom in atoms:
        if atom in relus:
            continue
        r = known.range_of(atom.monomial)
        if r.lo is not None:
            ends[atom] = (r.lo, True)
            if r.hi is not None:
                both.append(atom)
        elif r.hi is not None:
            ends[atom] = (r.hi, False)
        else:
            return quadratic(e)
    if is_nonnegative(shifted(above, ends)):
        return _proof(known, e, above, ends, relus)
    for atom in both[:3]:
        high = known.range_of(atom.monomial).hi
        assert high is not None
        trial = ends | {atom: (high, False)}
        if is_nonnegative(shifted(above, trial)):
            return _proof(known, e, above, trial, relus)
    return None


def quadratic(e: Expr) -> ProofStep | None:
    """`a*x**2 + b*x + c >= 0` for all integers x: true if |b| <= a and c >= 0."""
    if len(e.terms) != 2 or e.constant < 0:
        return None
    monomials = e.interner.monomials
    (m, b), (n, a) = sorted(e.terms, key=lambda term: len(monomials[term[0]]))
    if abs(b) > a or e.interner.multiply_monomials(m, m) != n:
        return None
    x = e.interner.expr(((m, 1),), 0)
    between = gap(x if b < 0 else -x)
    if abs(b) == a:
        return combine([between], [a], e.constant)
    return combine([between, ProofStep("square", Prop.nonnegative(x * x), (), x)], [abs(b), a - abs(b)], e.constant)


def shifted(e: Expr, ends: dict[Atom, tuple[int, bool]]) -> Expr:
    """`e` with each atom written as its lower end plus, or its upper end minus, something nonnegative."""
    images = {
        atom: atom.expr + end if lower else end - atom.expr for atom, (end, lower) in ends.items() if end or not lower
    }
    return e.replace(images)


def is_nonnegative(e: Expr) -> bool:
    """Return True if no coefficient is negative."""
    return e.constant >= 0 and all(c > 0 for _, c in e.terms)


def _proof(
    known: Knowledge,
    e: Expr,
    above: Expr,
    ends: dict[Atom, tuple[int, bool]],
    relus: dict[Atom, tuple[Expr, bool]],
) -> ProofStep | None:
    """The proof, with each bound replaced by the oldest one that suffices."""
    premises: list[ProofStep] = []
    for atom, (image, lower) in relus.items():
        above_it = (atom, "above argument")
        law = axiom(Prop.nonnegative(atom.expr - image), above_it) if lower else _below(known, atom, image)
        if law is None:
            return None
        premises.append(law)
    final: dict[Atom, tuple[int, bool]] = dict(ends)
    for atom, (end, lower) in ends.items():
        older = known.ranges.get(atom.monomial)
        candidates = []
        while older is not None:
            bound = older.lo if lower else older.hi
            proof = older.lo_proof if lower else older.hi_proof
            if bound is not None and bound != end and proof is not None:
                candidates.append(bound)
            older = older.older
        for weaker in reversed(candidates):
            if is_nonnegative(shifted(above, final | {atom: (weaker, lower)})):
                final[atom] = (weaker, lower)
                break
    for atom, (end, lower) in list(final.items()):
        proof = prove_bound(known, atom.monomial, lower, end)
        constant = proof.conclusion.expr.constant
        # at least as tight: every coefficient allows it
        final[atom] = (-constant if lower else constant, lower)
        premises.append(proof)
    return ProofStep("shift", Prop.nonnegative(e), tuple(premises), (*relus.items(), *final.items()))


def _below(known: Knowledge, relu: Atom, end: Expr) -> ProofStep | None:
    """The proof that a relu is at most its upper end."""
    goal = Prop.nonnegative(end - relu.expr)
    proof = extremes.prove_nonnegative(known, goal.expr)
    return proof if proof is None or proof.conclusion is goal else weakened(proof, goal)
