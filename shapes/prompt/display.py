"""Rendering: what `solver.decide.pages` shows of verdicts and facts, and bounds, conditions, errors.

Every function gives a page (see `shapes.prompt.page`), so that a terminal, a plain file and a notebook show the same.
What stands behind a verdict is shown by `shapes.prompt.evidence`.

>>> from shapes import ShapeEnv
>>> from shapes.prompt.page import text_of_page
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s")
>>> env.assume("s % 16 == 0")
>>> print(text_of_page(verdict_page(env.ask("s % 8 == 0"))))
always    because  s % 16 == 0
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from shapes.env import ShapeEnv
from shapes.guards.guards import guards_page
from shapes.prompt.page import Line, Page, line, span
from solver.decide.pages import (
    KINDS,
    STYLES,
    Label,
    fact_spans,
    facts_page,
    place_of,
    sizes_spans,
    verdict_name,
    verdict_page,
)
from solver.decide.verdict import Always
from solver.errors import ParseError
from solver.proofs.fact import Fact
from solver.syntax.short_text import number_text
from solver.terms.prop import Prop

LONG_INTEGER: Final = re.compile(r"\d{40,4000}")
WIDTH: Final = 100

__all__ = [
    "KINDS",
    "LONG_INTEGER",
    "STYLES",
    "WIDTH",
    "Label",
    "bounds_page",
    "conflict_page",
    "error_page",
    "fact_spans",
    "facts_page",
    "guards_page",
    "obligation",
    "place_of",
    "pointer_page",
    "sizes_spans",
    "verdict_name",
    "verdict_page",
]


def obligation(env: ShapeEnv, question: str) -> str | None:
    """The condition under which the question makes sense (no divisor zero), where it does not follow from the facts.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> _ = env.sizes("a b")
    >>> obligation(env, "a % b < b")
    'b != 0'
    """
    _, domain = env.parse(question)
    if domain.kind == "true" or isinstance(env.verdict_on(domain, Prop.truth(domain.interner, True)), Always):
        return None
    return LONG_INTEGER.sub(lambda found: f"~{found[0][0]}.{found[0][1:3]}e{len(found[0]) - 1}", str(domain))


def bounds_page(text: str, low: int | None, high: int | None) -> Page:
    """`lo <= e <= hi`, with the sides that are known."""
    if low is None and high is None:
        return [line(span(text, "fact"), "  has no bound")]
    if low is not None and low == high:
        return [line(span(text, "fact"), " == ", span(number_text(low), "value"))]
    before = [span(number_text(low), "value"), span(" <= ")] if low is not None else []
    after = [span(" <= "), span(number_text(high), "value")] if high is not None else []
    return [line(*before, span(text, "fact"), *after)]


# -------------------------------------------------------------------- errors


def error_page(error: Exception) -> Page:
    """An error; one about text with the text and a mark under the column."""
    if isinstance(error, ParseError):
        return pointer_page(error.message, error.text, error.column)
    first, *rest = str(error).splitlines() or [type(error).__name__]
    return [line(span("error", "error"), f"     {first}"), *[line(text) for text in rest]]


def pointer_page(message: str, text: str, column: int) -> Page:
    """A message, the text it is about, and a mark under its column; of a long text only the neighbourhood."""
    start = max(0, column - 70)
    shown = text[start : start + WIDTH].replace("\t", " ").replace("\n", " ")
    before = "... " if start else ""
    return [
        line(span("error", "error"), f"     {message}"),
        line(f"  {before}{shown}"),
        line("  " + " " * (len(before) + column - start), span("^", "error")),
    ]


def conflict_page(message: str, core: Sequence[Fact], *, label: Label = place_of) -> Page:
    """Facts that cannot hold together."""
    rows: list[Line] = [line(span("contradiction", "error"), f"  {message}")]
    return [*rows, *[line("  ", *fact_spans([fact], label)) for fact in core]]
