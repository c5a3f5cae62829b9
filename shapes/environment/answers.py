"""The cache of verdicts: which answers remain valid as facts are added and rolled back.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s = env.symbol("s", lo=1)
    >>> prop, domain = env.parse("s*s >= s")
    >>> type(env.decide(prop, domain)).__name__, env.decide(prop, domain) is env.decide(prop, domain)
    ('Always', True)

Facts only grow between rollbacks, so:

- *always* and *never* are monotone: they hold under every extension of the facts;
- *depends* holds while both witnesses satisfy the facts that were added;
- an unknown verdict is tried again after a new fact, or with more effort.

The cache is bounded, and is rolled back with the ledger (see `shapes.environment.trail`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, cast

from shapes.accepted import one_of, shown
from shapes.environment.access import Access
from shapes.environment.events import Declared, fact_of
from shapes.environment.ledger import Ledger
from shapes.environment.trail import Trail
from shapes.errors import Contradiction, InvalidArgument
from solver.decide.ladder import decide
from solver.decide.verdict import Always, Depends, Never, Verdict
from solver.errors import Contradictory
from solver.knowledge.facts import Facts
from solver.proofs.fact import Fact
from solver.rungs.effort import EFFORTS
from solver.terms.prop import Prop

Effort = Literal["fast", "default", "thorough", "full"]
"""The effort of a question (see `solver.decide.ladder.decide`); "full" is another word for "thorough"."""
Key = Prop | tuple[Prop, Prop]

RANKS: Final = {**EFFORTS, "full": EFFORTS["thorough"]}
MOST: Final = max(RANKS.values())
ANSWERS_KEPT: Final = 1 << 13


class OpenVerdict:
    """A verdict that further facts may change, the facts under which it is known to hold, and the effort spent."""

    __slots__ = ("effort", "facts", "position", "verdict")

    def __init__(self, verdict: Verdict, facts: Facts, position: int, effort: int) -> None:
        self.verdict = verdict
        self.facts = facts
        self.position = position
        self.effort = MOST if type(verdict) is Depends else effort


class Answers:
    """Answers under the facts of a ledger."""

    __slots__ = (
        "_access",
        "_forget",
        "decided",
        "decided_now",
        "ledger",
        "open",
        "open_now",
        "solvers",
        "true",
    )

    def __init__(self, ledger: Ledger, access: Access, *, solvers: bool, forget: Callable[[], None]) -> None:
        self.ledger = ledger
        self._access = access
        self.solvers = solvers
        self.true = ledger.interner.true
        self.decided: Trail[Key, Verdict] = Trail(ANSWERS_KEPT)
        """Always and never."""
        self.open: Trail[Key, OpenVerdict] = Trail(ANSWERS_KEPT)
        """Depends and unknown."""
        self.decided_now: dict[Key, Verdict] = self.decided
        self.open_now: dict[Key, OpenVerdict] = self.open
        """The verdicts that may be returned without the lock and without notifying listeners: all of them, or none."""
        self._forget = forget

    def decide(
        self, prop: Prop, domain: Prop, effort: Effort = "default", timeout: float | None = None
    ) -> Verdict:
        """Decide whether the proposition follows from the facts, inside its domain."""
        key: Key = prop if domain is self.true else (prop, domain)
        found = self.decided_now.get(key)
        if found is not None:
            return found
        access = self._access
        with access.lock:
            if access.owners:
                access.refuse_others("ask")
            return self._decide(key, prop, domain, effort, timeout)

    def answer_without_lock(self, allowed: bool) -> None:
        """Return True if cached verdicts may be returned without the lock: no scope is open, no listener is attached.
        """
        self.decided_now = self.decided if allowed else {}
        self.open_now = self.open if allowed else {}

    def proves(self, prop: Prop) -> bool:
        """Return True if the proposition follows."""
        return isinstance(self.decide(prop, self.true), Always)

    def _decide(self, key: Key, prop: Prop, domain: Prop, effort: Effort, timeout: float | None) -> Verdict:
        found = self.decided.get(key)
        if found is not None:
            return found
        ledger = self.ledger
        facts = ledger.facts
        known = self.open.get(key)
        if known is not None:
            if known.facts is facts:
                if known.effort >= RANKS.get(effort, MOST):
                    return known.verdict
            elif isinstance(known.verdict, Depends) and self._admits(known.verdict, known.position):
                # Entered anew, so that a rollback takes this away and never an older position with it.
                del self.open[key]
                still = known.verdict.under(facts)
                self.open[key] = OpenVerdict(still, facts, len(ledger.commitments), known.effort)
                return still
            del self.open[key]
        verdict = decided(facts, prop, domain, effort, timeout, solvers=self.solvers)
        if self.decided.make_room() or self.open.make_room():
            self._forget()
        if type(verdict) is Always or type(verdict) is Never:
            self.decided[key] = verdict
        else:
            tried = RANKS[effort] if timeout is None else RANKS["fast"] - 1
            self.open[key] = OpenVerdict(verdict, facts, len(ledger.commitments), tried)
        return verdict

    def valid_verdicts(self) -> list[Verdict]:
        """The cached verdicts that hold under the present facts."""
        facts = self.ledger.facts
        return [
            *self.decided.values(),
            *[
                known.verdict
                for known in self.open.values()
                if known.facts is facts
                or (isinstance(known.verdict, Depends) and self._admits(known.verdict, known.position))
            ],
        ]

    def _admits(self, verdict: Depends, position: int) -> bool:
        """Return True if both witnesses satisfy the commitments from `position` on."""
        for commitment in self.ledger.commitments[position:]:
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

    # ------------------------------------------------------------------ going back

    @property
    def position(self) -> int:
        return self.decided.position

    def return_to(self, position: int) -> None:
        """Remove the verdicts that were found since; the ledger has been rolled back already."""
        self.decided.return_to(position)
        left = len(self.ledger.commitments)
        while self.open and next(reversed(self.open.values())).position > left:
            self.open.popitem()


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
    check_cost(effort, timeout)
    try:
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


def check_cost(effort: object, timeout: object) -> None:
    """Refuse what is no effort and what is no time, also where the answer is known already.

    Raises:
        InvalidArgument: one of them is not accepted.
    """
    if not isinstance(effort, str) or effort not in RANKS:
        one_of("effort", effort, tuple(RANKS))
    if timeout is not None and not (type(timeout) in (int, float) and cast(float, timeout) >= 0):
        raise InvalidArgument(f"timeout={shown(timeout)}: expected seconds from 0, such as 0.02, or None for no limit")
