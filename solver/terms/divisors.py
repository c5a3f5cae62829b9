"""The greatest common divisor in one canonical form.

    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> a, b = terms.symbol("a"), terms.symbol("b")
    >>> terms.gcd(6 * a, -4 * b) is 2 * terms.gcd(2 * b, 3 * a)
    True
    >>> terms.gcd(8 * a + 5, 8), terms.gcd(a, 0) is terms.absolute(a)
    (<1>, True)

It is nonnegative, 0 only for `gcd(0, 0)`, symmetric, associative and the same for either sign of an argument. Common
content and common symbols are taken out, `gcd(k*a, k*b) = |k|*gcd(a, b)`, and what divides the other argument is the
divisor itself. Multiples of other arguments are taken out of each, and beside a constant the coefficients are reduced
modulo it, which are steps of Euclid's algorithm (Knuth, The Art of Computer Programming, 4.5.2):

    >>> terms.gcd(a + b, b) is terms.gcd(a, b), terms.gcd(2 * a + 1, a)
    (True, <1>)
    >>> (3 * a - a * b) % terms.gcd(a, b)
    <0>
"""

from __future__ import annotations

from math import gcd as gcd_of_integers
from typing import Final

from solver.terms.expr import Atom, Expr, TermTable
from solver.terms.monomials import shared
from solver.terms.operations import OPERATIONS
from solver.terms.polynomials import exact_quotient
from solver.terms.quotients import common_atoms, divide, divide_atoms, divide_content

ABSOLUTE: Final = OPERATIONS["abs"]
GCD: Final = "gcd"
STEPS: Final = 32
"""Steps of Euclid's algorithm; what is left of its arguments then is not reduced further."""


def gcd(terms: TermTable, a: Expr, b: Expr) -> Expr:
    """`math.gcd(a, b)`."""
    return _of_all(terms, _distinct([*arguments_of(a), *arguments_of(b)]), STEPS)


def arguments_of(e: Expr) -> list[Expr]:
    """The arguments of nested gcds, or the expression itself."""
    found: list[Expr] = []
    pending = [e]
    while pending:
        inner = pending.pop()
        atom = _gcd_atom(inner)
        if atom is None:
            found.append(inner)
        else:
            pending += [arg for arg in reversed(atom.args) if isinstance(arg, Expr)]
    return found


def remainder(terms: TermTable, e: Expr, divisor: Expr) -> Expr:
    """The expression without multiples of a gcd: those of an argument, and of the gcd of further arguments."""
    arguments = arguments_of(divisor)
    if len(arguments) == 1:
        return e
    kept: dict[int, int] = {}
    for m, c in e.terms:
        if not any(_is_multiple(terms, atom, arguments) for atom in terms.monomials[m]):
            kept[m] = c
    rest = terms.collect(kept, e.constant)
    for _ in range(STEPS):
        before = rest
        for argument in arguments:
            rest = _modulo(terms, rest, argument)
        if rest is before:
            break
    return rest


def _is_multiple(terms: TermTable, atom: Atom, arguments: list[Expr]) -> bool:
    """Return True for a gcd of some of the arguments."""
    inner = arguments_of(atom.expr)
    return len(inner) > 1 and all(each in arguments for each in inner)


def _of_all(terms: TermTable, args: list[Expr], steps: int) -> Expr:
    """The gcd of expressions that are distinct, oriented and not zero."""
    if len(args) < 2:
        return terms.apply(ABSOLUTE, args[0]) if args else terms.zero
    content = gcd_of_integers(*[e.content() for e in args], *[e.constant for e in args])
    if content > 1:
        return terms.scale(_of_all(terms, _distinct([divide_content(e, content) for e in args]), steps), content)
    if not args[0].terms:
        number = _dividing(args[0].constant, args[1:])
        if number != args[0].constant:
            return _of_all(terms, _distinct([terms.constant(number), *args[1:]]), steps)
    if steps:
        for i, e in enumerate(args):
            for j, other in enumerate(args):
                rest = e if i == j else _modulo(terms, e, other)
                if rest is not e:
                    return _of_all(terms, _distinct([*args[:i], rest, *args[i + 1 :]]), steps - 1)
    common = () if any(e.constant for e in args) else common_atoms(terms, args[0])
    for e in args[1:]:
        common = shared(common, common_atoms(terms, e)) if common else ()
    if common:
        whole = terms.expr(((terms.monomial(common), 1),), 0)
        divided = _distinct([divide_atoms(terms, e, common) for e in args])
        return terms.apply(ABSOLUTE, whole) * _of_all(terms, divided, steps)
    found = args[0]
    for e in args[1:]:
        found = terms.atom("function", (found, e), GCD)
    return found


def _dividing(number: int, args: list[Expr]) -> int:
    """The number without the primes that never divide one of the expressions: 2 never divides `2*a + 1`."""
    for e in args:
        left = gcd_of_integers(number, e.content()) if e.terms and e.constant else 1
        while (common := gcd_of_integers(left, e.constant)) > 1:
            left //= common
        while (common := gcd_of_integers(left, number)) > 1:
            number //= common
    return number


def _modulo(terms: TermTable, e: Expr, divisor: Expr) -> Expr:
    """The expression, or a smaller one that differs from it by a multiple of the divisor."""
    if not divisor.terms:
        return _reduced(terms, e, divisor.constant) if divisor.constant else e
    if not e.terms:
        return e
    if exact_quotient(e, divisor) is not None:
        return terms.zero
    quotient, rest = divide(terms, e, divisor)
    return rest if quotient.terms or quotient.constant else e


def _distinct(args: list[Expr]) -> list[Expr]:
    """The distinct nonzero arguments, constants first, in canonical order."""
    oriented = dict.fromkeys([_oriented(e) for e in args])
    return sorted(
        [e for e in oriented if e.terms or e.constant], key=lambda e: (len(e.terms) > 0, e.fingerprint, e.constant)
    )


def _gcd_atom(e: Expr) -> Atom | None:
    """The atom of an expression that is a single gcd; None for any other."""
    if len(e.terms) != 1 or e.constant or e.terms[0][1] != 1:
        return None
    atoms = e.interner.monomials[e.terms[0][0]]
    return atoms[0] if len(atoms) == 1 and atoms[0].kind == "function" and atoms[0].name == GCD else None


def _oriented(e: Expr) -> Expr:
    """The representative of an argument and its opposite."""
    return -e if (e.lead()[1] if e.terms else e.constant) < 0 else e


def _reduced(terms: TermTable, e: Expr, modulus: int) -> Expr:
    """`e` with coefficients of least absolute value modulo a positive integer."""
    half = (modulus - 1) // 2
    least = {m: (c + half) % modulus - half for m, c in e.terms}
    return terms.collect(least, (e.constant + half) % modulus - half)
