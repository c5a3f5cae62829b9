"""Shrink witnesses, as property-based testing shrinks counterexamples: value by value, while they stay witnesses.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> b, s, other = terms.symbol("b"), terms.symbol("s"), terms.symbol("other")
    >>> known = Facts.empty(terms).declare_range(b, 0, None, hint=96).declare_range(s, 0, None, hint=4096)
    >>> known = known.declare_range(other, 2, None).learn_prop(terms.eq(s % 16, 0))
    >>> decide(known, terms.eq((b * s) % 64, 0))
    Depends(true_at={'b': 4, 's': 16}, false_at={'b': 1, 's': 16})

Only the symbols of the question and those that facts connect with them are shrunk and shown. 1 is simpler than 2, and
0 than -1; small positive numbers are simpler than 0. A value stays within its bounds and its residue class. For few
symbols all combinations of small values are tried, smallest maximum first. Otherwise one symbol changes at a time, to
small values and then by bisection; two that share a fact change together where one alone cannot. Eliminated symbols
follow. Every move is checked against the facts about what changed, so the result is a witness. The search is
deterministic and bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import lcm
from typing import Final

from solver.knowledge.choices import FIRST, Choices, complexity
from solver.knowledge.facts import Facts
from solver.knowledge.symbols import by_age, declared_in
from solver.proofs.fact import Fact
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

MOVES: Final = 1_500
EVALUATIONS: Final = 20_000
"""Moves of one witness, and facts evaluated for them. A time limit would make results depend on the machine."""
PASSES: Final = 4
COMBINED: Final = (0, 24, 12, 6, 4)
"""Values of each symbol that are combined, by the number of symbols; with more symbols, none."""
PAIRS: Final = 24
NEAR: Final = 32
"""Combinations tried before any is assumed."""
COMBINATIONS_KEPT: Final = 64
COMBINATIONS: Final[dict[tuple[tuple[int, ...], ...], list[tuple[int, ...]]]] = {}
def shrunk(
    facts: Facts, prop: Prop, domain: Prop, true: dict[Atom, int], false: dict[Atom, int]
) -> tuple[dict[Atom, int], dict[Atom, int]]:
    """Two witnesses of a question with small values, for its relevant symbols alone."""
    symbols = kept_relevant(facts, prop, domain)
    one, other = [
        Shrinking(facts, prop, domain, truth, {atom: values[atom] for atom in symbols}, symbols)
        for values, truth in ((true, True), (false, False))
    ]
    if one.moved_to_simplest():
        if not other.moved_near(one.values):
            other.smallest()
    elif other.moved_to_simplest():
        if not one.moved_near(other.values):
            one.smallest()
    else:
        one.smallest()
        other.smallest()
    return one.values, other.values


def kept_relevant(facts: Facts, prop: Prop, domain: Prop) -> list[Atom]:
    """The relevant symbols, cached on the facts."""
    key = (prop.symbols, domain.symbols)
    found = facts.memos.relevant.get(key)
    if found is None:
        found = facts.memos.relevant[key] = relevant(facts, prop, domain)
    return found


def relevant(facts: Facts, prop: Prop, domain: Prop) -> list[Atom]:
    """The declared symbols of a question and those that facts connect with them, oldest first (cone of influence)."""
    pending = [atom for p in (prop, domain) for atom in declared_in(p)]
    found: set[Atom] = set()
    seen: set[int] = set()
    while pending:
        atom = pending.pop()
        if atom not in found:
            found.add(atom)
            for fact in about(facts, atom):
                if fact.serial not in seen:
                    seen.add(fact.serial)
                    pending += [*declared_in(fact.prop), *declared_in(fact.domain)]
    columns = facts.samples.columns  # a witness has no value for an undeclared symbol
    return sorted([atom for atom in found if columns.get(atom.serial) is not None], key=by_age)


def about(facts: Facts, atom: Atom) -> Iterator[Fact]:
    """The facts that mention a symbol, except its range, newest first."""
    touching = facts.samples.touching.get(atom.serial)
    while touching is not None:
        yield touching.fact
        touching = touching.rest


class Shrinking:
    """The state of shrinking one witness."""

    __slots__ = (
        "choices", "domain", "evaluations", "facts", "followers", "known", "moves", "prop", "relevant", "symbols",
        "truth", "values",
    )  # fmt: skip

    def __init__(
        self, facts: Facts, prop: Prop, domain: Prop, truth: bool, values: dict[Atom, int], symbols: list[Atom]
    ) -> None:
        self.facts = facts
        self.prop, self.domain, self.truth = prop, domain, truth
        self.values = values
        self.moves, self.evaluations = MOVES, EVALUATIONS
        self.relevant = symbols
        self.know(facts)
        self.choices = {atom: facts.choices_of(atom) for atom in self.symbols}

    def know(self, known: Facts) -> None:
        """Fix what these facts leave free, and let the rest follow."""
        self.known = known
        self.followers: dict[Atom, list[tuple[Atom, Expr]]] = {}
        doubles = self.prop.interner.doubles  # the bits of a small double are no small number
        self.symbols = [atom for atom in self.relevant if not self.follows(atom) and atom not in doubles]

    def follows(self, atom: Atom) -> bool:
        """Return True if an equality determines a symbol by others, which it then follows."""
        rule = self.known.solved.get(atom.monomial)
        if rule is None or any(other.definition is not None or other is atom for other in rule.image.symbols):
            return False
        for other in rule.image.symbols:
            self.followers.setdefault(other, []).append((atom, rule.image))
        return True

    def smallest(self) -> dict[Atom, int]:
        """Shrink where the simplest values are no witness; returns the values found."""
        choices = self.choices
        shown = self.prop if self.truth else self.prop.negation
        if shown.kind != "ne" or len(shown.terms) == 1:  # else it says nothing of single symbols
            supposed = self.facts.suppose(shown)
            if isinstance(supposed, Facts):
                self.know(supposed)
                choices = self.choices = {atom: Choices(supposed, atom) for atom in self.symbols}
                if self.moved_to_simplest():
                    return self.values
        if self.combined(choices):
            return self.values
        self.shrink_each(choices, self.symbols)
        large = [atom for atom in self.symbols if abs(self.values[atom]) > FIRST * choices[atom].stride]
        pairs = [(atom, other) for atom in large for other in self.neighbours(atom) if other in choices]
        for atom, other in pairs[:PAIRS]:
            if atom is not other and self.shrink_both(choices[atom], choices[other]):
                self.shrink_each(choices, [atom, other])
        return self.values

    def moved_to_simplest(self) -> bool:
        """Move each symbol to its simplest value; return True if that is a witness."""
        choices = self.choices
        return self.moved({atom: choices[atom].values[0] for atom in self.symbols if choices[atom].values})

    def moved_near(self, simplest: dict[Atom, int]) -> bool:
        """Change few symbols of the question from the simplest values, which are a witness of the contrary; return True
        if that gives a witness.
        """
        asked = [atom for p in (self.prop, self.domain) for atom in declared_in(p)]
        free = [atom for atom in dict.fromkeys(asked) if atom in self.choices]
        if not 0 < len(free) < len(COMBINED):
            return False
        before, self.values = self.values, simplest
        count = min(COMBINED[len(free)], FIRST)
        small = [tuple([value for value in self.choices[atom].values[:count] if value > 0]) for atom in free]
        for combination in combinations(tuple(small))[:NEAR]:
            if self.moved(dict(zip(free, combination, strict=True))):
                return True
        self.values = before
        return False

    def combined(self, choices: dict[Atom, Choices]) -> bool:
        """Return True if some combination of small values is a witness: the values become the smallest such."""
        if not 0 < len(self.symbols) < len(COMBINED):
            return False
        count = COMBINED[len(self.symbols)]
        return self.one_of([choices[atom].few(count) for atom in self.symbols], self.symbols)

    def one_of(self, values: list[list[int]], symbols: list[Atom]) -> bool:
        """Return True if one of the combinations is a witness: the values become the one with the smallest maximum."""
        for combination in combinations(tuple([tuple(each) for each in values])):
            if self.moved(dict(zip(symbols, combination, strict=True))):
                return True
        return False

    def shrink_each(self, choices: dict[Atom, Choices], first: list[Atom]) -> None:
        """Shrink one symbol after the other, from these on, to a fixpoint."""
        pending = dict.fromkeys(first)
        for _ in range(PASSES):
            again: dict[Atom, None] = {}
            for atom in self.symbols:
                if atom in pending and self.shrink(atom, choices[atom]):
                    again.update(dict.fromkeys(self.neighbours(atom)))
            if not again or self.moves <= 0 or self.evaluations <= 0:
                break
            pending = again

    def shrink(self, atom: Atom, choices: Choices) -> bool:
        """Return True if a simpler value of one symbol gives a witness; the values change."""
        before = self.values[atom]
        for value in choices.values:
            if complexity(value) >= complexity(before):
                break
            if self.moved({atom: value}):
                return True
        goal = choices.first if before > 0 else choices.negative  # simpler values were tried
        self.bisect([(atom, goal, choices.stride)])
        return self.values[atom] != before

    def shrink_both(self, one: Choices, other: Choices) -> bool:
        """Return True if simpler values of two symbols together give a witness; the values change."""
        before = self.values[one.atom], self.values[other.atom]
        small = [each.few(FIRST) for each in (one, other)]
        if self.one_of(small, [one.atom, other.atom]):
            return True
        stride = lcm(one.stride, other.stride)
        self.bisect([(each.atom, each.first if value > 0 else each.negative, stride)
                     for each, value in zip((one, other), before, strict=True)])
        return (self.values[one.atom], self.values[other.atom]) != before

    def bisect(self, moving: list[tuple[Atom, int, int]]) -> None:
        """Bisect several symbols at once, in equal multiples of their strides, towards a target that none passes."""
        room = [abs(self.values[atom] - goal) // stride for atom, goal, stride in moving]
        step = min(room) // 2
        while step > 0 and self.moves > 0 and self.evaluations > 0:
            move = {}
            for atom, goal, stride in moving:
                value = self.values[atom]
                move[atom] = value - step * stride if value > goal else value + step * stride
            if self.moved(move):
                step = min(step, min([abs(self.values[atom] - goal) // stride for atom, goal, stride in moving]))
            else:
                step //= 2

    def neighbours(self, atom: Atom) -> list[Atom]:
        """The symbols that share a fact or the question with one."""
        found: dict[Atom, None] = {}
        props = [self.prop, self.domain] if atom in self.prop.symbols or atom in self.domain.symbols else []
        for fact in about(self.facts, atom):
            props += [fact.prop, fact.domain]
        for p in props:
            found.update(dict.fromkeys(declared_in(p)))
        return list(found)

    def moved(self, move: dict[Atom, int]) -> bool:
        """Change some symbols if the values remain a witness; return True if they do."""
        if self.moves <= 0 or self.evaluations <= 0:
            return False
        self.moves -= 1
        values = {**self.values, **move}
        moved = list(move)
        try:
            for atom in moved:  # grows
                for follower, image in self.followers.get(atom) or ():
                    if follower not in move:
                        values[follower] = image.evaluate(values)
                        if follower not in moved:
                            moved.append(follower)
            if not self.shows(values, moved):
                return False
        except (OverflowError, KeyError):
            return False
        self.values = values
        return True

    def shows(self, values: dict[Atom, int], moved: list[Atom]) -> bool:
        limits = self.facts.samples.limits
        for atom in moved:
            lo, hi = limits.get(atom.serial) or (None, None)
            if (lo is not None and values[atom] < lo) or (hi is not None and values[atom] > hi):
                return False
        if not self.domain.evaluate(values) or self.prop.evaluate(values) is not self.truth:
            return False
        seen: set[int] = set()
        for atom in moved:
            for fact in about(self.facts, atom):
                if fact.serial not in seen:
                    seen.add(fact.serial)
                    self.evaluations -= 1
                    if not (fact.domain.evaluate(values) and fact.prop.evaluate(values)):
                        return False
        return True


def combinations(values: tuple[tuple[int, ...], ...]) -> list[tuple[int, ...]]:
    """Combinations with one value of each list, smallest maximum first; cached, as the same short lists recur."""
    found = COMBINATIONS.get(values)
    if found is None:
        if len(COMBINATIONS) >= COMBINATIONS_KEPT:
            COMBINATIONS.clear()
        found = COMBINATIONS[values] = sorted(product(*values), key=_complexities)
    return found


def _complexities(values: tuple[int, ...]) -> tuple[int, int]:
    each = [complexity(value) for value in values]
    return max(each, default=0), sum(each)
