"""What was asked, and which answers still stand: the memory of an environment, and how it is taken back.

    >>> from shapes.environment.answers import Questions
    >>> known = Questions()
    >>> known.names["s"] = s = known.interner.symbol("s")
    >>> known.facts = known.facts.declare_range(s, 1, None)
    >>> prop, domain = known.parse("s*s >= s")
    >>> type(known.decide(prop, domain)).__name__, known.decide(prop, domain) is known.decide(prop, domain)
    ('Always', True)

Facts only grow between rollbacks, so:

- *always* and *never* are inherited by every extension of the facts;
- *depends* stands while both its witnesses satisfy what was added;
- *gave up* is tried again as soon as there is a new fact, or when more effort is allowed.

Dictionaries keep their order of insertion, so each is its own trail: a rollback pops what is newer than the mark and
costs as much as the stretch that it takes back. All of them are bounded: a full one drops its oldest quarter, so that
memory stays level, and the trail counts what was dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from itertools import islice
from threading import get_ident
from typing import Concatenate, Final, Literal, ParamSpec, TypeVar

from shapes.accepted import one_of, shown
from shapes.environment.events import Commitment, Declared, Event, Listener, Marked, RolledBack
from shapes.errors import ConcurrentScope, Contradiction, ShapeError, StaleCheckpoint
from solver.decide.ladder import decide
from solver.decide.verdict import Always, Depends, Never, Verdict
from solver.errors import Contradictory
from solver.knowledge.facts import Conflict, Facts
from solver.proofs.fact import Fact
from solver.rungs.prover import EFFORTS
from solver.syntax.parser import parse, parse_expr
from solver.syntax.shunting_yard import Side, read_condition
from solver.syntax.tokens import Decimals
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop
from solver.terms.sweep import size, sweep

Effort = Literal["fast", "default", "thorough", "full"]
"""What a question may cost (see `solver.decide.ladder.decide`); "full" is another word for "thorough"."""
Key = Prop | tuple[Prop, Prop]
K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")
P = ParamSpec("P")
Q = TypeVar("Q", bound="Questions")

RANKS: Final = {**EFFORTS, "full": EFFORTS["thorough"]}
ANSWERS_KEPT: Final = 1 << 13
TEXTS_KEPT: Final = 1 << 13
NODES_SWEPT: Final = 1 << 15
"""Fewer nodes of the interner than these are never looked through. After that, those that nobody holds are looked for
whenever there are twice as many nodes as were left the last time, so that the search costs each node the same."""


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


class Standing:
    """An open answer, and the facts under which it was last known to stand."""

    __slots__ = ("effort", "facts", "position", "verdict")

    def __init__(self, verdict: Verdict, facts: Facts, position: int, effort: int) -> None:
        self.verdict = verdict
        self.facts = facts
        self.position = position
        self.effort = effort

    def stands(self, effort: Effort) -> bool:
        """Whether so much effort would not change it, under the same facts."""
        return type(self.verdict) is Depends or self.effort >= RANKS[effort]


class Trail(dict[K, V]):
    """A bounded dictionary that can go back: `position` counts all entries ever made and not taken back."""

    __slots__ = ("dropped", "limit")

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.dropped = 0

    @property
    def position(self) -> int:
        return self.dropped + len(self)

    def make_room(self) -> bool:
        """Drop the oldest quarter of a full dictionary; whether it was full."""
        if len(self) < self.limit:
            return False
        oldest = list(islice(self, (self.limit + 3) // 4))
        for key in oldest:
            del self[key]
        self.dropped += len(oldest)
        return True

    def return_to(self, position: int) -> None:
        """Take the entries away that were made since."""
        for _ in range(min(len(self), self.position - position)):
            self.popitem()
        self.dropped = min(self.dropped, position)


def synchronized(method: Callable[Concatenate[Q, P], R]) -> Callable[Concatenate[Q, P], R]:
    """A method that one thread runs at a time, of this environment and of those that share its interner.

    Raises:
        ConcurrentScope: another thread is inside a hypothesis or speculation of this environment.
    """

    def run(self: Q, /, *args: P.args, **keywords: P.kwargs) -> R:
        with self.interner.lock:
            if self._scoped_by:
                self._refuse_other_threads(method.__name__.strip("_"))
            return method(self, *args, **keywords)

    update_wrapper(run, method)
    return run


class Questions:
    """Facts, names, and the answers found so far. Knows no policy and records nothing by itself."""

    def __init__(self, interner: Interner | None = None, *, solvers: bool = True, decimals: Decimals = "ieee") -> None:
        self.interner = interner or Interner()
        self.facts = Facts.empty(self.interner)
        self.names: dict[str, Expr] = {}
        self.symbols: dict[Atom, Declared] = {}
        self.hints: dict[Atom, int] = {}
        self._by_hint: dict[int, Atom] = {}
        self.solvers = solvers
        self.decimals = decimals
        self._true = self.interner.true
        self._settled: Trail[Key, Verdict] = Trail(ANSWERS_KEPT)
        self._open: Trail[Key, Standing] = Trail(ANSWERS_KEPT)
        self._texts: Trail[str, tuple[Prop, Prop]] = Trail(TEXTS_KEPT)
        self._sides: dict[str, Side] = {}
        self._nodes_allowed = NODES_SWEPT
        self._commitments: list[Commitment] = []
        self._sizes: list[tuple[int, int, int]] = []
        self._listeners: tuple[Listener, ...] = ()
        self._scoped_by: tuple[int, ...] = ()
        """The threads whose hypotheses and speculations are open, outermost first."""
        self._plain = True
        """Whether a known answer may be given at once: nobody listens, and no scope is open."""
        self._participants: list[Callable[[], Callable[[], None]]] = []

    # ------------------------------------------------------------------ reading text

    def parse(self, text: str) -> tuple[Prop, Prop]:
        """The proposition that a text says, and where it makes sense."""
        found = self._texts.get(text)
        return self._parsed(text) if found is None else found

    def _parsed(self, text: str) -> tuple[Prop, Prop]:
        if not isinstance(text, str):
            raise ShapeError(f"text={shown(text)}: expected a proposition as text")
        with self.interner.lock:
            if self._scoped_by:
                self._refuse_other_threads("parsed")
            parsed = read_condition(text, self.names, self.interner, self._sides)
            if parsed is None:
                parsed = parse(text, self.names, self.interner, decimals=self.decimals)
            if self._texts.make_room():
                self._forget()
            self._texts[text] = parsed
            return parsed

    @synchronized
    def parse_expr(self, text: str) -> tuple[Expr, Prop]:
        if not isinstance(text, str):
            raise ShapeError(f"text={shown(text)}: expected an expression as text")
        parsed = parse_expr(text, self.names, self.interner, decimals=self.decimals)
        return parsed.expr, parsed.domain

    # ------------------------------------------------------------------ deciding

    def decide(
        self, prop: Prop, domain: Prop, effort: Effort = "default", timeout: float | None = None
    ) -> Verdict:
        """Whether the proposition follows from the facts, inside its domain."""
        key: Key = prop if domain is self._true else (prop, domain)
        if self._plain:
            settled = self._settled.get(key)
            if settled is not None:
                return settled
        with self.interner.lock:
            if self._scoped_by:
                self._refuse_other_threads("ask")
            return self._decide(key, prop, domain, effort, timeout)

    def _decide(self, key: Key, prop: Prop, domain: Prop, effort: Effort, timeout: float | None) -> Verdict:
        settled = self._settled.get(key)
        if settled is not None:
            return settled
        standing = self._open.get(key)
        if standing is not None:
            if standing.facts is self.facts:
                if standing.stands(effort):
                    return standing.verdict
            elif isinstance(standing.verdict, Depends) and self._admits(standing.verdict, standing.position):
                # Entered anew, so that a rollback takes this away and never an older position with it.
                del self._open[key]
                still = standing.verdict.under(self.facts)
                self._open[key] = Standing(still, self.facts, len(self._commitments), standing.effort)
                return still
            del self._open[key]
        verdict = decided(self.facts, prop, domain, effort, timeout, solvers=self.solvers)
        if self._settled.make_room() or self._open.make_room():
            self._forget()
        if type(verdict) is Always or type(verdict) is Never:
            self._settled[key] = verdict
        else:
            tried = RANKS[effort] if timeout is None else RANKS["fast"] - 1
            self._open[key] = Standing(verdict, self.facts, len(self._commitments), tried)
        return verdict

    def _standing_verdicts(self) -> list[Verdict]:
        """The open answers that still hold."""
        return [
            standing.verdict
            for standing in self._open.values()
            if standing.facts is self.facts
            or (isinstance(standing.verdict, Depends) and self._admits(standing.verdict, standing.position))
        ]

    def _admits(self, verdict: Depends, position: int) -> bool:
        """Whether both witnesses satisfy the commitments from `position` on."""
        for commitment in self._commitments[position:]:
            if isinstance(commitment, Declared):
                return False  # the witnesses have no value for a newer symbol
            fact = fact_of(commitment)
            if fact is None:
                continue
            try:
                for values in verdict.found:
                    if not (fact.domain.evaluate(values) and fact.prop.evaluate(values)):
                        return False
            except (KeyError, OverflowError):
                return False
        return True

    def _forget(self) -> None:
        """Let go of what was kept for questions that have been dropped."""
        self._sides.clear()
        self.facts.forget_questions()
        if size(self.interner) >= self._nodes_allowed:
            sweep(self.interner)
            self._nodes_allowed = max(NODES_SWEPT, 2 * size(self.interner))

    # ------------------------------------------------------------------ scopes of threads

    @synchronized
    def _enter_scope(self) -> None:
        """From here on answers rest on what holds for a while, and are for this thread alone."""
        self._scoped_by = (*self._scoped_by, get_ident())
        self._plain = False

    def _leave_scope(self) -> None:
        with self.interner.lock:
            self._scoped_by = self._scoped_by[:-1]
            self._plain = not self._scoped_by and not self._listeners

    def _refuse_other_threads(self, asked: str) -> None:
        if self._scoped_by[-1] != get_ident():
            raise ConcurrentScope(asked)

    # ------------------------------------------------------------------ committing and taking back

    def _extended(self, facts: Facts | Conflict, text: str) -> Facts:
        """The new facts, or the contradiction as an error."""
        if isinstance(facts, Conflict):
            raise Contradiction(f"`{text}` contradicts what is known", facts.core, facts.proof)
        return facts

    def _commit(self, facts: Facts, commitment: Commitment) -> None:
        """Take the facts over. Whatever can fail has been done before."""
        self._sizes.append((self._settled.position, self._texts.position, len(self.symbols)))
        self._commitments.append(commitment)
        self.facts = facts
        if type(commitment) is Declared:
            self._register(commitment)
        if self._listeners:
            self._tell(commitment)

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of every event from now on; the result ends that."""
        if not callable(listener):
            raise ShapeError(f"listener={shown(listener)}: expected a function of an event")
        self._listeners = (*self._listeners, listener)
        self._plain = False

        def stop() -> None:
            self._listeners = tuple([other for other in self._listeners if other is not listener])
            self._plain = not self._scoped_by and not self._listeners

        return stop

    @property
    def events(self) -> tuple[Commitment, ...]:
        """The commitments that stand, in order."""
        return tuple(self._commitments)

    def attach(self, participant: Callable[[], Callable[[], None]]) -> None:
        """Let a state of the caller's own be rolled back too: the participant is called at each checkpoint and
        returns what restores it."""
        self._participants.append(participant)

    @synchronized
    def checkpoint(self) -> Checkpoint:
        """A position to return to with `rollback`. Costs nothing but the reference."""
        mark = self._position()
        if self._listeners:
            self._tell(Marked(mark.position))
        if self._participants:
            mark.restore = tuple([participant() for participant in self._participants])
        return mark

    @synchronized
    def rollback(self, mark: Checkpoint) -> None:
        """Return to a checkpoint: facts, names, guards, checks and answers are as they were, and so are attached
        states.

        Raises:
            StaleCheckpoint: an earlier rollback went back beyond this mark.
        """
        if not isinstance(mark, Checkpoint):
            raise ShapeError(f"mark={shown(mark)}: expected what `checkpoint` gave")
        self._return_to(mark)
        for restore in mark.restore:
            restore()
        if size(self.interner) >= self._nodes_allowed:
            self._forget()  # what was said of symbols that are gone

    def _position(self) -> Checkpoint:
        """Where the environment stands."""
        position = len(self._commitments)
        return Checkpoint(position, self._commitments[-1] if position else None, self.facts)

    def _return_to(self, mark: Checkpoint) -> None:
        """Take back what was committed since then, attached states excepted."""
        position = mark.position
        commitments = self._commitments
        if position > len(commitments) or (position and commitments[position - 1] is not mark.last):
            raise StaleCheckpoint("this checkpoint is gone: an earlier rollback went back beyond it")
        if position == len(commitments):
            return
        settled, texts, symbols = self._sizes[position]
        del commitments[position:]
        del self._sizes[position:]
        self.facts = mark.facts
        self._undeclare(symbols)
        self._settled.return_to(settled)
        self._texts.return_to(texts)
        while self._open and next(reversed(self._open.values())).position > position:
            self._open.popitem()
        if self._listeners:
            self._tell(RolledBack(position))

    def _register(self, declared: Declared) -> None:
        (atom,) = declared.symbol.symbols
        if declared.name in self.names:
            self._sides.clear()
        self.names[declared.name] = declared.symbol
        self.symbols[atom] = declared
        if declared.hint is not None:
            self.hints[atom] = declared.hint
            self._by_hint.setdefault(declared.hint, atom)

    def _undeclare(self, count: int) -> None:
        """Take the newest symbols away until `count` are left."""
        while len(self.symbols) > count:
            atom, declared = self.symbols.popitem()
            del self.names[declared.name]
            self._sides.clear()
            hint = self.hints.pop(atom, None)
            if hint is not None and self._by_hint.get(hint) is atom:
                del self._by_hint[hint]


def decided(
    facts: Facts,
    prop: Prop,
    domain: Prop,
    effort: Effort = "default",
    timeout: float | None = None,
    *,
    solvers: bool = True,
) -> Verdict:
    """`decide`, where no sizes that satisfy the facts may be known: then the facts themselves are in question.

    Raises:
        Contradiction: the facts cannot hold together, so that everything would follow from them.
    """
    try:
        wanted: object = effort
        if not isinstance(wanted, str) or wanted not in RANKS:
            one_of("effort", wanted, tuple(RANKS))
        if timeout is not None and not (type(timeout) in (int, float) and timeout >= 0):
            raise ShapeError(f"timeout={shown(timeout)}: expected seconds, or None")
        return decide(
            facts,
            prop,
            domain=domain,
            effort="thorough" if effort == "full" else effort,
            timeout=timeout,
            solvers=solvers,
        )
    except Contradictory as error:
        core = [fact for fact in error.core if isinstance(fact, Fact)]
        raise Contradiction("the facts contradict each other", core, error.proof) from None


def fact_of(commitment: Commitment) -> Fact | None:
    """The fact that a commitment added, if it added one."""
    fact: Fact | None = getattr(commitment, "fact", None)
    return fact
