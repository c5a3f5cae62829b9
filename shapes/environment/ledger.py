"""The ledger: the commitments in order, the facts that they make, and rollback.

    >>> from solver.terms.interner import Interner
    >>> from shapes.environment.events import Assumed, Sourced
    >>> ledger = Ledger(Interner(), SymbolTable(), origin=lambda: None)
    >>> mark = ledger.position()
    >>> ledger.commit(ledger.facts, Sourced("s", "x.shape[0]"))
    >>> [str(event) for event in ledger.commitments]
    ['s is also x.shape[0]']
    >>> ledger.return_to(mark)
    >>> ledger.commitments
    []

Facts are a value: a checkpoint refers to them, and a rollback assigns them. What other parts remember goes back with
the ledger, as far as they are among its `trails`. What fails leaves the ledger as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from shapes.environment.events import (
    Assumed,
    Commitment,
    Declared,
    Deferred,
    Event,
    Guarded,
    Listener,
    Marked,
    RolledBack,
    Sourced,
    Specialized,
    fact_of,
)
from shapes.environment.hints import truth_at_hints
from shapes.environment.symbols import SymbolTable
from shapes.environment.trail import Revocable
from shapes.environment.universal import BoundRange
from shapes.errors import Contradiction, FalseAtHint, SpecializedDynamic, StaleCheckpoint, Undefined
from shapes.origin import OriginProvider
from solver.decide.assume import assume
from solver.knowledge.facts import Conflict, Facts
from solver.proofs.fact import Fact, Kind
from solver.syntax.precedence import number
from solver.terms.interner import Interner
from solver.terms.prop import Prop


class Checkpoint:
    """A position to return to: the number of commitments and the last of them, the facts, and what restores attached
    states."""

    __slots__ = ("facts", "last", "position", "restore")

    def __init__(
        self, position: int, last: Commitment | None, facts: Facts, restore: tuple[Callable[[], None], ...] = ()
    ) -> None:
        self.position = position
        self.last = last
        self.facts = facts
        self.restore = restore


class Ledger:
    """Commitments and the facts that they make."""

    __slots__ = (
        "_participants",
        "_positions",
        "commitments",
        "facts",
        "hypotheses",
        "interner",
        "listeners",
        "origin",
        "ranges",
        "table",
        "trails",
    )

    def __init__(self, interner: Interner, table: SymbolTable, *, origin: OriginProvider) -> None:
        self.interner = interner
        self.table = table
        self.origin = origin
        self.facts = Facts.empty(interner)
        self.commitments: list[Commitment] = []
        self.hypotheses: tuple[Prop, ...] = ()
        """The hypotheses of the open scopes, outermost first."""
        self.ranges: tuple[BoundRange, ...] = ()
        """The bound variables of the open `for_all`, outermost first."""
        self.listeners: tuple[Listener, ...] = ()
        self.trails: tuple[Revocable, ...] = ()
        """The other state that a rollback undoes."""
        self._positions: list[tuple[int, ...]] = []
        self._participants: list[Callable[[], Callable[[], None]]] = []

    def inherit(self, other: Ledger) -> None:
        """Begin with everything that another ledger has; the trails are empty."""
        self.facts = other.facts
        self.commitments += other.commitments
        self.hypotheses, self.ranges = other.hypotheses, other.ranges
        self._positions += [(0,) * len(self.trails)] * len(other.commitments)

    def restore(
        self,
        facts: Facts,
        commitments: Iterable[Commitment],
        hypotheses: tuple[Prop, ...],
        ranges: tuple[BoundRange, ...],
    ) -> None:
        """Begin with what a ledger of another process had; the table registers its symbols, the trails are empty."""
        self.facts = facts
        self.commitments += commitments
        self.hypotheses, self.ranges = hypotheses, ranges
        self._positions += [(0,) * len(self.trails)] * len(self.commitments)
        for commitment in self.commitments:
            if type(commitment) is Declared:
                self.table.register(commitment)

    # ------------------------------------------------------------------ committing

    def fact(self, prop: Prop, domain: Prop, kind: Kind, text: str | None = None, line: int | None = None) -> Fact:
        """A fact that would come next, from the place that is asking."""
        return Fact(prop, domain, kind, text, self.origin(), line, len(self.commitments))

    def commit(self, facts: Facts, commitment: Commitment) -> None:
        """Take the facts over. Whatever can fail has been done before."""
        self._positions.append(tuple([trail.position for trail in self.trails]))
        self.commitments.append(commitment)
        self.facts = facts
        if type(commitment) is Declared:
            self.table.register(commitment)
        if self.listeners:
            self.tell(commitment)

    def tell(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event)

    def add(self, fact: Fact, commitment: Commitment) -> None:
        """Take a fact over, or raise and leave everything as it was.

        Raises:
            Contradiction: it cannot hold together with what is known.
            FalseAtHint: it does not hold for the sizes of this run.
            SpecializedDynamic: it makes a constant of a size that must stay dynamic.
        """
        facts = self._assumed(fact)
        if fact.kind != "hypothesis":
            self._check_hints(fact)
        self._take_over(facts, fact, commitment)

    def add_tested(self, fact: Fact, commitment: Commitment) -> None:
        """`add`, for a fact that was just checked against the hints."""
        self._take_over(self._assumed(fact), fact, commitment)

    def _assumed(self, fact: Fact) -> Facts:
        """The facts with one more."""
        return extended(assume(self.facts, fact), fact, self.table)

    def _take_over(self, facts: Facts, fact: Fact, commitment: Commitment) -> None:
        for atom, name in self.table.strict.items():
            lo, hi = facts.bounds(atom.expr)
            if lo is not None and lo == hi and self.facts.bounds(atom.expr) != (lo, hi):
                raise SpecializedDynamic(name, lo, fact, self.table.places)
        self.commit(facts, commitment)

    def commit_all(self, commitments: Iterable[Commitment]) -> None:
        """Commit to what was found in a scope or in every branch: to all of it, or to nothing where one fails."""
        mark = self.position()
        try:
            for commitment in commitments:
                match commitment:
                    case Guarded() | Assumed() | Deferred() | Specialized():
                        fact = replace(commitment.fact, serial=len(self.commitments))
                        self.add(fact, replace(commitment, fact=fact))
                    case _:
                        self.commit(self.facts, commitment)
        except BaseException:
            self.return_to(mark)
            raise

    def about(self, prop: Prop) -> list[Fact]:
        """The facts that share a symbol with a proposition."""
        wanted = prop.symbols
        facts = [fact_of(event) for event in self.commitments]
        return [fact for fact in facts if fact is not None and not wanted.isdisjoint(fact.prop.symbols)]

    def sources(self, name: str) -> tuple[str, ...]:
        """The places of a symbol's value, if they are known."""
        found: list[str] = []
        for event in self.commitments:
            match event:
                case Declared(name=declared, source=str(source)) if declared == name:
                    found.append(source)
                case Sourced(name=named, source=source) if named == name:
                    found.append(source)
        return tuple(found)

    # ------------------------------------------------------------------ hints

    def at_hint(self, prop: Prop, domain: Prop) -> bool | None:
        """The value at the hints (see `shapes.environment.hints`)."""
        return truth_at_hints(prop, domain, self.table.hints, self.facts, self.hypotheses)

    def _check_hints(self, fact: Fact) -> None:
        """A fact about hinted sizes must be true at the hints."""
        try:
            holds = self.at_hint(fact.prop, fact.domain)
        except Undefined:
            holds = False
        if holds is False:
            hints = self.table.hints
            atoms = sorted(fact.prop.symbols | fact.domain.symbols, key=lambda atom: atom.serial)
            sizes = ", ".join([f"{atom.name}={number(hints[atom]).text}" for atom in atoms if atom in hints])
            known = [fact, *self.table.ranges_of(atoms)]
            raise FalseAtHint(f"`{fact.text}` is false at the hints {sizes}", known, places=self.table.places)

    # ------------------------------------------------------------------ taking back

    def attach(self, participant: Callable[[], Callable[[], None]]) -> None:
        """Let another state be rolled back too: the participant is called at each checkpoint and returns what restores
        it."""
        self._participants.append(participant)

    def checkpoint(self) -> Checkpoint:
        """A position to return to with `rollback`."""
        mark = self.position()
        if self.listeners:
            self.tell(Marked(mark.position))
        if self._participants:
            mark.restore = tuple([participant() for participant in self._participants])
        return mark

    def rollback(self, mark: Checkpoint) -> None:
        """Return to a checkpoint, and so do attached states."""
        self.return_to(mark)
        for restore in mark.restore:
            restore()

    def position(self) -> Checkpoint:
        """The ledger as it is now, to return to."""
        position = len(self.commitments)
        return Checkpoint(position, self.commitments[-1] if position else None, self.facts)

    def return_to(self, mark: Checkpoint) -> None:
        """Undo what was committed since then, attached states excepted.

        Raises:
            StaleCheckpoint: an earlier rollback went back beyond this mark.
        """
        position = mark.position
        commitments = self.commitments
        if position > len(commitments) or (position and commitments[position - 1] is not mark.last):
            raise StaleCheckpoint("this checkpoint is gone: an earlier rollback went back beyond it")
        if position == len(commitments):
            return
        positions = self._positions[position]
        symbols = sum(type(commitment) is Declared for commitment in commitments[position:])
        del commitments[position:]
        del self._positions[position:]
        self.facts = mark.facts
        for _ in range(symbols):
            self.table.unregister()
        for trail, before in zip(self.trails, positions, strict=True):
            trail.return_to(before)
        if self.listeners:
            self.tell(RolledBack(position))


def extended(facts: Facts | Conflict, fact: Fact, table: SymbolTable | None = None) -> Facts:
    """The facts with a new one, or the contradiction as an error."""
    if isinstance(facts, Conflict):
        places = None if table is None else table.places
        raise Contradiction(f"`{fact.text}` contradicts what is known", facts.core, facts.proof, places=places)
    return facts
