"""Join of branches: the facts that hold in all of them, and the hull of their bounds.

>>> from shapes import Always, ShapeEnv
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s", hints=(4, 128))
>>> then, other = env.fork(under="s >= 64"), env.fork(under="s < 64")
>>> then.assume("b >= 4")
>>> other.assume("b >= 2")
>>> env.join(then, other)
>>> isinstance(env.ask("b >= 2"), Always)
True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from shapes.environment.events import Assumed, Commitment, Declared, Deferred, Guarded, fact_of, symbols_of, within
from shapes.environment.questions import Questions
from shapes.environment.symbols import range_text
from solver.decide.verdict import Always
from solver.knowledge.symbols import by_age
from solver.proofs.fact import Fact, Kind
from solver.terms.prop import Prop

DISJUNCTION: Final = 8
"""Branches with more facts than this are joined fact by fact only."""


def join(here: Questions, branches: Sequence[Questions]) -> None:
    """Commit here to what holds in every branch: forks that between them cover every way that was taken."""
    if branches:
        extra = [_since(here, branch) for branch in branches]
        common = _common(branches, extra)
        here.ledger.commit_all(
            _commitment(here.ledger.fact(prop, here.true, _kind(here, prop, kinds), text))
            for prop, text, kinds in common
            if not here.proves(prop)
        )


def _kind(here: Questions, prop: Prop, kinds: Iterable[Kind]) -> Kind:
    """The kind of a fact that rests on facts of these kinds.

    One that rests on a guard is a guard, or where only the run tells, a check: as a range it would seem to make the
    guard superfluous.
    """
    kind = _weakest(list(kinds))
    return "assert" if kind == "guard" and not here.ledger.table.inputs_only(prop) else kind


def _since(here: Questions, branch: Questions) -> list[Fact]:
    """The facts that a branch has beyond what is known here, as far as they are about symbols here."""
    mine, theirs = here.ledger.commitments, branch.ledger.commitments
    start = 0
    for one, other in zip(mine, theirs, strict=False):
        if one is not other:
            break
        start += 1
    symbols = here.ledger.table.symbols
    facts = [fact_of(event) for event in theirs[start:] if not isinstance(event, Declared)]
    return [
        fact
        for fact in facts
        if fact is not None and symbols_of(fact) <= symbols.keys() and not here.proves(within(fact))
    ]


def _common(
    branches: Sequence[Questions], extra: Sequence[Sequence[Fact]]
) -> Iterator[tuple[Prop, str, Iterable[Kind]]]:
    """The facts that hold in every branch: shared facts, hulls of bounds, and that one of the branches was taken; each
    with the kinds of the facts that it rests on.
    """
    interner = branches[0].ledger.interner

    def in_every(prop: Prop) -> list[Kind] | None:
        kinds: list[Kind] = []
        for branch in branches:
            verdict = branch.answer(prop, interner.true, "default")
            if not isinstance(verdict, Always):
                return None
            kinds += [fact.kind for fact in verdict.core]
        return kinds

    for fact in dict.fromkeys([fact for facts in extra for fact in facts]):
        both = within(fact)
        kinds = in_every(both)
        if kinds is not None:
            yield both, fact.text, kinds
    for atom in dict.fromkeys(
        [atom for facts in extra for fact in facts for atom in sorted(symbols_of(fact), key=by_age)]
    ):
        ends = [branch.ledger.facts.bounds(atom.expr) for branch in branches]
        lows, highs = [lo for lo, _ in ends if lo is not None], [hi for _, hi in ends if hi is not None]
        if len(lows) == len(branches):
            bound = interner.ge(atom.expr, min(lows))
            yield bound, range_text(atom.name, min(lows), None), in_every(bound) or ["guard"]
        if len(highs) == len(branches):
            bound = interner.le(atom.expr, max(highs))
            yield bound, range_text(atom.name, None, max(highs)), in_every(bound) or ["guard"]
    if all(len(facts) <= DISJUNCTION for facts in extra):
        cases = [interner.conjunction([part for fact in facts for part in (fact.domain, fact.prop)]) for facts in extra]
        either = interner.disjunction(cases)
        yield either, str(either), [fact.kind for facts in extra for fact in facts]


def _weakest(kinds: Sequence[Kind]) -> Kind:
    order: tuple[Kind, ...] = ("assert", "guard", "given")
    return next((kind for kind in order if kind in kinds), "range")


def _commitment(fact: Fact) -> Commitment:
    match fact.kind:
        case "assert":
            return Deferred(fact, "")
        case "guard":
            return Guarded(fact, fact.prop, True, "joined branches")
        case _:
            return Assumed(fact)
