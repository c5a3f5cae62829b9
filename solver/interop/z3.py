"""z3 as an oracle: does a proposition follow from others, over the integers?

Every question has a context of its own, so that no answer depends on an earlier one and no z3 object outlives it;
symbols are renamed in the order in which they were made; limits count z3's own steps, a time-out is the back-up.

    >>> from solver.interop.z3 import Proved, entails
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> entails([terms.ge(x, 3), terms.ge(y, 0), terms.ge(y, x)], terms.ge(x * y, 9))
    Proved(core=(0, 2))

Python's `n // d` is, for either sign of d, a fresh integer q with `n - d*q` between 0 and d. That leaves q free where
d is zero, which is outside the domain; `&`, symbolic powers and opaque functions are functions of which only some laws
are told. Both weaken what z3 knows, so "unsat" stays sound, and models are evaluated before they count. Some questions
are easier with z3's own division: it is asked a second time so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from solver.terms.atoms import arguments
from solver.terms.deadline import look, seconds_left
from solver.terms.expr import Atom, Expr
from solver.terms.operations import Statement
from solver.terms.prop import Prop

if TYPE_CHECKING:
    import z3


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one z3 query.

    `steps` is z3's own count, the same on every machine; the time-out is the back-up.
    """

    steps: int = 2_000_000
    milliseconds: int = 5_000
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
    """No answer by z3, or one that evaluation refuted."""

    reason: str


LIMITS: Final = Limits()
LOADING: Final = 1.0
"""Seconds that loading z3 may take."""
FIRST: Final = 6
"""The first strategy gets one part in this many of the steps: easy questions take few."""
LEAST: Final = 20_000
"""Minimum step limit of an attempt to drop one fact of a core."""
SHRINKING: Final = 1
"""Minimizing the core may take this many times the steps of the proof, plus four times `LEAST`."""


def objection(facts: Sequence[Prop], goal: Prop) -> str | None:
    """The reason why z3 does not prove the goal from the facts; None where it does.

    For `solver.proofs.checker`.
    """
    outcome = entails(facts, goal, minimal=False)
    return None if isinstance(outcome, Proved) else str(outcome)


