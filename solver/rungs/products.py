"""Products of what is known: a linear argument over monomials of higher degree.

For a goal with products, the rows of `solver.rungs.linear` are extended by products of pairs: ranges of the atoms of its monomials with each other and with the facts
nearby, and squares. One linear combination of all of them proves the goal (a Positivstellensatz of low degree).

    >>> from solver.expr import Interner
    >>> from solver.facts import Facts
    >>> from solver.ladder import decide
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, None, None).declare_range(y, None, None)
    >>> decide(known, terms.ge(x * x + y * y, 2 * x * y)).rung
    'products'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from solver.explain import prove_bound
from solver.expr import Atom
from solver.facts import Facts
from solver.integer import Budget
from solver.knowledge import Knowledge
from solver.prop import Prop
from solver.reasons import Reason, multiply_equality, refute, times
from solver.rungs import linear

if TYPE_CHECKING:
    from solver.ladder import Climb

BUDGET: Final = Budget(work=250_000, cuts=8, branches=8)
PRODUCTS: Final = 48
FACTORS: Final = 10
DEGREE: Final = 4


def prove(climb: Climb, facts: Facts, goal: Prop, depth: int) -> Reason | None:
    """A comparison with products, by contradiction."""
    if goal.kind not in ("ge", "ne") or depth > 2 or goal.expr.degree < 2 or goal.expr.degree > DEGREE:
        return None
    del climb
    rows = linear.rows_against(facts, goal)
    if len(rows.monomials) > linear.MONOMIALS:
        return None
    extend(facts, rows, goal)
    outcome = rows.contradiction(BUDGET)
    return refute(outcome, goal) if isinstance(outcome, Reason) else None


def extend(known: Knowledge, rows: linear.Rows, goal: Prop) -> None:
    """Add products of constraints whose monomials meet those of the goal."""
    monomials = known.interner.monomials
    wanted = {m for m in rows.monomials if len(monomials[m]) > 1}
    atoms = sorted({atom for m in wanted for atom in monomials[m]}, key=lambda atom: atom.key)[:FACTORS]
    factors: list[Callable[[], Reason]] = []
    for atom in atoms:
        r = known.range_of(atom.monomial)
        if r.lo is not None:
            factors.append(_side(known, atom, True, r.lo))
        if r.hi is not None:
            factors.append(_side(known, atom, False, r.hi))
    given = [
        (Prop.nonnegative, reason)
        for row, reason in list(zip(rows.rows, rows.reasons, strict=True))
        if len(row.coefficients) > 1 and not row.equality
    ]
    equalities = [reason for row, reason in list(zip(rows.rows, rows.reasons, strict=True)) if row.equality]
    made = [factor() for factor in factors]
    facts_made = [reason() for _, reason in given[:FACTORS]]
    added = 0
    for i, left in enumerate(made + facts_made):
        for right in (made + facts_made)[i:]:
            product = times(left, right)
            e = product.conclusion.expr
            if not e.terms or not any(m in wanted for m, _ in e.terms) or e.degree > DEGREE:
                continue
            if sum(1 for m, _ in e.terms if m not in rows.index) > 1:
                continue
            added += rows.add(product.conclusion, _given(product))
            if added >= PRODUCTS:
                return
    for make in equalities[:4]:
        equality = make()
        for atom in atoms:
            scaled = multiply_equality(equality, atom.expr)
            if any(m in wanted for m, _ in scaled.conclusion.terms):
                rows.add(scaled.conclusion, _given(scaled))
    for i, a in enumerate(atoms):
        for b in (None, *atoms[i + 1 :]):
            for e in (a.expr,) if b is None else (a.expr - b.expr, a.expr + b.expr):
                square = Reason("square", Prop.nonnegative(e * e), (), e)
                if all(m in rows.index for m, _ in square.conclusion.terms):
                    rows.add(square.conclusion, _given(square))
    del goal


def _side(known: Knowledge, atom: Atom, lower: bool, value: int) -> Callable[[], Reason]:
    return lambda: prove_bound(known, atom.monomial, lower, value)


def _given(reason: Reason) -> Callable[[], Reason]:
    return lambda: reason
