"""Notebooks: after `%load_ext shapes.prompt`, a cell that ends in a verdict or an environment shows its evidence.

The pages are those of the terminal, as HTML; the plain text of a cell stays what `repr` says.

>>> from shapes import ShapeEnv
>>> env = ShapeEnv(origin=lambda: None)
>>> s = env.symbol("s", lo=2)
>>> print(html_of(env.ask("s >= 1")))
<pre ...>always  </span>  because  <span ...>s &gt;= 2</span></pre>
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from shapes.env import ShapeEnv
from shapes.prompt import display
from shapes.prompt.page import Page, html_of_page, line, span
from solver.verdict import Always, Depends, GaveUp, Never

Shown = Always | Never | Depends | GaveUp | ShapeEnv


class Formatter(Protocol):
    """What IPython keeps for one kind of output."""

    def for_type(self, typ: type, func: Callable[[Shown], str]) -> object: ...


class DisplayFormatter(Protocol):
    @property
    def formatters(self) -> dict[str, Formatter]: ...


class Shell(Protocol):
    """The part of IPython's shell that this needs."""

    @property
    def display_formatter(self) -> DisplayFormatter: ...


def show_in(shell: Shell) -> None:
    """Register the HTML form of everything shown here."""
    formatter = shell.display_formatter.formatters["text/html"]
    for kind in (Always, Never, Depends, GaveUp, ShapeEnv):
        formatter.for_type(kind, html_of)


def page_of(shown: Shown) -> Page:
    """A verdict with its evidence, or all that an environment knows."""
    if isinstance(shown, ShapeEnv):
        facts = list(shown.facts.records())[::-1]
        return [line(span("environment", "heading")), *display.facts_page(facts)]
    return display.verdict_page(shown)


def html_of(shown: Shown) -> str:
    return html_of_page(page_of(shown))


def mime_bundle_of(shown: Shown) -> dict[str, str]:
    """Both forms, for a `_repr_mimebundle_` of a frontend's own."""
    from shapes.prompt.page import text_of_page

    return {"text/plain": text_of_page(page_of(shown)), "text/html": html_of(shown)}
