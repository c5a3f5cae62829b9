"""Declaring symbols: input sizes, values known only at run time, whole inputs; and reading questions and sizes.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, d = env.sizes("b s 64", hints=(4, 128))
    >>> b, s, d
    (b, s, 64)
    >>> env.hint(b * s)
    512
    >>> env.symbol("b")
    Traceback (most recent call last):
    solver.errors.ShapeError: name='b': there is a symbol of this name already

A *backed* symbol is the size of an input, known before the program runs; its `hint` is the size this time, and the policy says how
it is treated. An *unbacked* one is known only when the program has run so far. A bound of None means unbounded.
"""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from shapes.errors import FalseAtHint, ForeignSymbol, ParseError, ShapeError
from shapes.events import Commitment, Declared, Guarded, Sourced, SymbolKind
from shapes.origin import Origin, OriginProvider, here
from shapes.policies import Dynamic, Fixed, InputChoice, InputSize, Policy, SameAs, unspecialized
from shapes.questions import Questions
from shapes.symint import SymBool, SymInt
from solver.errors import Undefined
from solver.expr import Atom, Expr, Interner
from solver.fact import Fact, Kind
from solver.facts import Facts, range_prop
from solver.prop import Prop
from solver.text import Decimals

Question = str | SymBool | Prop | bool
Size = str | SymInt | Expr | int

TOKEN: Final = re.compile(r"[^\s,]+")
RESERVED: Final = frozenset(
    ("min", "max", "abs", "ceildiv", "truediv", "sqrt", "floor", "ceil", "round", "trunc", "float", "int", "bool", "divides")
)


