"""Events of an environment, in order: the one stream behind every log.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> stop = env.listen(lambda event: print(event))
    >>> s = env.symbol("s", hint=64)
    symbol s >= 0, hint 64
    >>> env.guard(s > 16)
    ask s >= 17: depends
    guard s >= 17
    True
    >>> stop()

Commitments (symbols, facts, checks, choices) are kept in `env.events` and vanish with a rollback. Questions change
nothing and only notify listeners, with their purpose: a branch of the program, an optional optimization, or a
person who looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from solver.syntax.precedence import number
from solver.syntax.short_text import with_names
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from shapes.origin import Origin
    from solver.decide.verdict import Verdict
    from solver.proofs.fact import Fact
    from solver.terms.expr import Atom, Expr

Purpose = Literal["program", "optional", "person"]
SymbolKind = Literal["backed", "unbacked"]


@dataclass(frozen=True, slots=True)
class Declared:
    """A symbol with its range. A backed one is an input, known before the program runs; `hint` is its size this time.
    """

    name: str
    symbol: Expr
    kind: SymbolKind
    lo: int | None
    hi: int | None
    hint: int | None
    source: str | None
    fact: Fact

    def __str__(self) -> str:
        hint = "" if self.hint is None else f", hint {number(self.hint).text}"
        return f"symbol {self.fact.shown}{hint}"


@dataclass(frozen=True, slots=True)
class Assumed:
    """An assumed fact: of the caller (given), of a scope (hypothesis), or by construction (range)."""

    fact: Fact

    def __str__(self) -> str:
        return f"assume {self.fact.shown}"


@dataclass(frozen=True, slots=True)
class Guarded:
    """A guard on a branch. `question` is the condition, the fact is the side that was taken."""

    fact: Fact
    question: Prop
    taken: bool
    why: str

    def __str__(self) -> str:
        return f"guard {self.fact.shown}" + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True, slots=True)
class Deferred:
    """A check that runs with the program, with the user's message and what it raises; a fact from here on."""

    fact: Fact
    message: str
    under: tuple[Prop, ...] = ()
    error: type[Exception] = RuntimeError

    def __str__(self) -> str:
        return f"run-time check {self.fact.shown}" + (f": {self.message}" if self.message else "")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A policy or a fallback answered an open question: neither a verdict nor a fact."""

    question: Prop
    answer: bool
    by: str
    origin: Origin | None

    def __str__(self) -> str:
        return f"choice {_shown(self.question)}: {self.answer} by {self.by}"


@dataclass(frozen=True, slots=True)
class Specialized:
    """A size that was concretized by Python or a caller; the fact is the equality with its value."""

    expr: Expr
    value: int
    why: str
    fact: Fact

    def __str__(self) -> str:
        return f"specialized {_shown(self.expr)} to {self.value}: {self.why}"


@dataclass(frozen=True, slots=True)
class Sourced:
    """One more place where the size of a symbol is found at run time."""

    name: str
    source: str

    def __str__(self) -> str:
        return f"{self.name} is also {self.source}"


Commitment = Declared | Assumed | Guarded | Deferred | Chosen | Specialized | Sourced


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its verdict; `commits` if it was the condition of a branch."""

    prop: Prop
    domain: Prop
    text: str | None
    verdict: Verdict
    purpose: Purpose
    commits: bool

    def __str__(self) -> str:
        words = {"Always": "always", "Never": "never", "Depends": "depends", "GaveUp": "gave up"}
        return f"ask {self.text or _shown(self.prop)}: {words[type(self.verdict).__name__]}"


@dataclass(frozen=True, slots=True)
class Marked:
    """A checkpoint: the number of commitments so far."""

    position: int

    def __str__(self) -> str:
        return f"checkpoint at {self.position}"


@dataclass(frozen=True, slots=True)
class RolledBack:
    """The commitments from `position` on were undone."""

    position: int

    def __str__(self) -> str:
        return f"rollback to {self.position}"


Event = Commitment | Asked | Marked | RolledBack
Listener = Callable[[Event], None]


def fact_of(commitment: Commitment) -> Fact | None:
    """The fact that a commitment added, if it added one."""
    fact: Fact | None = getattr(commitment, "fact", None)
    return fact


def within(fact: Fact) -> Prop:
    """A fact's proposition together with its domain, which comes first."""
    return fact.prop if fact.domain.kind == "true" else Prop.join(fact.prop.interner, "and", (fact.domain, fact.prop))


def symbols_of(fact: Fact) -> frozenset[Atom]:
    """The symbols that a fact is about."""
    return fact.prop.symbols | fact.domain.symbols


def _shown(value: Expr | Prop) -> str:
    """The text of a term with the names that people read."""
    return with_names(str(value), value.interner.shown_names)
