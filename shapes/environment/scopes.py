"""Scopes: hypotheses and bound variables with an extent.

    >>> from shapes import Always, ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", hints=(4, 128))
    >>> with env.hypothesis("i < b") as (i,):       # a name that is not known is a bound variable, from 0
    ...     print(isinstance(env.ask(i * s + s <= b * s), Always))
    True
    >>> "i" in env.names
    False

What is committed inside a hypothesis outlives it without leaking the hypothesis: a guard about inputs stays as it is
(it holds for this run anyway), a run-time check or assumption becomes an implication. What mentions a bound variable is
gone with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from shapes.environment.commands import Commands
from shapes.environment.declaring import Declarations
from shapes.environment.events import (
    Assumed,
    Chosen,
    Commitment,
    Declared,
    Deferred,
    Guarded,
    Sourced,
    Specialized,
    fact_of,
    symbols_of,
)
from shapes.environment.reader import WORD, Question
from solver.proofs.fact import Fact
from solver.terms.expr import Expr
from solver.terms.functions import known_functions
from solver.terms.prop import Prop

WORDS: Final = frozenset(("and", "or", "not", "if", "else", "True", "False"))


@dataclass(slots=True)
class Attempt:
    """A speculation: taken back at its end, unless it was kept."""

    kept: bool = False

    def keep(self) -> None:
        self.kept = True


@contextmanager
def supposing(
    commands: Commands, declarations: Declarations, questions: Sequence[Question]
) -> Iterator[tuple[Expr, ...]]:
    """Propositions that hold inside only, with the bound variables that their texts name."""
    ledger = commands.ledger
    mark = ledger.position()
    outer = ledger.hypotheses
    try:
        variables = tuple(
            [
                declarations.declare(name, 0, None, None, "unbacked", "bound variable")
                for name in _new_names(questions, commands.table.names)
            ]
        )
        props = [commands.suppose(question) for question in questions]
        ledger.hypotheses = (*outer, *props)
        yield variables
        kept = lasting(ledger.commitments[mark.position :], commands.interner.conjunction(props))
    except BaseException:
        ledger.hypotheses = outer
        ledger.return_to(mark)
        raise
    ledger.hypotheses = outer
    ledger.return_to(mark)
    ledger.commit_all(kept)


def _new_names(questions: Sequence[Question], known: Collection[str]) -> list[str]:
    """The words of the texts that are no symbols yet."""
    words = [word for question in questions if isinstance(question, str) for word in WORD.findall(question)]
    functions = known_functions()
    return [
        word for word in dict.fromkeys(words) if word not in known and word not in WORDS and word not in functions
    ]


def lasting(since: Sequence[Commitment], scope: Prop) -> list[Commitment]:
    """The commitments made inside of a scope, as they hold outside."""
    local = {atom for event in since if isinstance(event, Declared) for atom in event.symbol.symbols}
    conditional = local.isdisjoint(scope.symbols)
    kept: list[Commitment] = []
    for event in since:
        fact = fact_of(event)
        if fact is not None and not local.isdisjoint(symbols_of(fact)):
            continue
        match event:
            case Guarded() | Specialized() | Sourced() | Chosen():
                kept.append(event)
            case Assumed(fact=fact) if conditional and fact.kind != "hypothesis":
                kept.append(replace(event, fact=_implied(scope, fact)))
            case Deferred(fact=fact) if conditional:
                kept.append(replace(event, fact=_implied(scope, fact)))
    return kept


def _implied(scope: Prop, fact: Fact) -> Fact:
    """The fact where the scope holds."""
    if scope.kind == "true":
        return fact
    outside, join = scope.negation, Prop.join
    domain = fact.domain if fact.domain.kind == "true" else join(scope.interner, "or", (outside, fact.domain))
    prop = join(scope.interner, "or", (outside, fact.prop))
    return replace(fact, prop=prop, domain=domain, written=f"not ({scope}) or ({fact.text})")