def entails(
    facts: Sequence[Prop], goal: Prop, limits: Limits = LIMITS, *, minimal: bool = True
) -> Proved | Refuted | Unknown:
    """Decide whether the facts entail the goal.

    Args:
        minimal: true to drop facts from the core one after the other, as long as it remains a core.
    """
    reason = too_large([*facts, goal], limits)
    if reason is not None:
        return Unknown(reason)
    left = seconds_left()
    if left is not None and left < LOADING and "z3" not in sys.modules:
        return Unknown("no time is left to load z3")
    import z3

    try:
        answer: Proved | Refuted | Unknown = Unknown("z3 was not asked")
        part = replace(limits, steps=limits.steps // FIRST)
        for own_division, allowed in ((False, part), (True, limits)):
            answer = Question(facts, goal, own_division).answer(allowed, minimal)
            if not isinstance(answer, Unknown):
                break
        return answer
    except z3.Z3Exception as error:
        return Unknown(f"z3 failed: {error}")


def too_large(props: Sequence[Prop], limits: Limits) -> str | None:
    """The reason why a question is too large for z3, or None."""
    terms = 0
    for e in expressions(props):
        terms += len(e.terms)
        if e.degree > limits.degree:
            return f"degree {e.degree} is more than {limits.degree}"
        if any(c.bit_length() > limits.bits for _, c in e.terms) or e.constant.bit_length() > limits.bits:
            return f"a number has more than {limits.bits} bits"
    return f"{terms} terms are more than {limits.terms}" if terms > limits.terms else None


def expressions(props: Iterable[Prop]) -> Iterable[Expr]:
    """All expressions of a z3 query; arguments of shared atoms once for each comparison."""
    for p in props:
        for q in p.comparisons():
            yield q.expr
            for atom in q.atoms:
                yield from arguments(atom)


class Question:
    """One question in a context of its own."""

    def __init__(self, facts: Sequence[Prop], goal: Prop, own_division: bool) -> None:
        import z3

        self.facts = facts
        self.goal = goal
        self.context = z3.Context()
        self.symbols = sorted({atom for p in (*facts, goal) for atom in p.symbols}, key=_age)
        self.translation = Translation(self.context, own_division)
        for number, atom in enumerate(self.symbols):
            self.translation.values[atom] = z3.Int(f"x{number}", self.context)
        self.translated = [self.translation.proposition(p) for p in facts]
        self.negated = z3.Not(self.translation.proposition(goal))

    def answer(self, limits: Limits, minimal: bool) -> Proved | Refuted | Unknown:
        outcome, steps = self.check(range(len(self.facts)), limits)
        if outcome is None:
            return Unknown("z3 answered unknown within its limits")
        if not isinstance(outcome, list):
            return self.evaluated(outcome)
        return Proved(self.minimal(outcome, steps, limits) if minimal else tuple(outcome))

    def check(self, kept: Iterable[int], limits: Limits) -> tuple[list[int] | z3.ModelRef | None, int]:
        """The positions of an unsatisfiable core, a model, or None; and the steps that it took."""
        import z3

        solver = z3.Solver(ctx=self.context)
        solver.set("rlimit", limits.steps)
        left = seconds_left()
        most = limits.milliseconds if left is None else max(1, min(limits.milliseconds, int(1000 * left)))
        solver.set("timeout", most)
        solver.add(*self.translation.laws, self.negated)
        before = steps_of(solver)
        labels = {f"fact{i}": i for i in kept}
        for label, i in labels.items():
            solver.assert_and_track(self.translated[i], z3.Bool(label, self.context))
        answer = solver.check()
        look()
        steps = steps_of(solver) - before
        if answer == z3.sat:
            return solver.model(), steps
        if answer == z3.unsat:
            return sorted([labels[str(label)] for label in solver.unsat_core()]), steps
        return None, steps

    def minimal(self, core: list[int], steps: int, limits: Limits) -> tuple[int, ...]:
        """The core without facts that can be left out, tried one after the other in a few times the proof's steps.

        (z3's own minimization takes as long.)
        """
        kept = core
        less = replace(limits, steps=min(limits.steps, max(LEAST, steps)))
        budget = SHRINKING * steps + 4 * LEAST
        for i in core:
            if i in kept and budget > 0:
                outcome, used = self.check([k for k in kept if k != i], less)
                budget -= used
                if isinstance(outcome, list):
                    kept = outcome
        return tuple(kept)

    def evaluated(self, model: z3.ModelRef) -> Refuted | Unknown:
        values: dict[Atom, int] = {}
        for atom in self.symbols:
            if atom.definition is None:
                values[atom] = model.eval(self.translation.values[atom], model_completion=True).as_long()
        try:
            for atom in self.symbols:
                if atom.definition is not None:
                    values[atom] = atom.definition.evaluate(values)
            if all(p.evaluate(values) for p in self.facts) and not self.goal.evaluate(values):
                return Refuted(values)
        except (OverflowError, KeyError):
            pass
        return Unknown("z3's model does not stand evaluation")


def steps_of(solver: z3.Solver) -> int:
    """The number of steps that z3 has counted so far."""
    statistics = solver.statistics()
    return int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118


class Translation:
    """Expressions and propositions as z3 terms of one context, and the laws of the operations in them."""

    def __init__(self, context: z3.Context, own_division: bool) -> None:
        self.context = context
        self.own_division = own_division
        self.values: dict[Atom, z3.ArithRef] = {}
        self.laws: list[z3.BoolRef] = []

    def proposition(self, root: Prop) -> z3.BoolRef:
        """Translate a proposition: atoms by depth, then parts first, without recursion."""
        import z3

        for atom in root.schedule:
            look()
            if atom not in self.values:
                self.values[atom] = self.operation(atom)
        done: dict[Prop, z3.BoolRef] = {}
        stack = [root]
        while stack:
            p = stack[-1]
            waiting = [part for part in p.parts if part not in done]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if p.parts:
                done[p] = (z3.And if p.kind == "and" else z3.Or)([done[part] for part in p.parts])
            else:
                done[p] = self.comparison(p)
        return done[root]

    def comparison(self, p: Prop) -> z3.BoolRef:
        import z3

        match p.kind:
            case "ge":
                return self.polynomial(p.expr) >= 0
            case "eq":
                return self.polynomial(p.expr) == 0
            case "ne":
                return self.polynomial(p.expr) != 0
            case _:
                return z3.BoolVal(p.kind == "true", self.context)

    def polynomial(self, e: Expr) -> z3.ArithRef:
        """A polynomial over the atoms translated so far."""
        import z3

        monomials = e.interner.monomials
        parts = []
        for m, c in e.terms:
            look()
            first, *others = [self.values[atom] for atom in monomials[m]]
            for factor in others:
                first = first * factor
            parts.append(first if c == 1 else z3.IntVal(c, self.context) * first)
        if e.constant or not parts:
            parts.append(z3.IntVal(e.constant, self.context))
        return z3.Sum(parts) if len(parts) > 1 else parts[0]

    def operation(self, atom: Atom) -> z3.ArithRef:
        import z3

        match atom.kind, atom.args:
            case "floordiv", (Expr() as n, Expr() as d):
                return self.quotient(self.polynomial(n), self.polynomial(d), d)
            case "relu", (Expr() as e,):
                value = self.polynomial(e)
                if self.own_division:
                    return z3.If(value >= 0, value, z3.IntVal(0, self.context))
                positive = self.fresh()
                self.laws += [positive >= 0, positive >= value, z3.Or(positive == 0, positive == value)]
                return positive
            case "ite", (Prop() as p, Expr() as e):
                return z3.If(self.proposition(p), self.polynomial(e), z3.IntVal(0, self.context))
            case "product", (Expr() as a, Expr() as b):
                return self.polynomial(a) * self.polynomial(b)
            case _:
                return self.opaque(atom)

    def quotient(self, n: z3.ArithRef, d: z3.ArithRef, divisor: Expr) -> z3.ArithRef:
        """`n // d`, rounding down."""
        import z3

        if self.own_division:
            # z3's is Euclidean: rounding down for a positive divisor
            return n / d if not divisor.terms else z3.If(d > 0, n / d, (-n) / (-d))
        q = self.fresh()
        rest = n - d * q
        if not divisor.terms:
            self.laws += [rest >= 0, rest <= divisor.constant - 1]
        else:
            self.laws.append(z3.Implies(d > 0, z3.And(rest >= 0, rest < d)))
            self.laws.append(z3.Implies(d < 0, z3.And(rest <= 0, rest > d)))
        return q

    def fresh(self) -> z3.ArithRef:
        import z3

        return z3.Int(f"y{len(self.values)}", self.context)

    def opaque(self, atom: Atom) -> z3.ArithRef:
        """Translate an operation as an uninterpreted function, with some laws that its evaluation satisfies."""
        import z3

        arguments = [self.polynomial(arg) for arg in atom.args if isinstance(arg, Expr)]
        sorts = [z3.IntSort(self.context)] * (len(arguments) + 1)
        value = z3.Function(f"{atom.kind} {atom.name}", *sorts)(*arguments)
        row = atom.operation

        def holds(statement: Statement) -> z3.BoolRef:
            stated: z3.ArithRef = statement(value, *arguments)
            return stated >= 0

        for number, law in enumerate(row.laws):
            if law.divides:
                times = z3.Int(f"y{len(self.values)}!{number}", self.context)
                self.laws.append(law.conclusion(value, *arguments) == value * times)
                continue
            given = [holds(premise) for premise in law.premises]
            self.laws.append(z3.Implies(z3.Or(given), holds(law.conclusion)) if given else holds(law.conclusion))
        lo, hi = row.bounds(*[(None, None)] * len(arguments))
        inside = z3.And([arguments[i] >= 0 for i in row.nonnegative] + [z3.BoolVal(True, self.context)])
        if lo is not None:
            self.laws.append(z3.Implies(inside, value >= lo))
        if hi is not None:
            self.laws.append(z3.Implies(inside, value <= hi))
        match atom.kind, arguments:
            case "bitand", [a, b]:
                self.laws.append(z3.Implies(z3.Or(a >= 0, b >= 0), value >= 0))
            case "power", [base, exponent]:
                self.laws.append(z3.Implies(exponent < 0, value == 0))
                self.laws.append(z3.Implies(exponent == 0, value == 1))
                self.laws.append(z3.Implies(z3.And(base >= 2, exponent >= 0), value > exponent))
        return value


def _age(atom: Atom) -> tuple[int, ...]:
    return atom.key
