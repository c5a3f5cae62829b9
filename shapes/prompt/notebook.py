"""Notebooks: after `%load_ext shapes.prompt`, a cell that ends in a verdict or an environment shows its evidence.

The pages are those of the terminal, as HTML; the plain text of a cell stays what `repr` says.

>>> from shapes import ShapeEnv
>>> env = ShapeEnv(origin=lambda: None)
>>> s = env.symbol("s", lo=2)
>>> print(html_of(env.ask("s >= 1")))
<pre ...>always  </span>  because  <span ...>s &gt;= 2</span></pre>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shapes.env import ShapeEnv
from shapes.origin import Origin
from shapes.prompt import display
from shapes.prompt.display import Label
from shapes.prompt.page import Page, html_of_page, line, span
from solver.decide.verdict import Always, Depends, GaveUp, Never
from solver.proofs.fact import Fact

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

Shown = Always | Never | Depends | GaveUp | ShapeEnv


def show_in(shell: InteractiveShell) -> None:
    """Register the HTML form of everything shown here."""

    def label(fact: Fact) -> str:
        """The cell and line of a fact."""
        cell = shell.compile.format_code_name(fact.origin.file) if isinstance(fact.origin, Origin) else None
        if cell is None or not isinstance(fact.origin, Origin):
            return display.place_of(fact)
        return f"{cell[1]} line {fact.origin.line}"

    assert shell.display_formatter is not None
    formatter = shell.display_formatter.formatters["text/html"]
    for kind in (Always, Never, Depends, GaveUp, ShapeEnv):
        formatter.for_type(kind, lambda shown: html_of(shown, label=label))


def page_of(shown: Shown, *, label: Label = display.place_of) -> Page:
    """A verdict with its evidence, or all that an environment knows."""
    if isinstance(shown, ShapeEnv):
        facts = list(shown.facts())
        return [line(span("environment", "heading")), *display.facts_page(facts, label=label)]
    return display.verdict_page(shown, label=label)


def html_of(shown: Shown, *, label: Label = display.place_of) -> str:
    return html_of_page(page_of(shown, label=label))
