"""Minimal cores: a proof that rests on no fact that could be left out.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> a, b, c = terms.symbol("a"), terms.symbol("b"), terms.symbol("c")
    >>> known = Facts.empty(terms)
    >>> for symbol in (a, b, c):
    ...     known = known.declare_range(symbol, 0, None)
    >>> known = known.assume_prop(terms.le(a, b)).assume_prop(terms.le(b, c)).assume_prop(terms.eq(c % 4, 0))
    >>> verdict = decide(known, terms.le(a, c))
    >>> verdict, verdict.core_minimal
    (Always(a <= b, b <= c), True)

This is deletion-based extraction of a minimal unsatisfiable subset (MUS). A fact is needed (a transition fact) where
some assignment satisfies all the others and refutes the goal; most are shown so by moving one value of a sample, or of
an assignment that showed another fact to be needed (model rotation). The engine is asked the question of the facts
without each of the rest: if it proves it, the core becomes the facts of that proof, which may be far fewer (clause-set
refinement); if not, the fact stays. Facts of large cores are left out in groups first, and all that can be left out
cheaply before the rest is asked with the price of a question, as the engine gives up less where there are fewer facts.
What all this may cost is counted in work, as questions are; past that the core is one that was found, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from solver.decide.ladder import attempt
from solver.decide.verdict import Always, Depends, Never
from solver.errors import ShapeError
from solver.knowledge.facts import Conflict, Facts, range_prop
from solver.knowledge.samples import declared_symbols
from solver.knowledge.selection import Step, learned_from
from solver.proofs.fact import Fact
from solver.proofs.step import ProofStep, absurd, leaves
from solver.rungs.prover import Effort
from solver.samples.repair import Search
from solver.samples.witness import Witness
from solver.terms.expr import Atom
from solver.terms.prop import Prop

WORK: Final = 1_000_000
ATTEMPT: Final = 150_000
"""What making one core minimal may cost, and one question for it, in the unit of `solver.rungs.prover`."""
ASKED: Final = {"fast": 10_000, "default": 10_000, "thorough": 60_000}
"""What one question costs besides: to learn facts anew, to search for a sample or, thoroughly, to ask z3."""
LEARNED: Final = 300
"""What it costs to learn one fact of a large core anew."""
EFFORTS: Final[Sequence[Effort]] = ("fast", "default", "thorough")
"""In this order, the last for proofs of z3 alone."""
DIRECTED: Final = 4
"""The effort of a search for a counterexample that violates what is left out."""
ALONE: Final = 8
"""In larger cores, facts are left out in groups before they are one by one."""
ASSIGNMENTS: Final = 400
"""So many are looked at for one core."""
TRIALS: Final = (0, 1, -1, -60, 1 << 20, 2, 3)
MOVES: Final = ((0, 0), (1, 0), (0, -2), (0, -1), (-1, 0), (-60, 0), (1 << 20, 0), (0, 1), (0, 7), (2, 0), (0, 2))
"""To which values one symbol is moved or, where that is not 0, how far from its value in a sample."""


def minimized(
    proof: ProofStep, goal: Prop, asked: Prop, domain: Prop, facts: Facts, solvers: bool = False, *, work: int = WORK
) -> tuple[ProofStep, list[Fact], bool]:
    """A proof of the goal from facts none of which can be left out, these facts, and whether that was found out.

    Args:
        asked: the question, which is the goal or its negation.
        solvers: whether z3 may be asked too, which is needed where the proof is one of z3's.
        work: what it may cost.
    """
    core = leaves(proof)
    if not core:
        return proof, core, True
    for fact in core if len(core) > 1 else ():
        if fact.prop is goal:
            proof, core = ProofStep("fact", goal, fact=fact), [fact]
            break
    deletion = Deletion(core, goal, asked, domain, facts, solvers=solvers, work=work)
    if len(deletion.needed) < len(core):
        proof = deletion.shortest(proof)
    return proof, leaves(proof), deletion.complete


class Deletion:
    """One core being made minimal."""

    __slots__ = (
        "asked", "complete", "domain", "facts", "goal", "left", "looked_at", "needed", "ranges", "sample", "solvers",
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
        solvers: bool,
        work: int,
    ) -> None:
        self.solvers = solvers
        self.complete = True
        self.goal = goal
        self.asked = asked
        self.domain = domain
        self.facts = facts
        self.left = work
        self.looked_at = 0
        self.symbols = _symbols([goal, domain, *[p for fact in core for p in (fact.prop, fact.domain)]])
        self.sample = self.sampled()
        self.ranges: dict[Atom, Fact] = {}
        self.needed: set[int] = set()  # by serial number, as all sets of facts here
        self.find_needed(core)

    # ------------------------------------------------------------------ facts that are needed

    def find_needed(self, core: Sequence[Fact]) -> None:
        """Note facts that a sample shows to be needed with one symbol moved, or with one value for all symbols."""
        values = self.sample
        symbols = self.symbols
        if self.moved(core, values, symbols):
            return
        for trial in TRIALS:
            if self.rotate(core, dict.fromkeys(symbols, trial)) and len(self.needed) == len(core):
                return

    def moved(self, core: Sequence[Fact], values: dict[Atom, int], symbols: Sequence[Atom]) -> bool:
        """Whether all facts are known to be needed after one symbol at a time was moved."""
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
                        if self.moved(core, {**values, atom: place}, _symbols([found.prop, found.domain])):
                            return True
        return False

    def rotate(self, core: Sequence[Fact], values: dict[Atom, int]) -> bool:
        """Whether an assignment shows a fact to be needed that was not known to be; then so may some beside it."""
        found = self.only_violated(core, values)
        if found is None or found.serial in self.needed:
            return False
        self.needed.add(found.serial)
        if len(self.needed) < len(core):
            self.moved(core, values, _symbols([found.prop, found.domain]))
        return True

    def only_violated(self, core: Sequence[Fact], values: dict[Atom, int]) -> Fact | None:
        """The one fact that an assignment violates, if the question makes sense there and the goal is false."""
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
        """A sample of the facts, as far as it is about these symbols."""
        samples = self.facts.samples
        row = samples.alive[0] if samples.alive else 0
        columns = {atom: samples.columns.get(atom.serial) for atom in self.symbols}
        return {atom: 0 if column is None else column[row] for atom, column in columns.items()}

    # ------------------------------------------------------------------ facts that can be left out

    def shortest(self, proof: ProofStep) -> ProofStep:
        """The proof, or one from fewer facts, until none can be left out or it has cost enough."""
        core = leaves(proof)
        self.ranges = self.declaring(core)
        proof = self.without_groups(proof)
        core = leaves(proof)
        for effort in EFFORTS if self.solvers else EFFORTS[:2]:
            kept: dict[int, int] = {}  # among how many facts the engine gave up without one: of fewer it may not
            while True:
                size = len(core)
                rest = [f for f in core if f.serial not in self.needed and kept.get(f.serial, size + 1) > size]
                if not rest:
                    break
                if self.left <= 0:
                    self.complete = False
                    return proof
                found = self.proof_without(core, rest[-1:], effort)
                if found is not None:
                    proof, core = found, leaves(found)
                else:
                    kept[rest[-1].serial] = 0 if effort == "fast" else size
        return proof

    def without_groups(self, proof: ProofStep) -> ProofStep:
        """The proof, or one that leaves out some of many facts at once, newest first."""
        core = leaves(proof)
        size = len(core) // 4
        while size > 1 and len(core) > ALONE and self.left > 0:
            at = 0
            while self.left > 0:
                group = [fact for fact in reversed(core) if fact.serial not in self.needed][at : at + size]
                if len(group) < 2:
                    break
                found = self.proof_without(core, group, "fast")
                if found is not None:
                    proof, core = found, leaves(found)
                else:
                    at += size
            size //= 4
        return proof

    def proof_without(self, core: Sequence[Fact], group: Sequence[Fact], effort: Effort) -> ProofStep | None:
        """A proof of the goal from the others alone; a fact that a counterexample shows to be needed is noted."""
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
        """Whether a search finds a counterexample among the assignments that violate the fact that is left out."""
        negations = [p.negation for p in (fact.prop, fact.domain) if p.kind != "true"]
        for p in negations:
            search = Search(known, known.samples, known.samples.alive[0], effort=DIRECTED)
            search.first = p
            moved = search.reach([self.domain, p, self.goal.negation])
            if moved is not None:
                self.rotate(core, Witness(known.samples.alive[0], moved).values(known))
                self.needed.add(fact.serial)
                return True
        return False

    def declaring(self, core: Sequence[Fact]) -> dict[Atom, Fact]:
        """The facts that are the ranges with which symbols were declared."""
        ranges = {fact.prop: fact for fact in core if fact.kind == "range"}
        found: dict[Atom, Fact] = {}
        for atom in self.symbols if ranges else ():
            fact = ranges.get(range_prop(atom.expr, *(self.facts.samples.limits.get(atom.serial) or (None, None))))
            if fact is not None:
                found[atom] = fact
        return found

    def learned(self, selection: Sequence[Fact]) -> Facts | Conflict:
        """What is known where only these facts are, of the symbols of the question and of the core.

        A symbol is declared when the first fact is about it, so that what was learned is found again for selections
        that begin alike, and has its value of a sample, which satisfies any selection.
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
            declare(_symbols([fact.prop, fact.domain]))
            if fact.serial not in declaring:
                steps.append(Step(None, fact))
        declare(self.symbols)
        return learned_from(self.facts.subsets, steps)


def _symbols(props: Sequence[Prop]) -> list[Atom]:
    """The declared symbols of propositions, oldest first."""
    found: set[Atom] = set()
    for p in props:
        for atom in p.symbols:
            if atom.definition is None:
                found.add(atom)
            else:
                found.update(declared_symbols(atom.definition))
    return sorted(found, key=_age)


def _age(atom: Atom) -> int:
    return atom.serial
