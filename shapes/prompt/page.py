"""Pages of styled text on a stream: plain, or in colours on a terminal.

>>> import sys
>>> show([line(span("always", "always"), "   because  ", span("s % 16 == 0", "fact"))], sys.stdout)
always   because  s % 16 == 0
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final, TextIO

from solver.styled_text import (
    Line,
    Page,
    Span,
    Style,
    columns,
    html_of_page,
    line,
    printable,
    span,
    text_of_page,
)

__all__ = [
    "Line",
    "Page",
    "Span",
    "Style",
    "columns",
    "deliver",
    "html_of_page",
    "line",
    "printable",
    "show",
    "span",
    "text_of_page",
    "wants_colour",
]

# Terminal colours leave the background alone.
_STYLES: Final[dict[Style, str]] = {
    "plain": "",
    "always": "bold green",
    "never": "bold red",
    "depends": "bold yellow",
    "gave up": "bold magenta",
    "fact": "cyan",
    "line": "dim",
    "value": "bold",
    "error": "bold red",
    "muted": "dim",
    "heading": "bold",
}


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
                console.print(Text.assemble(*[(printable(part.text), _STYLES[part.style]) for part in row]))
            return
    print(text_of_page(page), file=stream)


def deliver(write: Callable[[], None]) -> None:
    """Write the answer. A reader that has gone has seen enough, and leaves the exit status as it is."""
    try:
        write()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
