"""z3 as an oracle: does a proposition follow from others, over the integers?

Every question has a context of its own, so that no answer depends on an earlier one and no z3 object outlives it; symbols are renamed in structural order; limits
count z3's own steps, with a time-out only as a back-up. Python's floor division is translated exactly for either sign; a zero divisor may give anything, and opaque
functions are fresh variables: both only weaken what z3 is told, so "unsat" stays sound, and models are evaluated before they count.

    >>> from solver.edges.z3 import Proved, entails
    >>> from solver.interner import Interner
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> entails([terms.ge(x, 3), terms.ge(y, 0), terms.ge(y, x)], terms.ge(x * y, 9))
    Proved(core=(0, 2))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from solver.expr import Atom, Expr
from solver.prop import Prop

if TYPE_CHECKING:
    import z3


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard z3 may try. `steps` is its own resource count, the same on every machine; the time-out is the back-up."""

    steps: int = 2_000_000
    milliseconds: int = 2_000
    terms: int = 600
    degree: int = 8
    bits: int = 512


@dataclass(frozen=True, slots=True)
class Proved:
    """The goal follows from the facts at these positions; none of them could be left out within the limits."""

    core: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Refuted:
    """An assignment of the symbols that satisfies the facts and not the goal, checked by evaluation."""

    model: Mapping[Atom, int]


@dataclass(frozen=True, slots=True)
class Unknown:
    """z3 did not say, or what it said did not stand evaluation."""

    reason: str


LIMITS: Final = Limits()
TRIED: Final = 16
"""Facts of a core that are tried to be left out, with less effort than the proof itself."""


def entails(facts: Sequence[Prop], goal: Prop, limits: Limits = LIMITS) -> Proved | Refuted | Unknown:
    """Whether the goal holds wherever all the facts do."""
    reason = too_large([*facts, goal], limits)
    if reason is not None:
        return Unknown(reason)
    import z3

    context = z3.Context()
    translation = Translation(context)
    symbols = sorted({atom for p in (*facts, goal) for atom in p.symbols}, key=lambda atom: atom.key)
    for number, atom in enumerate(symbols):
        translation.name(atom, f"x{number}")
    translated = [translation.proposition(p) for p in facts]
    negated = z3.Not(translation.proposition(goal))
    try:
        outcome = _check(z3, context, translation.laws, translated, negated, range(len(facts)), limits)
        if outcome == z3.unknown:
            return Unknown("z3 gave up within its limits")
        if isinstance(outcome, z3.ModelRef):
            return _evaluated(outcome, translation, symbols, facts, goal)
        return Proved(_minimal(z3, context, translation.laws, translated, negated, outcome, limits))
    except z3.Z3Exception as error:
        return Unknown(f"z3 failed: {error}")


def too_large(props: Sequence[Prop], limits: Limits) -> str | None:
    """Why z3 is not asked at all."""
    terms = 0
    for p in props:
        for q in p.comparisons():
            exprs = [q.expr, *[arg for atom in q.atoms for arg in atom.args if isinstance(arg, Expr)]]
            for e in exprs:
                terms += len(e.terms)
                if e.degree > limits.degree:
                    return f"degree {e.degree} is more than {limits.degree}"
                if any(c.bit_length() > limits.bits for _, c in e.terms) or e.constant.bit_length() > limits.bits:
                    return f"a number has more than {limits.bits} bits"
    return f"{terms} terms are more than {limits.terms}" if terms > limits.terms else None


def _check(z3, context, laws, facts, negated, kept, limits):  # type: ignore[no-untyped-def]
    """A model, the positions of an unsatisfiable core, or unknown."""
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", limits.steps)
    solver.set("timeout", limits.milliseconds)
    solver.add(*laws, negated)
    labels = {f"fact{i}": i for i in kept}
    for label, i in labels.items():
        solver.assert_and_track(facts[i], z3.Bool(label, context))
    answer = solver.check()
    if answer == z3.sat:
        return solver.model()
    if answer == z3.unsat:
        return sorted(labels[str(label)] for label in solver.unsat_core())
    return z3.unknown


