"""Expressions at the prompt: bounds and normal form, values, least and greatest values, equations.

>>> from shapes import ShapeEnv
>>> from shapes.prompt.page import text_of_page
>>> env = ShapeEnv(origin=lambda: None)
>>> _ = env.symbol("b", 1, 8)
>>> print(text_of_page(expression_page(env, "(4*b + 3) // 4")))
1 <= (4*b + 3) // 4 <= 8   simplifies to b
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from shapes.env import ShapeEnv
from shapes.prompt import display
from shapes.prompt.grammar import USAGE, Argument, read_integer
from shapes.prompt.page import Page, Span, line, span
from shapes.prompt.solving import Optimum, solution
from solver.errors import ParseError
from solver.proofs.fact import Fact
from solver.syntax.short_text import number_text

_POWER: Final = re.compile(r"[\w)]\s*\^\s*[\w(]")
_AT: Final = re.compile(r"\bat\b|\bwhere\b|\bwith\b")
_SIZE: Final = re.compile(r"([^\W\d]\w*)\s*==?\s*([+-]?[\d_*]+)\s*(?:,|and\b)?\s*")
_EQUATION: Final = re.compile(r"(?<![<>=!])={1,2}(?![=>])")


def expression_page(env: ShapeEnv, text: str) -> Page | None:
    """Bounds and the simplest form of an expression; None where the text is none."""
    try:
        size = env.size(text)
    except ParseError:
        return None
    (bounds,) = display.bounds_page(text, *env.bounds(size))
    short = str(env.simplify(size))
    return [line(*bounds, "   simplifies to ", span(short, "fact")) if short != text.strip() else bounds]


def powers_note(text: str) -> Page:
    """A note where a power may have been meant."""
    return [line(span("`^` is exclusive or; a power is `**`", "muted"))] if _POWER.search(text) else []


def optimum_page(text: str, best: Optimum, *, greatest: bool, label: Callable[[Fact], str]) -> Page:
    """A least or greatest value with the facts that it follows from, or how far it is known."""
    if best.value is None:
        return [line(span("unbounded", "value"), f"  {'above' if greatest else 'below'}, as far as the search went")]
    at: list[Span | str] = [" at ", *display.sizes_spans(best.sizes, ())] if best.sizes else []
    head: list[Span | str] = [span(number_text(best.value), "value"), *at]
    if best.bound != best.value:
        beyond = "nothing is known of others" if best.bound is None else f"none is beyond {number_text(best.bound)}"
        return [line(span("gave up ", "gave up"), "  the best found is ", *head, f"; {beyond}")]
    because: list[Span | str] = ["   because  ", *display.fact_spans(best.core, label)] if best.core else []
    return [line(*head, *because)]


def evaluated(env: ShapeEnv, text: str, argument: Argument) -> Page:
    """`e at b=4 s=16`."""
    found = _AT.search(argument.text)
    if found is None:
        end = argument.column + len(argument.text)
        raise ParseError(f"`evaluate` needs sizes: {USAGE['evaluate'].form}", text, end)
    written = argument.text[: found.start()].rstrip()
    sizes: dict[str, int] = {}
    rest, at = argument.text[found.end() :], argument.column + found.end()
    at += len(rest) - len(rest.lstrip())
    rest = rest.strip()
    while rest:
        size = _SIZE.match(rest)
        value = read_integer(size[2]) if size is not None else None
        if size is None or value is None:
            raise ParseError("expected sizes, such as `b=4 s=16`", text, at)
        if size[1] not in env.names:
            raise ParseError(f"unknown name `{size[1]}`", text, at)
        sizes[size[1]] = value
        rest, at = rest[size.end() :], at + size.end()
    value_there = env.size(written)
    known = value_there if isinstance(value_there, int) else value_there.substitute(sizes)
    return [line(span(str(known), "value"))]


def solved(env: ShapeEnv, text: str, argument: Argument) -> Page:
    """`e == f for x`."""
    equation, _, symbol = argument.text.rpartition(" for ")
    if not equation:
        equation, symbol = argument.text, ""
    sides = _EQUATION.split(equation)
    if len(sides) == 1:
        sides.append("0")
    if len(sides) != 2 or not all(side.strip() for side in sides):
        raise ParseError(f"`solve` takes one equation: {USAGE['solve'].form}", text, argument.column)
    left, right = [side.strip() for side in sides]
    if not symbol:
        names = [name for name in env.names if re.search(rf"\b{re.escape(name)}\b", equation)]
        if len(names) != 1:
            end = argument.column + len(argument.text)
            raise ParseError(f"for which symbol? {USAGE['solve'].form}", text, end)
        symbol = names[0]
    found = solution(env, left, right, symbol.strip())
    values = " or ".join(f"{found.symbol} == {value}" for value in found.values)
    where = [span(f"   where {' and '.join(found.where)}", "muted")] if found.where else []
    return [line(span(values, "fact"), *where)]
