"""Cores without idle facts: where a proof rests on more facts than it needs, one that rests on fewer.

    >>> from solver.core import Subsets, leaner
    >>> from solver.facts import Facts
    >>> from solver.interner import Interner
    >>> from solver.ladder import decide
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 4, None).assume_prop(terms.ne(s // 4, 1))
    >>> known = known.assume_prop(terms.gt(terms.maximum(s // 8, 1), 1))
    >>> verdict = decide(known, terms.ge(s // 8, 2))
    >>> [fact.text for fact in leaves(verdict.found)]
    ['4 <= s <= None', 's//4 != 1', 'max(s//8, 1) >= 2']
    >>> verdict
    Always(max(s//8, 1) >= 2)

A fact is idle if the others show the goal without it. Some facts of the core are learned anew, by themselves, and
bounds and shift are asked for a proof from those alone. What was learned from a selection is kept for the next question
about it. An attempt is not made where it is bound to fail: where the goal is false for some values of the symbols that
the selection does not mention.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from solver.dividing import factored, without_factors
from solver.draft import Contradictory
from solver.expr import Atom
from solver.fact import Fact
from solver.interner import Interner
from solver.knowledge import Knowledge
from solver.laws import rewritten
from solver.learn import Learner
from solver.pool import Pool
from solver.prop import Prop
from solver.reasons import Reason, apart, leaves
from solver.rungs import bounds, shift
from solver.settled import prove_by_intervals

if TYPE_CHECKING:
    from solver.facts import Facts

KEPT: Final = 512
"""Selections of facts whose consequences are kept."""
ATTEMPTS: Final = 8
"""Facts of one core that are left out on trial."""
SIZES: Final = (0, 1, 3)
"""How many facts that may be idle are taken in, before all are and are left out one by one."""
TRIALS: Final = (0, 1, -1, -60)
"""Values of the symbols that a selection does not mention."""


class Selection:
    """What follows from some facts alone; None if they contradict each other, or the domain of the question."""

    __slots__ = ("known", "last", "more")

    def __init__(self, known: Knowledge | None, last: Fact | Prop | None) -> None:
        self.known = known
        self.last = last
        self.more: dict[int, Selection] = {}

    def with_one(self, fact: Fact | Prop) -> Selection:
        """What follows with one more fact, or inside a domain."""
        learner = None if self.known is None else Learner(self.known)
        try:
            if learner is not None and isinstance(fact, Prop):
                learner.queue.append((fact, Reason("domain", fact)))
                learner.run()
            elif learner is not None and isinstance(fact, Fact):
                learner.learn_fact(fact)
        except Contradictory:
            learner = None
        return Selection(learner, fact)


class Subsets:
    """Selections of facts, as a tree: what was learned depends on the facts and their order alone."""

    __slots__ = ("count", "interner", "root")

    root: Selection

    def __init__(self, interner: Interner) -> None:
        self.interner = interner
        self.forget()

    def forget(self) -> None:
        self.count = 0
        self.root = Selection(Knowledge(self.interner), None)

    def knowledge(self, facts: Iterable[Fact], domain: Prop) -> Knowledge | None:
        """What the facts say by themselves, in this order, inside the domain of a question."""
        if self.count > KEPT:
            self.forget()
        node = self.root
        given: list[Fact | Prop] = [*facts]
        if domain.kind != "true":
            given.append(domain)
        for fact in given:
            following = node.more.get(id(fact))
            if following is None:
                following = node.more[id(fact)] = node.with_one(fact)
                self.count += 1
            node = following
        return node.known


def leaner(proof: Reason, goal: Prop, domain: Prop, facts: Facts) -> tuple[Reason, list[Fact]]:
    """A proof of the same that rests on no idle fact, as far as the cheap rungs can tell, and the facts it rests on."""
    core = leaves(proof)
    if not core:
        return proof, core
    if len(core) > 1:
        for fact in core:
            if fact.prop is goal:
                return Reason("fact", goal, fact=fact), [fact]
    found = Shortening(core, goal, domain, facts).shortest(proof)
    return found, core if found is proof else leaves(found)


class Shortening:
    """One proof being made to rest on fewer facts. The facts of its core go by their positions there."""

    __slots__ = ("core", "domain", "failed", "goal", "sample", "sign", "subsets", "symbols")

    def __init__(self, core: Sequence[Fact], goal: Prop, domain: Prop, facts: Facts) -> None:
        self.core = core
        self.goal = goal
        self.domain = domain
        self.subsets = facts.subsets
        self.symbols = [fact.prop.symbols for fact in core]
        self.sample = sample_of(facts.pool, goal, domain)
        self.sign = sign_at(goal, self.sample)
        self.failed: set[frozenset[int]] = set()

    def shortest(self, proof: Reason) -> Reason:
        """The proof, or one from as few facts as are found to suffice."""
        chosen = list(range(len(self.core)))
        needed = self.needed_for_mention()
        if len(needed) == len(chosen):
            return proof
        others = self.by_relevance([i for i in chosen if i not in needed])
        alike = sum([self.symbols[i] <= self.goal.symbols for i in others])
        for size in sorted({*SIZES, alike}):
            found = self.proof_from(needed + others[:size]) if size < len(others) else None
            if found is not None:
                proof, chosen = found, self.positions(found)
                break
        order = needed + others
        for i in [i for i in reversed(chosen) if i not in needed][:ATTEMPTS]:
            if i in chosen:
                found = self.proof_from([j for j in order if j != i and j in chosen])
                if found is not None:
                    proof, chosen = found, self.positions(found)
        return proof

    def positions(self, proof: Reason) -> list[int]:
        used = {fact.serial for fact in leaves(proof)}
        return [i for i, fact in enumerate(self.core) if fact.serial in used]

    def by_relevance(self, selection: list[int]) -> list[int]:
        """Those about the symbols of the goal alone first, of those the ones about its operations, of those the newest.
        """
        atoms, symbols = self.goal.atoms, self.goal.symbols

        def rank(i: int) -> tuple[int, int, int]:
            shared = [atom for atom in self.core[i].prop.atoms & atoms if atom.args]
            return len(self.symbols[i] - symbols), -len(shared), -i

        return sorted(selection, key=rank)

    def proof_from(self, selection: list[int]) -> Reason | None:
        """A proof of the goal from these facts alone, by the cheap rungs."""
        key = frozenset(selection)
        if key in self.failed:
            return None
        self.failed.add(key)
        if self.fails_without_mention(selection):
            return None
        known = self.subsets.knowledge([self.core[i] for i in selection], self.domain)
        return None if known is None else prove(known, self.goal, self.sign)

    def needed_for_mention(self) -> list[int]:
        """The facts without which the goal is false for some values of the symbols that no other fact mentions."""
        if self.sample is None:
            return []
        count = dict.fromkeys(self.sample, 0)
        for symbols in self.symbols:
            for symbol in symbols:
                if symbol in count:
                    count[symbol] += 1
        free = {symbol for symbol, facts in count.items() if not facts}
        alone = {symbol for symbol, facts in count.items() if facts == 1}
        return [i for i, symbols in enumerate(self.symbols) if self.fails_somewhere(free | (alone & symbols))]

    def fails_without_mention(self, selection: list[int]) -> bool:
        """Whether the goal is false for some values of the symbols that none of these facts mentions."""
        if self.sample is None:
            return False
        free = set(self.sample)
        for i in selection:
            free -= self.symbols[i]
            if not free:
                return False
        return self.fails_somewhere(free)

    def fails_somewhere(self, free: set[Atom]) -> bool:
        """Whether the goal is false where these symbols have some other values than in the sample."""
        if self.sample is None or not free:
            return False
        values = self.sample.copy()
        for value in TRIALS:
            values.update(dict.fromkeys(free, value))
            try:
                if not self.goal.evaluate(values) and (self.domain.kind == "true" or self.domain.evaluate(values)):
                    return True
            except OverflowError:
                continue
        return False


def sign_at(goal: Prop, sample: dict[Atom, int] | None) -> int:
    """On which side of zero the expression of a disequality is in the sample; 0 if that is not known."""
    if goal.kind != "ne" or sample is None:
        return 0
    try:
        return 1 if goal.expr.evaluate(sample) > 0 else -1
    except OverflowError:
        return 0


def sample_of(pool: Pool, goal: Prop, domain: Prop) -> dict[Atom, int] | None:
    """Values of the symbols of the question in a sample of the facts."""
    if not pool.alive:
        return None
    row = pool.alive[0]
    values = {}
    for symbol in goal.symbols | domain.symbols:
        column = pool.columns.get(symbol.serial)
        if column is None:
            return None
        values[symbol] = column[row]
    return values


def prove(known: Knowledge, goal: Prop, sign: int = 0) -> Reason | None:
    """The goal by substitution, bounds, factors or shift; `sign` says on which side of zero a disequality is shown."""
    canonical, rounds = known.canonical_prop(goal)
    match canonical.kind:
        case "true":
            return rewritten(goal, None, rounds) if rounds else Reason("trivial", goal)
        case "false":
            return None
        case "and" | "or":
            proof = prove_by_intervals(known, canonical)
        case _:
            proof = prove_comparison(known, canonical, sign)
    return rewritten(goal, proof, rounds) if proof is not None and rounds else proof


def prove_comparison(known: Knowledge, goal: Prop, sign: int) -> Reason | None:
    settled = bounds.settle(known, goal)
    if settled is not None:
        return settled[1] if settled[0] else None
    smaller = without_factors(known, goal)
    if smaller is not None:
        inner = prove(known, smaller.goal)
        return None if inner is None else factored(smaller, goal, inner)
    if goal.kind == "ge":
        return shift.prove_nonnegative(known, goal.expr)
    for side in (1, -1) if goal.kind == "ne" else ():
        if side != -sign:
            bounded = shift.prove_nonnegative(known, goal.expr * side - 1)
            if bounded is not None:
                return apart(bounded, goal)
    return None
