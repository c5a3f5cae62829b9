"""Rendering: verdicts with their core or their witnesses, facts, bounds, errors.

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
from collections.abc import Callable, Mapping, Sequence
from typing import Final, assert_never

from shapes.env import ShapeEnv
from shapes.errors import number_text, sizes_text
from shapes.guards.guards import Guard
from shapes.origin import Origin
from shapes.prompt.page import Line, Page, Span, Style, columns, line, span
from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.errors import ParseError
from solver.proofs.fact import Fact
from solver.terms.prop import Prop

SIZES_SHOWN: Final = 12
LONG_INTEGER: Final = re.compile(r"\d{40,4000}")
WIDTH: Final = 100

Label = Callable[[Fact], str]
"""Where a fact stands, in few words: the number of its line, usually."""

STYLES: Final[dict[str, Style]] = {"always": "always", "never": "never", "depends": "depends", "gave up": "gave up"}


def verdict_name(verdict: Verdict) -> str:
    match verdict:
        case Always():
            return "always"
        case Never():
            return "never"
        case Depends():
            return "depends"
        case GaveUp():
            return "gave up"
        case _:
            assert_never(verdict)


def place_of(fact: Fact) -> str:
    """The line that a fact was written on, or its place in the program, or nothing."""
    if fact.line is not None:
        return str(fact.line)
    if isinstance(fact.origin, Origin):
        return f"{fact.origin.name}:{fact.origin.line}"
    return ""


def verdict_page(
    verdict: Verdict, *, label: Label = place_of, first: Sequence[str] = (), where: str | None = None
) -> Page:
    """A verdict in one line: the facts it follows from, or sizes for both outcomes (those of `first` before others).

    `where` is what the question needs to make sense; it was answered there.
    """
    name = verdict_name(verdict)
    head = span(f"{name:8}", STYLES[name])
    inside = [span(f"   where {where}", "muted")] if where else []
    match verdict:
        case Always(core=core) | Never(core=core):
            if not core:
                return [line(head, "  ", span("whatever the sizes", "muted"), *inside)]
            return [line(head, "  because  ", *fact_spans(core, label), *inside)]
        case Depends(true_at=true_at, false_at=false_at):
            true, false = (sizes_spans(sizes, tuple(first)) for sizes in (true_at, false_at))
            return [line(head, "  true at ", *true, "   false at ", *false, *inside)]
        case GaveUp(reason=reason, tried=tried):
            after = f"   tried {', '.join(tried)}" if tried else ""
            return [line(head, "  ", reason, span(after, "muted"), *inside)]
        case _:
            assert_never(verdict)


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


def fact_spans(core: Sequence[Fact], label: Label) -> list[Span]:
    parts: list[Span] = []
    for fact in core:
        where = label(fact)
        parts += [span("   ")] * bool(parts) + [span(fact.text, "fact")] + [span(f" [{where}]", "line")] * bool(where)
    return parts


def sizes_spans(sizes: Mapping[str, int], first: Sequence[str]) -> list[Span]:
    if not sizes:
        return [span("every size", "muted")]
    names = list(sizes)
    if len(names) > SIZES_SHOWN:
        names = ([name for name in names if name in first] or names)[:SIZES_SHOWN]
    text = sizes_text({name: sizes[name] for name in names})
    rest = len(sizes) - len(names)
    return [span(text, "value")] + [span(f" and {rest} more", "muted")] * bool(rest)


# -------------------------------------------------------------------- facts and guards

KINDS: Final[Mapping[str, str]] = {
    "range": "declared",
    "given": "assumed",
    "guard": "guard",
    "assert": "run-time check",
    "hypothesis": "supposed",
}


def facts_page(facts: Sequence[Fact], *, label: Label = place_of) -> Page:
    """All that is known, a line each."""
    if not facts:
        return [line(span("nothing is known yet", "muted"))]
    rows = []
    for fact in facts:
        where = label(fact)
        number = span(f"[{where}]" if where else "", "line")
        rows.append([number, span(KINDS[fact.kind], "muted"), span(fact.text, "fact")])
    return columns(rows)


def guards_page(guards: Sequence[Guard], *, file: str | None = None) -> Page:
    """The guards, a line each, with sizes that only this one rejects. Of a place in `file` the line number suffices."""
    if not guards:
        return [line(span("no guards", "muted"))]
    rows = []
    for guard in guards:
        where = guard.origin.line if guard.origin is not None and guard.origin.file == file else guard.origin
        alone = f"irredundant: it alone rejects {sizes_text(guard.rejects)}" if guard.rejects is not None else ""
        number = span(f"[{where}]" if where else "", "line")
        rows.append([number, span(guard.text, "fact"), span(alone, "muted")])
    return columns(rows)


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
