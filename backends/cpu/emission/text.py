"""A C printer: lines, and blocks that are indented.

    >>> text = Text()
    >>> with text.block("if (n > 0)"):
    ...     text.line("return;")
    >>> print(text)
    if (n > 0) {
        return;
    }

What the lines say is left to others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Text:
    """Lines so far, and how deep the next one stands."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str = "") -> Iterator[None]:
        """Enclose the lines written inside in braces."""
        self.line(f"{head} {{" if head else "{")
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    def parallel(self, condition: str, clauses: str, loop: str) -> None:
        """A loop, run by several threads where a condition holds."""
        with self.block(f"if ({condition})"):
            self.line(f"#pragma omp parallel for {clauses}")
            self.line(loop)
        self.line("else")
        self.line("#endif")
        self.line(loop)

    def count_threads(self, work: str, most: str, threads: str) -> None:
        """Into how many parts work is divided, where OpenMP is."""
        self.line("#ifdef _OPENMP")
        self.line(f"int64_t parts = {work};")
        for limit in filter(None, (most, threads)):
            self.line(f"parts = parts < {limit} ? parts : {limit};")

    def __str__(self) -> str:
        return "\n".join(self._lines)
