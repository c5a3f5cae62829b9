"""Facts that cannot hold together are found out, with a core; facts that can are never refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from solver.decide.assume import assume
from solver.decide.consistency import consistency
from solver.decide.ladder import decide
from solver.decide.verdict import Always
from solver.errors import Contradictory, Undefined
from solver.interop.z3 import Proved, objection
from solver.knowledge.facts import Conflict, Consistent, Facts, Unknown, range_prop
from solver.proofs.checker import examine
from solver.syntax.parser import parse
from solver.terms.interner import Interner
from tests.solver.asked import asked

CASES = Path(__file__).parents[3] / "benchmarks" / "cases"


def sets() -> Iterator[tuple[dict[str, object], list[dict[str, object]]]]:
    """The sets of facts among the textbook cases, each contradictory one beside consistent lookalikes."""
    for path in sorted(CASES.glob("*-sets.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        starts = [i for i, line in enumerate(lines) if line["op"] == "session"]
        for start, end in zip(starts, [*starts[1:], len(lines)]):
            yield lines[start], lines[start + 1 : end]


def learned(lines: list[dict[str, object]]) -> Facts | Conflict:
    """The facts of a set, or the contradiction as soon as there is one."""
    interner = Interner()
    facts = Facts.empty(interner)
    names = {}
    for line in lines:
        if line["op"] == "symbol":
            symbol = names[line["name"]] = interner.symbol(line["name"])
            lo, hi = line["lo"], line["hi"]
            fact = facts.next_fact(range_prop(symbol, lo, hi), kind="range", text=f"{lo} <= {line['name']} <= {hi}")
            extended = facts.declare(symbol, lo, hi, fact, hint=line["hint"])
        else:
            parsed = parse(line["prop"], names, interner, decimals="real")
            extended = assume(facts, facts.next_fact(parsed.prop, domain=parsed.domain, text=line["prop"]))
        if isinstance(extended, Conflict):
            return extended
        facts = extended
    return facts


@pytest.mark.parametrize(("session", "lines"), [pytest.param(*each, id=each[0]["name"]) for each in sets()])
def test_sets_of_facts(session: dict[str, object], lines: list[dict[str, object]]) -> None:
    """If this fails, a contradiction goes unnoticed, so that everything follows, or consistent facts are refused."""
    found = learned(lines)
    if session["consistent"]:
        assert isinstance(found, Facts), f"refused because of {[fact.text for fact in found.core]}"
        witness = found.witness()
        assert witness is not None and found.holds_at(witness)
    else:
        assert isinstance(found, Conflict)
        assert found.core
        terms = found.proof.conclusion.interner
        assert examine(found.proof, terms.false, terms.true, objection) is None


@pytest.mark.parametrize(
    "facts",
    ["x ..; x >= 5; x <= 4", "x .. y ..; x*x + y*y == 21", "x ..; x % 4 == 2; x % 6 == 1", "x ..; x*x == 2"],
)
def test_a_core_is_enough(facts: str) -> None:
    """If this fails, a core leaves out a fact that the contradiction needs."""
    conflict, _ = asked(facts + "; x == x").known()
    assert isinstance(conflict, Conflict)
    symbols = facts.split(";")[0]
    again, _ = asked("; ".join([symbols, *[fact.text for fact in conflict.core], "x == x"])).known()
    assert isinstance(again, Conflict)


def test_three_states() -> None:
    """If this fails, one of the three outcomes is mistaken for another."""
    facts, _ = asked("x 0..; x <= 3; x == 1").known()
    assert isinstance(facts, Facts)
    outcome = consistency(facts, solvers=False)
    assert isinstance(outcome, Consistent) and facts.holds_at(outcome.witness)
    hard, _ = asked("x 2.. y 2.. z 2.. n 3..6; x**n + y**n == z**n; x == y").known()
    if isinstance(hard, Facts):
        assert isinstance(consistency(hard, solvers=False), (Unknown, Consistent))


def test_a_contradiction_is_an_error_of_the_question() -> None:
    """If this fails, anything at all is answered *always* under facts that contradict each other."""
    interner = Interner()
    x = interner.symbol("x")
    facts = Facts.empty(interner).declare_range(x, 0, None)
    outcome = assume(facts, facts.next_fact(interner.eq(x * x, 2)))
    assert isinstance(outcome, Conflict)
    with pytest.raises(Undefined):
        decide(facts, interner.ge(x, 1), domain=interner.lt(x, 0))


def test_unknown_facts_still_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, facts without a known sample cannot be used, or a contradiction found late is not an error."""
    interner = Interner()
    x = interner.symbol("x")
    facts = Facts.empty(interner).declare_range(x, 2, None)
    blind = facts.with_samples(facts.samples.copy())
    blind.samples.alive = ()
    blind.memos.together = Unknown("not to be found in this test")
    assert isinstance(decide(blind, interner.ge(x * x, 4), solvers=False), Always)
    monkeypatch.setattr("solver.interop.z3.entails", lambda *asked: Proved((0,)))
    with pytest.raises(Contradictory) as caught:
        decide(blind, interner.ge(x, 7))
    assert [fact.text for fact in caught.value.core] == ["2 <= x <= None"]
