"""z3 and cvc5 asked whether facts and the negation of a goal have a model; each by a translation of its own kind."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


def z3_refutes(facts: Sequence[Prop], goal: Prop) -> bool:
    import z3

    return _refutes(z3, facts, goal)


def cvc5_refutes(facts: Sequence[Prop], goal: Prop) -> bool:
    import cvc5.pythonic as cvc5

    return _refutes(cvc5, facts, goal)


def _refutes(library: ModuleType, facts: Sequence[Prop], goal: Prop) -> bool:
    """Return True if the solver has a model of the facts in which the goal is false. Not knowing is not refuting."""
    values: dict[Atom, Any] = {}
    solver = library.Solver()
    if library.__name__ == "z3":
        solver.set("rlimit", 1_000_000)
    else:
        solver.setOption("rlimit-per", "100000")
    for p in (*facts, goal):
        for atom in p.atoms:
            if atom.kind == "symbol":
                values.setdefault(atom, library.Int(atom.name))
    for p in facts:
        solver.add(_proposition(library, p, values))
    solver.add(library.Not(_proposition(library, goal, values)))
    return bool(solver.check() == library.sat)


def _expression(library: ModuleType, e: Expr, values: dict[Atom, Any]) -> Any:
    for atom in e.schedule:
        if atom not in values:
            values[atom] = _operation(library, atom, values)
    total = library.IntVal(e.constant)
    for m, c in e.terms:
        product = library.IntVal(c)
        for atom in e.interner.monomials[m]:
            product = product * values[atom]
        total = total + product
    return total


def _operation(library: ModuleType, atom: Atom, values: dict[Atom, Any]) -> Any:
    match atom.kind, atom.args:
        case "floordiv", (Expr() as n, Expr() as d):
            a, b = _expression(library, n, values), _expression(library, d, values)
            # the solvers' division is Euclidean: for a negative divisor both signs are turned
            return library.If(b > 0, _quotient(library, a, b), _quotient(library, -a, -b))
        case "relu", (Expr() as e,):
            x = _expression(library, e, values)
            return library.If(x >= 0, x, library.IntVal(0))
        case "ite", (Prop() as p, Expr() as e):
            return library.If(_proposition(library, p, values), _expression(library, e, values), library.IntVal(0))
        case _:
            raise ValueError(f"an operation without a translation: {atom.kind}")


def _quotient(library: ModuleType, a: Any, b: Any) -> Any:
    return a / b


def _proposition(library: ModuleType, p: Prop, values: dict[Atom, Any]) -> Any:
    match p.kind:
        case "ge":
            return _expression(library, p.expr, values) >= 0
        case "eq":
            return _expression(library, p.expr, values) == 0
        case "ne":
            return library.Not(_expression(library, p.expr, values) == 0)
        case "and":
            return library.And(*[_proposition(library, part, values) for part in p.parts])
        case "or":
            return library.Or(*[_proposition(library, part, values) for part in p.parts])
        case _:
            return library.BoolVal(p.kind == "true")
