"""Styled text and its back ends: a plain stream, a terminal with colours, HTML.

>>> page = [line(span("always", "always"), "   because  ", span("s % 16 == 0", "fact"))]
>>> text_of_page(page)
'always   because  s % 16 == 0'
>>> html_of_page(page)[:27]
'<pre style="line-height:1.4'
"""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TextIO

Style = Literal["plain", "always", "never", "depends", "gave up", "fact", "line", "value", "error", "muted", "heading"]


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    style: Style = "plain"


Line = tuple[Span, ...]
Page = Sequence[Line]

# Terminal colours leave the background alone; the HTML ones keep a contrast of 4.5 on white and on dark notebooks.
_STYLES: Final[dict[Style, tuple[str, str]]] = {
    "plain": ("", ""),
    "always": ("bold green", "color:#1a7f37;font-weight:bold"),
    "never": ("bold red", "color:#cf222e;font-weight:bold"),
    "depends": ("bold yellow", "color:#9a6700;font-weight:bold"),
    "gave up": ("bold magenta", "color:#8250df;font-weight:bold"),
    "fact": ("cyan", "color:#0969da"),
    "line": ("dim", "opacity:.7"),
    "value": ("bold", "font-weight:bold"),
    "error": ("bold red", "color:#cf222e;font-weight:bold"),
    "muted": ("dim", "opacity:.7"),
    "heading": ("bold", "font-weight:bold"),
}
"""In a terminal, and in HTML."""


def span(text: str, style: Style = "plain") -> Span:
    return Span(text, style)


def line(*parts: Span | str) -> Line:
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


def printable(text: str) -> str:
    """The text with control characters spelled out: a recorded file must not be able to steer the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text.replace("\t", " "))


def text_of_page(page: Page) -> str:
    return "\n".join("".join(printable(part.text) for part in row).rstrip() for row in page)


def html_of_page(page: Page) -> str:
    rows = "\n".join("".join(_html_of_span(part) for part in row) for row in page)
    return f'<pre style="line-height:1.4;white-space:pre-wrap">{rows}</pre>'


def _html_of_span(part: Span) -> str:
    text = html.escape(printable(part.text))
    _, style = _STYLES[part.style]
    return f'<span style="{style}">{text}</span>' if style else text


def wants_colour(stream: TextIO) -> bool:
    """Colours only for a person at a terminal who has not said no (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show(page: Page, stream: TextIO) -> None:
    """Write a page and a line end; in colour where the stream takes it and `rich` is installed."""
    if wants_colour(stream):
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            pass
        else:
            console = Console(file=stream, highlight=False, soft_wrap=True)
            for row in page:
                console.print(Text.assemble(*[(printable(part.text), _STYLES[part.style][0]) for part in row]))
            return
    print(text_of_page(page), file=stream)


def deliver(write: Callable[[], None]) -> None:
    """Write the answer. A reader that has gone has seen enough, and leaves the exit status as it is."""
    try:
        write()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def columns(rows: Iterable[Sequence[Span]], gap: str = "   ") -> list[Line]:
    """Rows of cells as lines with aligned columns; the last column is left ragged.

    >>> print(text_of_page(columns([[span("b"), span("1")], [span("s16"), span("2")]])))
    b     1
    s16   2
    """
    table = [list(row) for row in rows]
    count = max((len(row) for row in table), default=0)
    widths = [max((len(row[i].text) for row in table if i < len(row)), default=0) for i in range(count)]
    lines: list[Line] = []
    for row in table:
        parts: list[Span] = []
        for i, cell in enumerate(row):
            parts.append(cell)
            if i + 1 < len(row):
                parts.append(Span(" " * (widths[i] - len(cell.text)) + gap))
        lines.append(tuple(parts))
    return lines