def _minimal(z3, context, laws, facts, negated, core, limits) -> tuple[int, ...]:  # type: ignore[no-untyped-def]
    """The core without the facts that can be left out, one after the other."""
    kept = list(core)
    less = replace(limits, steps=limits.steps // 4, milliseconds=limits.milliseconds // 8)
    for i in list(core)[:TRIED]:
        rest = [k for k in kept if k != i]
        outcome = _check(z3, context, laws, facts, negated, rest, less)
        if isinstance(outcome, list):
            kept = outcome
    return tuple(kept)


def _evaluated(
    model: z3.ModelRef, translation: Translation, symbols: Sequence[Atom], facts: Sequence[Prop], goal: Prop
) -> Refuted | Unknown:
    values = {atom: model.eval(translation.values[atom], model_completion=True).as_long() for atom in symbols if atom.definition is None}
    for atom in symbols:
        if atom.definition is not None:
            values[atom] = atom.definition.evaluate(values)
    try:
        if all(p.evaluate(values) for p in facts) and not goal.evaluate(values):
            return Refuted(values)
    except (OverflowError, KeyError):
        pass
    return Unknown("z3's model does not stand evaluation")


class Translation:
    """Expressions and propositions as z3 terms of one context."""

    def __init__(self, context: z3.Context) -> None:
        self.context = context
        self.values: dict[Atom, z3.ArithRef] = {}
        self.laws: list[z3.BoolRef] = []

    def name(self, atom: Atom, name: str) -> None:
        import z3

        self.values[atom] = z3.Int(name, self.context)

    def expression(self, e: Expr) -> z3.ArithRef:
        for atom in e.schedule:
            self.ensure(atom)
        return self.polynomial(e)

    def ensure(self, atom: Atom) -> None:
        if atom not in self.values:
            self.values[atom] = self.operation(atom)

    def polynomial(self, e: Expr) -> z3.ArithRef:
        import z3

        monomials = e.interner.monomials
        parts = [z3.IntVal(e.constant, self.context)]
        for m, c in e.terms:
            factors = [self.values[atom] for atom in monomials[m]]
            product = factors[0]
            for factor in factors[1:]:
                product = product * factor
            parts.append(product if c == 1 else z3.IntVal(c, self.context) * product)
        return z3.Sum(parts) if len(parts) > 1 else parts[0]

    def operation(self, atom: Atom) -> z3.ArithRef:
        import z3

        match atom.kind, atom.args:
            case "floordiv", (Expr() as n, Expr() as d):
                a, b = self.polynomial(n), self.polynomial(d)
                if d.is_constant:
                    return a / b
                return z3.If(b > 0, a / b, (-a) / (-b))
            case "relu", (Expr() as e,):
                value = self.polynomial(e)
                return z3.If(value >= 0, value, z3.IntVal(0, self.context))
            case "ite", (Prop() as p, Expr() as e):
                return z3.If(self.proposition(p), self.polynomial(e), z3.IntVal(0, self.context))
            case "product", (Expr() as a, Expr() as b):
                return self.polynomial(a) * self.polynomial(b)
            case _:
                opaque = z3.Int(f"opaque{len(self.values)}", self.context)
                if atom.kind == "bitand":
                    for arg in atom.args:
                        assert isinstance(arg, Expr)
                        side = self.polynomial(arg)
                        self.laws.append(z3.Implies(side >= 0, z3.And(opaque >= 0, opaque <= side)))
                return opaque

    def proposition(self, p: Prop) -> z3.BoolRef:
        import z3

        for atom in p.schedule:
            self.ensure(atom)
        match p.kind:
            case "ge":
                return self.polynomial(p.expr) >= 0
            case "eq":
                return self.polynomial(p.expr) == 0
            case "ne":
                return self.polynomial(p.expr) != 0
            case "and":
                return z3.And([self.proposition(part) for part in p.parts])
            case "or":
                return z3.Or([self.proposition(part) for part in p.parts])
            case _:
                return z3.BoolVal(p.kind == "true", self.context)
