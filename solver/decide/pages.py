"""Pages of verdicts and facts: a verdict with its core or its witnesses in a line, all that is known as a table.

>>> from solver.decide.ladder import decide
>>> from solver.knowledge.facts import Facts
>>> from solver.styled_text import text_of_page
>>> from solver.terms.interner import Interner
>>> terms = Interner()
>>> s = terms.symbol("s")
>>> verdict = decide(Facts.empty(terms).declare_range(s, 2, None), terms.ge(s, 1))
>>> print(text_of_page(verdict_page(verdict)))
always    because  2 <= s <= None
>>> verdict._repr_html_()[:27]
'<pre style="line-height:1.4'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, assert_never

from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.proofs.fact import Fact
from solver.styled_text import Page, Span, Style, columns, html_of_page, line, span
from solver.syntax.named_sizes import by_shown_name
from solver.syntax.short_text import sizes_text

SIZES_SHOWN: Final = 12

Label = Callable[[Fact], str]
"""The place of a fact in few words: the number of its line, usually."""

STYLES: Final[dict[str, Style]] = {"always": "always", "never": "never", "depends": "depends", "gave up": "gave up"}

KINDS: Final[Mapping[str, str]] = {
    "range": "declared",
    "given": "assumed",
    "guard": "guard",
    "assert": "run-time check",
    "hypothesis": "supposed",
}


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
    return "" if fact.origin is None else str(fact.origin)


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


def fact_spans(core: Sequence[Fact], label: Label) -> list[Span]:
    parts: list[Span] = []
    for fact in core:
        where = label(fact)
        parts += [span("   ")] * bool(parts) + [span(fact.shown, "fact")] + [span(f" [{where}]", "line")] * bool(where)
    return parts


def sizes_spans(sizes: Mapping[str, int], first: Sequence[str]) -> list[Span]:
    if not sizes:
        return [span("every size", "muted")]
    sizes = by_shown_name(sizes)
    names = list(sizes)
    if len(names) > SIZES_SHOWN:
        names = ([name for name in names if name in first] or names)[:SIZES_SHOWN]
    text = sizes_text({name: sizes[name] for name in names})
    rest = len(sizes) - len(names)
    return [span(text, "value")] + [span(f" and {rest} more", "muted")] * bool(rest)


def facts_page(facts: Sequence[Fact], *, label: Label = place_of) -> Page:
    """A page of facts, one per line."""
    if not facts:
        return [line(span("nothing is known yet", "muted"))]
    rows = []
    for fact in facts:
        where = label(fact)
        number = span(f"[{where}]" if where else "", "line")
        rows.append([number, span(KINDS[fact.kind], "muted"), span(fact.shown, "fact")])
    return columns(rows)


def html_of_verdict(verdict: Verdict) -> str:
    """The page of a verdict for notebooks."""
    return html_of_page(verdict_page(verdict))
