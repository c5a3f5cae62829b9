"""What a person reads: verdicts with their core or their two witnesses, proofs step by step, facts, guards, errors.

Every function gives a page (see `shapes.prompt.page`), so that a terminal, a plain file and a notebook show the same.

>>> from shapes import ShapeEnv
>>> from shapes.prompt.page import text_of_page
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s")
>>> env.assume("s % 16 == 0")
>>> print(text_of_page(verdict_page(env.ask("s % 8 == 0"))))
always    because  s % 16 == 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from shapes.origin import Origin
from shapes.prompt.page import Line, Page, Span, Style, columns, line, span
from solver.errors import ParseError
from solver.fact import Fact
from solver.reasons import Reason
from solver.verdict import Always, Depends, GaveUp, Never, Verdict

SIZES_SHOWN: Final = 12
STEPS_SHOWN: Final = 60
WIDTH: Final = 100

Label = Callable[[Fact], str]
"""Where a fact stands, in few words: the number of its line, usually."""

_NAMES: Final[dict[str, Style]] = {"always": "always", "never": "never", "depends": "depends", "gave up": "gave up"}


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


def verdict_page(verdict: Verdict, *, label: Label = place_of, first: Iterable[str] = ()) -> Page:
    """A verdict in one line: the facts it follows from, or sizes for both outcomes (those named in `first` come first)."""
    name = verdict_name(verdict)
    head = span(f"{name:8}", _NAMES[name])
    match verdict:
        case Always(core=core) | Never(core=core):
            if not core:
                return [line(head, "  ", span("whatever the sizes", "muted"))]
            return [line(head, "  because  ", *_facts(core, label))]
        case Depends(true_at=true_at, false_at=false_at):
            first = tuple(first)
            return [line(head, "  true at ", *_sizes(true_at, first), "   false at ", *_sizes(false_at, first))]
        case GaveUp(reason=reason, tried=tried):
            after = f"   tried {', '.join(tried)}" if tried else ""
            return [line(head, "  ", reason, span(after, "muted"))]
        case _:
            assert_never(verdict)


def _facts(core: Sequence[Fact], label: Label) -> list[Span]:
    parts: list[Span] = []
    for fact in core:
        where = label(fact)
        parts += [span("   ")] * bool(parts) + [span(fact.text, "fact")] + [span(f" [{where}]", "line")] * bool(where)
    return parts


def _sizes(sizes: Mapping[str, int], first: Sequence[str]) -> list[Span]:
    if not sizes:
        return [span("every size", "muted")]
    names = list(sizes)
    if len(names) > SIZES_SHOWN:
        names = ([name for name in names if name in first] or names)[:SIZES_SHOWN]
    text = ", ".join(f"{name}={_digits(sizes[name])}" for name in names)
    rest = len(sizes) - len(names)
    return [span(text, "value")] + [span(f" and {rest} more", "muted")] * bool(rest)


def _digits(value: int) -> str:
    """A number; a very long one shortened."""
    if value.bit_length() <= 320:
        return str(value)
    return f"{'-' if value < 0 else ''}(an integer of {value.bit_length()} bits)"


def _short(text: str, width: int = WIDTH) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


# -------------------------------------------------------------------- reasons

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
            why = [span(_KINDS[fact.kind] + (f" [{where}]" if where else ""), "line")]
        else:
            text = str(step.conclusion)
            rule = _RULES.get(step.rule, step.rule.replace("-", " "))
            why = [span(" ".join([rule, ", ".join(str(numbers[id(p)]) for p in step.premises)]).strip(), "muted")]
        rows.append([span(f"  {numbers[id(step)]:3d}"), span(_short(text), "fact" if fact else "plain"), *why])
    page = [line(span(name, _NAMES[name]), f"    {question}"), *columns(rows)]
    if len(shown) < len(steps):
        page.insert(-1, line(span(f"       ... {len(steps) - len(shown)} more steps", "muted")))
    page.append(line(span(f"       checked again from these {len(steps)} steps alone: ", "muted"), _checked(verdict)))
    return page


_KINDS: Final[Mapping[str, str]] = {
    "range": "declared",
    "given": "assumed",
    "guard": "guard",
    "assert": "run-time check",
    "hypothesis": "supposed",
}


def _checked(verdict: Verdict) -> Span:
    return span("correct", "always") if verdict.check() else span("NOT CONFIRMED", "error")


def _ordered(root: Reason) -> list[Reason]:
    """Facts first, then every step after its premises."""
    done: dict[int, Reason] = {}
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
    return sorted(done.values(), key=lambda step: step.fact is None)


@dataclass(frozen=True, slots=True)
class Side:
    """A part of the question and its values at the two witnesses."""

    text: str
    if_true: int
    if_false: int


def witness_page(verdict: Depends, question: str, sides: Sequence[Side], facts: int) -> Page:
    """Both witnesses, with what the two sides of the question come to there."""
    page = [line(span("depends", "depends"), f"    {question}")]
    outcomes = ((True, verdict.true_at), (False, verdict.false_at))
    for outcome, sizes in outcomes:
        values = [f"{side.text} = {_digits(side.if_true if outcome else side.if_false)}" for side in sides]
        at = [span(f"  {'true' if outcome else 'false':5} at "), *_sizes(sizes, tuple(sizes))]
        page.append(line(*at, span("    " + ",  ".join(values) if values else "", "muted")))
    known = "1 fact holds" if facts == 1 else f"{facts} facts hold"
    page.append(line(span(f"  all {known} at both; evaluated again: " if facts else "  evaluated again: ", "muted"), _checked(verdict)))
    return page


# -------------------------------------------------------------------- facts and guards


def facts_page(facts: Sequence[Fact], *, label: Label = place_of) -> Page:
    """All that is known, a line each."""
    if not facts:
        return [line(span("nothing is known yet", "muted"))]
    rows = []
    for fact in facts:
        where = label(fact)
        number = span(f"[{where}]" if where else "", "line")
        rows.append([number, span(_KINDS[fact.kind], "muted"), span(fact.text, "fact")])
    return columns(rows)


def bounds_page(text: str, low: int | None, high: int | None) -> Page:
    """`lo <= e <= hi`, with the sides that are known."""
    if low is None and high is None:
        return [line(span(text, "fact"), "  has no bound")]
    if low is not None and low == high:
        return [line(span(text, "fact"), " == ", span(_digits(low), "value"))]
    before = [span(_digits(low), "value"), span(" <= ")] if low is not None else []
    after = [span(" <= "), span(_digits(high), "value")] if high is not None else []
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
    return [*rows, *[line("  ", *_facts([fact], label)) for fact in core]]
