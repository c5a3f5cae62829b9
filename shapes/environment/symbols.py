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

A *backed* symbol is the size of an input, known before the program runs; its `hint` is the size this time, and the
policy says how it is treated. An *unbacked* one is known only when the program has run so far. A bound of None means
unbounded.
"""

from __future__ import annotations

import keyword
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from shapes.accepted import did_you_mean, is_truth, one_of, shown, whole_number
from shapes.environment.answers import synchronized
from shapes.environment.events import Commitment, Declared, Guarded, Sourced, SymbolKind
from shapes.environment.reader import Question, Readings
from shapes.errors import FalseAtHint, ShapeError
from shapes.origin import Origin, OriginProvider, here
from shapes.policies import Dynamic, Fixed, InputChoice, InputSize, Policy, SameAs, named, unspecialized
from shapes.symbolic.symint import SymInt
from solver.knowledge.facts import Facts, range_prop
from solver.proofs.fact import Fact, Kind
from solver.syntax.precedence import number
from solver.syntax.tokens import Decimals
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

TOKEN: Final = re.compile(r"[^\s,]+")
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


class Declarations(Readings, ABC):
    """An environment's symbols, with their hints, sources and places."""

    @abstractmethod
    def guard(self, question: Question) -> bool:
        """Commit to a branch (see `shapes.environment.ledger`); symbolic truth values need it."""

    @abstractmethod
    def specialize(self, size: SymInt | str, why: str) -> int:
        """The value of a size as a constant (see `shapes.environment.ledger`); symbolic numbers need it."""

    def __init__(
        self,
        *,
        interner: Interner | None = None,
        policy: Policy = unspecialized,
        origin: OriginProvider = here,
        solvers: bool = True,
        decimals: Decimals = "ieee",
    ) -> None:
        if interner is not None and not isinstance(interner, Interner):
            raise ShapeError(f"interner={shown(interner)}: expected that of another environment, or None")
        if not all(hasattr(policy, name) for name in ("name", "on_input", "on_open")):
            known = ", ".join(named)
            hint = did_you_mean(policy, named)
            raise ShapeError(f"policy={shown(policy)}: expected one of shapes.policies ({known}), or your own{hint}")
        if not callable(origin):
            raise ShapeError(f"origin={shown(origin)}: expected a function that gives the place that is asking")
        if not is_truth(solvers):
            raise ShapeError(f"solvers={shown(solvers)}: expected True or False")
        one_of("decimals", decimals, ("ieee", "real"))
        super().__init__(interner, solvers=solvers, decimals=decimals)
        self.policy = policy
        self.origin = origin
        self._strict: dict[Atom, str] = {}
        self._unnamed = 0
        self._choices: dict[Prop, int] = {}

    @contextmanager
    def at(self, origin: Origin | None) -> Iterator[None]:
        """What is committed inside comes from this place, whatever the stack says."""
        if origin is not None and not isinstance(origin, Origin):
            raise ShapeError(f"origin={shown(origin)}: expected an Origin, or None")
        before = self.origin
        self.origin = lambda: origin
        try:
            yield
        finally:
            self.origin = before

    def where(self) -> str | None:
        """The place that is asking, as recorded sessions write it."""
        origin = self.origin()
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
        """One size for each word: a name is a symbol (declared unless it is known), a number stands for itself,
        anything else is an expression over the names so far. One hint per name."""
        if not isinstance(spec, str):
            raise ShapeError(f"spec={shown(spec)}: expected names and numbers as text, such as 'b s 64'")
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

    @synchronized
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
        obeying: bool = True,
        sample: int | None = None,
        line: int | None = None,
    ) -> Expr:
        """A new symbol with its range, and what the policy makes of it; `sample` is a typical value where there is no
        hint."""
        self._check_name(name)
        unbounded = "an integer, or None for unbounded"
        lo = None if lo is None else whole_number("lo", lo, unbounded)
        hi = None if hi is None else whole_number("hi", hi, unbounded)
        hint = None if hint is None else whole_number("hint", hint)
        if lo is not None and hi is not None and lo > hi:
            raise ShapeError(f"lo={lo}, hi={hi}: no value of {name} lies between")
        interner = self.interner
        symbol = interner.symbol(name)
        (atom,) = symbol.symbols
        prop, text = range_prop(symbol, lo, hi), range_text(name, lo, hi)
        fact = Fact(prop, self._true, "range", text, self.origin(), line, len(self._commitments))
        if hint is not None and not prop.evaluate({atom: hint}):
            raise FalseAtHint(f"hint={hint}: outside {text}", [fact])
        facts = self._extended(self.facts.declare(symbol, lo, hi, fact, hint=sample if hint is None else hint), text)
        steps: list[tuple[Facts, Commitment]] = [(facts, Declared(name, symbol, kind, lo, hi, hint, source, fact))]
        if hint is not None and kind == "backed" and obeying:
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
            case Dynamic(at_least=least):
                if least is None or (lo is not None and lo >= least):
                    return None
                prop = interner.ge(symbol, least)
        return Fact(prop, self._true, "guard", None, range_.origin, None, range_.serial + 1)

    def _twin(self, hint: int) -> str | None:
        """The first backed symbol with this hint."""
        atom = self._by_hint.get(hint)
        return None if atom is None else self.symbols[atom].name

    @synchronized
    def add_source(self, size: SymInt | str, source: str) -> None:
        """One more place where the value of a symbol is found at run time; a compiled check tests that they agree."""
        expr, _ = self._read_expr(size)
        name = self._name_of(expr)
        if name is None:
            raise ShapeError(f"size={size!r}: expected a symbol of this environment")
        if not isinstance(source, str):
            raise ShapeError(f"source={shown(source)}: expected text that says where the value is found")
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

    def _fact(self, prop: Prop, domain: Prop, kind: Kind, text: str | None = None) -> Fact:
        """A fact that would come next, from the place that is asking."""
        return Fact(prop, domain, kind, text, self.origin(), None, len(self._commitments))


def range_text(name: str, lo: int | None, hi: int | None) -> str:
    """The bounds of a symbol for people."""
    if lo is None:
        return f"{name} is any integer" if hi is None else f"{name} <= {number(hi).text}"
    if hi is None:
        return f"{name} >= {number(lo).text}"
    return f"{name} == {number(lo).text}" if lo == hi else f"{number(lo).text} <= {name} <= {number(hi).text}"
