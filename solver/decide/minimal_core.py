"""Minimal unsat cores: a proof whose every premise is necessary (irredundant).

A set of facts may have many. The one that is shown depends on the set of facts and on the question alone: both are
taken in canonical order (`solver.decide.slicing`), where the question is decided again before facts are left out. Of a
slice that is too large or leaves it undecided, the proof as it was found is made minimal.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> a, b, c = terms.symbol("a"), terms.symbol("b"), terms.symbol("c")
    >>> known = Facts.empty(terms)
    >>> for symbol in (a, b, c):
    ...     known = known.declare_range(symbol, 0, None)
    >>> known = known.learn_prop(terms.le(a, b)).learn_prop(terms.le(b, c)).learn_prop(terms.eq(c % 4, 0))
    >>> verdict = decide(known, terms.le(a, c))
    >>> verdict, verdict.core_minimal
    (Always(a <= b, b <= c), True)

Deletion-based extraction of a minimal unsatisfiable subset (MUS). A fact is necessary (a transition constraint) where
an assignment satisfies all others and refutes the goal. Changing one value of a sample shows most facts to be so, or
one value of an assignment that did so for another fact (model rotation). For each of the rest, the engine decides the
question without it: a proof replaces the core by its own premises (clause-set refinement), otherwise the fact stays.
Large cores drop facts in groups first; what drops cheaply goes before the rest is tried at the full price of a
question. Work budgets bound it all and each question. `core_minimal` is true only if an assignment shows each fact of
the core to be necessary: a question that was merely not decided without a fact shows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from solver.decide.search import attempt
from solver.decide.selection import Step, learned_from
from solver.decide.slicing import ATTEMPTS, slice_of
from solver.decide.verdict import Always, Depends, Never
from solver.errors import ShapeError
from solver.knowledge.facts import Conflict, Facts, range_prop
from solver.knowledge.symbols import by_age, declared_in
from solver.proofs.fact import Fact
from solver.proofs.step import ProofStep, absurd, leaves
from solver.rungs.effort import Effort
from solver.samples.repair import Search
from solver.samples.witness import Witness
from solver.terms.expr import Atom
from solver.terms.prop import Prop

WORK: Final = 1_000_000
ATTEMPT: Final = 150_000
"""Work for minimizing one core, and for one question about it, in the unit of `solver.rungs.effort`."""
ASKED: Final = {"fast": 10_000, "default": 10_000, "thorough": 60_000}
"""The further cost of one question: to learn facts anew, to search for a sample or, if thorough, to ask z3."""
LEARNED: Final = 300
"""The cost of learning one fact of a large core anew."""
EFFORTS: Final[Sequence[Effort]] = ("fast", "default", "thorough")
"""Efforts in the order in which they are tried, the last for proofs by z3 alone."""
DIRECTED: Final = 4
"""The effort of a search for a counterexample that violates the dropped fact."""
ALONE: Final = 8
"""Larger cores drop facts in groups before they drop single ones."""
ASSIGNMENTS: Final = 400
"""Assignments examined for one core."""
TRIALS: Final = (0, 1, -1, -60, 1 << 20, 2, 3)
MOVES: Final = ((0, 0), (1, 0), (0, -2), (0, -1), (-1, 0), (-60, 0), (1 << 20, 0), (0, 1), (0, 7), (2, 0), (0, 2))
"""Moves of one symbol: to a value or, where the second number is not 0, by that distance from its sample value."""


def minimized(
    proof: ProofStep, goal: Prop, asked: Prop, domain: Prop, facts: Facts, solvers: bool = False, *, work: int = WORK
) -> tuple[ProofStep, list[Fact], bool]:
    """A proof of the goal from irredundant facts, these facts, and whether each of them was shown to be necessary.

    Args:
        asked: the question, which is the goal or its negation.
        solvers: true if z3 may be asked; needed where the proof is one of z3's.
        work: the budget.
    """
    core = leaves(proof)
    if not core:
        return proof, core, True
    again = in_canonical_order(goal, asked, domain, facts)
    rank: Mapping[int, int] = {}
    if again is not None:
        proof, facts, rank = again
    core = ordered(proof, rank)
    for fact in core if len(core) > 1 else ():
        if fact.prop is goal:
            proof, core = ProofStep("fact", goal, fact=fact), [fact]
            break
    deletion = Deletion(core, goal, asked, domain, facts, rank=rank, solvers=solvers, work=work)
    if len(deletion.needed) < len(core):
        proof = deletion.shortest(proof)
    core = leaves(proof)
    return proof, core, deletion.needed.issuperset([fact.serial for fact in core])


def in_canonical_order(
    goal: Prop, asked: Prop, domain: Prop, facts: Facts
) -> tuple[ProofStep, Facts, dict[int, int]] | None:
    """The proof that the slice of a question gives, in canonical order or else in reverse; its facts, and the place of
    each in that order."""
    if goal.kind == "false":
        return None
    for order in range(ATTEMPTS):
        found = slice_of(facts, asked, domain, order)
        if found is None or not isinstance(found.known, Facts):
            return None
        try:
            verdict, _ = attempt(found.known, asked, domain, effort="default", work=ATTEMPT)
        except ShapeError:
            return None
        if isinstance(verdict, Always | Never) and verdict.goal is goal:
            return verdict.found, found.known, {fact.serial: place for place, (fact, _) in enumerate(found.order)}
    return None


def ordered(proof: ProofStep, rank: Mapping[int, int]) -> list[Fact]:
    """The facts at the leaves of a proof: ranges as they were declared, then the others by their places."""
    return sorted(leaves(proof), key=lambda fact: rank.get(fact.serial, -1))


class Deletion:
    """The state of minimizing one core."""

    __slots__ = (
        "asked", "domain", "facts", "goal", "left", "looked_at", "needed", "ranges", "rank", "sample", "solvers",
        "symbols",
    )  # fmt: skip

    def __init__(
        self,
        core: Sequence[Fact],
        goal: Prop,
        asked: Prop,
        domain: Prop,
        facts: Facts,
        *,
        rank: Mapping[int, int],
        solvers: bool,
        work: int,
    ) -> None:
        self.rank = rank
        self.solvers = solvers
        self.goal = goal
        self.asked = asked
        self.domain = domain
        self.facts = facts
        self.left = work
        self.looked_at = 0
        self.symbols = _symbols(goal, domain, *[p for fact in core for p in (fact.prop, fact.domain)])
        self.sample = self.sampled()
        self.ranges: dict[Atom, Fact] = {}
        self.needed: set[int] = set()  # by serial number, as are all sets of facts here
        self.find_needed(core)

    # ------------------------------------------------------------------ necessary facts

    def find_needed(self, core: Sequence[Fact]) -> None:
        """Mark transition facts: one symbol of a sample changed, or one value for all symbols, shows them necessary."""
        values = self.sample
        symbols = self.symbols
        if self.moved(core, values, symbols):
            return
        for trial in TRIALS:
            if self.rotate(core, dict.fromkeys(symbols, trial)) and len(self.needed) == len(core):
                return

    def moved(self, core: Sequence[Fact], values: dict[Atom, int], symbols: Sequence[Atom]) -> bool:
        """Change one symbol at a time; return True once all facts are known to be necessary."""
        for to, by in MOVES:
            for atom in symbols:
                value = values[atom]
                place = value + by if by else to
                if place != value:
                    values[atom] = place
                    found = self.only_violated(core, values)
                    values[atom] = value
                    if found is not None and found.serial not in self.needed:
                        self.needed.add(found.serial)
                        if len(self.needed) == len(core):
                            return True
                        if self.moved(core, {**values, atom: place}, _symbols(found.prop, found.domain)):
                            return True
        return False

    def rotate(self, core: Sequence[Fact], values: dict[Atom, int]) -> bool:
        """Model rotation: whether an assignment shows a further fact to be necessary; then so may its neighbours."""
        found = self.only_violated(core, values)
        if found is None or found.serial in self.needed:
            return False
        self.needed.add(found.serial)
        if len(self.needed) < len(core):
            self.moved(core, values, _symbols(found.prop, found.domain))
        return True

    def only_violated(self, core: Sequence[Fact], values: dict[Atom, int]) -> Fact | None:
        """The one fact that an assignment violates, if the question is defined there and the goal is false."""
        if self.looked_at >= ASSIGNMENTS:
            return None
        self.looked_at += 1
        try:
            if self.goal.evaluate(values) or not self.domain.evaluate(values):
                return None
            if len(core) == 1:
                return core[0]
            found: Fact | None = None
            for fact in core:
                if not (fact.domain.evaluate(values) and fact.prop.evaluate(values)):
                    if found is not None:
                        return None
                    found = fact
        except OverflowError:
            return None
        return found

    def sampled(self) -> dict[Atom, int]:
        """A sample of the facts, restricted to these symbols."""
        samples = self.facts.samples
        row = samples.alive[0] if samples.alive else 0
        columns = {atom: samples.columns.get(atom.serial) for atom in self.symbols}
        return {atom: 0 if column is None else column[row] for atom, column in columns.items()}

    # ------------------------------------------------------------------ dropping facts

    def shortest(self, proof: ProofStep) -> ProofStep:
        """The proof, or one from fewer facts, until every fact is necessary or the budget is spent."""
        core = ordered(proof, self.rank)
        self.ranges = self.declaring(core)
        proof = self.without_groups(proof)
        core = ordered(proof, self.rank)
        for effort in EFFORTS if self.solvers else EFFORTS[:2]:
            kept: dict[int, int] = {}  # the number of facts from which the engine could not prove it; from fewer it may
            while True:
                size = len(core)
                rest = [f for f in core if f.serial not in self.needed and kept.get(f.serial, size + 1) > size]
                if not rest:
                    break
                if self.left <= 0:
                    return proof
                found = self.proof_without(core, rest[-1:], effort)
                if found is not None:
                    proof, core = found, ordered(found, self.rank)
                else:
                    kept[rest[-1].serial] = 0 if effort == "fast" else size
        return proof

    def without_groups(self, proof: ProofStep) -> ProofStep:
        """The proof, or one that drops some of many facts at once, newest first."""
        core = ordered(proof, self.rank)
        size = len(core) // 4
        while size > 1 and len(core) > ALONE and self.left > 0:
            at = 0
            while self.left > 0:
                group = [fact for fact in reversed(core) if fact.serial not in self.needed][at : at + size]
                if len(group) < 2:
                    break
                found = self.proof_without(core, group, "fast")
                if found is not None:
                    proof, core = found, ordered(found, self.rank)
                else:
                    at += size
            size //= 4
        return proof

    def proof_without(self, core: Sequence[Fact], group: Sequence[Fact], effort: Effort) -> ProofStep | None:
        """A proof of the goal from the others alone; a fact that a counterexample shows necessary is marked."""
        self.left -= ASKED[effort] + LEARNED * max(0, len(core) - ALONE)
        left_out = {fact.serial for fact in group}
        known = self.learned([fact for fact in core if fact.serial not in left_out])
        if isinstance(known, Conflict):
            return absurd(known.found, self.goal)
        if self.goal.kind == "false":
            if known.samples.alive and len(group) == 1:
                self.needed.add(group[0].serial)
            return None
        if effort != "fast" and known.samples.alive and self.refuted(core, known, group[0]):
            return None
        try:
            verdict, work = attempt(known, self.asked, self.domain, effort=effort, work=ATTEMPT)
        except ShapeError:
            return None
        self.left -= work
        match verdict:
            case Always() | Never():
                return verdict.found if verdict.goal is self.goal else None
            case Depends():
                true, false = verdict.found
                self.rotate(core, false if self.asked is self.goal else true)
                if len(group) == 1:
                    self.needed.add(group[0].serial)
        return None

    def refuted(self, core: Sequence[Fact], known: Facts, fact: Fact) -> bool:
        """Return True if search finds a counterexample that violates the dropped fact."""
        negations = [p.negation for p in (fact.prop, fact.domain) if p.kind != "true"]
        for p in negations:
            search = Search(known, known.samples, known.samples.alive[0], effort=DIRECTED)
            search.first = (p,)
            moved = search.reach([self.domain, p, self.goal.negation])
            if moved is not None:
                self.rotate(core, Witness(known.samples.alive[0], moved).values(known))
                self.needed.add(fact.serial)
                return True
        return False

    def declaring(self, core: Sequence[Fact]) -> dict[Atom, Fact]:
        """The range facts of declared symbols."""
        ranges = {fact.prop: fact for fact in core if fact.kind == "range"}
        found: dict[Atom, Fact] = {}
        for atom in self.symbols if ranges else ():
            fact = ranges.get(range_prop(atom.expr, *(self.facts.samples.limits.get(atom.serial) or (None, None))))
            if fact is not None:
                found[atom] = fact
        return found

    def learned(self, selection: Sequence[Fact]) -> Facts | Conflict:
        """The consequences of these facts alone, for the symbols of the question and of the core.

        A symbol is declared with the first fact that mentions it, so selections with a common prefix share what was
        learned; it keeps its sample value, which satisfies any selection.
        """
        steps: list[Step] = []
        declared: set[Atom] = set()
        declaring: set[int] = set()

        def declare(atoms: Sequence[Atom]) -> None:
            for atom in atoms:
                if atom not in declared:
                    declared.add(atom)
                    lo, hi = self.facts.samples.limits.get(atom.serial) or (None, None)
                    fact = self.ranges.get(atom)
                    if fact is None or fact not in selection:
                        steps.append(Step(atom, hint=self.sample[atom]))
                    else:
                        declaring.add(fact.serial)
                        steps.append(Step(atom, fact, lo, hi, self.sample[atom]))

        for fact in selection:
            declare(_symbols(fact.prop, fact.domain))
            if fact.serial not in declaring:
                steps.append(Step(None, fact))
        declare(self.symbols)
        return learned_from(self.facts.subsets, steps)


def _symbols(*props: Prop) -> list[Atom]:
    """The declared symbols of propositions, oldest first."""
    return sorted(declared_in(*props), key=by_age)
