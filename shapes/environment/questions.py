"""The questions of an environment: asked of the solver once, and then of the answers that still stand.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s = env.symbol("s", lo=1)
    >>> prop, domain = env.parse("s*s >= s")
    >>> first = env.verdict_on(prop, domain)
    >>> type(first).__name__, env.verdict_on(prop, domain) is first
    ('Always', True)

Facts only grow between rollbacks, so:

- *always* and *never* are monotone: they hold under every extension of the facts, among which their core is then
  sought;
- *depends* holds while both witnesses satisfy the facts that were added;
- an unknown verdict is tried again after a new fact, or with more effort.

This is the one cache of answers, by what is asked. It is bounded, and is rolled back with the ledger. Beside it the
facts remember which canonical forms they leave unknown (`unknown` of `solver.knowledge.memos`).
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Final, Literal, cast

from shapes.accepted import one_of, shown
from shapes.environment.access import Access
from shapes.environment.events import Declared, fact_of
from shapes.environment.ledger import Ledger
from shapes.environment.reader import Reader
from shapes.environment.trail import Trail
from shapes.environment.universal import judged
from shapes.errors import Contradiction, InvalidArgument
from solver.decide.ladder import decide
from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
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
ANSWERS_KEPT: Final = 1 << 14


class Answer:
    """A verdict, the facts of its evidence, and the effort spent.

    `lasting` is true where it holds under every extension of the facts that it was found under. `position` counts the
    commitments when it was entered, and `worded` is the last text that asked for it: when texts were last forgotten,
    the text, and the same verdict, which knows the text.
    """

    __slots__ = ("effort", "facts", "lasting", "position", "verdict", "worded")

    def __init__(self, verdict: Verdict, facts: Facts, position: int, effort: int) -> None:
        self.verdict = verdict
        self.facts = facts
        self.lasting = isinstance(verdict, Always | Never)
        self.position = position
        self.effort = effort if type(verdict) is GaveUp else MOST
        self.worded: tuple[int, str, Verdict] | None = None

    def settled(self, facts: Facts) -> Verdict:
        """The lasting verdict, its core sought among the present facts, as if nothing had been asked before."""
        if self.facts is not facts:
            assert isinstance(self.verdict, Always | Never)
            self.verdict, self.worded = self.verdict.under(facts), None
            self.facts = facts
        return self.verdict


class Questions:
    """Questions under the facts of a ledger, with the answers that stand."""

    __slots__ = ("_access", "_forget", "answers", "answers_now", "ledger", "reader", "solvers", "true")

    def __init__(
        self, ledger: Ledger, reader: Reader, access: Access, *, solvers: bool, forget: Callable[[], None]
    ) -> None:
        self.ledger = ledger
        self.reader = reader
        self._access = access
        self.solvers = solvers
        self.true = ledger.interner.true
        self.answers: Trail[Key, Answer] = Trail(ANSWERS_KEPT)
        self.answers_now: dict[Key, Answer] = self.answers
        """The answers that may be returned without the lock and without notifying listeners: all of them, or none."""
        self._forget = forget

    def answer(
        self, prop: Prop, domain: Prop, effort: Effort = "default", timeout: float | None = None
    ) -> Verdict:
        """Decide whether the proposition follows from the facts, inside its domain."""
        key: Key = prop if domain is self.true else (prop, domain)
        known = self.answers_now.get(key)
        if known is not None and known.facts is self.ledger.facts and known.effort >= RANKS.get(effort, MOST):
            return known.verdict
        access = self._access
        with access.lock:
            if access.owners:
                access.refuse_others("ask")
            known = self.answers.get(key)
            if known is not None:
                stands = self._still(key, known, effort)
                if stands is not None:
                    return stands
                del self.answers[key]
            return self._answer_anew(key, prop, domain, effort, timeout)

    def answer_without_lock(self, allowed: bool) -> None:
        """Return True if answers may be returned without the lock: no scope is open, no listener is attached."""
        self.answers_now = self.answers if allowed else {}

    def proves(self, prop: Prop) -> bool:
        """Return True if the proposition follows."""
        return isinstance(self.answer(prop, self.true), Always)

    def _still(self, key: Key, known: Answer, effort: Effort) -> Verdict | None:
        """The known answer, if it stands under the present facts and no more effort is asked for."""
        facts = self.ledger.facts
        if known.facts is facts and known.effort >= RANKS.get(effort, MOST):
            return known.verdict
        if known.lasting:
            return known.settled(facts)
        if known.facts is facts or not isinstance(known.verdict, Depends) or not self._admits(known):
            return None
        if self.ledger.ranges:
            return None  # an assumption since then may be about other values of a bound variable
        # Entered anew, so that a rollback takes this away and never an older position with it.
        del self.answers[key]
        verdict = known.verdict.under(facts)
        self.answers[key] = Answer(verdict, facts, len(self.ledger.commitments), known.effort)
        return verdict

    def _answer_anew(self, key: Key, prop: Prop, domain: Prop, effort: Effort, timeout: float | None) -> Verdict:
        """The verdict of the solver, which is remembered."""
        ledger = self.ledger
        facts = ledger.facts
        started = perf_counter()
        verdict = verdict_under(facts, prop, domain, effort, timeout, solvers=self.solvers)
        if ledger.ranges and isinstance(verdict, Depends):

            def ask(more: Facts) -> Verdict:
                left = None if timeout is None else max(0.0, timeout - (perf_counter() - started))
                return verdict_under(more, prop, domain, effort, left, solvers=self.solvers)

            verdict = judged(verdict, facts, ledger.commitments, ledger.ranges, ask)
        if self.answers.make_room():
            self._forget()
        tried = RANKS[effort] if timeout is None else RANKS["fast"] - 1
        self.answers[key] = Answer(verdict, facts, len(ledger.commitments), tried)
        return verdict

    def valid_verdicts(self) -> list[Verdict]:
        """The verdicts that hold under the present facts, those that will hold under more facts first."""
        facts = self.ledger.facts
        known = self.answers.values()
        return [
            *[each.settled(facts) for each in known if each.lasting],
            *[
                each.verdict
                for each in known
                if not each.lasting
                if each.facts is facts or (isinstance(each.verdict, Depends) and self._admits(each))
            ],
        ]

    def _admits(self, known: Answer) -> bool:
        """Return True if both witnesses of an open answer satisfy the commitments since it was entered."""
        assert isinstance(known.verdict, Depends)
        for commitment in self.ledger.commitments[known.position :]:
            if isinstance(commitment, Declared):
                return False  # the witnesses have no value for a newer symbol
            fact = fact_of(commitment)
            if fact is None:
                continue
            try:
                for values in known.verdict.found:
                    if not (fact.domain.evaluate(values) and fact.prop.evaluate(values)):
                        return False
            except (KeyError, OverflowError):
                return False
        return True

    # ------------------------------------------------------------------ texts

    def worded(self, verdict: Verdict, prop: Prop, domain: Prop, text: str) -> Verdict:
        """The same verdict, which knows the text of its question, and whose witnesses have all symbols named there."""
        known = self.answers.get(prop if domain is self.true else (prop, domain))
        epoch = self.reader.table.epoch
        last = None if known is None or known.verdict is not verdict else known.worded
        if last is not None and last[0] == epoch and last[1] == text:
            return last[2]
        found: Verdict = self.naming(verdict.of_text(text), text)
        if known is not None and known.verdict is verdict:
            known.worded = epoch, text, found
        return found

    def naming(self, verdict: Verdict, text: str) -> Verdict:
        """The same verdict, whose witnesses have all symbols that the text names."""
        if not isinstance(verdict, Depends):
            return verdict
        cancelled = self.reader.cancelled(text, verdict.prop, verdict.domain)
        return verdict.naming(cancelled) if cancelled else verdict

    # ------------------------------------------------------------------ going back

    @property
    def position(self) -> int:
        return len(self.ledger.commitments)

    def return_to(self, position: int) -> None:
        """Remove the answers that were entered since."""
        answers = self.answers
        while answers and next(reversed(answers.values())).position > position:
            answers.popitem()


def verdict_under(
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
