"""What an operation says of its value, given the bounds of its arguments.

    >>> from solver.terms.interner import Interner
    >>> from solver.terms.operations import interval_of_atom
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> interval_of_atom((s // 10).atom, lambda e: (25, 99))
    (2, 9)

The engine reads the bounds of the arguments from what it knows, the checker from the premises of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from solver.terms import intervals
from solver.terms.expr import Atom, Expr
from solver.terms.functions import function
from solver.terms.intervals import Interval
from solver.terms.prop import Prop


def interval_of_atom(atom: Atom, interval: Callable[[Expr], Interval]) -> Interval:
    """The interval of a composite atom's value from those of its arguments, given as a function of expressions."""
    of = interval
    match atom.kind, atom.args:
        case "floordiv", (Expr() as n, Expr() as d):
            if d.is_constant:
                lo, hi = of(n)
                return (None if lo is None else lo // d.constant), (None if hi is None else hi // d.constant)
            return intervals.quotient(of(n), of(d))
        case "relu", (Expr() as e,):
            return intervals.relu(of(e))
        case "ite", (_, Expr() as e):
            return intervals.hull((0, 0), of(e))
        case "bitand", (Expr() as a, Expr() as b):
            return intervals.bitand(of(a), of(b))
        case "power", (Expr() as a, Expr() as b):
            return intervals.raised(of(a), of(b))
        case "product", (Expr() as a, Expr() as b):
            return intervals.product(of(a), of(b))
        case "function", args:
            return function(atom.name).bounds(*[of(arg) for arg in args if isinstance(arg, Expr)])
        case _:
            return intervals.EVERYTHING


def intervals_of_product(atoms: tuple[Atom, ...], interval: Callable[[int], Interval]) -> Interval:
    """The interval of a product from those of its atoms, given as a function of monomials."""
    total: Interval = (1, 1)
    for atom in dict.fromkeys(atoms):
        total = intervals.product(total, intervals.power(interval(atom.monomial), atoms.count(atom)))
    return total


def interval_reader(props: Iterable[Prop]) -> Callable[[Expr], Interval]:
    """The interval of an expression that inequalities about its form give."""
    lows: dict[Expr, int] = {}
    highs: dict[Expr, int] = {}
    for p in props:
        form, k = p.expr.form()
        if p.kind != "ge" or abs(k) != 1:
            continue
        if k > 0:
            lows[form] = max(-p.expr.constant, lows.get(form, -p.expr.constant))
        else:
            highs[form] = min(p.expr.constant, highs.get(form, p.expr.constant))

    def interval(e: Expr) -> Interval:
        if not e.terms:
            return e.constant, e.constant
        form, k = e.form()
        low, high = lows.get(form), highs.get(form)
        if k < 0:
            low, high = high, low
        return (None if low is None else k * low + e.constant), (None if high is None else k * high + e.constant)

    return interval
