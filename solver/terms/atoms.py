"""The laws of an operation's value, and its interval from those of the arguments.

    >>> from solver.terms.interner import Interner
    >>> from solver.terms.atoms import interval_of_atom
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> interval_of_atom((s // 10).atom, lambda e: (25, 99) if e is s else (10, 10))
    (2, 9)

The engine reads the bounds of the arguments from what it knows, the checker from the premises of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from solver.terms import intervals
from solver.terms.expr import Atom, Expr, TermTable
from solver.terms.intervals import Interval
from solver.terms.operations import Law, Operation, Statement
from solver.terms.prop import Prop


def domain_of(terms: TermTable, operation: Operation, arguments: Sequence[Expr]) -> Prop:
    """The condition under which an operation has a value; it may have no arguments."""
    needed = [Prop.ge(arguments[i], 0) for i in operation.nonnegative]
    needed += [Prop.ne(arguments[i], 0) for i in operation.nonzero]
    return Prop.join(terms, "and", needed)


def operands(atom: Atom) -> list[Expr | Prop]:
    return [arg for arg in atom.args if isinstance(arg, (Expr, Prop))]


def arguments(atom: Atom) -> list[Expr]:
    """The expressions that an operation is about, those in a condition included."""
    found: list[Expr] = []
    for arg in operands(atom):
        if isinstance(arg, Expr):
            found.append(arg)
        else:
            found += [p.expr for p in arg.comparisons()]
    return found


def interval_of_atom(atom: Atom, interval: Callable[[Expr], Interval]) -> Interval:
    """The interval of a composite atom's value from those of its arguments, given as a function of expressions."""
    return atom.operation.bounds(*[interval(arg) if isinstance(arg, Expr) else (0, 1) for arg in atom.args])


def expression_of(statement: Statement, atom: Atom) -> Expr:
    """A statement of a law, applied to the value and the arguments of an atom."""
    found = statement(atom.expr, *atom.args)
    assert isinstance(found, Expr)
    return found


def conditions_of(law: Law, atom: Atom) -> list[Expr]:
    """The premises of a law, one of which must not be negative; empty for a law that holds everywhere."""
    return [expression_of(premise, atom) for premise in law.premises]


def conclusion_of(law: Law, atom: Atom) -> Prop:
    """The conclusion of a law for an atom, which any one of the premises implies."""
    e = expression_of(law.conclusion, atom)
    return Prop.zero(e - atom.expr * (e // atom.expr)) if law.divides else Prop.nonnegative(e)


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
