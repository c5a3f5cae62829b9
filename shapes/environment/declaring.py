"""Declaration of symbols: a name, a range, a hint, and what the policy decides about it.

    >>> from shapes import ShapeEnv
    >>> from shapes.policies import torch_defaults
    >>> env = ShapeEnv(policy=torch_defaults, origin=lambda: None)
    >>> b, s, d = env.sizes("b s 64", hints=(4, 128))
    >>> b, s, d
    (b, s, 64)
    >>> for event in env.events:
    ...     print(event)
    symbol b >= 0, hint 4
    guard b >= 2 (torch_defaults: neither 0 nor 1)
    symbol s >= 0, hint 128
    guard s >= 2 (torch_defaults: neither 0 nor 1)
    >>> env.symbol("b")
    Traceback (most recent call last):
    solver.errors.ShapeError: name='b': a symbol of this name exists already
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence, Set
from typing import Final

from shapes.accepted import shown, whole_number
from shapes.environment.events import Commitment, Declared, Guarded, SymbolKind
from shapes.environment.ledger import Ledger, extended
from shapes.environment.reader import Reader
from shapes.environment.symbols import range_text
from shapes.errors import FalseAtHint, ShapeError
from shapes.policies import Dynamic, Fixed, InputChoice, InputSize, Policy, SameAs
from solver.decide.assume import assume
from solver.knowledge.facts import Facts, range_prop
from solver.proofs.fact import Fact
from solver.terms.expr import Expr
from solver.terms.prop import Prop

TOKEN: Final = re.compile(r"[^\s,]+")


class Declarations:
    """The commands that make symbols."""

    __slots__ = ("ledger", "reader", "table", "true")

    def __init__(self, ledger: Ledger, reader: Reader) -> None:
        self.ledger = ledger
        self.reader = reader
        self.table = ledger.table
        self.true = ledger.interner.true

    def declare(
        self,
        name: str,
        lo: int | None,
        hi: int | None,
        hint: int | None,
        kind: SymbolKind,
        source: str | None,
        *,
        policy: Policy | None = None,
        strict: bool = False,
        sample: int | None = None,
        line: int | None = None,
    ) -> Expr:
        """A new symbol with its range, and what the policy makes of it, if there is one; `sample` is a typical value
        where there is no hint."""
        ledger = self.ledger
        self.table.check_name(name)
        unbounded = "an integer, or None for unbounded"
        lo = None if lo is None else whole_number("lo", lo, unbounded)
        hi = None if hi is None else whole_number("hi", hi, unbounded)
        hint = None if hint is None else whole_number("hint", hint)
        if lo is not None and hi is not None and lo > hi:
            raise ShapeError(f"lo={lo}, hi={hi}: no value of {name} lies between")
        symbol = ledger.interner.symbol(name)
        (atom,) = symbol.symbols
        prop, text = range_prop(symbol, lo, hi), range_text(name, lo, hi)
        fact = ledger.fact(prop, self.true, "range", text, line)
        if hint is not None and not prop.evaluate({atom: hint}):
            raise FalseAtHint(f"hint={hint}: outside {text}", [fact])
        facts = extended(ledger.facts.declare(symbol, lo, hi, fact, hint=sample if hint is None else hint), fact)
        steps: list[tuple[Facts, Commitment]] = [(facts, Declared(name, symbol, kind, lo, hi, hint, source, fact))]
        if hint is not None and kind == "backed" and policy is not None:
            choice = policy.on_input(InputSize(name, hint, lo, hi, self.table.twin))
            chosen = self._chosen_fact(symbol, lo, hint, choice, fact)
            if chosen is not None:
                facts = extended(assume(facts, chosen), chosen)
                steps.append((facts, Guarded(chosen, chosen.prop, True, f"{policy.name}: {choice.why}")))
        for facts, commitment in steps:
            ledger.commit(facts, commitment)
        if strict:
            self.table.strict[atom] = name
        return symbol

    def _chosen_fact(self, symbol: Expr, lo: int | None, hint: int, choice: InputChoice, range_: Fact) -> Fact | None:
        """The fact that a policy chooses about a new input, if any."""
        interner = self.ledger.interner
        text = None
        match choice:
            case Fixed():
                prop = interner.eq(symbol, hint)
            case SameAs(name=twin):
                prop, text = interner.eq(symbol, self.table.names[twin]), f"{symbol} == {twin}"
            case Dynamic(at_least=least):
                if least is None or (lo is not None and lo >= least):
                    return None
                prop = interner.ge(symbol, least)
        return Fact(prop, self.true, "guard", text, range_.origin, None, range_.serial + 1)

    def adopt(self, found: Declared) -> None:
        """A symbol as it was declared in a fork."""
        facts = self.ledger.facts.declare(found.symbol, found.lo, found.hi, found.fact, hint=found.hint)
        self.ledger.commit(extended(facts, found.fact), found)

    # ------------------------------------------------------------------ several at once

    def sizes(
        self,
        spec: str,
        hints: Sequence[int | None] | Mapping[str, int] | None,
        lo: int | None,
        hi: int | None,
        policy: Policy,
    ) -> list[tuple[Expr, Prop]]:
        """One size for each word, with its domain (see `ShapeEnv.sizes`): all of them, or none where one is amiss."""
        if not isinstance(spec, str):
            raise ShapeError(f"spec={shown(spec)}: expected names and numbers as text, such as 'b s 64'")
        words = TOKEN.findall(spec)
        by_name = _by_name(spec, [word for word in words if word.isidentifier()], hints)
        mark = self.ledger.position()
        try:
            return [self._size(word, by_name, lo, hi, policy) for word in words]
        except BaseException:
            self.ledger.return_to(mark)
            raise

    def _size(
        self, word: str, hints: Mapping[str, int | None], lo: int | None, hi: int | None, policy: Policy
    ) -> tuple[Expr, Prop]:
        if not word.isidentifier():
            return self.reader.parse_expr(word)
        hint = hints.get(word)
        known = self.table.names.get(word)
        if known is None:
            return self.declare(word, lo, hi, hint, "backed", None, policy=policy), self.true
        (atom,) = known.symbols
        before = self.table.hints.get(atom, hint)
        if hint is not None and hint != before:
            raise FalseAtHint(f"hint={hint}: {word} is {before}", [self.table.symbols[atom].fact])
        return known, self.true


def _by_name(
    spec: str, words: Sequence[str], hints: Sequence[int | None] | Mapping[str, int] | None
) -> Mapping[str, int | None]:
    """The hint of each name."""
    names = list(dict.fromkeys(words))
    if isinstance(hints, Mapping):
        unknown = [name for name in hints if name not in names]
        if unknown:
            raise ShapeError(f"hints={hints!r}: no {unknown[0]} in {spec!r}")
        return hints
    if hints is None:
        return {}
    given: object = hints
    if not isinstance(given, Collection) or isinstance(given, str | Set):
        raise ShapeError(f"hints={shown(hints)}: expected one hint for each name of {spec!r}, or hints by name")
    if len(hints) != len(names):
        raise ShapeError(f"hints={hints!r}: {spec!r} has {len(names)} names; expected one hint for each")
    return dict(zip(names, hints, strict=True))