class Declarations(Questions):
    """An environment's symbols, with their hints, sources and places."""

    def __init__(
        self,
        *,
        interner: Interner | None = None,
        policy: Policy = unspecialized,
        origin: OriginProvider = here,
        solvers: bool = True,
        decimals: Decimals = "ieee",
    ) -> None:
        super().__init__(interner, solvers=solvers, decimals=decimals)
        self.policy = policy
        self._origin = origin
        self._strict: dict[Atom, str] = {}
        self._unnamed = 0
        self._choices: dict[Prop, int] = {}
        self._hypotheses: tuple[Prop, ...] = ()

    @contextmanager
    def at(self, origin: Origin | None) -> Iterator[None]:
        """What is committed inside comes from this place, whatever the stack says."""
        before = self._origin
        self._origin = lambda: origin
        try:
            yield
        finally:
            self._origin = before

    def where(self) -> str | None:
        """The place that is asking, as recorded sessions write it."""
        origin = self._origin()
        return None if origin is None else origin.recorded

    # ------------------------------------------------------------------ declaring

    def symbol(
        self,
        name: str,
        lo: int | None = 0,
        hi: int | None = None,
        hint: int | None = None,
        *,
        source: str | None = None,
        strict: bool = False,
    ) -> SymInt:
        """A size of an input, between `lo` and `hi` inclusive; `hint` is its value this time.

        `source` says where the size is found, for people. With `strict`, a guard that makes it a constant is an error.
        """
        return SymInt(self, self._declare(name, lo, hi, hint, "backed", source, strict=strict), self._true)

    def sizes(
        self,
        spec: str,
        hints: Sequence[int | None] | Mapping[str, int] | None = None,
        *,
        lo: int | None = 0,
        hi: int | None = None,
    ) -> tuple[SymInt | int, ...]:
        """One size for each word: a name is a symbol (declared unless it is known), a number stands for itself, anything
        else is an expression over the names so far. One hint per name."""
        names = list(dict.fromkeys([word for word in TOKEN.findall(spec) if word.isidentifier()]))
        if isinstance(hints, Mapping):
            by_name: Mapping[str, int | None] = hints
            unknown = [name for name in hints if name not in names]
            if unknown:
                raise ShapeError(f"hints={hints!r}: no {unknown[0]} in {spec!r}")
        else:
            if hints is not None and len(hints) != len(names):
                raise ShapeError(f"hints={hints!r}: {spec!r} has {len(names)} names, one hint for each")
            by_name = dict(zip(names, hints, strict=True)) if hints is not None else {}
        mark = self._position()
        try:
            return tuple([self._size(word, by_name, lo, hi) for word in TOKEN.findall(spec)])
        except BaseException:
            self._return_to(mark)
            raise

    def _size(self, word: str, hints: Mapping[str, int | None], lo: int | None, hi: int | None) -> SymInt | int:
        if word.isidentifier():
            known = self.names.get(word)
            if known is None:
                return self.symbol(word, lo, hi, hints.get(word))
            hint = hints.get(word)
            (atom,) = known.symbols
            if hint is not None and hint != self.hints.get(atom, hint):
                raise FalseAtHint(f"hint={hint}: {word} is {self.hints[atom]}", [self.symbols[atom].fact])
            return SymInt(self, known, self._true)
        expr, domain = self.parse_expr(word)
        return expr.constant if expr.is_constant and domain is self._true else SymInt(self, expr, domain)

    def _declare(
        self,
        name: str,
        lo: int | None,
        hi: int | None,
        hint: int | None,
        kind: SymbolKind,
        source: str | None,
        *,
        strict: bool = False,
        restored: int | None = None,
    ) -> Expr:
        """A new symbol with its range, and what the policy makes of it; one restored from a line had that already."""
        self._check_name(name)
        for label, bound in (("lo", lo), ("hi", hi), ("hint", hint)):
            if bound is not None and type(bound) is not int:
                raise ShapeError(f"{label}={bound!r}: expected an integer" + ("" if label == "hint" else ", or None for unbounded"))
        if lo is not None and hi is not None and lo > hi:
            raise ShapeError(f"lo={lo}, hi={hi}: no value of {name} lies between")
        interner = self.interner
        symbol = interner.symbol(name)
        (atom,) = symbol.symbols
        prop, text = range_prop(symbol, lo, hi), range_text(name, lo, hi)
        fact = Fact(prop, self._true, "range", text, self._origin(), restored, len(self._commitments))
        if hint is not None and not prop.evaluate({atom: hint}):
            raise FalseAtHint(f"hint={hint}: outside {text}", [fact])
        facts = self._extended(self.facts.declare(symbol, lo, hi, fact, hint=hint), text)
        steps: list[tuple[Facts, Commitment]] = [(facts, Declared(name, symbol, kind, lo, hi, hint, source, fact))]
        if hint is not None and kind == "backed" and restored is None:
            choice = self.policy.on_input(InputSize(name, hint, lo, hi, self._twin))
            chosen = self._chosen_fact(symbol, lo, hint, choice, fact)
            if chosen is not None:
                facts = self._extended(facts.assume(chosen), chosen.text)
                steps.append((facts, Guarded(chosen, chosen.prop, True, f"{self.policy.name}: {choice.why}")))
        for facts, commitment in steps:
            self._commit(facts, commitment)
        if strict:
            self._strict[atom] = name
        return symbol

    def _free_name(self, letter: str) -> str:
        while f"{letter}{self._unnamed}" in self.names:
            self._unnamed += 1
        return f"{letter}{self._unnamed}"

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED:
            raise ShapeError(f"name={name!r}: expected an identifier that is no word of the language")
        known = self.names.get(name)
        if known is not None:
            (atom,) = known.symbols
            origin = self.symbols[atom].fact.origin
            where = f" ({origin.name}:{origin.line})" if isinstance(origin, Origin) else ""
            raise ShapeError(f"name={name!r}: there is a symbol of this name already{where}")

    def _undeclare(self, count: int) -> None:
        super()._undeclare(count)
        if self._strict:
            self._strict = {atom: name for atom, name in self._strict.items() if atom in self.symbols}

    def _chosen_fact(self, symbol: Expr, lo: int | None, hint: int, choice: InputChoice, range_: Fact) -> Fact | None:
        """What a policy's choice says about a new input, if anything."""
        interner = self.interner
        match choice:
            case Fixed():
                prop = interner.eq(symbol, hint)
            case SameAs(name=twin):
                prop = interner.eq(symbol, self.names[twin])
                text = f"{symbol} == {twin}"
                return Fact(prop, self._true, "guard", text, range_.origin, None, range_.serial + 1)
            case Dynamic(at_least=None):
                return None
            case Dynamic(at_least=least):
                if lo is not None and lo >= least:
                    return None
                prop = interner.ge(symbol, least)
        return Fact(prop, self._true, "guard", str(prop), range_.origin, None, range_.serial + 1)

    def _twin(self, hint: int) -> str | None:
        """The first backed symbol with this hint."""
        atom = self._by_hint.get(hint)
        return None if atom is None else self.symbols[atom].name

    def add_source(self, size: SymInt | str, source: str) -> None:
        """One more place where the value of a symbol is found at run time; a compiled check tests that they agree."""
        expr, _ = self._read_expr(size)
        name = self._name_of(expr)
        if name is None:
            raise ShapeError(f"size={size!r}: expected a symbol of this environment")
        self._commit(self.facts, Sourced(name, source))

    def sources(self, size: SymInt | str) -> tuple[str, ...]:
        """Where a symbol's value is found, as far as that was said."""
        name = self._name_of(self._read_expr(size)[0])
        found: list[str] = []
        for event in self._commitments:
            match event:
                case Declared(name=declared, source=str(source)) if declared == name:
                    found.append(source)
                case Sourced(name=named, source=source) if named == name:
                    found.append(source)
        return tuple(found)

    def _name_of(self, expr: Expr) -> str | None:
        atoms = expr.symbols
        if len(atoms) == 1:
            (atom,) = atoms
            if atom.expr is expr and atom in self.symbols:
                return self.symbols[atom].name
        return None

    # ------------------------------------------------------------------ reading questions, sizes and hints

    def _read(self, question: Question) -> tuple[Prop, Prop]:
        """A question as a proposition and its domain."""
        if isinstance(question, SymBool):
            prop, domain = question.prop, question.domain
        elif isinstance(question, str):
            return self.parse(question)
        elif isinstance(question, bool):
            return (self._true if question else self.interner.false), self._true
        elif isinstance(question, Prop):
            prop, domain = question, self._true
        else:
            raise ShapeError(f"question={question!r}: expected text or a comparison of sizes")
        self._check_symbols(prop)
        return prop, domain

    def _read_expr(self, size: Size) -> tuple[Expr, Prop]:
        """A size as an expression and its domain."""
        if isinstance(size, SymInt):
            expr, domain = size.expr, size.domain
        elif isinstance(size, str):
            return self.parse_expr(size)
        elif isinstance(size, int):
            return self.interner.constant(size), self._true
        elif isinstance(size, Expr):
            expr, domain = size, self._true
        else:
            raise ShapeError(f"size={size!r}: expected text, a size or an integer")
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
        for atom in value.atoms:
            if atom.kind == "symbol" and atom not in symbols:
                close = difflib.get_close_matches(atom.name, self.names, 1)
                raise ForeignSymbol(
                    f"`{value}` is about {atom.name}, which is no symbol of this environment: it was rolled back, or belongs to another "
                    f"one (see `translate`)" + (f"; there is a {close[0]} here" if close else "")
                )

    def _at_hint(self, prop: Prop, domain: Prop) -> bool | None:
        """The value at the hints; None where a symbol has none, even by the equalities known.

        Under a hypothesis that is false at the hints they say nothing.

        Raises:
            Undefined: the hints are outside the domain.
        """
        if self._hypotheses and self._beside_hints():
            return None
        try:
            return self._evaluate(prop, domain)
        except KeyError:
            pass
        try:
            return self._evaluate(self.facts.canonical_prop(prop)[0], self.facts.canonical_prop(domain)[0])
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
        """The value at the hints, for estimates and tuning. Symbols without a hint count as `fallback`; with none, the answer is None."""
        if isinstance(size, str):
            try:
                size = self.parse_expr(size)[0]
            except ParseError:
                size = self.parse(size)[0]
        node: Expr | Prop
        if isinstance(size, SymBool):
            node = size.prop
        else:
            node = size if isinstance(size, Prop) else self._read_expr(size)[0]
        self._check_symbols(node)
        values: Mapping[Atom, int] = self.hints
        if fallback is not None:
            values = {**dict.fromkeys(node.symbols, fallback), **self.hints}
        for candidate in (node, None):
            if candidate is None:
                known = self.facts
                candidate = known.canonical(node)[0] if isinstance(node, Expr) else known.canonical_prop(node)[0]
            try:
                return candidate.evaluate(values)
            except (KeyError, OverflowError):
                continue
        return None

    def _fact(self, prop: Prop, domain: Prop, kind: Kind, text: str) -> Fact:
        """A fact that would come next, from the place that is asking."""
        return Fact(prop, domain, kind, text, self._origin(), None, len(self._commitments))


def range_text(name: str, lo: int | None, hi: int | None) -> str:
    """The bounds of a symbol for people."""
    match lo, hi:
        case None, None:
            return f"{name} is any integer"
        case _, None:
            return f"{name} >= {lo}"
        case None, _:
            return f"{name} <= {hi}"
        case _:
            return f"{name} == {lo}" if lo == hi else f"{lo} <= {name} <= {hi}"
