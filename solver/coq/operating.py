"""The rules of proof about operations, bounds, substitution and enumeration, each as the application of lemmas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from solver.coq import bounding
from solver.coq.bounding import Range
from solver.coq.normal import normal_eq, normal_ge, plain_eq, plain_ge
from solver.coq.rewriting import Carried, Substitution
from solver.coq.steps import Rule, monomial
from solver.coq.terms import argument, call, integer
from solver.coq.theorem import Theorem
from solver.errors import NotExpressible
from solver.proofs.step import ProofStep
from solver.terms.expr import Atom, Expr
from solver.terms.functions import function
from solver.terms.prop import Prop

R = "eq_refl"


def _reader(script: Theorem, step: ProofStep) -> Callable[[Expr], Range]:
    return bounding.reader(script.names, [(premise.conclusion, script.given(premise)) for premise in step.premises])


def _end(script: Theorem, e: Expr, lower: object, found: Range) -> str:
    """An end of a range as a statement about an expression."""
    end = found.low if lower else found.high
    if end is None:
        raise NotExpressible(f"a bound of {e} that its premises do not give")
    value, proof = end
    lemma = "of_low" if lower else "of_high"
    text = f"{argument(found.text)} - {integer(value)}" if lower else f"{integer(value)} - {argument(found.text)}"
    return normal_ge(script.names, e - value if lower else value - e, text, call(lemma, found.text, value, proof))


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
            return _end(script, monomial(interner, m), lower, total)
    raise NotExpressible("a bound of no monomial")


def grouped(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (int() as m, int() as n, lower):
            interner = step.conclusion.interner
            left, right, known = monomial(interner, m), monomial(interner, n), _reader(script, step)
            return _end(script, left * right, lower, bounding.product(known(left), known(right)))
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
            named = bounding.renamed(found, names.variable(atom), f"eq_sym {names.equation(atom)}")
            return _end(script, atom.expr, lower, named)
    raise NotExpressible("a bound of no operation")


def shift(script: Theorem, step: ProofStep) -> str:
    """Every atom is its end plus (or minus) something that is not negative; then no coefficient is negative."""
    e = step.conclusion.expr
    interner, names = e.interner, script.names
    assert isinstance(step.data, tuple)
    over: dict[Atom, Expr] = {}
    images: dict[Atom, Expr] = {}
    spare: dict[Atom, tuple[str, str]] = {}
    for premise, (atom, (end, lower)) in zip(step.premises, step.data, strict=True):
        v = names.variable(atom)
        if isinstance(end, Expr):
            over[atom] = atom.expr + end if lower else end - atom.expr
            text = f"{v} - ({names.expression(end)})" if lower else f"({names.expression(end)}) - {v}"
            stated = atom.expr - end if lower else end - atom.expr
        else:
            images[atom] = atom.expr + end if lower else end - atom.expr
            text = f"{v} - {integer(end)}" if lower else f"{integer(end)} - {v}"
            stated = atom.expr - end if lower else end - atom.expr
        spare[atom] = argument(text), plain_ge(names, stated, text, script.given(premise))
    shifted = interner.replace(interner.replace(e, over), images)
    parts: list[tuple[str, str]] = []
    for m, c in shifted.terms:
        text, proof = "", ""
        for atom in interner.monomials[m]:
            each, sign = spare[atom]
            proof = call("Z.mul_nonneg_nonneg", text, each, proof, sign) if text else sign
            text = f"({text} * {each})" if text else each
        parts.append((f"{integer(c)} * {text}", call("scaled", c, text, R, proof)))
    if shifted.constant or not parts:
        constant = shifted.constant
        parts.append((integer(constant), call("constant_nonnegative", constant, constant, R, R)))
    text, proof = parts[0]
    for other, each in parts[1:]:
        text, proof = f"{text} + {other}", call("added", text, other, proof, each)
    return call("moved_ge", text, names.expression(e), "by_ring", proof)


# ---------------------------------------------------------------------- definitions


def _positive_divisor(script: Theorem, step: ProofStep, d: Expr) -> str:
    """`0 < d`, by computation or from the one premise `d - 1 >= 0`."""
    if d.is_constant:
        return R
    text = script.names.expression(d)
    (premise,) = step.premises[-1:]
    bound = plain_ge(script.names, d - 1, f"{text} - 1", script.given(premise))
    return call("positive", text, f"{text} - 1", 1, R, "by_ring", bound)


def axiom(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (Atom() as atom, str() as name):
            pass
        case _:
            raise NotExpressible("an axiom of no operation")
    names = script.names
    value, v, equation = atom.expr, names.variable(atom), names.equation(atom)
    given = [script.given(premise) for premise in step.premises]
    match atom.kind, name, atom.args:
        case "relu", "above zero", _:
            return normal_ge(names, value, v, call("relu_above_zero", v, "_", equation))
        case "relu", "above argument", (Expr() as e,):
            text = names.expression(e)
            proof = call("relu_above_argument", v, text, equation)
            return normal_ge(names, value - e, f"{v} - ({text})", proof)
        case "relu", "at least", (Expr() as e,):
            bound = step.premises[0].conclusion.expr
            k = (value - bound).constant
            text = names.expression(e)
            proof = call("relu_at_least", v, text, names.expression(bound), k, R, equation, "by_ring", given[0])
            return normal_ge(names, e - k, f"{text} - {integer(k)}", proof)
        case "relu", "positive", (Expr() as e,):
            text = names.expression(e)
            proof = call("relu_positive", v, text, equation, plain_ge(names, e, text, given[0]))
            return normal_eq(names, value - e, f"{v} - ({text})", proof)
        case "relu", "negative", (Expr() as e,):
            text, turned = names.expression(e), names.expression(-e)
            sign = plain_ge(names, -e, turned, given[0])
            return normal_eq(names, value, v, call("relu_negative", v, text, turned, equation, "by_ring", sign))
        case "ite", "positive", (Prop() as p, Expr() as e):
            text = names.expression(e)
            proof = call("choice_taken", "_", v, text, equation, script.logic.true(p, given[0]))
            return normal_eq(names, value - e, f"{v} - ({text})", proof)
        case "ite", "negative", (Prop() as p, Expr() as e):
            proof = call("choice_left", "_", v, names.expression(e), equation, script.logic.false(p, given[0]))
            return normal_eq(names, value, v, proof)
        case "floordiv", "below" | "above", (Expr() as n, Expr() as d):
            a, b = names.expression(n), names.expression(d)
            sign = _positive_divisor(script, step, d)
            if name == "below":
                proof = call("quotient_below", v, a, b, equation, sign)
                return normal_ge(names, n - d * value, f"{argument(a)} - {argument(b)} * {v}", proof)
            proof = call("quotient_above", v, a, b, equation, sign)
            text = f"{argument(b)} * {v} + {argument(b)} - 1 - {argument(a)}"
            return normal_ge(names, d * value + d - 1 - n, text, proof)
        case "floordiv", "below negative" | "above negative", (Expr() as n, Expr() as d):
            a, b = names.expression(n), names.expression(d)
            sign = call("negative_divisor", b, plain_ge(names, -d - 1, f"- {argument(b)} - 1", given[0]))
            remainder = f"{argument(a)} - {argument(b)} * {v}"
            if name == "below negative":
                proof = call("quotient_below_negative", v, a, b, equation, sign)
                return normal_ge(names, d * value - n, f"- ({remainder})", proof)
            proof = call("quotient_above_negative", v, a, b, equation, sign)
            return normal_ge(names, n - d * value - d - 1, f"{remainder} - {argument(b)} - 1", proof)
        case "bitand", "at most first" | "at most second", (Expr() as first, Expr() as second):
            masked, mask = (first, second) if name == "at most first" else (second, first)
            a, b, m = names.expression(first), names.expression(second), names.expression(masked)
            if step.premises[0].conclusion is Prop.nonnegative(masked):
                sign = call("or_introl", plain_ge(names, masked, m, given[0]))
            else:
                text = f"- {argument(names.expression(mask))} - 1"
                sign = call("or_intror", plain_ge(names, -mask - 1, text, given[0]))
            lemma = "land_first" if name == "at most first" else "land_second"
            return normal_ge(names, masked - value, f"{argument(m)} - {v}", call(lemma, v, a, b, equation, sign))
        case "function", "exact", _:
            return script.assumed(step, f"where {atom.name} rounds nothing")
        case "function", _, _:
            return script.assumed(step, f"{name}, of {atom.name}")
    raise NotExpressible(f"`{name}` of {atom.name or atom.kind}")


def isolate(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (Atom(args=(Expr() as n, Expr() as d)) as atom, Expr() as rest, 1 | -1 as sign):
            names = script.names
            equation = names.equation(atom)
            isolated, sign_of_divisor = step.premises
            if sign_of_divisor.conclusion is Prop.nonnegative(-d - 1):
                a, b = names.expression(n), names.expression(d)
                bound = plain_ge(names, -d - 1, f"- {argument(b)} - 1", script.given(sign_of_divisor))
                negative = call("negative_divisor", b, bound)
                n, d = -n, -d
                x, y = names.expression(n), names.expression(d)
                v = names.variable(atom)
                equation = call("negated_quotient", v, a, b, x, y, equation, negative, "by_ring", "by_ring")
            a, b, r, v = names.expression(n), names.expression(d), names.expression(rest), names.variable(atom)
            positive = _positive_divisor(script, step, d)
            if sign > 0:
                text = f"{argument(a)} + {argument(b)} * {argument(r)}"
                stated = plain_ge(names, n + d * rest, text, script.given(isolated))
                proof = call("isolated_above", v, a, b, r, text, equation, positive, "by_ring", stated)
                return normal_ge(names, atom.expr + rest, f"{v} + ({r})", proof)
            text = f"{argument(b)} * ({r} + 1) - 1 - {argument(a)}"
            stated = plain_ge(names, d * (rest + 1) - 1 - n, text, script.given(isolated))
            proof = call("isolated_below", v, a, b, r, text, equation, positive, "by_ring", stated)
            return normal_ge(names, rest - atom.expr, f"- {v} + ({r})", proof)
    raise NotExpressible("no isolated floor division")


def definition(script: Theorem, step: ProofStep) -> str:
    match step.data:
        case (Expr() as named, Expr() as name):
            names = script.names
            v, text = names.variable(name.atom), names.expression(named)
            proof = call("difference", v, text, f"{v} - ({text})", names.equation(name.atom), "by_ring")
            return normal_eq(names, name - named, f"{v} - ({text})", proof)
    raise NotExpressible("a definition of nothing")


def rewrite(script: Theorem, step: ProofStep) -> str:
    assert isinstance(step.data, tuple)
    count = sum([len(steps) for steps in step.data])
    statement = step.premises[: len(step.premises) - count]
    goal = step.conclusion
    equalities = iter(step.premises[len(statement) :])
    rounds = [[(m, image, next(equalities)) for m, image in steps] for steps in step.data]
    if not statement:
        last, back = _carried(script, goal, rounds, forward=False)
        if last.kind != "true":
            raise NotExpressible("a substitution that leaves something to show")
        return back("I")
    (given,) = statement
    last, onward = _carried(script, given.conclusion, rounds, forward=True)
    if last is goal:
        return onward(script.given(given))
    last, back = _carried(script, goal, rounds, forward=False)
    if last is not given.conclusion:
        raise NotExpressible("a substitution that leads elsewhere")
    return back(script.given(given))


def _carried(
    script: Theorem, p: Prop, rounds: list[list[tuple[int, Expr, ProofStep]]], *, forward: bool
) -> tuple[Prop, Callable[[str], str]]:
    """The proposition after all rounds, and how proofs of it are carried there (forward) or back."""
    rounds_made: list[Carried] = []
    interner, names = p.interner, script.names
    for steps in rounds:
        substitution = Substitution(script.canonical, script.remember)
        for m, image, equality in steps:
            whole = monomial(interner, m)
            texts = names.expression(whole), names.expression(image)
            zero = plain_eq(names, whole - image, f"{texts[0]} - ({texts[1]})", script.given(equality))
            name = script.remember(f"{texts[0]} = {texts[1]}", call("Zminus_eq", *texts, zero))
            atoms = interner.monomials[m]
            if len(atoms) == 1:
                substitution.images[atoms[0]] = image, name
            else:
                substitution.product = m, image, name
        substitution.prepare(p.schedule)
        carried = substitution.proposition(p)
        rounds_made.append(carried)
        p = carried.prop

    def carry(proof: str) -> str:
        for carried in rounds_made if forward else reversed(rounds_made):
            proof = carried.forward(proof) if forward else carried.backward(proof)
        return proof

    return p, carry


# ---------------------------------------------------------------------- enumeration


def box(script: Theorem, step: ProofStep) -> str:
    """The goal computed at every assignment in the box."""
    goal, sides, names, logic = step.conclusion, step.data, script.names, script.logic
    assert isinstance(sides, tuple)
    bounds, others = step.premises[: 2 * len(sides)], step.premises[2 * len(sides) :]
    composite = {atom for p in (goal, *[other.conclusion for other in others]) for atom in p.schedule}
    schedule = sorted(composite, key=lambda atom: (atom.depth, atom.serial))
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
        ends = []
        for premise, stated, text, lemma, value in (
            (below, atom.expr - low, f"{v} - {integer(low)}", "low_of", low),
            (above, high - atom.expr, f"{integer(high)} - {v}", "high_of", high),
        ):
            plain = plain_ge(names, stated, text, script.given(premise))
            ends.append(call(lemma, text, v, value, "by_ring", plain))
        proof = call("boxed", low, high, f"fun {v} => {over(sides[index + 1 :])}", proof, v, *ends)
    name = script.folded(f"{argument(test)} = true", proof, [names.equation(atom) for atom in schedule])
    for other in others:
        name = call("implied", "_", "_", name, logic.true(other.conclusion, script.given(other)))
    return logic.of_true(goal, name)


def residues(script: Theorem, step: ProofStep) -> str:
    """Not zero whatever the residues of its atoms, each residue computed."""
    m, e, names = step.data, step.conclusion.expr, script.names
    assert isinstance(m, int)
    interner = e.interner
    taken = [(c % m, interner.monomials[n]) for n, c in e.terms if c % m]
    atoms = list(dict.fromkeys([atom for _, factors in taken for atom in factors]))
    left = interner.expr(tuple([(n, (c - c % m) // m) for n, c in e.terms if c - c % m]), 0)

    def written(values: dict[Atom, str]) -> str:
        """The terms that the modulus does not divide, at these values."""
        parts = [" * ".join([integer(c), *[values[atom] for atom in factors]]) for c, factors in taken]
        return " + ".join([*parts, integer(e.constant)])

    def tested(values: dict[Atom, str], rest: list[Atom]) -> str:
        """That no residues of the rest give zero."""
        text = f"negb (({written({**values, **{atom: names.variable(atom) + '_' for atom in rest}})}) mod {m} =? 0)"
        for atom in reversed(rest):
            text = f"every_from 0 (Z.to_nat ({m} - 1 - 0 + 1)) (fun {names.variable(atom)}_ => {text})"
        return text

    proof = ""
    for c, factors in [*taken, (e.constant, ())]:
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
