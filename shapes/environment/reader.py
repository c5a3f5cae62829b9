"""Reading of questions and sizes: text, symbolic values or terms, as terms with their domains.

>>> from shapes import ShapeEnv
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s", hints=(4, 128))
>>> env.expression("b*s + b"), env.expression(b * s + b) is env.expression("b*(s + 1)")
(<b*s + b>, True)
>>> env.domain_of("b // s")
<s != 0>
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from shapes.accepted import is_truth, shown, whole_number
from shapes.environment.access import Access, synchronized
from shapes.environment.symbols import SymbolTable
from shapes.environment.trail import Trail
from shapes.errors import ShapeError
from shapes.size_names import with_symbols
from shapes.symbolic.numbers import SymBool, SymInt
from solver.syntax.parser import parse, parse_expr
from solver.syntax.tokens import Decimals
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

Question = str | SymBool | Prop | bool
Size = str | SymInt | Expr | int

TEXTS_KEPT: Final = 1 << 13
WORD: Final = re.compile(r"(?<![\w.])([^\W\d]\w*)(?!\w|\s*\()")
"""A name in a text that is not called."""


class Reader:
    """Everything that takes a proposition takes text or a symbolic truth value."""

    __slots__ = ("_access", "_decimals", "_forget", "interner", "table", "texts", "true")

    def __init__(
        self, interner: Interner, table: SymbolTable, access: Access, *, decimals: Decimals, forget: Callable[[], None]
    ) -> None:
        self.interner = interner
        self.table = table
        self._access = access
        self.true = interner.true
        self.texts: Trail[str, tuple[Prop, Prop]] = Trail(TEXTS_KEPT)
        """The texts that were read before."""
        self._decimals: Decimals = decimals
        self._forget = forget

    # ------------------------------------------------------------------ propositions

    def parse(self, text: str) -> tuple[Prop, Prop]:
        """The proposition that a text says, and its domain."""
        found = self.texts.get(text) if isinstance(text, str) else None
        return self._parsed(text) if found is None else found

    @synchronized
    def _parsed(self, text: str) -> tuple[Prop, Prop]:
        if not isinstance(text, str):
            raise ShapeError(f"text={shown(text)}: expected a proposition as text")
        table = self.table
        written = with_symbols(text, lambda: table.places)
        parsed = parse(written, table.names, self.interner, decimals=self._decimals, sides=table.sides)
        if self.texts.make_room():
            self._forget()
        self.texts[text] = parsed
        return parsed

    def read(self, question: Question) -> tuple[Prop, Prop]:
        """A question as a proposition and its domain."""
        if isinstance(question, SymBool):
            prop, domain = question.prop, question.domain
        elif isinstance(question, str):
            return self.parse(question)
        elif is_truth(question):
            return (self.true if question else self.interner.false), self.true
        elif isinstance(question, Prop):
            prop, domain = question, self.true
        else:
            raise ShapeError(f"question={shown(question)}: expected text or a comparison of sizes")
        self.table.check(prop)
        return prop, domain

    def cancelled(self, text: str, prop: Prop, domain: Prop) -> tuple[Atom, ...]:
        """The symbols that a text names and its normal form has lost, such as b in `s + b - b > 3`."""
        known = self.table.cancelled
        found = known.get(text)
        if found is None:
            named = [self.table.names.get(word) for word in dict.fromkeys(WORD.findall(text))]
            kept = prop.symbols | domain.symbols
            atoms = [atom for symbol in named if symbol is not None for atom in symbol.symbols]
            if len(known) >= TEXTS_KEPT:
                known.clear()
            found = known[text] = tuple([atom for atom in atoms if atom not in kept])
        return found

    # ------------------------------------------------------------------ sizes

    @synchronized
    def parse_expr(self, text: str) -> tuple[Expr, Prop]:
        """The size that a text says, and its domain."""
        if not isinstance(text, str):
            raise ShapeError(f"text={shown(text)}: expected an expression as text")
        text = with_symbols(text, lambda: self.table.places)
        parsed = parse_expr(text, self.table.names, self.interner, decimals=self._decimals)
        return parsed.expr, parsed.domain

    def read_expr(self, size: Size) -> tuple[Expr, Prop]:
        """A size as an expression and its domain."""
        if isinstance(size, SymInt):
            expr, domain = size.expr, size.domain
        elif isinstance(size, str):
            return self.parse_expr(size)
        elif isinstance(size, Expr):
            expr, domain = size, self.true
        else:
            number = int(size) if isinstance(size, bool) else whole_number("size", size, "text, a size or an integer")
            return self.interner.constant(number), self.true
        self.table.check(expr)
        return expr, domain

    def read_symbol(self, size: SymInt | str, label: str) -> tuple[Expr, str]:
        """A symbol and its name.

        Raises:
            ShapeError: it is none of this environment.
        """
        expr, _ = self.read_expr(size)
        name = self.table.name_of(expr)
        if name is None:
            raise ShapeError(f"{label}={size!r}: expected a symbol of this environment")
        return expr, name

    # ------------------------------------------------------------------ going back

    @property
    def position(self) -> int:
        return self.texts.position

    def return_to(self, position: int) -> None:
        """Forget what was read since; it may be about symbols that are gone."""
        self.texts.return_to(position)
