"""Normalization of comparisons: from any polynomial compared with zero to its normal form and back.

A rule of proof speaks of a sum or a product as it comes out; `Prop.nonnegative` and `Prop.zero` divide the content out
and round. Each of these two directions is one lemma with closed numbers and an identity for `ring`:

    >>> from solver.coq.normal import normal_ge
    >>> from solver.coq.terms import Names
    >>> from solver.terms.interner import Interner
    >>> s = Interner().symbol("s")
    >>> normal_ge(Names(), 2 * s - 7, "2 * s - 7", "H")
    'rounded 2 1 (2 * s - 7) (s - 4) eq_refl eq_refl by_ring H'
"""

from __future__ import annotations

from solver.coq.terms import Names, call
from solver.terms.expr import Expr
from solver.terms.prop import Prop


def normal_ge(names: Names, e: Expr, text: str, proof: str) -> str:
    """`Prop.nonnegative(e)` from `0 <= text`, where text is e up to `ring`."""
    p = Prop.nonnegative(e)
    if p.kind == "true":
        return "I"
    if p.kind == "false":
        return call("below_zero", text, e.constant, "eq_refl", "by_ring", proof)
    wanted = names.expression(p.expr)
    if wanted == text:
        return proof
    g = e.content()
    rest = e.constant - g * p.expr.constant
    return call("rounded", g, rest, text, wanted, "eq_refl", "eq_refl", "by_ring", proof)


def plain_ge(names: Names, e: Expr, text: str, proof: str) -> str:
    """`0 <= text` from `Prop.nonnegative(e)`."""
    p = Prop.nonnegative(e)
    if p.kind == "true":
        return call("constant_nonnegative", text, e.constant, "eq_refl", "by_ring")
    if p.kind == "false":
        return call("False_ind", "_", proof)
    given = names.expression(p.expr)
    if given == text:
        return proof
    g = e.content()
    rest = e.constant - g * p.expr.constant
    return call("loosened", g, rest, text, given, "eq_refl", "eq_refl", "by_ring", proof)


def normal_lt(names: Names, e: Expr, text: str, proof: str) -> str:
    """The complement of `Prop.nonnegative(e)` from `text < 0`."""
    p = Prop.nonnegative(e)
    if p.kind == "true":
        return call("above_zero", text, e.constant, "eq_refl", "by_ring", proof)
    if p.kind == "false":
        return "I"
    g = e.content()
    rest = e.constant - g * p.expr.constant
    sides = names.expression(p.expr), names.expression(p.negation.expr)
    return call("rounded_below", g, rest, text, *sides, "eq_refl", "eq_refl", "by_ring", "by_ring", proof)


def plain_lt(names: Names, e: Expr, text: str, proof: str) -> str:
    """`text < 0` from the complement of `Prop.nonnegative(e)`."""
    p = Prop.nonnegative(e)
    if p.kind == "true":
        return call("False_ind", "_", proof)
    if p.kind == "false":
        return call("constant_negative", text, e.constant, "eq_refl", "by_ring")
    g = e.content()
    rest = e.constant - g * p.expr.constant
    sides = names.expression(p.expr), names.expression(p.negation.expr)
    return call("loosened_below", g, rest, text, *sides, "eq_refl", "eq_refl", "by_ring", "by_ring", proof)


def _factor(e: Expr, p: Prop) -> int:
    """`k` with `e == k * p.expr`."""
    k = e.content()
    return k if dict(e.terms)[p.expr.terms[0][0]] == k * p.expr.terms[0][1] else -k


def normal_eq(names: Names, e: Expr, text: str, proof: str) -> str:
    """`Prop.zero(e)` from `text = 0`."""
    p = Prop.zero(e)
    if p.kind == "true":
        return "I"
    if p.kind == "false":
        if not e.terms:
            return call("not_zero", text, e.constant, "eq_refl", "by_ring", proof)
        g = e.content()
        rest = e.interner.expr(tuple([(m, c // g) for m, c in e.terms]), 0)
        return call("indivisible", g, names.expression(rest), e.constant, text, "eq_refl", "by_ring", proof)
    wanted = names.expression(p.expr)
    if wanted == text:
        return proof
    return call("divided", _factor(e, p), text, wanted, "eq_refl", "by_ring", proof)


def plain_eq(names: Names, e: Expr, text: str, proof: str) -> str:
    """`text = 0` from `Prop.zero(e)`."""
    p = Prop.zero(e)
    if p.kind == "true":
        return "by_ring"
    if p.kind == "false":
        return call("False_ind", "_", proof)
    given = names.expression(p.expr)
    if given == text:
        return proof
    return call("undivided", _factor(e, p), text, given, "by_ring", proof)


def normal_ne(names: Names, e: Expr, text: str, proof: str) -> str:
    """The complement of `Prop.zero(e)` from `text <> 0`."""
    p = Prop.zero(e)
    if p.kind == "true":
        return f"{proof} by_ring"
    if p.kind == "false":
        return "I"
    wanted = names.expression(p.expr)
    if wanted == text:
        return proof
    return call("divided_apart", _factor(e, p), text, wanted, "by_ring", proof)


def plain_ne(names: Names, e: Expr, text: str, proof: str) -> str:
    """`text <> 0` from the complement of `Prop.zero(e)`."""
    p = Prop.zero(e)
    if p.kind == "true":
        return call("False_ind", "_", proof)
    if p.kind == "false":
        return f"fun zero => {normal_eq(names, e, text, 'zero')}"
    given = names.expression(p.expr)
    if given == text:
        return proof
    return call("undivided_apart", _factor(e, p), text, given, "eq_refl", "by_ring", proof)


def normal(names: Names, kind: str, e: Expr, text: str, proof: str) -> str:
    """A comparison in normal form."""
    return {"ge": normal_ge, "eq": normal_eq, "ne": normal_ne}[kind](names, e, text, proof)


def plain(names: Names, kind: str, e: Expr, text: str, proof: str) -> str:
    """A comparison of the polynomial, not rewritten."""
    return {"ge": plain_ge, "eq": plain_eq, "ne": plain_ne}[kind](names, e, text, proof)
