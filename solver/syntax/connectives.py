"""Connectives and choices of parts that were read, with their domains.

    >>> from solver.syntax.connectives import connective
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> print(*connective("and", [(terms.ge(8 // s, 2), terms.ne(s, 0)), (terms.ge(s, 1), terms.true)]), sep="; ")
    8//s >= 2 and s >= 1; s <= 0 or s != 0

SMT-LIB and sympy have no order of evaluation: of a conjunction or disjunction, the parts that always make sense are
taken to come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from solver.terms.choice import ite
from solver.terms.expr import Expr
from solver.terms.prop import Prop


def same(p: Prop, q: Prop) -> Prop:
    """The proposition that both hold or neither does."""
    cases = [Prop.join(p.interner, "and", both) for both in ([p, q], [p.negation, q.negation])]
    return Prop.join(p.interner, "or", cases)


Value = TypeVar("Value", Expr, Prop)


def chosen(p: Prop, a: Value, b: Value) -> Value:
    """`a if p else b`, of two integers or two propositions."""
    if isinstance(a, Prop):
        return Prop.join(p.interner, "and", [Prop.join(p.interner, "or", case) for case in ([p.negation, a], [p, b])])
    return ite(p.interner, p, a, b)


def at_equality(p: Prop, value: Expr) -> Expr | None:
    """The value under p, for p an equality that fixes a symbol of the value; None for any other p."""
    if p.kind != "eq" or len(p.expr.terms) != 1 or p.expr.terms[0][1] not in (1, -1):
        return None
    atoms = p.interner.monomials[p.expr.terms[0][0]]
    if len(atoms) != 1 or atoms[0].kind != "symbol" or atoms[0] not in value.symbols:
        return None
    constant = p.interner.constant(-p.expr.constant * p.expr.terms[0][1])
    return value.substitute({atoms[0]: constant})


def domain_of_choice(p: Prop, of_p: Prop, of_a: Prop, of_b: Prop) -> Prop:
    """The domain of `a if p else b`."""
    values = [Prop.join(p.interner, "or", case) for case in ([p.negation, of_a], [p, of_b])]
    return Prop.join(p.interner, "and", [of_p, *values])


def choice(
    condition: tuple[Prop, Prop], first: tuple[Value, Prop], last: tuple[Value, Prop]
) -> tuple[Value, Prop]:
    """`a if p else b` and its domain; if one value is never defined, the other remains."""
    (p, of_p), (a, of_a), (b, of_b) = condition, first, last
    domain = domain_of_choice(p, of_p, of_a, of_b)
    if of_a.kind == "false" or of_b.kind == "false":
        return (b if of_a.kind == "false" else a), domain
    return chosen(p, a, b), domain


def connective(kind: str, read: Sequence[tuple[Prop, Prop]]) -> tuple[Prop, Prop]:
    """The propositions joined by "and" or "or", and the domain of the result."""
    interner = read[0][0].interner
    before = [p for p, domain in read if domain.kind == "true"]
    needed: list[Prop] = []
    for p, domain in read:
        if domain.kind != "true":
            so_far = Prop.join(interner, kind, before)
            needed.append(Prop.join(interner, "or", [so_far.negation if kind == "and" else so_far, domain]))
            before.append(p)
    return Prop.join(interner, kind, [p for p, _ in read]), Prop.join(interner, "and", needed)
