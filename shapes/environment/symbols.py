"""The symbol table of an environment: names, ranges, hints and kinds.

    >>> from shapes.environment.events import Declared
    >>> from solver.knowledge.facts import range_prop
    >>> from solver.proofs.fact import Fact
    >>> from solver.terms.interner import Interner
    >>> table, terms = SymbolTable(), Interner()
    >>> s = terms.symbol("s")
    >>> fact = Fact(range_prop(s, 1, None), terms.true, "range", range_text("s", 1, None), None, None, 0)
    >>> table.register(Declared("s", s, "backed", 1, None, 128, None, fact))
    >>> table.name_of(s), table.name_of(s + 1), table.twin(128), table.free_name("u")
    ('s', None, 's', 'u0')

A *backed* symbol is the size of an input, known before the program runs; its `hint` is the size this time. An
*unbacked* one is known only when the program has run so far. A bound of None means unbounded.
"""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Container
from typing import Final

from shapes.environment.events import Declared
from shapes.errors import ForeignSymbol, ShapeError
from shapes.origin import Origin
from shapes.size_names import is_named_after_place, places_of
from solver.proofs.fact import Fact
from solver.syntax.precedence import number
from solver.syntax.shunting_yard import Side
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

RESERVED: Final = frozenset(
    (
        "min",
        "max",
        "abs",
        "ceildiv",
        "truediv",
        "sqrt",
        "floor",
        "ceil",
        "round",
        "trunc",
        "float",
        "int",
        "bool",
        "divides",
        "double",
    )
)


class SymbolTable:
    """The meanings of the names of an environment."""

    __slots__ = ("_by_hint", "_unnamed", "cancelled", "epoch", "hints", "names", "sides", "strict", "symbols")

    def __init__(self) -> None:
        self.names: dict[str, Expr] = {}
        self.symbols: dict[Atom, Declared] = {}
        self.hints: dict[Atom, int] = {}
        self.strict: dict[Atom, str] = {}
        """The symbols that must not become constants."""
        self.sides: dict[str, Side] = {}
        """The expressions that sides of comparisons were read as, until a name changes its meaning."""
        self.cancelled: dict[str, tuple[Atom, ...]] = {}
        """The symbols of a question's text that its normal form has lost; kept as long as `sides`."""
        self.epoch = 0
        """The number of times that texts were forgotten."""
        self._by_hint: dict[int, Atom] = {}
        self._unnamed = 0

    def register(self, declared: Declared) -> None:
        """Add a symbol."""
        (atom,) = declared.symbol.symbols
        if declared.name in self.names:
            self.forget_texts()
        self.names[declared.name] = declared.symbol
        self.symbols[atom] = declared
        if declared.source is not None and is_named_after_place(declared):
            declared.symbol.interner.shown_names[declared.name] = declared.source
        if declared.hint is not None:
            self.hints[atom] = declared.hint
            self._by_hint.setdefault(declared.hint, atom)

    def unregister(self) -> None:
        """Take the newest symbol away."""
        atom, declared = self.symbols.popitem()
        del self.names[declared.name]
        self.forget_texts()
        self.strict.pop(atom, None)
        hint = self.hints.pop(atom, None)
        if hint is not None and self._by_hint.get(hint) is atom:
            del self._by_hint[hint]

    def forget_texts(self) -> None:
        """Drop what was read in texts."""
        self.sides.clear()
        self.cancelled.clear()
        self.epoch += 1

    def inherit(self, other: SymbolTable) -> None:
        """Begin with the symbols of another table."""
        self.names.update(other.names)
        self.symbols.update(other.symbols)
        self.hints.update(other.hints)
        self.strict.update(other.strict)
        self._by_hint.update(other._by_hint)

    # ------------------------------------------------------------------ names

    def check_name(self, name: str) -> None:
        """Raises:
        ShapeError: a new symbol can not have this name.
        """
        if not isinstance(name, str) or not can_be_name(name):
            raise ShapeError(f"name={name!r}: expected an identifier that is not a keyword")
        known = self.names.get(name)
        if known is not None:
            origin = self.declared(known).fact.origin
            where = f" ({origin.place})" if isinstance(origin, Origin) else ""
            raise ShapeError(f"name={name!r}: a symbol of this name exists already{where}")

    def free_name(self, letter: str) -> str:
        """A letter with a number that no symbol has."""
        while f"{letter}{self._unnamed}" in self.names:
            self._unnamed += 1
        return f"{letter}{self._unnamed}"

    def declared(self, symbol: Expr) -> Declared:
        """The declaration of a symbol."""
        (atom,) = symbol.symbols
        return self.symbols[atom]

    @property
    def places(self) -> dict[str, str]:
        """The places of the symbols that are named after them."""
        return places_of(self.symbols.values())

    def name_of(self, expr: Expr) -> str | None:
        """The name of an expression that is a symbol."""
        atoms = expr.symbols
        if len(atoms) == 1:
            (atom,) = atoms
            if atom.expr is expr and atom in self.symbols:
                return self.symbols[atom].name
        return None

    def check(self, value: Expr | Prop) -> None:
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

    # ------------------------------------------------------------------ inputs

    def twin(self, hint: int) -> str | None:
        """The first symbol with this hint."""
        atom = self._by_hint.get(hint)
        return None if atom is None else self.symbols[atom].name

    def inputs_only(self, prop: Prop) -> bool:
        """Return True if every symbol in it is an input."""
        return all(atom in self.symbols and self.symbols[atom].kind == "backed" for atom in prop.symbols)

    def ranges_of(self, atoms: list[Atom]) -> list[Fact]:
        """The ranges of these symbols."""
        return [self.symbols[atom].fact for atom in atoms if atom in self.symbols]


def can_be_name(text: str) -> bool:
    """Return True for an identifier that is no word of Python and no function of the language."""
    return text.isidentifier() and not keyword.iskeyword(text) and text not in RESERVED


def free_name(text: str, taken: Container[str], prefix: str = "size_") -> str:
    """A name for a new symbol, after a text that may be none, with a number if it is taken.

    >>> free_name("x.shape[0]", {"x_shape_0"}), free_name("lambda", ()), free_name("%0", (), "v")
    ('x_shape_0_1', 'size_lambda', 'v0')
    """
    stem = "_".join(re.findall(r"\w+", text))
    if not can_be_name(stem):
        stem = f"{prefix}{stem}"
    found, number = stem, 1
    while found in taken:
        found, number = f"{stem}_{number}", number + 1
    return found


def range_text(name: str, lo: int | None, hi: int | None) -> str:
    """The bounds of a symbol for people."""
    if lo is None:
        return f"{name} is any integer" if hi is None else f"{name} <= {number(hi).text}"
    if hi is None:
        return f"{name} >= {number(lo).text}"
    return f"{name} == {number(lo).text}" if lo == hi else f"{number(lo).text} <= {name} <= {number(hi).text}"
