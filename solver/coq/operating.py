"""The rules of proof about operations, bounds, substitution and enumeration, each as the application of lemmas."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Final

from solver.coq import bounding
from solver.coq.bounding import Range
from solver.coq.rewriting import Substitution
from solver.coq.steps import Rule, monomial, premises
from solver.coq.terms import argument, by_lia, call, conjoined, integer
from solver.coq.theorem import Theorem
from solver.errors import NotExpressible
from solver.proofs.step import ProofStep
from solver.terms.atoms import operands
from solver.terms.expr import Atom, Expr
from solver.terms.functions import function
from solver.terms.prop import Prop

R = "eq_refl"


def _reader(script: Theorem, step: ProofStep) -> Callable[[Expr], Range]:
    return bounding.reader(script.names, [(premise.conclusion, script.given(premise)) for premise in step.premises])


def _end(e: Expr, lower: object, found: Range) -> str:
    """An end of a range."""
    end = found.low if lower else found.high
    if end is None:
        raise NotExpressible(f"a bound of {e} that its premises do not give")
    return end[1]


def bound_of_monomial(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (int() as m, lower):
            interner = step.conclusion.interner
            known, atoms = _reader(script, step), interner.monomials[m]
            total: Range | None = None
            for atom in dict.fromkeys(atoms):
                each = bounding.power(known(atom.expr), atoms.count(atom))
                total = each if total is None else bounding.product(total, each)
            assert total is not None
            return _end(monomial(interner, m), lower, total)
    raise NotExpressible("a bound of no monomial")


def grouped(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (int() as m, int() as n, lower):
            interner = step.conclusion.interner
            left, right, known = monomial(interner, m), monomial(interner, n), _reader(script, step)
            return _end(left * right, lower, bounding.product(known(left), known(right)))
    raise NotExpressible("a bound of no monomials")


def operation(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (Atom() as atom, lower):
            known = _reader(script, step)
            names = script.names
            match atom.kind, atom.args:
                case "floordiv", (Expr() as n, Expr() as d):
                    found = bounding.quotient(known(n), known(d), d.constant if d.is_constant else None)
                case "relu", (Expr() as e,):
                    found = bounding.relu(known(e))
                case "ite", (Prop() as p, Expr() as e):
                    found = bounding.choice(names.truth(p), known(e))
                case "bitand", (Expr() as left, Expr() as right):
                    found = bounding.bitand(known(left), known(right))
                case "power", (Expr() as left, Expr() as right):
                    found = bounding.raised(known(left), known(right))
                case "product", (Expr() as left, Expr() as right):
                    found = bounding.product(known(left), known(right))
                case "function", (Expr() as e,) if atom.name in ("isqrt", "bit_length"):
                    of = bounding.root if atom.name == "isqrt" else bounding.bit_length
                    argument_range = known(e)
                    found = of(argument_range, function(atom.name).bounds(argument_range.interval))
                case _:
                    return script.assumed(step, f"bounds of {atom.name}")
            named = bounding.renamed(found, names.variable(atom), names.equation(atom))
            return _end(atom.expr, lower, named)
    raise NotExpressible("a bound of no operation")


def shift(script: Theorem, step: ProofStep) -> str:
    """The rule "shift": with atoms written as an end plus or minus a nonnegative term, no coefficient is negative."""
    e = step.conclusion.expr
    interner, names = e.interner, script.names
    assert isinstance(step.data, tuple)
    over: dict[Atom, Expr] = {}
    images: dict[Atom, Expr] = {}
    spare: dict[Atom, str] = {}
    for premise, (atom, (end, lower)) in zip(step.premises, step.data, strict=True):
        (over if isinstance(end, Expr) else images)[atom] = atom.expr + end if lower else end - atom.expr
        v, other = names.variable(atom), f"({names.expression(end) if isinstance(end, Expr) else integer(end)})"
        spare[atom] = by_lia(f"0 <= {v} - {other}" if lower else f"0 <= {other} - {v}", script.given(premise))
    shifted = e.replace(over).replace(images)
    products = []
    for m, _ in shifted.terms:
        signs = [spare[atom] for atom in interner.monomials[m]]
        products.append(reduce(lambda one, other: call("Z.mul_nonneg_nonneg", "_", "_", one, other), signs))
    return conjoined(products)


# ---------------------------------------------------------------------- definitions


LAWS: Final = {
    "floordiv below": ("quotient_below", "0 < {1}"),
    "floordiv above": ("quotient_above", "0 < {1}"),
    "floordiv below negative": ("quotient_below_negative", "{1} < 0"),
    "floordiv above negative": ("quotient_above_negative", "{1} < 0"),
    "ite positive": ("choice_taken", "{0} = true"),
    "ite negative": ("choice_left", "{0} = false"),
    "bitand at most first": ("land_first", "0 <= {0} \\/ 0 <= - {1} - 1"),
    "bitand at most second": ("land_second", "0 <= {1} \\/ 0 <= - {0} - 1"),
}
"""Lemmas about operations, from their definitions and a premise about their arguments."""


def axiom(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (Atom() as atom, str() as name):
            pass
        case _:
            raise NotExpressible("an axiom of no operation")
    names, given = script.names, premises(script, step)
    equation = names.equation(atom)
    if atom.kind == "function":
        why = f"where {atom.name} rounds nothing" if name == "exact" else f"{name}, of {atom.name}"
        return script.assumed(step, why)
    if atom.kind == "relu":
        return conjoined([equation, given])
    if f"{atom.kind} {name}" not in LAWS:
        raise NotExpressible(f"`{name}` of {atom.kind}")
    lemma, premise = LAWS[f"{atom.kind} {name}"]
    texts = [argument(names.truth(arg) if isinstance(arg, Prop) else names.expression(arg)) for arg in operands(atom)]
    return call(lemma, equation, by_lia(premise.format(*texts), given))


def isolate(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (Atom(args=(Expr() as n, Expr() as d)) as atom, Expr() as rest, 1 | -1 as sign):
            names = script.names
            a, b, r = [f"({names.expression(e)})" for e in (n, d, rest)]
            isolated, sign_of_divisor = step.premises
            known, equation = script.given(sign_of_divisor), names.equation(atom)
            if sign_of_divisor.conclusion is Prop.nonnegative(-d - 1):
                equation = call("negated_quotient", equation, by_lia(f"{b} < 0", known))
                a, b = f"(- {a})", f"(- {b})"
            stated = f"0 <= {a} + {b} * {r}" if sign > 0 else f"0 <= {b} * ({r} + 1) - 1 - {a}"
            lemma = "isolated_above" if sign > 0 else "isolated_below"
            return call(lemma, equation, by_lia(f"0 < {b}", known), by_lia(stated, script.given(isolated)))
    raise NotExpressible("no isolated floor division")


def definition(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (Expr(), Expr() as name):
            return script.names.equation(name.atom)
    raise NotExpressible("a definition of nothing")


def rewrite(script: Theorem, step: ProofStep) -> str:
    assert isinstance(step.data, tuple)
    count = sum([len(steps) for steps in step.data])
    statement = step.premises[: len(step.premises) - count]
    goal = step.conclusion
    equalities = iter(step.premises[len(statement) :])
    rounds = [[(m, image, next(equalities)) for m, image in steps] for steps in step.data]
    if statement:
        (given,) = statement
        last, carried = _carried(script, given.conclusion, rounds)
        if last is goal:
            return conjoined([script.given(given), *carried])
    last, carried = _carried(script, goal, rounds)
    if last is not (statement[0].conclusion if statement else Prop.truth(goal.interner, True)):
        raise NotExpressible("a substitution with another result")
    return conjoined([*map(script.given, statement), *carried])


def _carried(script: Theorem, p: Prop, rounds: list[list[tuple[int, Expr, ProofStep]]]) -> tuple[Prop, list[str]]:
    """The proposition after all rounds, and the equalities from which either one follows from the other."""
    interner, names = p.interner, script.names
    equalities: list[str] = []
    for steps in rounds:
        substitution = Substitution(script.canonical, script.remember)
        for m, image, equality in steps:
            stated = f"{names.expression(monomial(interner, m))} = {names.expression(image)}"
            name = script.remember(stated, by_lia(stated, script.given(equality)))
            atoms = interner.monomials[m]
            if len(atoms) == 1:
                substitution.images[atoms[0]] = image, name
            else:
                substitution.product = m, image, name
        substitution.prepare(p.schedule)
        p, found = substitution.proposition(p)
        equalities += found
    return p, equalities


# ---------------------------------------------------------------------- enumeration


def box(script: Theorem, step: ProofStep) -> str:
    """The rule "box": the goal computed at every assignment in the box."""
    goal, sides, names = step.conclusion, step.data, script.names
    assert isinstance(sides, tuple)
    bounds, others = step.premises[: 2 * len(sides)], step.premises[2 * len(sides) :]
    composite = {atom for p in (goal, *[other.conclusion for other in others]) for atom in p.schedule}
    schedule = sorted(composite, key=lambda atom: (atom.depth, atom.serial))
    for atom in schedule:
        if atom.kind == "function" and not atom.operation.coq:
            raise NotExpressible(f"Coq cannot compute {atom.name} at given sizes")
    test = names.truth(goal)
    for other in reversed(others):
        test = f"implb {argument(names.truth(other.conclusion))} {argument(test)}"
    body = test
    for atom in reversed(schedule):
        body = f"let {names.variable(atom)} := {names.definition(atom)} in {body}"

    def over(rest: tuple[tuple[Atom, int, int], ...]) -> str:
        text = body
        for atom, low, high in reversed(rest):
            size = f"(Z.to_nat ({integer(high)} - {integer(low)} + 1))"
            text = f"every_from {integer(low)} {size} (fun {names.variable(atom)} => {text})"
        return text

    proof = script.computed(f"({over(sides)}) = true")
    for index, (atom, low, high) in enumerate(sides):
        v = names.variable(atom)
        below, above = bounds[2 * index : 2 * index + 2]
        ends = [
            by_lia(f"{integer(low)} <= {v}", script.given(below)),
            by_lia(f"{v} <= {integer(high)}", script.given(above)),
        ]
        proof = call("boxed", low, high, f"fun {v} => {over(sides[index + 1 :])}", proof, v, *ends)
    proof = script.folded(f"{argument(test)} = true", proof, [names.equation(atom) for atom in schedule])
    for other in others:  # one at a time: `lia` tries the cases of all booleans that it is given
        proof = call("implied", "_", "_", proof, by_lia(f"{names.truth(other.conclusion)} = true", script.given(other)))
    return proof


def residues(script: Theorem, step: ProofStep) -> str:
    """The rule "residues": nonzero for all residues of its atoms, each computed."""
    m, e, names = step.data, step.conclusion.expr, script.names
    assert isinstance(m, int)
    interner = e.interner
    terms = [(c % m, interner.monomials[n]) for n, c in e.terms if c % m]
    atoms = list(dict.fromkeys([atom for _, factors in terms for atom in factors]))
    left = interner.expr(tuple([(n, (c - c % m) // m) for n, c in e.terms if c - c % m]), 0)

    def written(values: dict[Atom, str]) -> str:
        """The terms that the modulus does not divide, at these values."""
        parts = [" * ".join([integer(c), *[values[atom] for atom in factors]]) for c, factors in terms]
        return " + ".join([*parts, integer(e.constant)])

    def tested(values: dict[Atom, str], rest: list[Atom]) -> str:
        """The boolean test that no residues of the rest give zero."""
        text = f"negb (({written({**values, **{atom: names.variable(atom) + '_' for atom in rest}})}) mod {m} =? 0)"
        for atom in reversed(rest):
            text = f"every_from 0 (Z.to_nat ({m} - 1 - 0 + 1)) (fun {names.variable(atom)}_ => {text})"
        return text

    proof = ""
    for c, factors in [*terms, (e.constant, ())]:
        each = call("congruent_refl", m, c)
        for atom in factors:
            each = call("congruent_mul", m, "_", "_", "_", "_", each, call("congruent_mod", m, names.variable(atom)))
        proof = call("congruent_add", m, "_", "_", "_", "_", proof, each) if proof else each
    remainders = {atom: f"({names.variable(atom)} mod {m})" for atom in atoms}
    found = script.computed(f"{tested({}, atoms)} = true")
    for index, atom in enumerate(atoms):
        known = {earlier: remainders[earlier] for earlier in atoms[:index]}
        inner = tested({**known, atom: names.variable(atom) + "_"}, atoms[index + 1 :])
        found = call("by_residue", m, f"fun {names.variable(atom)}_ => {inner}", R, found, names.variable(atom))
    plain = written({atom: names.variable(atom) for atom in atoms})
    texts = names.expression(e), plain, names.expression(left), written(remainders)
    return call("no_residue", m, *texts, "by_ring", proof, found)


OPERATIONS: Final[dict[str, Rule]] = {
    "monomial": bound_of_monomial,
    "grouped": grouped,
    "operation": operation,
    "shift": shift,
    "axiom": axiom,
    "isolate": isolate,
    "definition": definition,
    "rewrite": rewrite,
    "box": box,
    "residues": residues,
}
