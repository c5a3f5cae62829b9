"""How expressions and propositions print: by a printer that is handed in, as it stands above what it prints.

    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> str(terms.symbol("s") % 4)
    's % 4'

The package hands in that of `solver.syntax.printer` when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable

_printers: list[Callable[[object], str]] = []


def print_by(printer: Callable[[object], str]) -> None:
    """Have expressions and propositions print by this."""
    _printers[:] = [printer]


def printed(value: object) -> str:
    """The text of an expression or proposition."""
    return _printers[0](value)
