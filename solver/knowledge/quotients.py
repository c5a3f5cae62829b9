"""Floor division is monotone: quotients by one divisor are in the order of their dividends.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.knowledge.quotients import orders, upper_bounds
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> a, m, p = terms.symbol("a"), terms.symbol("m"), terms.symbol("p")
    >>> known = Facts.empty(terms).declare_range(a, 0, None).declare_range(m, 0, None).declare_range(p, 1, None)
    >>> known = known.learn_prop(terms.le(a, m))
    >>> pages, most = terms.floordiv(a, p).atom, terms.floordiv(m, p).atom
    >>> [str(bound.conclusion) for bound in upper_bounds(known, pages, [most], known.prove_sign)]
    ['a//p <= a', 'a//p <= m//p']

A larger divisor gives a smaller quotient, and a multiple of a divisor the quotient of the quotient:

    >>> half = terms.floordiv(m, 2 * p).atom
    >>> [str(order.conclusion) for order in orders(known, most, half)]
    ['2*(m//(2*p)) <= m//p', '2*(m//(2*p)) + 1 >= m//p']

All are isolations (`solver.knowledge.isolation`): `n//d >= q` if and only if `n >= d*q`, d positive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from solver.knowledge.base import Knowledge
from solver.knowledge.explain import prove_side
from solver.knowledge.laws import floordiv_law, law_expr, size_of, times_nonnegative
from solver.proofs.step import ProofStep, combine
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

OTHERS: Final = 4
"""Quotients that one is compared with."""
TERMS: Final = 40


Prove = Callable[[Expr], ProofStep | None]


def upper_bounds(known: Knowledge, atom: Atom, others: Iterable[Atom], prove: Prove) -> list[ProofStep]:
    """Inequalities that a quotient is at most its dividend, or another quotient; `prove` compares dividends."""
    n, d = atom.args
    assert isinstance(n, Expr) and isinstance(d, Expr)
    low = known.low(d)
    if low is None or low < 1 or len(n.terms) > TERMS:
        return []
    found = []
    bound = _by_dividend(known, atom, n, d)
    if bound is not None:
        found.append(bound)
    compared = 0
    for other in dict.fromkeys(others):
        if other is not atom and other.kind == "floordiv" and other.args[1] is d and compared < OTHERS:
            compared += 1
            bound = _by_order(known, atom, other, n, d, prove)
            if bound is not None:
                found.append(bound)
    return found


def orders(known: Knowledge, atom: Atom, other: Atom) -> list[ProofStep]:
    """Inequalities between two quotients of one dividend: by the order of their divisors, or their ratio."""
    n, d = atom.args
    m, e = other.args
    assert isinstance(n, Expr) and isinstance(d, Expr) and isinstance(e, Expr)
    if m is not n or d is e or not d.terms or not e.terms:
        return []
    low, least = known.low(d), known.low(e)
    if low is None or low < 1 or least is None or least < 1:
        return []
    for one, another, divisor, multiple in ((atom, other, d, e), (other, atom, e, d)):
        ratio = multiple.lead()[1] // divisor.lead()[1]
        if ratio > 1 and divisor * ratio is multiple:
            return _by_ratio(known, one, another, divisor, ratio)
    for one, another, divisor, larger in ((atom, other, d, e), (other, atom, e, d)):
        order = _by_divisors(known, one, another, divisor, larger)
        if order is not None:
            return [order]
    return []


def _by_ratio(known: Knowledge, atom: Atom, other: Atom, d: Expr, ratio: int) -> list[ProofStep]:
    """`k*(n//(k*d)) <= n//d <= k*(n//(k*d)) + k - 1`: the laws of the other quotient, isolated."""
    scaled = other.expr * ratio
    below, above = floordiv_law(known, other, True), floordiv_law(known, other, False)
    return [
        _isolated(known, atom, -scaled, 1, below, d),
        _isolated(known, atom, scaled + (ratio - 1), -1, above, d),
    ]


def _by_divisors(known: Knowledge, atom: Atom, other: Atom, d: Expr, larger: Expr) -> ProofStep | None:
    """`n//e <= n//d` for `d <= e` and n not negative: `n - d*(n//e)` is a remainder and `(e - d)*(n//e)`."""
    low, least = known.low(larger - d), known.low(other.expr)
    if low is None or low < 0 or least is None or least < 0:
        return None
    excess = (larger - d) * other.expr
    n = atom.args[0]
    assert isinstance(n, Expr)
    law, goal = floordiv_law(known, other, True), Prop.nonnegative(n - d * other.expr)
    scaled = times_nonnegative(known, prove_side(known, larger - d, True, 0), other.expr)
    if scaled is None:
        return None
    isolated = combine([law, scaled], [size_of(law_expr(other, True)), size_of(excess)])
    return _isolated(known, atom, -other.expr, 1, isolated, d) if isolated.conclusion is goal else None


def _by_dividend(known: Knowledge, atom: Atom, n: Expr, d: Expr) -> ProofStep | None:
    """`n//d <= n`, for n not negative: `d*(n + 1) - 1 - n` is `(d - 1)*(n + 1)`."""
    low = known.low(n)
    if low is None or low < 0 or d.is_constant:
        return None
    isolated = times_nonnegative(known, prove_side(known, d - 1, True, 0), n + 1)
    goal = Prop.nonnegative(d * (n + 1) - 1 - n)
    if isolated is None or isolated.conclusion is not goal:
        return None
    return _isolated(known, atom, n, -1, isolated, d)


def _by_order(known: Knowledge, atom: Atom, other: Atom, n: Expr, d: Expr, prove: Prove) -> ProofStep | None:
    """`n//d <= m//d`, for `n <= m`: `m - d*(n//d)` is the difference plus a remainder."""
    m = other.args[0]
    assert isinstance(m, Expr)
    order = _order(known, m - n, prove)
    if order is None:
        return None
    law = floordiv_law(known, atom, True)
    goal = Prop.nonnegative(m - d * atom.expr)
    premises, multipliers = [law], [size_of(law_expr(atom, True))]
    difference = m - n
    if difference.terms:
        premises.append(order)
        multipliers.append(size_of(difference))
    total = m - d * atom.expr
    for premise, k in zip(premises, multipliers, strict=True):
        total = total - premise.conclusion.expr * k
    if total.terms or total.constant < 0:
        return None
    isolated = combine(premises, multipliers, total.constant)
    return _isolated(known, other, -atom.expr, 1, isolated, d) if isolated.conclusion is goal else None


def _order(known: Knowledge, e: Expr, prove: Prove) -> ProofStep | None:
    """`e >= 0` by bounds, or as the caller proves it."""
    low = known.low(e)
    if low is not None:
        return prove_side(known, e, True, 0) if low >= 0 else None
    return None if known.refuted(e) else prove(e)


def _isolated(known: Knowledge, atom: Atom, rest: Expr, sign: int, isolated: ProofStep, d: Expr) -> ProofStep:
    positive = prove_side(known, d - 1, True, 0) if d.terms else ProofStep("trivial", Prop.nonnegative(d - 1))
    return ProofStep("isolate", Prop.nonnegative(sign * atom.expr + rest), (isolated, positive), (atom, rest, sign))
