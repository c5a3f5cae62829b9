"""Reading questions and sizes: text, symbolic values or the solver's own, and what they are at the hints.

>>> from shapes import ShapeEnv
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s", hints=(4, 128))
>>> env.hint("b * s"), env.hint(b < s), env.hint("b*s >= 1000")
(512, True, False)
>>> u = env.unbacked("u")
>>> env.hint(u + b), env.hint(u + b, fallback=32)
(None, 36)
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from shapes.accepted import is_truth, shown, whole_number
from shapes.environment.answers import Questions
from shapes.errors import ForeignSymbol, ParseError, ShapeError
from shapes.symbolic.symint import SymBool, SymInt
from solver.errors import Undefined
from solver.syntax.tokens import Decimals
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

Question = str | SymBool | Prop | bool
Size = str | SymInt | Expr | int


class Readings(Questions):
    """Everything that takes a proposition takes text or a symbolic truth value."""

    def __init__(self, interner: Interner | None = None, *, solvers: bool = True, decimals: Decimals = "ieee") -> None:
        super().__init__(interner, solvers=solvers, decimals=decimals)
        self._hypotheses: tuple[Prop, ...] = ()

    def _read(self, question: Question) -> tuple[Prop, Prop]:
        """A question as a proposition and its domain."""
        if isinstance(question, SymBool):
            prop, domain = question.prop, question.domain
        elif isinstance(question, str):
            return self.parse(question)
        elif is_truth(question):
            return (self._true if question else self.interner.false), self._true
        elif isinstance(question, Prop):
            prop, domain = question, self._true
        else:
            raise ShapeError(f"question={shown(question)}: expected text or a comparison of sizes")
        self._check_symbols(prop)
        return prop, domain

    def _read_expr(self, size: Size) -> tuple[Expr, Prop]:
        """A size as an expression and its domain."""
        if isinstance(size, SymInt):
            expr, domain = size.expr, size.domain
        elif isinstance(size, str):
            return self.parse_expr(size)
        elif isinstance(size, Expr):
            expr, domain = size, self._true
        else:
            number = int(size) if isinstance(size, bool) else whole_number("size", size, "text, a size or an integer")
            return self.interner.constant(number), self._true
        self._check_symbols(expr)
        return expr, domain

    def expression(self, size: Size) -> Expr:
        """A size as the solver's expression."""
        return self._read_expr(size)[0]

    def domain_of(self, size: Size) -> Prop:
        """Where a size makes sense."""
        return self._read_expr(size)[1]

    def _check_symbols(self, value: Expr | Prop) -> None:
        """Sizes of other environments and of rolled-back stretches are errors, never new unknowns."""
        symbols = self.symbols
        if value.symbols <= symbols.keys():
            return
        for atom in value.atoms:
            if atom.kind == "symbol" and atom not in symbols:
                close = difflib.get_close_matches(atom.name, self.names, 1)
                raise ForeignSymbol(
                    f"`{value}` is about {atom.name}, which is no symbol of this environment: it was rolled back, "
                    "or belongs to another one (see `translate`)" + (f"; there is a {close[0]} here" if close else "")
                )

    def true_at_hints(self, question: Question) -> bool | None:
        """Whether it holds at the hints; None where they say nothing: a symbol has none, it makes no sense there, or
        the scope is one that this run does not enter."""
        prop, domain = self._read(question)
        try:
            return self._at_hint(prop, domain)
        except Undefined:
            return None

    def _at_hint(self, prop: Prop, domain: Prop) -> bool | None:
        """The value at the hints; None where a symbol has none, even by the equalities known.

        Under a hypothesis that is false at the hints they say nothing.

        Raises:
            Undefined: the hints are outside the domain.
        """
        if self._hypotheses and self._beside_hints():
            return None
        if self.hints:
            try:
                return self._evaluate(prop, domain)
            except KeyError:
                pass
        known, inside = self.facts.canonical_prop(prop)[0], self.facts.canonical_prop(domain)[0]
        if known is prop and inside is domain and known.symbols:
            return None
        try:
            return self._evaluate(known, inside)
        except KeyError:
            return None

    def _beside_hints(self) -> bool:
        """Whether the scope is one that this run does not enter."""
        for scope in self._hypotheses:
            try:
                if not scope.evaluate(self.hints):
                    return True
            except (KeyError, OverflowError):
                continue
        return False

    def _evaluate(self, prop: Prop, domain: Prop) -> bool | None:
        try:
            if domain is not self._true and not domain.evaluate(self.hints):
                raise Undefined(f"`{prop}` needs `{domain}`, which is false at the hints")
            return prop.evaluate(self.hints)
        except OverflowError:
            return None

    def hint(self, size: Size | SymBool | Prop, fallback: int | None = None) -> int | bool | None:
        """The value at the hints, for estimates and tuning. Symbols without a hint count as `fallback`; with none,
        the answer is None."""
        node: Expr | Prop
        if isinstance(size, (SymBool, Prop)):
            node = self._read(size)[0]
        else:
            try:
                node = self._read_expr(size)[0]
            except ParseError:
                node = self._read(str(size))[0]
        values: Mapping[Atom, int] = self.hints
        if fallback is not None:
            values = {**dict.fromkeys(node.symbols, fallback), **self.hints}
        try:
            return node.evaluate(values)
        except OverflowError:
            return None
        except KeyError:
            pass
        known = self.facts
        try:
            return (
                known.canonical(node)[0].evaluate(values)
                if isinstance(node, Expr)
                else known.canonical_prop(node)[0].evaluate(values)
            )
        except (KeyError, OverflowError):
            return None
