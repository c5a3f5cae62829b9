"""The rules of proof about propositions, sums and products, each as the application of a lemma.

A function takes the theorem and the step, and returns a proof from which linear arithmetic and logic (Coq's `lia`) give
the step's conclusion. It reads premises and payload as `solver.proofs.checker` does; Coq checks that they prove it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Final

from solver.coq.terms import argument, by_lia, call, conjoined, integer
from solver.coq.theorem import Theorem
from solver.errors import NotExpressible
from solver.proofs.step import ProofStep
from solver.terms import intervals
from solver.terms.expr import Atom, Expr, TermTable
from solver.terms.prop import Prop

R = "eq_refl"
COMPARED: Final = {"ge": "0 <= {}", "lt": "{} < 0", "eq": "{} = 0", "ne": "{} <> 0"}


def monomial(interner: TermTable, m: int) -> Expr:
    """A monomial that a payload names, as an expression."""
    return interner.expr(((m, 1),), 0)


# ---------------------------------------------------------------------- propositions and sums


def premises(script: Theorem, step: ProofStep) -> str:
    """A step by its premises alone: linear arithmetic and logic prove the rest."""
    return conjoined([script.given(premise) for premise in step.premises])


def part(script: Theorem, step: ProofStep) -> str:
    """A conjunct by its position: `lia` would try the cases of all others."""
    (whole,) = step.premises
    assert isinstance(step.data, int)
    proof = script.given(whole)
    for _ in range(step.data):
        proof = call("proj2", proof)
    return proof if step.data == len(whole.conclusion.parts) - 1 else call("proj1", proof)


def combine(script: Theorem, step: ProofStep) -> str:
    """A sum of multiples, added one by one: `lia` would take minutes to find hundreds of multipliers."""
    match step.data:
        case (tuple() as multipliers, int() as slack):
            proof = call("slack", slack, R)
        case tuple() as multipliers:
            proof = "eq_refl"
        case _:
            raise NotExpressible("a sum without multipliers")
    for premise, k in zip(reversed(step.premises), reversed(multipliers), strict=True):
        if step.rule == "equate":
            proof = call("added_zero", k, script.given(premise), proof)
        elif premise.conclusion.kind == "eq":
            proof = call("added_equality", k, script.given(premise), proof)
        else:
            proof = call("added", k, R, script.given(premise), proof)
    return proof


def refute(script: Theorem, step: ProofStep) -> str:
    (false,) = step.premises
    name, yes = script.hypothesis(step.conclusion.negation), script.names.local()
    end = call("False_ind", "_", script.given(false))
    return script.names.by_cases(step.conclusion, yes, yes, name, end)


def cases(script: Theorem, step: ProofStep) -> str:
    if isinstance(step.data, Prop):
        (first, yes), (second, no) = [
            (script.hypothesis(p), script.given(branch))
            for p, branch in zip((step.data, step.data.negation), step.premises, strict=True)
        ]
        return script.names.by_cases(step.data, first, yes, second, no)
    split, *branches = step.premises

    def rest(proof: str, parts: tuple[Prop, ...], left: list[ProofStep]) -> str:
        name = script.hypothesis(parts[0])
        if len(parts) == 1:
            return f"let {name} := {proof} in {script.given(left[0])}"
        other = script.names.local()
        inner = rest(other, parts[1:], left[1:])
        return f"match {proof} with or_introl {name} => {script.given(left[0])} | or_intror {other} => {inner} end"

    return rest(script.given(split), split.conclusion.parts, branches)


# ---------------------------------------------------------------------- products


def times(script: Theorem, step: ProofStep) -> str:
    return call("Z.mul_nonneg_nonneg", "_", "_", *[script.given(premise) for premise in step.premises])


def multiply(script: Theorem, step: ProofStep) -> str:
    (premise,) = step.premises
    assert isinstance(step.data, Expr)
    return call("zero_product", "_", script.names.expression(step.data), script.given(premise))


def square(script: Theorem, step: ProofStep) -> str:
    assert isinstance(step.data, Expr)
    return call("Z.square_nonneg", script.names.expression(step.data))


def gap(script: Theorem, step: ProofStep) -> str:
    assert isinstance(step.data, Expr)
    return call("gap", script.names.expression(step.data))


def product_apart(proofs: list[str]) -> str:
    """A nonzero product, from proofs that each factor is nonzero."""
    return reduce(lambda proof, each: call("product_apart", proof, each), proofs)


def product_nonzero(script: Theorem, step: ProofStep) -> str:
    e = step.conclusion.expr
    given = {premise.conclusion.expr: script.given(premise) for premise in step.premises}
    return product_apart([given[atom.expr] for atom in e.interner.monomials[e.terms[0][0]]])


def nonzero_factors(script: Theorem, step: ProofStep) -> str:
    assert isinstance(step.data, tuple)
    factors = []
    for premise, (factor, power) in zip(step.premises, step.data, strict=True):
        factors += [by_lia(f"{script.names.expression(factor)} <> 0", script.given(premise))] * power
    return product_apart(factors)


def cancelled(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (Expr() as rest, Expr() as factor, int() as power):
            product, nonzero = step.premises
            f = script.names.expression(factor)
            apart = by_lia(f"{f} <> 0", script.given(nonzero))
            text = script.names.expression(rest)
            for _ in range(power):
                text = f"({text}) * ({f})"
            proof = by_lia(f"{text} = 0", script.given(product))
            for _ in range(power):
                proof = call("cancelled", apart, proof)
            return proof
    raise NotExpressible("a cancelled factor")


def _without(e: Expr, atom: Atom) -> Expr:
    """`(e - constant) / atom`."""
    interner = e.interner
    coefficients: dict[int, int] = {}
    constant = 0
    for m, c in e.terms:
        atoms = list(interner.monomials[m])
        atoms.remove(atom)
        if atoms:
            coefficients[interner.monomial(tuple(atoms))] = c
        else:
            constant = c
    return interner.collect(coefficients, constant)


def factor_nonzero(script: Theorem, step: ProofStep) -> str:
    (premise,) = step.premises
    e, atom, kind = premise.conclusion.expr, step.data, premise.conclusion.kind
    assert isinstance(atom, Atom)
    names = script.names
    text = f"{names.variable(atom)} * ({names.expression(_without(e, atom))}) + {integer(e.constant)}"
    return call(f"factor_apart_{kind}", e.constant, R, by_lia(COMPARED[kind].format(text), script.given(premise)))


def multiple(script: Theorem, step: ProofStep) -> str:
    (premise,) = step.premises
    e, atom = step.conclusion.expr, step.data
    assert isinstance(atom, Atom)
    k, v = (atom.expr - premise.conclusion.expr).constant, script.names.variable(atom)
    least = by_lia(f"{integer(k)} <= {v}", script.given(premise))
    return call("no_multiple", v, script.names.expression(_without(e, atom)), e.constant, k, R, R, least)


def factored(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (Expr() as factor, Expr() as rest, "ge" | "eq" as kind):
            pass
        case _:
            raise NotExpressible("a factored comparison")
    premise, *signs = step.premises
    names, atoms = script.names, factor.interner.monomials[factor.terms[0][0]]
    given = dict(zip(sorted(set(atoms), key=lambda atom: atom.key), map(script.given, signs), strict=True))
    sign, lemma = ("0 < {}", "positive_product") if kind == "ge" else ("{} <> 0", "product_apart")
    proofs = [by_lia(sign.format(names.variable(atom)), given[atom]) for atom in atoms]
    proof = reduce(lambda one, other: call(lemma, one, other), proofs)
    f, r = " * ".join([names.variable(atom) for atom in atoms]), names.expression(rest)
    compare = Prop.nonnegative if kind == "ge" else Prop.zero
    whole, part = compare(factor * rest), compare(rest)
    for sense, p, q in ((kind, whole, part), ("lt" if kind == "ge" else "ne", whole.negation, part.negation)):
        for way, source, target, text in (("out", p, q, f"{f} * ({r})"), ("in", q, p, r)):
            if premise.conclusion is source and step.conclusion is target:
                stated = by_lia(COMPARED[sense].format(text), script.given(premise))
                return call(f"factor_{way}_{sense}", proof, stated)
    raise NotExpressible("a comparison of another product")


def factor_bounded(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (int() as m, Atom() as atom):
            pass
        case _:
            raise NotExpressible("a bounded factor")
    names, interner = script.names, atom.expr.interner
    whole, atoms = monomial(interner, m), interner.monomials[m]
    others = [other for other in dict.fromkeys(atoms) if other is not atom]
    product, *lows = step.premises
    t = product.conclusion.expr
    most = (whole + t).constant
    text, least, proof = "1", 1, call("Z.le_refl", 1)
    for other, low in zip(others, lows, strict=True):
        k, v = (other.expr - low.conclusion.expr).constant, names.variable(other)
        each = by_lia(f"{integer(k)} <= {v}", script.given(low))
        for _ in range(atoms.count(other)):
            proof = call("at_least_product", text, v, least, k, R, R, proof, each)
            text, least = f"{argument(text)} * {v}", least * k
            proof = by_lia(f"{integer(least)} <= {text}", proof)
    count, x = atoms.count(atom), names.variable(atom)
    root = intervals.root(most // least, count)
    sides = x, " * ".join([x] * count), text, names.expression(t), most, least, root, count
    return call("factor_bounded", *sides, R, R, R, R, "by_ring", "by_ring", proof, script.given(product))


Rule = Callable[[Theorem, ProofStep], str]

LINEAR: Final = ("trivial", "every", "some", "remaining", "clash", "absurd", "equal", "apart", "strengthen")
RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(LINEAR, premises),
    "part": part,
    "refute": refute,
    "cases": cases,
    "combine": combine,
    "equate": combine,
    "times": times,
    "multiply": multiply,
    "square": square,
    "gap": gap,
    "product-nonzero": product_nonzero,
    "nonzero-factors": nonzero_factors,
    "cancelled": cancelled,
    "factor-nonzero": factor_nonzero,
    "multiple": multiple,
    "factored": factored,
    "factor-bounded": factor_bounded,
}
