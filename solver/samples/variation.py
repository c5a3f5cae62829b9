"""A sample with some symbols changed: the values of expressions there, and the symbols that must change along.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.samples.variation import Variation
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 0, 9).declare_range(y, 0, None).learn_prop(terms.eq(y, 2 * x))
    >>> Variation(known, known.samples, known.samples.alive[0]).along(x + y, x.atom, 5, {})
    15
"""

from __future__ import annotations

from typing import Final

from solver.knowledge.facts import Facts
from solver.knowledge.samples import Samples
from solver.terms.deadline import look
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

TOUCHED: Final = 96
"""Facts or eliminated symbols evaluated for one change."""


class Variation:
    """A row of the samples; `moved` holds the symbols that have another value."""

    __slots__ = ("base", "facts", "named", "row", "samples", "shifted", "solving")

    def __init__(self, facts: Facts, samples: Samples, row: int) -> None:
        self.facts = facts
        self.samples = samples
        self.row = row
        self.base: dict[Atom, int] = {}
        self.shifted = False  # whether the base differs from the row
        self.solving: set[Atom] = set()  # names being computed by an equality
        self.named: dict[tuple[Atom, frozenset[Atom]], int] | None = None  # of one evaluation: definitions share names

    def value(self, atom: Atom, moved: dict[Atom, int]) -> int:
        found = moved.get(atom)
        if found is None:
            found = self.base.get(atom)
            if found is None:
                found = self.base[atom] = (
                    self.samples.atom_column(atom)[self.row] if atom.definition is None else self._defined(atom, moved)
                )
        return found

    def _defined(self, atom: Atom, moved: dict[Atom, int]) -> int:
        """The value of a name: by the equality that eliminates it, unless that is circular, or else by its definition,
        which mentions older names alone.
        """
        memo = self.named
        if memo is None:
            self.named = {}
            try:
                return self._defined(atom, moved)
            finally:
                self.named = None
        key = (atom, frozenset(self.solving))
        found = memo.get(key)
        if found is None:
            found = memo[key] = self._by_definition(atom, moved)
        return found

    def _by_definition(self, atom: Atom, moved: dict[Atom, int]) -> int:
        assert atom.definition is not None
        rule = self.facts.solved.get(atom.monomial)
        if (
            rule is None
            or atom in self.solving
            or any(other.definition is not None and atom in other.definition.symbols for other in rule.image.symbols)
        ):
            return self.evaluate(atom.definition, moved)
        self.solving.add(atom)
        try:
            return self.evaluate(rule.image, moved)
        finally:
            self.solving.discard(atom)

    def assignment(self, symbols: frozenset[Atom], moved: dict[Atom, int]) -> dict[Atom, int]:
        if self.named is None and any(atom.definition is not None for atom in symbols):
            self.named = {}
            try:
                return self.assignment(symbols, moved)
            finally:
                self.named = None
        look()
        values = {}
        base = self.base
        for atom in symbols:
            if atom.definition is not None:
                values[atom] = self._defined(atom, moved)
            elif atom in moved:
                values[atom] = moved[atom]
            elif atom in base:
                values[atom] = base[atom]
            else:
                values[atom] = self.value(atom, moved)
        return values

    def evaluate(self, e: Expr, moved: dict[Atom, int]) -> int:
        return e.evaluate(self.assignment(e.symbols, moved))

    def holds(self, p: Prop, moved: dict[Atom, int]) -> bool:
        if not p.parts and not p.schedule:
            total = self.polynomial(p.expr, moved)
            return total >= 0 if p.kind == "ge" else (total == 0) == (p.kind == "eq") if p.terms else p.kind == "true"
        try:
            return p.evaluate(self.assignment(p.symbols, moved))
        except OverflowError:
            return False

    def polynomial(self, e: Expr, moved: dict[Atom, int]) -> int:
        """The value of an expression over symbols alone, the common case, without a dictionary."""
        total = e.constant
        base = self.base
        monomials = e.interner.monomials
        for m, c in e.terms:
            for atom in monomials[m]:
                if atom in moved:
                    c *= moved[atom]
                elif atom in base and atom.definition is None:
                    c *= base[atom]
                elif atom.definition is None:
                    c *= self.value(atom, moved)
                elif self.named is None:
                    return e.at(self.assignment(e.symbols, moved))
                else:
                    c *= self._defined(atom, moved)
            total += c
        return total

    def slope(self, e: Expr, atom: Atom) -> int:
        """The coefficient of a symbol that occurs only linearly and determines no other; else 0."""
        dependents = self.samples.dependents
        if self.facts.solved.count and (self.facts.solved.get(atom.monomial) or dependents.get(atom.serial)):
            return 0
        found = 0
        monomials = self.facts.interner.monomials
        for m, c in e.terms:
            if m == atom.monomial:
                found = c
            elif any(
                other is atom or other.definition is not None or other.args and atom in other.expr.atoms
                for other in monomials[m]
            ):
                return 0
        return found

    def along(self, e: Expr, atom: Atom, at: int, moved: dict[Atom, int]) -> int | None:
        """The value of an expression with one symbol changed and eliminated symbols recomputed."""
        trial = self.recompute(atom, {**moved, atom: at}, checked=False)
        if trial is None:
            return None
        try:
            return self.evaluate(e, trial)
        except OverflowError:
            return None

    def recompute(self, atom: Atom, moved: dict[Atom, int], *, checked: bool = True) -> dict[Atom, int] | None:
        """Recompute the eliminated symbols that depend on a changed one."""
        if not self.facts.solved.count:
            return moved
        own = self.facts.solved.get(atom.monomial)
        try:
            if own is not None and checked:
                moved[atom] = self.evaluate(own.image, moved)
            pending, seen = [atom], {atom}
            while pending:
                for dependent in self.samples.dependents.get(pending.pop(0).serial) or ():
                    if dependent in seen or dependent.kind != "symbol":
                        continue
                    if len(seen) > TOUCHED:
                        return None
                    seen.add(dependent)
                    if dependent.definition is not None:
                        pending.append(dependent)
                        continue
                    rule = self.facts.solved.get(dependent.monomial)
                    if rule is not None:
                        moved[dependent] = self.evaluate(rule.image, moved)
                        pending.append(dependent)
        except OverflowError:
            return None
        return moved
