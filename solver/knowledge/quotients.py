"""Floor division is monotone: quotients by one divisor are in the order of their dividends.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.knowledge.quotients import upper_bounds
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> a, m, p = terms.symbol("a"), terms.symbol("m"), terms.symbol("p")
    >>> known = Facts.empty(terms).declare_range(a, 0, None).declare_range(m, 0, None).declare_range(p, 1, None)
    >>> known = known.learn_prop(terms.le(a, m))
    >>> pages, most = terms.floordiv(a, p).atom, terms.floordiv(m, p).atom
    >>> [str(bound.conclusion) for bound in upper_bounds(known, pages, [most], known.prove_sign)]
    ['a//p <= a', 'a//p <= m//p']

Both are isolations (`solver.knowledge.isolation`): `n//d >= q` if and only if `n >= d*q`, d positive.
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
