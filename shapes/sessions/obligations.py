"""Proof obligations of an environment as one SMT-LIB file: its assumptions and its conclusions.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s = env.symbol("s", hint=128)
    >>> env.guard(s > 3), env.guard(s > 64)
    (True, True)
    >>> verdict = env.ask(s > 10)
    >>> print(env.export("smtlib"))
    ; Assumptions and conclusions of symshape. Each check is preceded by its expected answer.
    ...
    ; the ranges of symbols, and assumptions, and what holds by construction
    ; range: s >= 0
    (assert (>= s 0))
    <BLANKLINE>
    ; guards, none of which follows from the others
    ; s >= 65 (guard), which alone rejects s=64
    (assert (>= s 65))
    <BLANKLINE>
    ; guards that follow from those above
    ; s >= 4 (guard)
    (push 1)
    (assert (>= 0 (+ s (- 3))))
    (set-info :status unsat)
    (check-sat)
    (pop 1)
    <BLANKLINE>
    ; all of it can hold together
    ; at s=128
    ...
    ; always: s >= 11
    (push 1)
    (assert (>= 0 (+ s (- 10))))
    (set-info :status unsat)
    (check-sat)
    (pop 1)
    <BLANKLINE>

Assertions are ordered so that conclusions rely on earlier ones: dropped guards before run-time checks, questions last.
A proven question is asserted negated, with status `unsat`; one that depends is asked twice, each side `sat` at the
sizes in the comment; the status of an undecided one is `unknown`. Floats, `&`, powers with a symbolic exponent and
functions like `isqrt` are uninterpreted, so other solvers cannot prove anything about them: their status is `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from shapes.environment.events import Deferred, fact_of, within
from shapes.errors import fact_place
from shapes.guards.guards import Guard
from solver.decide.verdict import Always, Depends, Never, Verdict
from solver.interop.smtlib import Assertion, Check, is_opaque, script
from solver.proofs.fact import Fact
from solver.syntax.short_text import sizes_text
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from shapes.environment.events import Commitment

HEAD = "; Assumptions and conclusions of symshape. Each check is preceded by its expected answer."

Steps = Iterator[Assertion | Check | str]


def obligations(
    events: Sequence[Commitment],
    guards: Sequence[Guard],
    verdicts: Sequence[Verdict],
    sizes: Mapping[str, int] | None,
) -> str:
    """The script. `guards` are those that do not follow from others, `sizes` satisfy everything, where any do."""
    steps = [
        *_given(events),
        *_guards(events, guards),
        *_checks(events),
        *_together(sizes),
        *_questions(verdicts),
    ]
    return f"{HEAD}\n{script(steps)}\n"


def _given(events: Sequence[Commitment]) -> Steps:
    yield "the ranges of symbols, and assumptions, and what holds by construction"
    for event in events:
        fact = fact_of(event)
        if fact is not None and fact.kind not in ("guard", "assert") and within(fact).kind != "true":
            yield Assertion(within(fact), _named(fact))


def _guards(events: Sequence[Commitment], guards: Sequence[Guard]) -> Steps:
    committed = [fact for fact in map(fact_of, events) if fact is not None and fact.kind == "guard"]
    if not committed:
        return
    kept = {guard.fact for guard in guards}
    yield "guards, none of which follows from the others"
    for guard in guards:
        rejects = f", which alone rejects {sizes_text(guard.rejects)}" if guard.rejects is not None else ""
        yield Assertion(within(guard.fact), _named(guard.fact) + rejects)
    dropped = [fact for fact in committed if fact not in kept]
    if dropped:
        yield "guards that follow from those above"
    for fact in dropped:
        prop = within(fact)
        yield Check((prop.negation,), "unknown" if is_opaque(prop) else "unsat", _named(fact))


def _checks(events: Sequence[Commitment]) -> Steps:
    heading = "checks that run with the program"
    for event in events:
        fact = fact_of(event)
        if fact is None or fact.kind != "assert":
            continue
        if heading:
            yield heading
        heading = ""
        message = event.message if isinstance(event, Deferred) else ""
        yield Assertion(within(fact), _named(fact) + (f": {message}" if message else ""))


def _together(sizes: Mapping[str, int] | None) -> Steps:
    yield "all of it can hold together"
    if sizes is None:
        yield Check((), "unknown", "no sizes are known")
    else:
        yield Check((), "sat", f"at {sizes_text(sizes)}")


def _questions(verdicts: Sequence[Verdict]) -> Steps:
    if verdicts:
        yield "questions"
    for verdict in verdicts:
        domain = () if verdict.domain.kind == "true" else (verdict.domain,)
        asked = f"{verdict.prop}" + (f", where {verdict.domain}" if domain else "")
        match verdict:
            case Always() | Never():
                word = "always" if isinstance(verdict, Always) else "never"
                opaque = any(map(is_opaque, (verdict.prop, *[fact.prop for fact in verdict.core])))
                opposed = (*domain, verdict.goal.negation)
                yield Check(opposed, "unknown" if opaque else "unsat", f"{word}: {asked}")
            case Depends():
                yield Check((*domain, verdict.prop), "sat", f"can hold: {asked}, at {sizes_text(verdict.true_at)}")
                opposite: Prop = verdict.prop.negation
                yield Check((*domain, opposite), "sat", f"need not hold: {asked}, at {sizes_text(verdict.false_at)}")
            case _:
                yield Check((*domain, verdict.prop.negation), "unknown", f"unknown: {asked}")


def _named(fact: Fact) -> str:
    """A fact with its text, kind and line."""
    return ("range: " if fact.kind == "range" else "") + f"{fact.text} {fact_place(fact)}"
