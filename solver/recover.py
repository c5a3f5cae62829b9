"""`%`, `min`, `max`, `abs`, conditionals and bitwise operators found again in the normal form, for printing.

The normal form writes `a % d` as `a - d*(a//d)`, `max(a, b)` as `b + relu(a - b)`, `a if p else b` as `b + ite(p, a - b)`. So when a sum
`q*atom + r` is printed, these identities are tried from right to left, for the atoms from the outside in:

    -k*d * (n//d)        is  k*(n % d) - k*n, for every numerator that is n modulo d
    q * relu(e)          is  q*max(e + b, b) - q*b, and -q*min(-e - b, -b) - q*b, for every b
    2*q * relu(e)        is  q*abs(e) + q*e
    q * ite(p, e)        is  q*(e + b if p else b) - q*b, for every b
    -(x & y)             is  (x | y) - x - y, and -2*(x & y) is (x ^ y) - x - y

The b and n that leave the fewest operators are looked for among a handful: what r has of the monomials of e, what cancels there, all of r.
Every candidate is built through the constructors and kept only if it is the same normal form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Final

from solver import division
from solver.expr import Atom, Expr, Interner
from solver.factored import Text
from solver.prop import Prop

if TYPE_CHECKING:
    from solver.display import Printer

HEAVY: Final = 1 << 40
"""Weights are counted no further."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """`rest + factor * value`, where value is an operation on arguments."""

    rest: Expr
    factor: Expr
    operation: str
    arguments: tuple[Expr | Prop, ...]


def recover(printer: Printer, e: Expr, relation: bool) -> tuple[Expr, list[tuple[Expr, int]]]:
    """`(rest, [(factor, piece)])` with `e == rest + sum of factor * piece`; in a relation, terms may change sides for nothing."""
    weigh(printer, e)
    rest = e
    found: list[tuple[Expr, int]] = []
    weights: list[tuple[int, int]] = []
    settled: set[Atom] = set()
    while True:
        atom = _outermost(printer, rest, settled)
        if atom is None:
            return rest, found
        settled.add(atom)
        q, r = separate(rest, atom)
        if q is e.interner.zero:
            continue
        limit = total(printer, rest, relation, weights)
        ranked: list[tuple[int, int, Candidate]] = []
        for number, candidate in enumerate(candidates(atom, q, r, relation)):
            weighed = [*weights, weight_of(printer, candidate)]
            cost = total(printer, candidate.rest, relation, weighed)
            if cost < limit:
                ranked.append((cost, number, candidate))
        ranked.sort(key=_rank)
        for _, _, candidate in ranked:
            if candidate.rest + candidate.factor * value_of(candidate) is rest:
                rest = candidate.rest
                weights.append(weight_of(printer, candidate))
                found.append((candidate.factor, printer.pieces.add(text_of(printer, candidate))))
                break


def _rank(ranked: tuple[int, int, Candidate]) -> tuple[int, int]:
    return ranked[:2]


def _outermost(printer: Printer, e: Expr, settled: set[Atom]) -> Atom | None:
    """The deepest atom, by text among equals."""
    monomials = e.interner.monomials
    best: list[Atom] = []
    for m, _ in e.terms:
        for atom in monomials[m]:
            if atom.kind != "symbol" and atom not in settled and atom not in best:
                if not best or atom.depth > best[0].depth:
                    best = [atom]
                elif atom.depth == best[0].depth:
                    best.append(atom)
    if len(best) < 2:
        return best[0] if best else None
    chosen = best[0]
    text = printer.pieces.texts[printer.piece(chosen)].text
    for atom in best[1:]:
        other = printer.pieces.texts[printer.piece(atom)].text
        if other < text:
            chosen, text = atom, other
    return chosen


def separate(e: Expr, atom: Atom) -> tuple[Expr, Expr]:
    """`(q, r)` with `e == q*atom + r`, where q has all terms in which the atom occurs once."""
    interner = e.interner
    monomials = interner.monomials
    inside: dict[int, int] = {}
    outside: dict[int, int] = {}
    constant = 0
    for m, c in e.terms:
        atoms = monomials[m]
        if atoms.count(atom) != 1:
            outside[m] = c
        elif len(atoms) == 1:
            constant = c
        else:
            inside[interner.monomial(tuple([other for other in atoms if other is not atom]))] = c
    return interner.collect(inside, constant), interner.collect(outside, e.constant)


# ---------------------------------------------------------------------- candidates


def candidates(atom: Atom, q: Expr, r: Expr, relation: bool) -> Iterator[Candidate]:
    match atom.kind, atom.args:
        case "floordiv", (Expr() as n, Expr() as d):
            yield from _remainders(atom, n, d, q, r)
            yield from _absorbing(n, d, q, r)
        case "relu", (Expr() as e,):
            for factor, multiple in units(q):
                if multiple == 1:
                    for b in offsets(e, factor, r, relation):
                        yield Candidate(r - factor * b, factor, "max", (e + b, b))
                        yield Candidate(r - factor * b, -factor, "min", (-e - b, -b))
            half = exact_half(q)
            if half is not None:
                yield Candidate(r + half * e, half, "abs", (e,))
        case "ite", (Prop() as p, Expr() as e):
            for factor, multiple in units(q):
                for b in offsets(e * multiple, factor, r, relation):
                    yield Candidate(r - factor * b, factor, "ite", (p, e * multiple + b, b))
        case "bitand", (Expr() as a, Expr() as b):
            yield Candidate(r + q * (a + b), -q, "or", (a, b))
            half = exact_half(q)
            if half is not None:
                yield Candidate(r + half * (a + b), -half, "xor", (a, b))
        case _:
            return


def _remainders(atom: Atom, n: Expr, d: Expr, q: Expr, r: Expr) -> Iterator[Candidate]:
    interner = n.interner
    if d.terms:
        k, left = division.divide(interner, q, d)
        if left.terms or left.constant:
            if k is interner.zero:
                return
            r = r + left * atom.expr
    else:
        size = d.constant
        k = interner.expr(
            tuple([(m, c // size) for m, c in q.terms if c % size == 0]), q.constant // size if q.constant % size == 0 else 0
        )
        if k is interner.zero:
            return
        r = r + (q - k * size) * atom.expr
    # d * (n//d) == n - n % d
    yield Candidate(r + k * n, -k, "mod", (n, d))
    if d.terms:
        return
    centred = n - size if 2 * n.constant > size else n
    if centred is not n:
        yield Candidate(r + k * n, -k, "mod", (centred, d))
    positive = interner.expr(tuple([(m, c % size) for m, c in n.terms]), n.constant)
    if positive is not n:
        yield Candidate(r + k * n, -k, "mod", (positive, d))
    nested = _nested_remainders(n, size)
    if nested is not n:
        yield Candidate(r + k * n, -k, "mod", (nested, d))
    # d * (n//d) == m % d - m for m = d - 1 - n
    opposite = size - 1 - n
    yield Candidate(r - k * opposite, k, "mod", (opposite, d))
    if 2 * opposite.constant > size:
        yield Candidate(r - k * opposite, k, "mod", (opposite - size, d))


def _nested_remainders(n: Expr, size: int) -> Expr:
    """n, up to multiples of size, with the quotients in it changed into those of remainders: x - x//4 is x - 4*(x//4) modulo 3."""
    coefficients = dict(n.terms)
    for m, c in n.terms:
        atoms = n.interner.monomials[m]
        if len(atoms) == 1 and atoms[0].kind == "floordiv":
            inner, divisor = atoms[0].args
            if isinstance(inner, Expr) and isinstance(divisor, Expr) and not divisor.terms:
                lead, scale = inner.lead()
                wanted, odd = divmod(-coefficients.get(lead, 0) * divisor.constant, scale)
                if not odd and wanted and (wanted - c) % size == 0:
                    coefficients[m] = wanted
    return n.interner.collect(coefficients, n.constant)


