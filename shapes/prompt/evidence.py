"""Rendering of evidence: a proof in numbered steps, or the values of both sides at the witnesses.

>>> from shapes import ShapeEnv
>>> from shapes.prompt.page import text_of_page
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s")
>>> env.assume("s % 16 == 0")
>>> verdict = env.ask("b*s % 8 == 1")
>>> print(text_of_page(reasons_page(env, verdict, "b*s % 8 == 1")))
never     b*s % 8 == 1
    1   s % 16 == 0     assumed
    ...
       these ... steps alone: verified
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from shapes.env import ShapeEnv
from shapes.prompt.display import KINDS, STYLES, WIDTH, Label, place_of, sizes_spans, verdict_name, verdict_page
from shapes.prompt.page import Page, Span, columns, line, span
from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.errors import ParseError
from solver.proofs.step import ProofStep
from solver.syntax.short_text import number_text

STEPS_SHOWN: Final = 60


def reasons_page(env: ShapeEnv, verdict: Verdict, question: str, *, label: Label = place_of) -> Page:
    """The evidence for any verdict."""
    match verdict:
        case Always() | Never():
            return proof_page(verdict, question, label=label)
        case Depends():
            return witness_page(verdict, question, sides_of(env, question, verdict), env.known.count)
        case GaveUp():
            return verdict_page(verdict)
        case _:
            assert_never(verdict)


_RULES: Final[Mapping[str, str]] = {
    "combine": "sum of multiples of",
    "equate": "sum of multiples of",
    "equal": "both bounds:",
    "rewrite": "substituting in",
    "part": "part of",
    "every": "all of",
    "some": "one of",
    "cases": "by cases:",
    "refute": "the opposite leads to",
    "absurd": "anything follows from",
    "times": "product of",
    "multiply": "multiple of",
    "strengthen": "excluding the end:",
    "axiom": "by definition of the operation",
    "monomial": "interval of the product, from",
    "quotient": "interval of the quotient, from",
    "shift": "counting from the lower bounds",
    "residue": "remainders, from",
    "z3": "z3, over",
    "trivial": "arithmetic",
    "hypothesis": "suppose",
}


def proof_page(verdict: Always | Never, question: str, *, label: Label = place_of) -> Page:
    """The certificate as numbered steps, each after what it rests on; the facts come first."""
    name = verdict_name(verdict)
    steps = _ordered(verdict.proof)
    numbers = {id(step): i for i, step in enumerate(steps, 1)}
    shown = steps if len(steps) <= STEPS_SHOWN else [*steps[: STEPS_SHOWN - 1], steps[-1]]
    rows: list[list[Span]] = []
    for step in shown:
        fact = step.fact
        if fact is not None:
            where = label(fact)
            text = fact.text if step.rule == "fact" else str(step.conclusion)
            why = [span(KINDS[fact.kind] + (f" [{where}]" if where else ""), "line")]
        else:
            text = str(step.conclusion)
            rule = _RULES.get(step.rule, step.rule.replace("-", " "))
            why = [span(" ".join([rule, ", ".join(str(numbers[id(p)]) for p in step.premises)]).strip(), "muted")]
        rows.append([span(f"  {numbers[id(step)]:3d}"), span(_short(text), "fact" if fact else "plain"), *why])
    page = [line(span(f"{name:8}", STYLES[name]), f"  {question}"), *columns(rows)]
    if len(shown) < len(steps):
        page.insert(-1, line(span(f"       ... {len(steps) - len(shown)} more steps", "muted")))
    page.append(line(span(f"       these {len(steps)} steps alone: ", "muted"), _checked(verdict)))
    return page


def _checked(verdict: Verdict) -> Span:
    return span("verified", "always") if verdict.check() else span("NOT VERIFIED", "error")


def _ordered(root: ProofStep) -> list[ProofStep]:
    """Facts first, then every step after its premises."""
    done: dict[int, ProofStep] = {}
    stack = [(root, False)]
    while stack:
        step, ready = stack.pop()
        if id(step) in done:
            continue
        if ready:
            done[id(step)] = step
        else:
            stack.append((step, True))
            stack.extend((premise, False) for premise in reversed(step.premises))
    steps = list(done.values())
    facts = [(step.fact.serial, position) for position, step in enumerate(steps) if step.fact is not None]
    return [steps[position] for _, position in sorted(facts)] + [step for step in steps if step.fact is None]


@dataclass(frozen=True, slots=True)
class Side:
    """A part of the question and its values at the two witnesses."""

    text: str
    if_true: int
    if_false: int


def sides_of(env: ShapeEnv, question: str, verdict: Depends) -> list[Side]:
    """The two sides of a comparison with their values at the witnesses; constants say nothing."""
    sides = []
    for text in comparison_sides(question):
        try:
            expr, _ = env.parse_expr(text)
        except ParseError:  # a side that is no integer: a real value, or half of an equivalence
            continue
        if not expr.is_constant:
            sides.append(Side(text, expr.evaluate(verdict.true_values), expr.evaluate(verdict.false_values)))
    return sides


def comparison_sides(question: str) -> list[str]:
    """The sides of a question that is one comparison, as they are written; none where it is anything else.

    >>> comparison_sides("(b*s) % 64 == 0")
    ['(b*s) % 64', '0']
    """
    try:
        tree = ast.parse(question, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        return []
    segments = [ast.get_source_segment(question, side) for side in (tree.left, tree.comparators[0])]
    return [segment for segment in segments if segment is not None]


def witness_page(verdict: Depends, question: str, sides: Sequence[Side], facts: int) -> Page:
    """Both witnesses, with what the two sides of the question come to there."""
    page = [line(span("depends ", "depends"), f"  {question}")]
    outcomes = ((True, verdict.true_at), (False, verdict.false_at))
    for outcome, sizes in outcomes:
        values = [f"{side.text} = {number_text(side.if_true if outcome else side.if_false)}" for side in sides]
        at = [span(f"  {'true' if outcome else 'false':5} at "), *sizes_spans(sizes, tuple(sizes))]
        page.append(line(*at, span("    " + ",  ".join(values) if values else "", "muted")))
    again = f"  the {facts} facts hold at both; " if facts else "  "
    page.append(line(span(again, "muted"), _checked(verdict)))
    return page


def _short(text: str, width: int = WIDTH) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
