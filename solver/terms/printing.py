"""The hook that prints expressions and propositions: `solver.syntax.printer`, which stands above what it prints.

    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> str(terms.symbol("s") % 4)
    's % 4'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from solver.hooks import Hook

printer: Final[Hook[Callable[[object], str]]] = Hook()
"""The text of an expression or proposition."""
