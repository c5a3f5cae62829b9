"""Values that depend on a condition: `min`, `max`, `abs` and `a if p else b`, each in one canonical form.

    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> a, b = terms.symbol("a"), terms.symbol("b")
    >>> terms.minimum(a, b) + terms.maximum(a, b) is a + b
    True
    >>> terms.ite(terms.gt(a, b), a, b) is terms.maximum(a, b)
    True

One atom, `relu(e) = max(e, 0)`, is behind min, max and abs; `relu(-e) = relu(e) - e` and `relu(k*e) = k*relu(e)` for k
> 0 leave one spelling of each. A conditional keeps what its two values share outside: `ite(p, a, b) = b + ite(p, a - b,
0)`. Where they share little that is as long as both together, which in a chain of conditionals would be as long as the
chain in each of its links: a long difference is left apart, `ite(p, a, 0) + ite(not p, b, 0)`.
"""

from __future__ import annotations

from math import gcd
from typing import Final

from solver.terms.expr import Expr, TermTable
from solver.terms.prop import Prop
from solver.terms.quotients import divide_content

LONGEST_DIFFERENCE: Final = 16
"""Terms by which the two values of a conditional may differ for one to be taken out of it."""


def relu(terms: TermTable, e: Expr) -> Expr:
    """`max(e, 0)`."""
    if not e.terms:
        return e if e.constant > 0 else terms.zero
    if _never_negative(terms, e):
        return e
    k = gcd(e.content(), e.constant)
    if k > 1:
        e = divide_content(e, k)
    if _lead(terms, e) < 0:
        return terms.scale(terms.add(relu(terms, -e), e), k)
    return terms.scale(terms.atom("relu", (e,)), k)


def _lead(terms: TermTable, e: Expr) -> int:
    """The coefficient that decides the orientation of a clamp: of the terms with operations, that of the shallowest.

    So each link of a chain of clamps is as long as what it adds: `s + max(w, 0) - max(max(w, 0) - n, 0)` stays as it is
    inside the next. Turned by its deepest term, it would be added to the next, and the last would have all terms.
    """
    keys, monomials = terms.monomial_keys, terms.monomials
    found = e.lead()
    least = 0
    for term in e.terms:
        depth = 0
        for atom in monomials[term[0]]:
            if atom.depth > depth:
                depth = atom.depth
        if depth and (not least or depth < least or (depth == least and keys[term[0]] > keys[found[0]])):
            found, least = term, depth
    return found[1]


def _never_negative(terms: TermTable, e: Expr) -> bool:
    """Return True if the expression is a sum of relus: `max(max(x, 0), 0)`."""
    if e.constant < 0:
        return False
    return all(c > 0 and all(atom.kind == "relu" for atom in terms.monomials[m]) for m, c in e.terms)


def ite(terms: TermTable, p: Prop, a: Expr, b: Expr) -> Expr:
    """`a if p else b`."""
    if p.kind == "true" or a is b:
        return a
    if p.kind == "false":
        return b
    if _flips(p):
        p, a, b = p.negation, b, a
    difference = a - b
    if p.kind == "ge":
        as_relu = _as_relu(terms, p, difference)
        if as_relu is not None:
            return terms.add(b, as_relu)
    if len(difference.terms) <= LONGEST_DIFFERENCE or b is terms.zero:
        return terms.add(b, _where(terms, p, difference))
    if a is terms.zero:
        return _where(terms, p.negation, b)
    return terms.add(ite(terms, p, a, terms.zero), ite(terms, p.negation, b, terms.zero))


def _where(terms: TermTable, p: Prop, e: Expr) -> Expr:
    """`e if p else 0`."""
    k = gcd(e.content(), e.constant)
    if e.lead()[1] < 0 if e.terms else e.constant < 0:
        k = -k
    return terms.scale(terms.atom("ite", (p, divide_content(e, k))), k)


def _flips(p: Prop) -> bool:
    """Return True if the complement is the canonical condition."""
    if p.kind == "ge":
        return p.expr.lead()[1] < 0
    return p.kind in ("ne", "or")


def _as_relu(terms: TermTable, p: Prop, difference: Expr) -> Expr | None:
    """`difference if p else 0` as a multiple of a relu: p says that a condition is not negative, and the difference is
    k*condition or k*(condition + 1), or p is what rounding made of `difference >= 0` or `difference > 0`.
    """
    condition = p.expr
    for shifted in (condition, condition + 1):
        c, d = shifted.form(), difference.form()
        if c[0] is d[0] and c[0].terms and d[1] * shifted.constant == difference.constant * c[1] and d[1] % c[1] == 0:
            return terms.scale(relu(terms, shifted), d[1] // c[1])
    if condition.form()[0] is difference.form()[0]:
        for sign, e in ((1, difference), (-1, -difference)):
            if Prop.nonnegative(e) is p or Prop.nonnegative(e - 1) is p:
                return terms.scale(relu(terms, e), sign)
    return None
