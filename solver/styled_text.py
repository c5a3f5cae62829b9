"""Styled text: pages of lines of spans, as plain text and as HTML.

    >>> page = [line(span("always", "always"), "   because  ", span("s % 16 == 0", "fact"))]
    >>> text_of_page(page)
    'always   because  s % 16 == 0'
    >>> html_of_page(page)[:27]
    '<pre style="line-height:1.4'

Notebooks show verdicts, environments and guards as such pages (`_repr_html_`); the prompt prints the same ones.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Style = Literal["plain", "always", "never", "depends", "gave up", "fact", "line", "value", "error", "muted", "heading"]


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    style: Style = "plain"


Line = tuple[Span, ...]
Page = Sequence[Line]

# They leave the background alone and keep a contrast of 4.5 on white and on dark notebooks.
_HTML: Final[dict[Style, str]] = {
    "plain": "",
    "always": "color:#1a7f37;font-weight:bold",
    "never": "color:#cf222e;font-weight:bold",
    "depends": "color:#9a6700;font-weight:bold",
    "gave up": "color:#8250df;font-weight:bold",
    "fact": "color:#0969da",
    "line": "opacity:.7",
    "value": "font-weight:bold",
    "error": "color:#cf222e;font-weight:bold",
    "muted": "opacity:.7",
    "heading": "font-weight:bold",
}


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
    style = _HTML[part.style]
    return f'<span style="{style}">{text}</span>' if style else text


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
