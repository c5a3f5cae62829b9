"""`%`, `min`, `max`, `abs`, conditionals and bitwise operators found again in the normal form, for printing.

The normal form writes `a % d` as `a - d*(a//d)`, `max(a, b)` as `b + relu(a - b)`, `a if p else b` as
`b + ite(p, a - b)`. So when a sum is printed, one of these identities may be put in for an atom, for the atoms from the
outside in:

    d * (n//d)     is  n - n % d
    n//d           is  (n + d*j)//d - j, for every j
    relu(e)        is  max(e + b, b) - b, and -min(-e - b, -b) - b, for every b
    2 * relu(e)    is  abs(e) + e
    k * ite(p, e)  is  (k*e + b if p else b) - b, for every b
    x & y          is  x + y - (x | y)
    2 * (x & y)    is  x + y - (x ^ y)

The j and b that leave the fewest operators are looked for among a handful: what completes the sum to a product, what
the sum shares with e. A few of the best are written out before one is taken. Every operation is built through the
constructors, and used only if the identity holds exactly in the normal form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Final

from solver.syntax.writer import Writer
from solver.terms.atoms import operands
from solver.terms.expr import Atom, Expr
from solver.terms.factors import Sum, add, divide_with_rest, halves, multiply, powers, scaled
from solver.terms.operations import OPERATIONS
from solver.terms.prop import Prop

WRITTEN: Final = 3
"""Best candidates that are written out, as long as the budget of the text lasts."""
SLACK: Final = 2
"""Estimated operators by which a candidate may be worse than the text so far and still be written out."""
FEW: Final = 12
"""Terms of the longest numerator in which remainders are sought."""
MANY: Final = 60
"""Terms of the longest sum for which more than the plainest candidates are tried."""
SMALL: Final = 400
"""Operators of the largest sum that is judged by more than an estimate."""
NEW: Final = -1
"""Stands for the candidate's piece until that is written."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """`scale * atom == offset + sign * value`, where value is an operation on arguments."""

    scale: Sum
    offset: Sum
    sign: int
    operation: str
    arguments: tuple[Expr | Prop, ...]


def resugared(printer: Writer, plain: Sum, relation: bool) -> Sum:
    """The sum with operations recovered; in a relation, terms may change sides for nothing."""
    poly = plain
    settled: set[int] = set()
    while True:
        piece = _outermost(printer, poly, settled)
        if piece is None:
            return poly
        settled.add(piece)
        better = _improved(printer, poly, piece, relation)
        if better is not None:
            poly = better


def _improved(printer: Writer, poly: Sum, piece: int, relation: bool) -> Sum | None:
    """The sum with the best candidate for one atom, if it is better than the atom alone."""
    atom, weights = printer.atoms[piece], printer.weights
    limit = estimate(weights, poly, relation)
    frugal = printer.work <= 0
    small = limit < SMALL and printer.trials > 0 and not frugal
    groups = powers(poly, piece)
    saved = _saved(printer, atom) if small else 0
    ranked: list[tuple[int, int, Candidate, Sum]] = []
    for number, candidate in enumerate(candidates(printer, atom, groups, frugal)):
        replaced = substituted(groups, piece, candidate)
        printer.work -= len(poly) + 10
        if replaced is not None:
            weights[NEW] = operation_weight(printer, candidate.operation, candidate.arguments) - saved
            cost = estimate(weights, replaced, relation)
            if cost < limit + (SLACK if small else 0):
                ranked.append((cost, number, candidate, replaced))
    ranked.sort(key=_rank)
    best, least = None, measured(printer, poly, relation) if small and ranked else limit
    tries = WRITTEN
    for cost, _, candidate, replaced in ranked:
        if not tries or (best is not None and not small):
            break
        if not _holds(printer, atom, candidate):
            continue
        made = printer.resugared(candidate.operation, candidate.arguments)
        written = {tuple(sorted([made if other == NEW else other for other in key])): c for key, c in replaced.items()}
        if small:
            tries -= 1
            printer.trials -= 1
            cost = measured(printer, written, relation)
        if cost < least:
            best, least = written, cost
    return best


def _rank(ranked: tuple[int, int, Candidate, Sum]) -> tuple[int, int]:
    return ranked[:2]


def _outermost(printer: Writer, poly: Sum, settled: set[int]) -> int | None:
    """The deepest atom, by text among equals."""
    best: int | None = None
    for key in poly:
        for piece in key:
            if piece == best or piece in settled or piece not in printer.atoms or printer.atoms[piece].kind == "symbol":
                continue
            if best is None or _deeper(printer, piece, best):
                best = piece
    return best


