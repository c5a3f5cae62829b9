"""Rules of inference for the checker: bounds and axioms of operations, definitions, substitution of equals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from solver.floats.exact import exact_form
from solver.proofs.inference import (
    Rules,
    Wrong,
    inequality_of,
    monomial_expr,
    payload_of,
    positive_bound,
    premises_of,
    require,
)
from solver.proofs.rewriting import Round, apply_round_to_prop
from solver.proofs.step import ProofStep
from solver.terms import intervals
from solver.terms.atoms import conclusion_of, conditions_of, interval_of_atom, interval_reader, intervals_of_product
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


def _bound(e: Expr, lower: object, interval: intervals.Interval) -> Prop:
    """The end of an interval as a statement about an expression."""
    require(type(lower) is bool, "names no side")
    value = interval[0 if lower else 1]
    if value is None:
        raise Wrong(f"leaves {e} unbounded")
    return Prop.nonnegative(e - value if lower else value - e)


def _reader(step: ProofStep) -> Callable[[Expr], intervals.Interval]:
    """Intervals of expressions, as the premises state them."""
    for premise in step.premises:
        inequality_of(premise.conclusion)
    return interval_reader([premise.conclusion for premise in step.premises])


def _monomial(step: ProofStep) -> Prop:
    """A bound of a product from bounds of its atoms."""
    match step.data:
        case (int() as m, lower):
            interner = step.conclusion.interner
            whole, known = monomial_expr(interner, m), _reader(step)
            interval = intervals_of_product(interner.monomials[m], lambda n: known(monomial_expr(interner, n)))
            return _bound(whole, lower, interval)
    raise Wrong("names no monomial")


def _grouped(step: ProofStep) -> Prop:
    """A bound of a product from bounds of two monomials that it is the product of."""
    match step.data:
        case (int() as m, int() as n, lower):
            interner = step.conclusion.interner
            left, right, known = monomial_expr(interner, m), monomial_expr(interner, n), _reader(step)
            return _bound(left * right, lower, intervals.product(known(left), known(right)))
    raise Wrong("names no monomials")


def _operation(step: ProofStep) -> Prop:
    """A bound of an operation from bounds of its arguments."""
    match step.data:
        case (Atom() as atom, lower):
            require(bool(atom.args), "is about no operation")
            return _bound(atom.expr, lower, interval_of_atom(atom, _reader(step)))
    raise Wrong("names no operation")


def _shift(step: ProofStep) -> Prop:
    """A polynomial without a negative coefficient once each atom is its end plus (or minus) something not negative.

    The end of a relu may be an expression, its argument or what it is at most, which is written in its place first.
    """
    e = inequality_of(step.conclusion)
    interner = e.interner
    ends = payload_of(step, tuple)
    over: dict[Atom, Expr] = {}
    images: dict[Atom, Expr] = {}
    written: list[Expr] = []
    for p, (atom, (end, lower)) in zip(premises_of(step, len(ends)), ends, strict=True):
        require(isinstance(atom, Atom) and atom not in images and atom not in over, "shifts an atom twice")
        if isinstance(end, Expr):
            require(type(lower) is bool, "names no side")
            stated = Prop.nonnegative(atom.expr - end if lower else end - atom.expr)
        else:
            stated = _bound(atom.expr, lower, (end, end))
        if p is not stated:
            raise Wrong(f"has an end of {atom} that `{p}` does not state")
        (over if isinstance(end, Expr) else images)[atom] = atom.expr + end if lower else end - atom.expr
        if isinstance(end, Expr):
            written.append(end)
    for end in written:
        require(over.keys() & end.atoms == set(), "has ends that depend on each other")
    e = e.replace(over)
    used = {atom for m, _ in e.terms for atom in interner.monomials[m]}
    require(images.keys() <= used <= images.keys() | over.keys(), "shifts other atoms than it has")
    shifted = e.replace(images)
    if shifted.constant < 0 or any(c < 0 for _, c in shifted.terms):
        raise Wrong(f"leaves a negative coefficient: {shifted}")
    return step.conclusion


# ---------------------------------------------------------------------- operations and equalities


def _axiom(step: ProofStep) -> Prop:
    """The axioms of a floor division, a relu, a conditional, a mask or a rounding of doubles."""
    match step.data:
        case (Atom(args=args) as atom, str() as name):
            value = atom.expr
        case _:
            raise Wrong("names no operation")
    premises = premises_of(step, len(step.premises))
    for law in atom.operation.laws:
        if law.name == name:
            known = [Prop.nonnegative(e) for e in conditions_of(law, atom)]
            accepted = [(p,) for p in known] + [()] * (not known or any(p.kind == "true" for p in known))
            require(premises in accepted, f"does not show `{' or '.join(map(str, known))}`")
            return conclusion_of(law, atom)
    match atom.kind, name, args, premises:
        case "relu", "at least", (Expr() as e,), (premise,):
            return Prop.nonnegative(e - positive_bound(premise, atom))
        case "relu", "positive", (Expr() as e,), (premise,) if premise is Prop.nonnegative(e):
            return Prop.zero(value - e)
        case "relu", "negative", (Expr() as e,), (premise,) if premise is Prop.nonnegative(-e):
            return Prop.zero(value)
        case "ite", "positive", (condition, Expr() as e), (premise,) if premise is condition:
            return Prop.zero(value - e)
        case "ite", "negative", (Prop() as condition, _), (premise,) if premise is condition.negation:
            return Prop.zero(value)
        case "function", "exact", _, _:
            found = exact_form(atom)
            if found is None or premises != found[1]:
                raise Wrong(f"does not show that {atom} rounds nothing")
            return Prop.zero(value - found[0])
    raise Wrong(f"{name}: does not hold of {atom}")


def _isolate(step: ProofStep) -> Prop:
    """`n // d >= -rest` from `n + d*rest >= 0`, `n // d <= rest` from `n < d*(rest + 1)`, d positive; n and d are both
    negated where d is negative.
    """
    match step.data:
        case (Atom(kind="floordiv", args=(Expr() as n, Expr() as d)) as atom, Expr() as rest, 1 | -1 as sign):
            isolated, positive = premises_of(step, 2)
            if positive is Prop.nonnegative(-d - 1):
                n, d = -n, -d
            elif positive is not Prop.nonnegative(d - 1):
                raise Wrong(f"does not show that {d} is positive, or negative")
            expected = Prop.nonnegative(n + d * rest if sign > 0 else d * (rest + 1) - 1 - n)
            if isolated is not expected:
                raise Wrong(f"has `{isolated}`, not `{expected}`")
            return Prop.nonnegative(sign * atom.expr + rest)
    raise Wrong("isolates no floor division")


def _definition(step: ProofStep) -> Prop:
    """A name equals what it was made for; the name is younger than anything in its definition."""
    premises_of(step, 0)
    match step.data:
        case (Expr() as named, Expr() as name):
            symbol = name.atom
            if not (symbol.kind == "symbol" and symbol.definition is named):
                raise Wrong(f"{symbol} is no name of {named}")
            if not all(other.serial < symbol.serial for other in named.atoms):
                raise Wrong(f"{symbol} occurs in its definition")
            return Prop.zero(name - named)
    raise Wrong("defines nothing")


def _rewrite(step: ProofStep) -> Prop:
    """Equalities substituted, round by round: in the premise, or in the conclusion, which becomes the premise (or
    true).
    """
    interner, goal = step.conclusion.interner, step.conclusion
    shape = payload_of(step, tuple)
    count = sum([len(steps) for steps in shape])
    require(0 <= len(step.premises) - count <= 1 and all(shape), "has not one equality for each substitution")
    statement = step.premises[: len(step.premises) - count]
    equalities = iter(step.premises[len(statement) :])
    rounds: list[Round] = []
    for steps in shape:
        made = tuple([(m, image, next(equalities)) for m, image in steps])
        for m, image, equality in made:
            whole = monomial_expr(interner, m)
            if equality.conclusion is not Prop.zero(whole - image):
                raise Wrong(f"`{equality.conclusion}` does not say that {whole} is {image}")
        products = [m for m, _, _ in made if len(interner.monomials[m]) > 1]
        require(not products or len(made) == 1, "replaces a product beside others")
        rounds.append(made)
    if not statement:
        if _rewritten(goal, rounds).kind != "true":
            raise Wrong(f"leaves `{_rewritten(goal, rounds)}` to show")
        return goal
    given = statement[0].conclusion
    forward = _rewritten(given, rounds)
    return goal if forward is not goal and _rewritten(goal, rounds) is given else forward


def _rewritten(p: Prop, rounds: list[Round]) -> Prop:
    for steps in rounds:
        p = apply_round_to_prop(p, steps)
    return p


DEFINITIONS: Final[Rules] = {
    "monomial": _monomial,
    "grouped": _grouped,
    "operation": _operation,
    "shift": _shift,
    "axiom": _axiom,
    "isolate": _isolate,
    "definition": _definition,
    "rewrite": _rewrite,
}
"""The rules by name."""
