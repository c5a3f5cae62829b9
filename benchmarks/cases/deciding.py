"""Establishes the truth of one question: by enumerating a small box, else by z3 and cvc5, and always by evaluation too.

A label rests on a complete enumeration or on an `unsat`; each is checked against thousands of assignments that satisfy
the facts. `depends` rests on two assignments, evaluated. What none of these decides is `unknown`.

>>> decide({"x": (0, 3)}, [], "x < 4").truth
'always'
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

import meaning
import residues
import z3

Ranges = dict[str, tuple[int | None, int | None]]
Assignment = dict[str, int]
BOX = 150_000
SECONDS = 5


class Mismatch(Exception):
    """Two ways to a label disagree, or the facts leave nothing over: the case is wrong."""


@dataclasses.dataclass(slots=True)
class Label:
    truth: str
    by: str
    true_at: Assignment | None = None
    false_at: Assignment | None = None


def satisfied(facts: list[str], values: Assignment, *texts: str) -> bool:
    if not all(meaning.defined_at(text, values) for text in (*facts, *texts)):
        return False
    return all(meaning.value_at(fact, values) for fact in facts)


def box_size(ranges: Ranges) -> float:
    return math.prod(math.inf if lo is None or hi is None else hi - lo + 1 for lo, hi in ranges.values())


def whole_box(ranges: Ranges) -> Iterator[Assignment]:
    spans = [range(lo, hi + 1) for lo, hi in ranges.values()]  # type: ignore[operator,arg-type]
    for point in itertools.product(*spans):
        yield dict(zip(ranges, point, strict=True))


def some_points(ranges: Ranges, count: int, seed: int) -> Iterator[Assignment]:
    """Assignments within the bounds, most of them small, some at the ends, some huge."""
    chance = random.Random(seed)

    def value(lo: int | None, hi: int | None, scale: int) -> int:
        if lo is not None and hi is not None:
            if hi - lo <= scale or chance.random() < 0.3:
                return chance.choice((lo, hi, chance.randint(lo, hi)))
            return chance.choice((lo + chance.randint(0, scale), hi - chance.randint(0, scale)))
        if lo is not None:
            return lo + chance.randint(0, scale)
        if hi is not None:
            return hi - chance.randint(0, scale)
        return chance.randint(-scale, scale)

    for _ in range(count):
        scale = chance.choice((2, 4, 10, 30, 100, 1000, 10**6, 2**64))
        yield {name: value(lo, hi, scale) for name, (lo, hi) in ranges.items()}


class Case:
    """The facts and ranges of one question, ready to ask solvers about it."""

    def __init__(self, ranges: Ranges, facts: list[str]):
        self.ranges, self.facts = ranges, facts

    def translated(self, extra: list[str], *, real: bool) -> tuple[meaning.Translation, list[Any]]:
        translation = meaning.Translation(real=real, ranges=self.ranges)
        terms = [translation.proposition(text) for text in (*self.facts, *extra)]
        for name, (lo, hi) in self.ranges.items():
            variable = translation.variable(name)
            terms += [variable >= lo] if lo is not None else []
            terms += [variable <= hi] if hi is not None else []
        return translation, terms + translation.axioms + translation.domain

    def model(self, extra: list[str], seconds: int = SECONDS) -> tuple[str, Assignment | None]:
        """("unsat", None), ("sat", assignment) with the assignment evaluated, or ("unknown", None)."""
        translation, terms = self.translated(extra, real=False)
        for make in (z3.Solver, lambda: z3.SolverFor("QF_NIA")):
            solver = make()
            solver.set("timeout", seconds * 1000)
            solver.add(*terms)
            answer = solver.check()
            if answer == z3.unsat:
                return "unsat", None
            if answer == z3.sat:
                found = solver.model()
                values = {}
                for name in self.ranges:
                    value = found.eval(translation.variable(name), model_completion=True)
                    values[name] = value.as_long()
                if satisfied(self.facts + extra, values):
                    return "sat", values
        return "unknown", None

    def impossible_over_reals(self, extra: list[str], seconds: int = SECONDS) -> bool:
        _, terms = self.translated(extra, real=True)
        solver = z3.Then("simplify", "solve-eqs", "purify-arith", "nlsat").solver()
        solver.set("timeout", seconds * 1000)
        solver.add(*terms)
        try:
            return bool(solver.check() == z3.unsat)
        except z3.Z3Exception:
            return False

    def answer_of_cvc5(self, extra: list[str], seconds: int = 2 * SECONDS) -> str:
        try:
            import cvc5
        except ImportError:
            return "not installed"
        _, terms = self.translated(extra, real=False)
        printer = z3.Solver()
        printer.add(*terms)
        solver = cvc5.Solver()
        solver.setOption("tlimit-per", str(seconds * 1000))
        solver.setOption("nl-ext-tplanes", "true")
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, "(set-logic ALL)\n" + printer.to_smt2(), "case")
        symbols, answer = parser.getSymbolManager(), ""
        while not (command := parser.nextCommand()).isNull():
            answer = str(command.invoke(solver, symbols)).strip() or answer
        return answer

    def impossible(self, extra: list[str]) -> tuple[str, Assignment | None]:
        """("", None) where nothing settles it, (reason, None) where no assignment exists, ("sat", assignment)."""
        answer, values = self.model(extra)
        if answer != "unknown":
            return ("z3 unsat" if answer == "unsat" else "sat"), values
        if self.impossible_over_reals(extra):
            return "z3 unsat over the reals", None
        if self.answer_of_cvc5(extra) == "unsat":
            return "cvc5 unsat", None
        return "", None


def extremes(ranges: Ranges, facts: list[str], expression: str) -> tuple[int, int]:
    """The least and greatest value over a small box."""
    if box_size(ranges) > BOX:
        raise Mismatch(f"too many assignments for the extremes of {expression}")
    points = (values for values in whole_box(ranges) if satisfied(facts, values, expression))
    seen = [meaning.value_at(expression, values) for values in points]
    return min(seen), max(seen)


def guarded(ranges: Ranges, text: str) -> bool:
    """Return True if a divisor that can be zero stands where short-circuiting could skip it: readings differ there."""
    if not any(isinstance(node, ast.BoolOp | ast.IfExp) for node in ast.walk(meaning.parsed(text))):
        return False
    names = {name for code in meaning.divisors(text) for name in code.co_names}
    return any((ranges[name][0] or 0) < 1 for name in names - set(meaning.FUNCTIONS))


def decide(ranges: Ranges, facts: list[str], question: str) -> Label:
    unknown = meaning.names_in(question).union(*map(meaning.names_in, facts)) - set(ranges)
    if unknown:
        raise Mismatch(f"no bounds for {sorted(unknown)}")
    if any(guarded(ranges, text) for text in (*facts, question)):
        raise Mismatch("a guarded divisor")
    small = box_size(ranges) <= BOX
    points = whole_box(ranges) if small else some_points(ranges, 4000, seed=len(question))
    seen: dict[bool, Assignment] = {}
    count = 0
    for values in points:
        if satisfied(facts, values, question):
            count += 1
            seen.setdefault(bool(meaning.value_at(question, values)), values)
            if len(seen) == 2:
                return Label("depends", "evaluation", seen[True], seen[False])
    if small and not seen:
        raise Mismatch("no assignment satisfies the facts")
    if small:
        return Label("always" if True in seen else "never", f"enumeration of {count} assignments")
    if len(seen) == 1 and residues.settled(question, sorted(meaning.names_in(question))) in seen:
        return Label("always" if True in seen else "never", f"residue classes, {count} assignments agree")
    case = Case(ranges, facts)
    reasons = {}
    for side, text in ((False, f"not ({question})"), (True, question)):
        if side in seen:
            continue
        reason, values = case.impossible([text])
        if values is not None:
            seen[side] = values
        reasons[side] = reason
    if len(seen) == 2:
        return Label("depends", "evaluation", seen[True], seen[False])
    if not seen:
        if all(reasons.values()):
            raise Mismatch("no assignment satisfies the facts")
        return Label("unknown", "no assignment found")
    [side] = seen
    if not reasons[not side]:
        return Label("unknown", "time limits")
    return Label("always" if side else "never", f"{reasons[not side]}, {max(count, 1)} assignments agree")
