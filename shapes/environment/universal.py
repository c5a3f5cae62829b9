"""Assumptions about every value of a bound variable: instances of them, and open answers that satisfy all of them.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> n, k, world = env.sizes("n k world")
    >>> with env.for_all("r", 0, world) as r:
    ...     env.assume(r * k <= n)                                  # of every rank, so of the last one too
    ...     print(type(env.ask((world - 1) * k <= n)).__name__)
    Always

Inside of `for_all` an assumption about r is a fact about the symbol r, which proves what follows for every r. Its
instances at the ends of the range and at other bound variables become facts beside it, until the end of the scope.

Others follow from no fact. So an open answer is judged by its witnesses: where the assumption fails at some value of
the range, the question is asked again with the instance at that value (model-based quantifier instantiation, as in SMT
solvers), until the witnesses satisfy the assumption everywhere. Where it turns out to be decided, the answer is
unknown, and names the instance: evidence rests on facts that were stated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shapes.environment.events import Assumed, Commitment, Declared
from solver.decide.assume import assume
from solver.decide.verdict import Depends, GaveUp, Verdict
from solver.knowledge.facts import Conflict, Facts
from solver.proofs.fact import Fact
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

ROUNDS: Final = 8
"""Instances that one question may add."""
VALUES: Final = 1024
"""Values of bound variables at which an assumption is checked for one witness."""


@dataclass(frozen=True, slots=True)
class BoundRange:
    """A bound variable: it has every value from `low` up to `high`, which is not included."""

    variable: Atom
    low: Expr
    high: Expr
    position: int
    """The number of commitments before it."""


@dataclass(frozen=True, slots=True)
class Universal:
    """An assumption about every value of bound variables, outermost first."""

    over: tuple[BoundRange, ...]
    fact: Fact

    def broken_at(self, values: Mapping[Atom, int]) -> Mapping[Atom, int] | None:
        """Values of the variables at which the assumption fails for these sizes.

        Raises:
            OverflowError: there are too many values, or a number is too large.
        """
        for count, at in enumerate(_inside(self.over, values)):
            if count == VALUES:
                raise OverflowError
            if not (self.fact.domain.evaluate(at) and self.fact.prop.evaluate(at)):
                return at
        return None

    def instance(self, at: Mapping[Atom, Expr], serial: int) -> Fact:
        """The assumption for these values, where they are in the ranges."""
        fact, interner = self.fact, self.fact.prop.interner
        join, true = Prop.join, Prop.truth(interner, True)
        inside = []
        for each in self.over:
            value = at[each.variable]
            inside += [Prop.le(each.low.substitute(at), value), Prop.lt(value, each.high.substitute(at))]
        outside = join(interner, "and", inside).negation
        parts = [join(interner, "or", (outside, p.substitute(at))) for p in (fact.domain, fact.prop)]
        where = ", ".join([f"{atom.name} = {value}" for atom, value in at.items() if value is not atom.expr])
        text = f"{fact.text}, at {where}"
        return Fact(join(interner, "and", parts), true, "hypothesis", text, fact.origin, fact.line, serial)


def _inside(over: Sequence[BoundRange], values: Mapping[Atom, int]) -> Iterator[dict[Atom, int]]:
    """These sizes with all values of the variables; a range may depend on the variables before it."""
    if not over:
        yield dict(values)
        return
    first, *rest = over
    for value in range(first.low.evaluate(values), first.high.evaluate(values)):
        yield from _inside(rest, {**values, first.variable: value})


def universals(commitments: Sequence[Commitment], ranges: Sequence[BoundRange]) -> Iterator[Universal]:
    """The assumptions about bound variables. Other symbols that are declared inside of a range may be different for
    every value: an assumption about them is one about the value at hand."""
    bound = {each.variable for each in ranges}
    local: set[Atom] = set()
    for event in commitments[ranges[0].position :]:
        match event:
            case Declared(symbol=symbol) if symbol.atom not in bound:
                local.add(symbol.atom)
            case Assumed(fact=fact) if fact.kind != "hypothesis":
                mentioned = fact.prop.symbols | fact.domain.symbols
                over = tuple([each for each in ranges if each.variable in mentioned])
                if over and local.isdisjoint(mentioned):
                    yield Universal(_closed(over, ranges), fact)


def _closed(over: Sequence[BoundRange], ranges: Sequence[BoundRange]) -> tuple[BoundRange, ...]:
    """These ranges, with those that their ends mention."""
    wanted = {each.variable for each in over}
    for each in reversed(ranges):
        if each.variable in wanted:
            wanted |= each.low.symbols | each.high.symbols
    return tuple([each for each in ranges if each.variable in wanted])


def instances(each: Universal, ranges: Sequence[BoundRange], at: Atom | None = None) -> Iterator[Mapping[Atom, Expr]]:
    """The values at which an assumption is stated beside itself: one variable at a time at the ends of its range and at
    other variables, or, where one is opened later, `at` that one only."""
    own = {r.variable: r.variable.expr for r in each.over}
    for r in each.over:
        others = [other.variable for other in ranges if other.variable is not r.variable]
        terms = [r.high - 1, r.low, *[atom.expr for atom in others]] if at is None else [at.expr]
        for term in terms:
            yield {**own, r.variable: term}


def judged(
    verdict: Verdict,
    facts: Facts,
    commitments: Sequence[Commitment],
    ranges: Sequence[BoundRange],
    ask: Callable[[Facts], Verdict],
) -> Verdict:
    """An open answer, with witnesses that satisfy the assumptions at every value; unknown if there are none."""
    prop, domain = verdict.prop, verdict.domain
    assumptions = list(universals(commitments, ranges))
    last = ""
    larger: Facts | Conflict = facts
    for _ in range(ROUNDS):
        if not isinstance(verdict, Depends) or isinstance(larger, Conflict):
            return GaveUp(prop, domain, f"it is decided where `{last}` is stated too: assume that", ())
        try:
            fact = _missing(verdict, assumptions, ranges, larger.count)
        except (OverflowError, KeyError):
            return GaveUp(prop, domain, "an assumption about every value was not checked", ())
        if fact is None:
            return verdict if larger is facts else verdict.shown_under(facts)
        last = fact.text
        larger = assume(larger, fact)
        if isinstance(larger, Facts):
            verdict = ask(larger)
    return GaveUp(prop, domain, "an assumption about every value needs more instances", ())


def _missing(
    verdict: Depends, assumptions: Sequence[Universal], ranges: Sequence[BoundRange], serial: int
) -> Fact | None:
    """An instance that a witness breaks."""
    for values in (verdict.true_values, verdict.false_values):
        for each in assumptions:
            at = each.broken_at(values)
            if at is not None:
                terms = {r.variable: _term(r, at[r.variable], values, ranges) for r in each.over}
                return each.instance(terms, serial)
    return None


def _term(over: BoundRange, value: int, values: Mapping[Atom, int], ranges: Sequence[BoundRange]) -> Expr:
    """A term that has this value in the witness: a variable, an end of the range, or the number."""
    for term in (*[each.variable.expr for each in ranges], over.high - 1, over.low):
        if term.evaluate(values) == value:
            return term
    return over.high.interner.constant(value)