def _absorbing(n: Expr, d: Expr, q: Expr, r: Expr) -> Iterator[Candidate]:
    """`n//d + j` is `(n + d*j)//d`."""
    if q.terms:
        return
    size = abs(q.constant)
    numerator = n if q.constant > 0 else -n + d - 1
    if q.constant < 0 and d.terms:
        # -(n//d) is ceildiv(-n, d)
        yield Candidate(r, -q, "ceildiv", (-n, d))
        return
    alike = {m for m, _ in n.terms}
    for terms, constant in ((r.terms, r.constant), ([term for term in r.terms if term[0] in alike], r.constant), ([], r.constant)):
        j = _divided(n.interner, terms, constant, size)
        if j is not n.interner.zero:
            yield Candidate(r - j * size, n.interner.constant(size), "floordiv", (numerator + d * j, d))
    if q.constant < 0:
        yield Candidate(r, n.interner.constant(size), "floordiv", (numerator, d))


def _divided(interner: Interner, terms: Iterable[tuple[int, int]], constant: int, size: int) -> Expr:
    """What `size` divides of these terms, divided."""
    return interner.expr(tuple([(m, c // size) for m, c in terms if c % size == 0]), constant // size if constant % size == 0 else 0)


def units(q: Expr) -> list[tuple[Expr, int]]:
    """`(factor, k)` with `q == factor * k`."""
    interner = q.interner
    found = [(q, 1), (-q, -1)]
    if q.terms:
        k = gcd(q.content(), q.constant)
    else:
        k = abs(q.constant)
    if k > 1:
        unit = interner.expr(tuple([(m, c // k) for m, c in q.terms]), q.constant // k)
        found += [(unit, k), (-unit, -k)]
    return found


def offsets(e: Expr, factor: Expr, r: Expr, relation: bool) -> list[Expr]:
    """Candidates for b in `factor*max(e + b, b) + (r - factor*b)`."""
    interner = e.interner
    whole: Expr
    if factor.terms:
        whole, _ = division.divide(interner, r, factor)
    else:
        size = factor.constant
        whole = interner.expr(
            tuple([(m, c // size) for m, c in r.terms if c % size == 0]), r.constant // size if r.constant % size == 0 else 0
        )
    own = dict(e.terms)
    shared = {m: c for m, c in whole.terms if m in own}
    both = whole.constant if e.constant else 0
    found = {interner.zero: None, whole: None}
    if shared or both:
        found[interner.collect(shared, both)] = None
        found[interner.collect(shared, 0)] = None
        found[interner.collect({m: -own[m] for m in shared}, -e.constant if whole.constant else 0)] = None
        found[interner.collect({m: -own[m] for m in shared}, 0)] = None
        found[interner.collect({m: c for m, c in shared.items() if c == -own[m]}, both if both == -e.constant else 0)] = None
    negative = {m: -c for m, c in own.items() if c < 0}
    positive = {m: -c for m, c in own.items() if c > 0}
    for part in (negative, positive):
        if part:
            found[interner.collect(dict(part), 0)] = None
            found[interner.collect(dict(part), -e.constant)] = None
    return list(found)


def exact_half(q: Expr) -> Expr | None:
    if q.constant % 2 or any(c % 2 for _, c in q.terms):
        return None
    return q.interner.expr(tuple([(m, c // 2) for m, c in q.terms]), q.constant // 2)


def exponent_of_two(d: Expr) -> Expr | None:
    """n when the expression is `2**n`."""
    if len(d.terms) != 1 or d.terms[0][1] != 1 or d.constant:
        return None
    atoms = d.interner.monomials[d.terms[0][0]]
    if len(atoms) != 1 or atoms[0].kind != "power":
        return None
    base, exponent = atoms[0].args
    return exponent if isinstance(exponent, Expr) and isinstance(base, Expr) and not base.terms and base.constant == 2 else None


def ceiling_numerator(n: Expr, d: Expr) -> Expr | None:
    """m with `n // d == ceildiv(m, d)`, for a constant d."""
    if d.terms or n.constant != d.constant - 1 or d.constant == 1:
        return None
    return n - n.constant


# ---------------------------------------------------------------------- exactness


def value_of(candidate: Candidate) -> Expr:
    """The value of the operation, through the constructors."""
    terms = candidate.rest.interner
    match candidate.operation, candidate.arguments:
        case "mod", (Expr() as a, Expr() as b):
            return terms.mod(a, b)
        case "floordiv", (Expr() as a, Expr() as b):
            return terms.floordiv(a, b)
        case "ceildiv", (Expr() as a, Expr() as b):
            return terms.ceildiv(a, b)
        case "max", (Expr() as a, Expr() as b):
            return terms.maximum(a, b)
        case "min", (Expr() as a, Expr() as b):
            return terms.minimum(a, b)
        case "abs", (Expr() as a,):
            return terms.absolute(a)
        case "or", (Expr() as a, Expr() as b):
            return terms.bit_or(a, b)
        case "xor", (Expr() as a, Expr() as b):
            return terms.bit_xor(a, b)
        case "ite", (Prop() as p, Expr() as a, Expr() as b):
            return terms.ite(p, a, b)
    raise AssertionError(candidate.operation)


# ---------------------------------------------------------------------- weights


def weigh(printer: Printer, e: Expr) -> None:
    """Count the operators of every atom in e, as a text without cleverness would have them."""
    weights = printer.weights
    for atom in e.schedule:
        if atom not in weights:
            weights[atom] = min(HEAVY, _atom_weight(printer, atom))


def _atom_weight(printer: Printer, atom: Atom) -> int:
    match atom.kind, atom.args:
        case "floordiv", (Expr() as n, Expr() as d):
            upper = ceiling_numerator(n, d)
            return 1 + weight(printer, n if upper is None else upper) + weight(printer, d)
        case "ite", (Prop() as p, Expr() as e):
            return 1 + condition_weight(printer, p) + weight(printer, e)
        case _:
            return 1 + sum([weight(printer, arg) for arg in atom.args if isinstance(arg, Expr)])


def term_weights(printer: Printer, e: Expr) -> list[tuple[int, int]]:
    """`(sign, operators)` of each term."""
    monomials = e.interner.monomials
    weights = printer.weights
    found = []
    for m, c in e.terms:
        atoms = monomials[m]
        cost = len(atoms) - 1 + (c != 1 and c != -1)
        for atom in atoms:
            if atom.kind != "symbol":
                cost += weights[atom]
        found.append((c, cost))
    if e.constant:
        found.append((e.constant, 0))
    return found


def weight(printer: Printer, e: Expr) -> int:
    return _joined(term_weights(printer, e), False)


def condition_weight(printer: Printer, p: Prop) -> int:
    parts = p.comparisons()
    return len(parts) - 1 + sum([1 + _joined(term_weights(printer, part.expr), True) for part in parts])


def total(printer: Printer, e: Expr, relation: bool, others: list[tuple[int, int]]) -> int:
    return _joined(term_weights(printer, e) + others, relation)


def _joined(terms: list[tuple[int, int]], relation: bool) -> int:
    cost = positive = negative = 0
    for sign, own in terms:
        cost += own
        if sign > 0:
            positive += 1
        else:
            negative += 1
    if relation:
        return cost + max(positive - 1, 0) + max(negative - 1, 0)
    return cost + max(positive + negative - 1, 0) + (1 if negative and not positive else 0)


def weight_of(printer: Printer, candidate: Candidate) -> tuple[int, int]:
    """`(sign, operators)` of `factor * operation`."""
    cost = 1
    for argument in candidate.arguments:
        cost += weight(printer, argument) if isinstance(argument, Expr) else condition_weight(printer, argument)
    if candidate.operation == "floordiv":
        n, d = candidate.arguments
        assert isinstance(n, Expr) and isinstance(d, Expr)
        upper = ceiling_numerator(n, d)
        if upper is not None:
            cost += weight(printer, upper) - weight(printer, n)
    factor = candidate.factor
    sign = 1
    if not factor.terms:
        sign = factor.constant
        cost += sign != 1 and sign != -1
    else:
        if all(c < 0 for _, c in factor.terms) and factor.constant <= 0:
            sign, factor = -1, -factor
        cost += 1 + weight(printer, factor)
    return sign, cost


def text_of(printer: Printer, candidate: Candidate) -> Text:
    match candidate.operation, candidate.arguments:
        case "mod", (Expr() as n, Expr() as d):
            return printer.division("%", n, d)
        case "floordiv", (Expr() as n, Expr() as d):
            return printer.quotient(n, d)
        case "ceildiv", (Expr() as n, Expr() as d):
            return printer.ceiling(n, d)
        case ("max" | "min") as name, (Expr() as a, Expr() as b):
            return printer.extreme(name, a, b)
        case "abs", (Expr() as e,):
            return printer.magnitude(e)
        case "or", (Expr() as a, Expr() as b):
            return printer.bits("|", a, b)
        case "xor", (Expr() as a, Expr() as b):
            return printer.bits("^", a, b)
        case "ite", (Prop() as p, Expr() as a, Expr() as b):
            return printer.choice(p, a, b)
    raise AssertionError(candidate.operation)
