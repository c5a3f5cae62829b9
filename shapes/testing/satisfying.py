"""Local search for assignments that satisfy facts, from one that does.

    >>> from shapes import ShapeEnv
    >>> from shapes.testing.satisfying import Satisfying
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> env.assume("s % 16 == 0")
    >>> env.assume("b <= s")
    >>> found = Satisfying(env.known)
    >>> found.named(env, found.smallest)
    {'b': 0, 's': 0}
    >>> found.named(env, found.moved(found.smallest, b.expr.atom, 20))      # b as wished, s follows
    {'b': 20, 's': 32}
    >>> found.named(env, found.reaching(env.interner.eq(s.expr, 4096)))
    {'b': 0, 's': 4096}

A wish is a value for one symbol. Where it breaks facts, other symbols are moved to repair them, or the symbol itself
to a place close by; where that fails too, nothing changes. So random wishes never waste a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import Contradiction, ShapeError
from solver.decide.assume import assume
from solver.decide.consistency import consistency
from solver.decide.ladder import decide
from solver.decide.verdict import Always, Depends
from solver.knowledge.facts import Conflict, Consistent, Facts
from solver.proofs.fact import Fact
from solver.samples.repair import Search
from solver.samples.witness_search import find, grid_search
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

Values = dict[Atom, int]

TOUCHED: Final = 1 << 14
"""Facts about one symbol that a wish is checked against."""
REPAIRING: Final = 3
"""The number of symbols moved to repair the facts that a wish breaks."""
ROUNDS: Final = 6
"""The number of broken facts repaired one after the other when that was not enough."""
ROOTS: Final = 3
HALVINGS: Final = 80


class Satisfying:
    """The assignments that satisfy some facts and, beyond them, some goals."""

    def __init__(self, facts: Facts, goals: Sequence[Prop] = (), start: Values | None = None) -> None:
        """`start` is a satisfying assignment, searched for where it is not given.

        Raises:
            Contradiction: there is none. ShapeError: none was found.
        """
        self.facts = facts
        self.goals = tuple(goals)
        self._true = Prop.truth(facts.interner, True)
        self.start = self._first() if start is None else start

    def _first(self) -> Values:
        match consistency(self.facts):
            case Conflict(core=core, proof=proof):
                raise Contradiction("the facts contradict each other", core, proof)
            case Consistent(witness=witness):
                values = dict(witness)
            case unknown:
                raise ShapeError(f"no sizes that satisfy the facts were found: {unknown.reason}")
        if not self.facts.samples.alive:
            # the samples are what every search begins at
            self.facts = self.facts.with_samples(self.facts.samples.with_row(0, values))
        if self.goals:
            goal = Prop.join(self.facts.interner, "and", self.goals)
            found = self.reaching(goal)
            if found is None:
                raise ShapeError(f"no sizes that satisfy `{goal}` beside the facts were found")
            values = found
        return values

    @cached_property
    def symbols(self) -> tuple[Atom, ...]:
        """The declared symbols that can be moved, in order."""
        return tuple([atom for atom in self.facts.all_symbols() if atom.definition is None])

    @cached_property
    def smallest(self) -> Values:
        """An assignment with every symbol as small as it will go by itself."""
        values = self.start
        for _ in range(2):
            before = values
            for atom in self.symbols:
                lo, hi = self.facts.bounds(atom.expr)
                least = lo if lo is not None else min(0, hi) if hi is not None else 0
                if values[atom] > least or (lo is None and values[atom] < least):
                    moved = self.moved(values, atom, least)
                    if sum([abs(value) for value in moved.values()]) <= sum([abs(value) for value in values.values()]):
                        values = moved
            if values == before:
                break
        return values

    # ------------------------------------------------------------------ moving

    def moved(self, values: Values, atom: Atom, wish: int) -> Values:
        """The assignment with a symbol at the wished value, or close to it; the same where that cannot be."""
        lo, hi = self.facts.bounds(atom.expr)
        wish = wish if lo is None else max(wish, lo)
        wish = wish if hi is None else min(wish, hi)
        if wish == values.get(atom):
            return values
        search = self._search(values)
        moved = search.recompute(atom, {atom: wish})
        if moved is None:
            return values
        rest = search.broken_by(moved, {}, [], self.goals)
        if rest is None:
            return values
        if rest:
            repaired = search.repair(moved, rest, REPAIRING, self.goals) or self._close_to(values, moved, rest, atom)
            if repaired is None:
                return values
            moved = repaired
        return self._with(values, moved)

    def _close_to(self, values: Values, wished: Values, broken: list[Prop], kept: Atom) -> Values | None:
        """The moves by which an assignment close to the wished one satisfies everything.

        One broken fact after the other is repaired at the place that breaks the fewest others, with `kept` moved last.
        """
        moved = wished
        for _ in range(ROUNDS):
            search = self._search(self._with(values, moved))
            target = min(broken, key=lambda p: len(p.atoms))
            best: tuple[tuple[int, bool], Values, list[Prop]] | None = None
            for atom in search.movable(target, {}):
                places = search.places(target, atom, {})
                # an equality rounds down what it eliminates
                rounded = [place + step for step in search.strides(target, atom) for place in places[:ROOTS]]
                for place in (*places, *rounded):
                    trial = search.recompute(atom, {atom: place})
                    if trial is None or not search.holds(target, trial):
                        continue
                    rest = search.broken_by(trial, {}, broken, self.goals)
                    if rest is None:
                        continue
                    score = (len(rest), atom is kept)
                    if best is None or score < best[0]:
                        best = (score, trial, rest)
                if best is not None and best[0] == (0, False):
                    break
            if best is None:
                return None
            _, trial, broken = best
            moved = {**moved, **trial}
            if not broken:
                return moved
        return None

    def _search(self, values: Values) -> Search:
        search = Search(self.facts, self.facts.samples, self.facts.samples.alive[0], effort=1)
        search.base.update(values)
        search.shifted = True
        search.limit = TOUCHED
        return search

    def _with(self, values: Values, moved: Values) -> Values:
        return {**values, **{atom: value for atom, value in moved.items() if atom.definition is None}}

    # ------------------------------------------------------------------ reaching

    def reaching(self, goal: Prop, *, thorough: bool = True) -> Values | None:
        """An assignment that satisfies a goal as well; None where none was found. `thorough` asks every rung."""
        goal = Prop.join(self.facts.interner, "and", (*self.goals, goal))
        found = find(self.facts, goal, self._true)
        if found is None and thorough:
            for row in self.facts.samples.alive[:2]:
                found = found or grid_search(self.facts, goal, self._true, row=row)
        if found is not None:
            return self._complete(found.values(self.facts))
        if thorough:
            match decide(self.facts, goal):
                case Always():
                    pool = self.facts.samples
                    return self._complete(pool.row_values(self.facts.all_symbols(), pool.alive[0]))
                case Depends(found=(values, _)):
                    return self._complete(dict(values))
        return None

    def least(self, e: Expr, *, at_least: int | None = None) -> Values | None:
        """An assignment where the expression is as small as was found; None where `at_least` is out of reach."""
        interner = self.facts.interner
        if at_least is not None:
            exact = self.reaching(Prop.eq(e, at_least), thorough=False)
            if exact is not None:
                return exact
        low = self.facts.bounds(e)[0] if at_least is None else at_least
        best = self.reaching(self._true if at_least is None else Prop.ge(e, at_least))
        if best is None or low is None:
            return best
        for _ in range(HALVINGS):
            here = e.evaluate(best)
            if here <= low:
                break
            middle = (low + here) // 2
            closer = self.reaching(Prop.join(interner, "and", (Prop.ge(e, low), Prop.le(e, middle))), thorough=False)
            if closer is None:
                low = middle + 1
            else:
                best = closer
        return best

    def _complete(self, values: Values) -> Values:
        return {atom: values[atom] for atom in self.symbols}

    # ------------------------------------------------------------------ reading

    def holds(self, values: Values) -> bool:
        """Return True if an assignment satisfies all facts and goals: the result of a search is checked once more."""
        try:
            complete = {**values, **_definitions(self.facts, values)}
            return self.facts.holds_at(complete) and all(goal.evaluate(complete) for goal in self.goals)
        except OverflowError:
            return False

    def named(self, env: ShapeEnv, values: Values) -> dict[str, int]:
        """The assignment by the names of an environment."""
        return {declared.name: values[atom] for atom, declared in env.symbols.items() if atom in values}


def _definitions(facts: Facts, values: Values) -> Values:
    """The values of names for composite terms that facts mention."""
    found: Values = {}
    for fact in facts.records():
        for atom in fact.prop.symbols | fact.domain.symbols:
            if atom.definition is not None and atom not in found:
                found[atom] = atom.definition.evaluate(values)
    return found


def without(env: ShapeEnv, *left_out: Fact) -> Facts:
    """The facts of an environment but some.

    Raises:
        Contradiction: the others contradict each other.
    """
    facts = Facts.empty(env.interner)
    recorded = [fact for fact in env.known.records() if not any(fact is other for other in left_out)]
    declared = {event.fact.serial: event for event in env.symbols.values()}
    for fact in sorted(recorded, key=lambda fact: fact.serial):
        event = declared.get(fact.serial)
        if event is not None and event.fact is fact:
            larger = facts.declare(event.symbol, event.lo, event.hi, fact, hint=event.hint)
        else:
            larger = assume(facts, fact)
        if isinstance(larger, Conflict):
            raise Contradiction("the facts contradict each other", larger.core, larger.proof)
        facts = larger
    return facts
