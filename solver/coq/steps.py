"""The rules of proof about propositions, sums and products, each as the application of a lemma.

A function takes the theorem and the step, and returns the term that proves the step's conclusion. It reads premises and
payload as `solver.proofs.checker` does; Coq checks that they prove the conclusion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from solver.coq.logic import impossible, projected
from solver.coq.normal import (
    normal_eq,
    normal_ge,
    normal_lt,
    normal_ne,
    plain_eq,
    plain_ge,
    plain_lt,
    plain_ne,
)
from solver.coq.terms import argument, call, integer
from solver.coq.theorem import Theorem
from solver.errors import NotExpressible
from solver.proofs.step import ProofStep
from solver.terms import intervals
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

R = "eq_refl"


def monomial(interner: Interner, m: int) -> Expr:
    """A monomial that a payload names, as an expression."""
    return interner.expr(((m, 1),), 0)


# ---------------------------------------------------------------------- propositions


def trivial(script: Theorem, step: ProofStep) -> str:
    return "I"


def part(script: Theorem, step: ProofStep) -> str:
    (whole,) = step.premises
    assert isinstance(step.data, int)
    return projected(script.given(whole), whole.conclusion, whole.conclusion.parts[step.data])


def every(script: Theorem, step: ProofStep) -> str:
    return script.logic.gathered({p.conclusion: script.given(p) for p in step.premises}, step.conclusion)


def some(script: Theorem, step: ProofStep) -> str:
    (premise,) = step.premises
    return script.logic.injected(script.given(premise), premise.conclusion, step.conclusion)


def remaining(script: Theorem, step: ProofStep) -> str:
    whole, *refuted = step.premises
    dropped = {p.conclusion.negation: script.given(p) for p in refuted}
    goal = step.conclusion

    def branch(p: Prop, name: str) -> str:
        if p in dropped:
            return impossible(script.logic.contradiction(p, name, dropped[p]))
        return script.logic.injected(name, p, goal)

    return script.logic.eliminated(script.given(whole), whole.conclusion.parts, branch)


def clash(script: Theorem, step: ProofStep) -> str:
    zero, nonzero = step.premises
    return script.logic.contradiction(zero.conclusion, script.given(zero), script.given(nonzero))


def absurd(script: Theorem, step: ProofStep) -> str:
    return impossible(script.given(step.premises[0]))


def refute(script: Theorem, step: ProofStep) -> str:
    (false,) = step.premises
    opposite = step.conclusion.negation
    name, yes = script.hypothesis(opposite), script.logic.local()
    decided = script.logic.decided(step.conclusion)
    end = impossible(script.given(false))
    return f"match {decided} with or_introl {yes} => {yes} | or_intror {name} => {end} end"


def cases(script: Theorem, step: ProofStep) -> str:
    if isinstance(step.data, Prop):
        yes, no = step.premises
        first, second = script.hypothesis(step.data), script.hypothesis(step.data.negation)
        return (
            f"match {script.logic.decided(step.data)} with or_introl {first} => {script.given(yes)} "
            f"| or_intror {second} => {script.given(no)} end"
        )
    split, *branches = step.premises

    def rest(proof: str, parts: tuple[Prop, ...], left: list[ProofStep]) -> str:
        name = script.hypothesis(parts[0])
        if len(parts) == 1:
            return f"let {name} := {proof} in {script.given(left[0])}"
        other = script.logic.local()
        inner = rest(other, parts[1:], left[1:])
        return f"match {proof} with or_introl {name} => {script.given(left[0])} | or_intror {other} => {inner} end"

    return rest(script.given(split), split.conclusion.parts, branches)


# ---------------------------------------------------------------------- linear arithmetic


def _sum(
    script: Theorem, step: ProofStep, multipliers: tuple[int, ...], lemmas: tuple[str, str]
) -> tuple[Expr, str, str]:
    """The sum of multiples of the premises: as an expression, as text, and the proof of its sign."""
    scaled, added = lemmas
    interner = step.conclusion.interner
    total, text, proof = interner.zero, "", ""
    for premise, k in zip(step.premises, multipliers, strict=True):
        e = premise.conclusion.expr
        term = f"{integer(k)} * {argument(script.names.expression(e))}"
        name = scaled
        if premise.conclusion.kind == "eq" and scaled == "scaled":
            each = call("scaled_equality", k, script.names.expression(e), script.given(premise))
        else:
            closed = (R,) if name == "scaled" else ()
            each = call(name, k, script.names.expression(e), *closed, script.given(premise))
        total = total + interner.scale(e, k)
        text, proof = (f"{text} + {term}", call(added, text, term, proof, each)) if text else (term, each)
    return total, text, proof


def combine(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (tuple() as multipliers, int() as slack):
            total, text, proof = _sum(script, step, multipliers, ("scaled", "added"))
            if slack:
                more = call("constant_nonnegative", slack, slack, R, R)
                text, proof = f"{text} + {integer(slack)}", call("added", text, slack, proof, more)
            return normal_ge(script.names, total + slack, text, proof)
    raise NotExpressible("a sum without multipliers")


def equate(script: Theorem, step: ProofStep) -> str:
    assert isinstance(step.data, tuple)
    total, text, proof = _sum(script, step, step.data, ("scaled_zero", "added_zero"))
    return normal_eq(script.names, total, text, proof)


def equal(script: Theorem, step: ProofStep) -> str:
    above, below = step.premises
    texts = [script.names.expression(p.conclusion.expr) for p in (above, below)]
    proof = call("between", *texts, "by_ring", script.given(above), script.given(below))
    return normal_eq(script.names, above.conclusion.expr, texts[0], proof)


def apart(script: Theorem, step: ProofStep) -> str:
    (premise,) = step.premises
    bounded, e = premise.conclusion.expr, step.conclusion.expr
    above = e - bounded
    lemma, k = ("apart_above", above.constant) if above.is_constant else ("apart_below", (-e - bounded).constant)
    texts = [script.names.expression(each) for each in (e, bounded)]
    return call(lemma, *texts, k, R, "by_ring", script.given(premise))


def strengthen(script: Theorem, step: ProofStep) -> str:
    inequality, disequality = step.premises
    e = inequality.conclusion.expr
    text = script.names.expression(e)
    apart = plain_ne(script.names, e, text, script.given(disequality))
    return normal_ge(script.names, e - 1, f"{text} - 1", call("strengthened", text, script.given(inequality), apart))


# ---------------------------------------------------------------------- products


def times(script: Theorem, step: ProofStep) -> str:
    left, right = [premise.conclusion.expr for premise in step.premises]
    texts = [script.names.expression(e) for e in (left, right)]
    proof = call("Z.mul_nonneg_nonneg", *texts, *[script.given(premise) for premise in step.premises])
    return normal_ge(script.names, left * right, f"({texts[0]}) * ({texts[1]})", proof)


def multiply(script: Theorem, step: ProofStep) -> str:
    (premise,) = step.premises
    e, factor = premise.conclusion.expr, step.data
    assert isinstance(factor, Expr)
    texts = [script.names.expression(each) for each in (e, factor)]
    proof = call("zero_product", *texts, script.given(premise))
    return normal_eq(script.names, e * factor, f"({texts[0]}) * ({texts[1]})", proof)


def square(script: Theorem, step: ProofStep) -> str:
    e = step.data
    assert isinstance(e, Expr)
    text = script.names.expression(e)
    return normal_ge(script.names, e * e, f"({text}) * ({text})", call("Z.square_nonneg", text))


def gap(script: Theorem, step: ProofStep) -> str:
    e = step.data
    assert isinstance(e, Expr)
    text = script.names.expression(e)
    return normal_ge(script.names, e * e - e, f"({text}) * ({text}) - ({text})", call("gap", text))


def _product_apart(factors: list[tuple[str, str]]) -> tuple[str, str]:
    """A product of these texts, each with the proof that it is not zero."""
    (text, proof), *rest = factors
    for other, each in rest:
        text, proof = f"{argument(text)} * {argument(other)}", call("product_apart", text, other, proof, each)
    return text, proof


def product_nonzero(script: Theorem, step: ProofStep) -> str:
    e = step.conclusion.expr
    given = {premise.conclusion.expr: script.given(premise) for premise in step.premises}
    atoms = e.interner.monomials[e.terms[0][0]]
    text, proof = _product_apart([(script.names.variable(atom), given[atom.expr]) for atom in atoms])
    return normal_ne(script.names, monomial(e.interner, e.terms[0][0]), text, proof)


def nonzero_factors(script: Theorem, step: ProofStep) -> str:
    assert isinstance(step.data, tuple)
    names = script.names
    factors = []
    product = step.conclusion.interner.one
    for premise, (factor, power) in zip(step.premises, step.data, strict=True):
        text = names.expression(factor)
        factors += [(text, plain_ne(names, factor, text, script.given(premise)))] * power
        for _ in range(power):
            product = product * factor
    text, proof = _product_apart(factors)
    return normal_ne(names, product, text, proof)


def cancelled(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (Expr() as rest, Expr() as factor, int() as power):
            product, nonzero = step.premises
            names = script.names
            f = names.expression(factor)
            apart = plain_ne(names, factor, f, script.given(nonzero))
            texts = [names.expression(rest)]
            whole = rest
            for _ in range(power):
                texts.append(f"{argument(texts[-1])} * {argument(f)}")
                whole = whole * factor
            proof = plain_eq(names, whole, texts[-1], script.given(product))
            for text in reversed(texts[:-1]):
                proof = call("cancelled", text, f, apart, proof)
            return normal_eq(names, rest, texts[0], proof)
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
    e, atom = premise.conclusion.expr, step.data
    assert isinstance(atom, Atom)
    texts = [script.names.expression(each) for each in (e, atom.expr, _without(e, atom))]
    lemma = f"factor_apart_{premise.conclusion.kind}"
    return call(lemma, *texts, e.constant, R, "by_ring", script.given(premise))


def _positive(script: Theorem, premise: ProofStep, atom: Atom) -> str:
    """`0 < atom` from `atom >= k`, k >= 1."""
    bound = premise.conclusion.expr
    k = (atom.expr - bound).constant
    variable = script.names.variable(atom)
    return call("positive", variable, script.names.expression(bound), k, R, "by_ring", script.given(premise))


def multiple(script: Theorem, step: ProofStep) -> str:
    (premise,) = step.premises
    e, atom = step.conclusion.expr, step.data
    assert isinstance(atom, Atom)
    bound = premise.conclusion.expr
    k = (atom.expr - bound).constant
    names = script.names
    texts = names.expression(e), names.variable(atom), names.expression(_without(e, atom))
    identities = R, R, "by_ring", "by_ring"
    return call("no_multiple", *texts, e.constant, k, names.expression(bound), *identities, script.given(premise))


def factored(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (Expr() as factor, Expr() as rest, "ge" | "eq" as kind):
            pass
        case _:
            raise NotExpressible("a factored comparison")
    premise, *signs = step.premises
    names, interner = script.names, factor.interner
    atoms = interner.monomials[factor.terms[0][0]]
    given = dict(zip(sorted(set(atoms), key=lambda atom: atom.key), signs, strict=True))
    f, r = names.expression(factor), names.expression(rest)
    proofs = []
    for atom in atoms:
        stated = given[atom]
        if stated.conclusion.kind == "ne":
            proofs.append(script.given(stated))
        else:
            sign = _positive(script, stated, atom)
            proofs.append(sign if kind == "ge" else call("positive_apart", names.variable(atom), sign))
    text, proof = names.variable(atoms[0]), proofs[0]
    for atom, each in zip(atoms[1:], proofs[1:], strict=True):
        v = names.variable(atom)
        lemma = "positive_product" if kind == "ge" else "product_apart"
        text, proof = f"{argument(text)} * {v}", call(lemma, text, v, proof, each)
    whole_e = factor * rest
    compare = Prop.nonnegative if kind == "ge" else Prop.zero
    whole, part = compare(whole_e), compare(rest)
    opposite = "lt" if kind == "ge" else "ne"
    plains = {"ge": plain_ge, "eq": plain_eq, "lt": plain_lt, "ne": plain_ne}
    normals = {"ge": normal_ge, "eq": normal_eq, "lt": normal_lt, "ne": normal_ne}
    t = names.expression(whole_e)
    for p, q, out, sense in (
        (whole, part, True, kind),
        (whole.negation, part.negation, True, opposite),
        (part, whole, False, kind),
        (part.negation, whole.negation, False, opposite),
    ):
        if premise.conclusion is p and step.conclusion is q:
            source, target = ((whole_e, t), (rest, r)) if out else ((rest, r), (whole_e, t))
            inner = plains[sense](names, *source, script.given(premise))
            lemma = f"factor_{'out' if out else 'in'}_{sense}"
            moved = call(lemma, t, f, r, "by_ring", proof, inner)
            return normals[sense](names, *target, moved)
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
        bound = low.conclusion.expr
        k = (other.expr - bound).constant
        v = names.variable(other)
        each = call("low_of", names.expression(bound), v, k, "by_ring", script.given(low))
        for _ in range(atoms.count(other)):
            proof = call(
                "weaker_low",
                f"{argument(text)} * {v}",
                f"{least} * {k}",
                least * k,
                R,
                call("at_least_product", text, v, least, k, R, R, proof, each),
            )
            text, least = f"{argument(text)} * {v}", least * k
    count = atoms.count(atom)
    root = intervals.root(most // least, count)
    x = names.variable(atom)
    p = " * ".join([x] * count)
    sides = x, p, text, names.expression(t), integer(most), integer(least), integer(root), integer(count)
    found = call("factor_bounded", *sides, R, R, R, R, "by_ring", "by_ring", proof, script.given(product))
    return normal_ge(names, root - atom.expr, f"{integer(root)} - {x}", found)


Rule = Callable[[Theorem, ProofStep], str]

RULES: Final[dict[str, Rule]] = {
    "trivial": trivial,
    "part": part,
    "every": every,
    "some": some,
    "remaining": remaining,
    "clash": clash,
    "absurd": absurd,
    "refute": refute,
    "cases": cases,
    "combine": combine,
    "equate": equate,
    "equal": equal,
    "apart": apart,
    "strengthen": strengthen,
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