def _deeper(printer: Writer, piece: int, other: int) -> bool:
    first, second = printer.atoms[piece], printer.atoms[other]
    if first.depth != second.depth or max(printer.weights[piece], printer.weights[other]) > SMALL:
        return first.key > second.key
    return printer.pieces.key(piece) < printer.pieces.key(other)


def substituted(groups: dict[int, Sum], piece: int, candidate: Candidate) -> Sum | None:
    """The sum with the candidate put in wherever its scale divides the coefficients.

    None if that is nowhere.
    """
    image = add(candidate.offset, {(NEW,): candidate.sign})
    found: Sum = groups.get(0, {})
    changed = False
    for power, group in groups.items():
        if not power:
            continue
        if set(candidate.scale) == {()}:
            size = candidate.scale[()] ** power
            quotient = {key: c // size for key, c in group.items() if c % size == 0}
            rest = {key: c for key, c in group.items() if c % size}
        elif power == 1:
            quotient, rest = divide_with_rest(group, candidate.scale)
        else:
            quotient, rest = {}, group
        for _ in range(power):
            quotient = multiply(quotient, image)
            rest = multiply(rest, {(piece,): 1})
        changed = changed or bool(quotient)
        found = add(found, add(quotient, rest))
    return found if changed else None


# ---------------------------------------------------------------------- candidates


def candidates(printer: Writer, atom: Atom, groups: dict[int, Sum], frugal: bool) -> Iterator[Candidate]:
    """The identities to try for an atom in a sum, by powers of the atom; a few of them when frugal."""
    top = max(groups)
    lead, below = groups[top], groups.get(top - 1, {})
    match atom.kind, atom.args:
        case "floordiv", (Expr() as n, Expr() as d):
            yield Candidate(printer.plain(d), printer.plain(n), -1, "mod", (n, d))
            if not frugal:
                yield from _remainders(printer, n, d)
                yield from _absorbing(printer, n, d, lead, below)
        case "relu", (Expr() as e,):
            for b in offsets(printer, e, divide_with_rest(below, scaled(lead, top))[0], frugal):
                other = printer.value(b)
                yield Candidate(ONE, scaled(b, -1), 1, "max", (e + other, other))
                yield Candidate(ONE, scaled(b, -1), -1, "min", (-e - other, -other))
            yield Candidate({(): 2}, printer.plain(e), 1, "abs", (e,))
        case "ite", (Prop() as p, Expr() as e):
            content = gcd(*lead.values())
            multiples: tuple[int, ...] = (1, -1) if content == 1 else (1, -1, content, -content)
            for k in multiples:
                whole = divide_with_rest(scaled(below, k), scaled(lead, top))[0]
                for b in offsets(printer, e * k, whole, frugal):
                    other = printer.value(b)
                    sign = 1 if k > 0 else -1
                    yield Candidate({(): abs(k)}, scaled(b, -sign), sign, "select", (p, e * k + other, other))
        case "bitand", (Expr() as a, Expr() as b):
            both = printer.plain(a + b)
            yield Candidate(ONE, both, -1, "bitor", (a, b))
            yield Candidate({(): 2}, both, -1, "bitxor", (a, b))
        case _:
            return


ONE: Final[Sum] = {(): 1}


def _remainders(printer: Writer, n: Expr, d: Expr) -> Iterator[Candidate]:
    """Other numerators that leave the same remainder, and the remainder of the opposite numerator."""
    if d.terms:
        return
    scale, numerator = printer.plain(d), printer.plain(n)
    size = d.constant
    positive = n.interner.expr(tuple([(m, c % size) for m, c in n.terms]), n.constant)
    for alike in (n - size if 2 * n.constant > size else n, positive, _nested_remainders(n, size)):
        if alike is not n:
            yield Candidate(scale, numerator, -1, "mod", (alike, d))
    # n//d is -((d - 1 - n)//d)
    opposite = size - 1 - n
    for alike in (opposite, opposite - size) if 2 * opposite.constant > size else (opposite,):
        yield Candidate(scale, scaled(printer.plain(opposite), -1), 1, "mod", (alike, d))


def _nested_remainders(n: Expr, size: int) -> Expr:
    """n, up to multiples of size, with the quotients in it changed into those of remainders.

    Modulo 3, `x - x//4` is `x - 4*(x//4)`, which is `x % 4`.
    """
    if len(n.terms) > FEW:
        return n
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


def _absorbing(printer: Writer, n: Expr, d: Expr, lead: Sum, below: Sum) -> Iterator[Candidate]:
    """`n//d + j` is `(n + d*j)//d`, and `j - n//d` is `(d - 1 - n + d*j)//d` or a ceildiv."""
    alike = printer.plain(n)
    for sign in (1, -1):
        whole = divide_with_rest(scaled(below, sign), lead)[0]
        near = {key: c for key, c in whole.items() if key in alike or not key}
        choices: list[Sum] = [whole, near, {(): whole.get((), 0)}]
        if sign < 0:
            choices.append({})
            if d.terms:
                yield Candidate(ONE, {}, -1, "ceildiv", (-n, d))
                continue
        tried: list[Sum] = []
        for j in choices:
            j = {key: c for key, c in j.items() if c}
            if j in tried or not (j or sign < 0):
                continue
            tried.append(j)
            numerator = (n if sign > 0 else d - 1 - n) + d * printer.value(j)
            yield Candidate(ONE, scaled(j, -sign), sign, "floordiv", (numerator, d))


def offsets(printer: Writer, e: Expr, whole: Sum, frugal: bool) -> list[Sum]:
    """Candidates for b in `max(e + b, b)`, where `whole` is what is added to the relu."""
    own = printer.plain(e)
    shared = {key: c for key, c in whole.items() if key in own}
    if frugal or len(own) + len(whole) > MANY:
        # without a constant beside e: then few different expressions are written, however deep the nesting
        level = {key: -own[key] for key in shared if key}
        return [{}, {**level, (): -own[()]} if () in own else level]
    found: list[Sum] = [
        {},
        whole,
        shared,
        {key: c for key, c in shared.items() if key},
        {key: -own[key] for key in shared},
        {key: -own[key] for key in shared if key},
        {key: c for key, c in shared.items() if c == -own[key]},
        {key: -c for key, c in own.items() if c < 0},
        {key: -c for key, c in own.items() if c > 0},
        {key: -c for key, c in own.items() if c < 0 and key},
        {key: -c for key, c in own.items() if c > 0 and key},
    ]
    kept: list[Sum] = []
    for b in found:
        if b not in kept:
            kept.append(b)
    return kept


# ---------------------------------------------------------------------- exactness


def value_of(operation: str, arguments: tuple[Expr | Prop, ...]) -> Expr:
    """The value of an operation, through the constructors."""
    return arguments[-1].interner.apply(OPERATIONS[operation], *arguments)


def _holds(printer: Writer, atom: Atom, candidate: Candidate) -> bool:
    value = value_of(candidate.operation, candidate.arguments)
    left = printer.value(candidate.scale) * atom.expr
    return left is printer.value(candidate.offset) + value * candidate.sign


# ---------------------------------------------------------------------- how many operators


def estimate(weights: dict[int, int], poly: Sum, relation: bool) -> int:
    """The operators of a sum whose terms are written one by one."""
    cost = positive = negative = 0
    for key, c in poly.items():
        if key:
            cost += len(key) - 1 + (c != 1 and c != -1)
            for piece in key:
                cost += weights[piece]
        if c > 0:
            positive += 1
        else:
            negative += 1
    if relation:
        return cost + max(positive - 1, 0) + max(negative - 1, 0)
    return cost + max(positive + negative - 1, 0) + (1 if negative and not positive else 0)


def measured(printer: Writer, poly: Sum, relation: bool) -> int:
    """The operators of a sum, in printed order."""
    if not relation:
        return printer.pieces.write(poly).cost
    positive, negative = halves(poly)
    return printer.pieces.write(positive).cost + printer.pieces.write(negative).cost


def weight(printer: Writer, atom: Atom) -> int:
    """The operators of an atom written alone, with all in it written one by one."""
    if atom.kind == "symbol":
        return 0
    return operation_weight(printer, atom.kind, operands(atom))


def operation_weight(printer: Writer, operation: str, arguments: Sequence[Expr | Prop]) -> int:
    cost = 1
    for argument in arguments:
        if isinstance(argument, Expr):
            cost += estimate(printer.weights, printer.plain(argument), False)
        else:
            parts = argument.comparisons()
            cost += len(parts) - 1
            for part in parts:
                cost += 1 + estimate(printer.weights, printer.plain(part.expr), True)
    if operation == "floordiv":
        n, d = arguments
        assert isinstance(n, Expr) and isinstance(d, Expr)
        if not d.terms and n.constant == d.constant - 1:
            cost -= 1  # ceildiv takes the constant in
    return cost


def _saved(printer: Writer, atom: Atom) -> int:
    """The saving of recovery inside the argument of an atom, and so probably inside a candidate that has most of it."""
    saved = 0
    for argument in atom.args:
        if isinstance(argument, Expr):
            plain = estimate(printer.weights, printer.plain(argument), False)
            saved = max(saved, plain - printer.expression(argument).cost)
    return saved
