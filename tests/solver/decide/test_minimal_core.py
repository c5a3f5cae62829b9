"""Cores from which nothing can be left out, of answers and of contradictions."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from benchmarks.evidence import cores
from shapes import ShapeEnv
from shapes.sessions.recording import open_recording, read_sessions
from solver.decide.assume import assume
from solver.decide.ladder import decide
from solver.decide.minimal_core import WORK, Deletion, minimized
from solver.decide.verdict import Always, GaveUp, Never
from solver.errors import Contradictory, Undefined
from solver.interop.z3 import objection
from solver.knowledge.facts import Conflict, Facts, range_prop
from solver.proofs.checker import verify
from solver.proofs.fact import Fact
from solver.proofs.step import leaves
from solver.syntax.parser import parse
from solver.terms.interner import Interner
from solver.terms.prop import Prop
from tests.effort import examples
from tests.properties.programs import NAMES, Case, cases, known
from tests.solver.asked import asked

CASES = Path(__file__).parents[3] / "benchmarks" / "cases"


def learned(interner: Interner, facts: Sequence[Fact], props: Sequence[Prop]) -> Facts | Conflict:
    """The knowledge from these facts alone, by the public steps of the engine."""
    of = [*props, *[p for fact in facts for p in (fact.prop, fact.domain)]]
    symbols = sorted({atom for p in of for atom in p.symbols}, key=lambda atom: atom.serial)
    found: Facts | Conflict = Facts.empty(interner)
    for atom in symbols:
        assert isinstance(found, Facts)
        found = found.declare_range(atom.expr, None, None)
    for fact in facts:
        if isinstance(found, Facts):
            found = assume(found, fact)
    return found


def idle(facts: Facts, prop: Prop, domain: Prop) -> list[Fact]:
    """The facts of the core of a settled question that can be left out."""
    verdict = decide(facts, prop, domain=domain, solvers=False)
    if not isinstance(verdict, (Always, Never)):
        return []
    assert verdict.check()
    found = []
    for fact in verdict.core:
        rest = learned(facts.interner, [other for other in verdict.core if other is not fact], [prop, domain])
        if isinstance(rest, Conflict) or type(decide(rest, prop, domain=domain, solvers=False)) is type(verdict):
            found.append(fact)
    return found


@pytest.mark.parametrize(
    ("line", "core"),
    [
        ("a 1.. b 1.. c 1.. d 1..; a <= b; b <= c; c <= d; d % 4 == 0; a <= d", "a <= b; b <= c; c <= d"),
        ("a 1.. b 1.. c 1.. d 1..; d % 4 == 0; c <= d; b <= c; a <= b; a <= d", "c <= d; b <= c; a <= b"),
        ("a 1.. b 1..; a % 8 == 0; a % 2 == 0; b % 3 == 0; a % 4 == 0", "a % 8 == 0"),
        ("a 1.. b 1..; a*b >= 12; a >= 4; b >= 3; a*b >= 10", "a*b >= 12"),
        ("a 0.. b 0..; a + b <= 9; a >= 7; b <= 5; b <= 2", "a + b <= 9; a >= 7"),
        (
            "x .. y .. s .. t ..; s >= 2; t >= 2; x <= y and x >= 0; x*(2*x + 1)*(s*t - s + t) >= 0",
            "s >= 2; t >= 2",
        ),
    ],
)
def test_idle_facts_are_left_out(line: str, core: str) -> None:
    """A core names no fact that the answer does not need."""
    verdict = asked(line).verdict()
    assert isinstance(verdict, Always)
    assert "; ".join([fact.text for fact in verdict.core]) == core
    assert verdict.core_minimal


def test_no_fact_of_a_core_can_be_left_out() -> None:
    """No fact of a core can be left out."""
    rng = random.Random(16)
    cores = redundant = 0
    while cores < 120:
        facts = Facts.empty(Interner())
        names = {name: facts.interner.symbol(name) for name in "abcd"}
        for symbol in names.values():
            facts = facts.declare_range(symbol, rng.choice((0, 1, 2)), rng.choice((None, None, 64)))
        for _ in range(rng.randrange(2, 8)):
            parsed = parse(proposition(rng), names, facts.interner)
            more = assume(facts, facts.next_fact(parsed.prop, domain=parsed.domain))
            facts = more if isinstance(more, Facts) else facts
        parsed = parse(proposition(rng), names, facts.interner)
        verdict = decide(facts, parsed.prop, domain=parsed.domain, solvers=False)
        if isinstance(verdict, (Always, Never)) and len(leaves(verdict.found)) > 1:
            cores += 1
            redundant += bool(idle(facts, parsed.prop, parsed.domain))
    assert redundant <= 1


def proposition(rng: random.Random) -> str:
    a, b = rng.sample("abcd", 2)
    k, n = rng.choice((2, 3, 4, 8)), rng.randrange(12)
    forms = ["{a} <= {b}", "{a} < {b} + {n}", "{a} % {k} == 0", "{a} == {k}*{b}", "{a} >= {n}", "{a}*{b} <= 20*{n}"]
    forms += ["{a}//{k} >= {n}", "max({a}, {b}) <= {n} + 9", "{a} != {b}", "{a} + {b} >= {n}", "{k}*{a} >= {b}"]
    return rng.choice(forms).format(a=a, b=b, k=k, n=n)


@pytest.mark.parametrize("file", ["linear", "division", "modular", "products", "minmax"])
def test_cores_of_written_cases_are_minimal(file: str) -> None:
    """The cores of written cases are minimal."""
    with open_recording(CASES / f"{file}.jsonl") as stream:
        sessions = list(read_sessions(stream))
    count: Counter[str] = Counter()
    redundant: list[str] = []
    for session in sessions[::4]:
        cores(session, count, [], redundant, solvers=False)
    assert count["cores"] > 5 and count["sufficient"] >= 0.95 * count["cores"]
    assert not redundant


@given(case=cases(facts=6))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
def test_a_core_suffices(case: Case) -> None:
    """A minimized core still suffices."""
    found = known(case)
    if found is None:
        return
    facts, names = found
    parsed = parse(case.question, names, facts.interner)
    try:
        verdict = decide(facts, parsed.prop, domain=parsed.domain, solvers=False)
    except (Undefined, Contradictory):
        return
    if isinstance(verdict, (Always, Never)):
        assert set(verdict.core) <= set(leaves(verdict.proof)) <= set(facts.records()) and verdict.check()
        texts = [fact.text for fact in verdict.core if fact.kind != "range"]
        ranges = {fact.text for fact in verdict.core if fact.kind == "range"}
        within = [bounds if name in ranges else (-9, 12) for name, bounds in zip(NAMES, case.bounds, strict=False)]
        assert Case(tuple(within), tuple(texts), case.question).truths() <= {isinstance(verdict, Always)}


@pytest.mark.parametrize(
    "facts",
    [
        ["a <= b", "d % 4 == 0", "b <= c", "c <= d", "a > d"],
        ["a % 4 == 0", "b % 4 == 0", "a >= 3", "a <= 3 and b <= 9"],
        ["a == 2*b", "c == 2*d", "a % 2 == 1"],
        ["a*b == 91", "c >= 2", "a >= 2 and a <= 6"],
    ],
)
def test_cores_of_contradictions_are_minimal(facts: list[str]) -> None:
    """The cores of contradictions are minimal."""
    interner = Interner()
    found: Facts | Conflict = Facts.empty(interner)
    names = {name: interner.symbol(name) for name in "abcd"}
    for symbol in names.values():
        assert isinstance(found, Facts)
        fact = found.next_fact(range_prop(symbol, 0, None), kind="range", text=f"{symbol} >= 0")
        found = found.declare(symbol, 0, None, fact)
    for text in facts:
        assert isinstance(found, Facts)
        parsed = parse(text, names, interner)
        found = assume(found, found.next_fact(parsed.prop, domain=parsed.domain, text=text))
    assert isinstance(found, Conflict)
    core = found.core
    assert found.core_minimal and len(core) < len(facts) + 4
    assert isinstance(learned(interner, core, ()), Conflict)
    for fact in core:
        assert isinstance(learned(interner, [other for other in core if other is not fact], ()), Facts), fact


def test_a_budget_that_ends_is_reported() -> None:
    """A core that the budget did not let be minimized is not marked minimal."""
    known, names = asked("a 1.. b 1.. c 1.. d 1..; a <= b; b <= c; c <= d; d % 4 == 0; a <= d").known()
    assert isinstance(known, Facts)
    goal = parse("a <= d", names, known.interner).prop
    verdict = decide(known, goal, solvers=False)
    assert isinstance(verdict, Always)
    found, true = verdict.found, known.interner.true
    proof, core, complete = minimized(found, goal, goal, true, known, work=0)
    assert not complete and core == leaves(proof) == leaves(found)
    proof, core, complete = minimized(found, goal, goal, true, known)
    assert complete and len(core) == 3 < len(leaves(found))
    assert verify(proof, goal, true)


@pytest.mark.parametrize(
    "line", ["s 2..; 10 - s != 1; s != 9", "s 16..1024; s != 2**63 - 1", "u ..; u % 8 == 0; u // 2 != 2**62 + 1"]
)
def test_what_is_open_without_a_fact_shows_it_needed(line: str) -> None:
    """A fact is needed if the question is open without it; selections get no undeclared bounds."""
    known, names = asked(line).known()
    assert isinstance(known, Facts)
    goal, true = parse(asked(line).question, names, known.interner).prop, known.interner.true
    verdict = decide(known, goal, solvers=False)
    assert isinstance(verdict, Always)
    core = leaves(verdict.found)
    deletion = Deletion(core, goal, goal, true, known, rank={}, solvers=False, work=WORK)
    assert not deletion.needed
    deletion.shortest(verdict.found)
    assert deletion.needed == {fact.serial for fact in core}
    assert deletion.left >= WORK - 30_000 * len(core), "an undecided question was unknown"


def test_the_facts_that_programs_read_are_those_of_the_proof_at_hand() -> None:
    """The facts shown are those of the proof at hand."""
    terms = Interner()
    a, b, c, d = [terms.symbol(name) for name in "abcd"]
    known = Facts.empty(terms)
    for prop in (terms.le(a, b), terms.le(b, c), terms.le(c, d), terms.divides(4, d)):
        known = known.learn_prop(prop)
    verdict, other = decide(known, terms.le(a, d)), decide(known, terms.le(b, d))
    assert isinstance(verdict, Always) and isinstance(other, Always)
    assert verdict.used == tuple(leaves(verdict.found)) and len(verdict.used) >= 3
    assert verdict.used is verdict.used
    assert len(verdict.core) == 3 and verdict.used == tuple(leaves(verdict.found))
    verdict.found = other.found
    assert verdict.used == other.used and not verdict.check()


def test_a_core_is_not_called_minimal_where_a_question_was_not_decided_without_a_fact() -> None:
    """The question without the bounds of w and e is not decided: that they are needed was not shown, and they are not
    (a ceiling of n/w is at most a floor and one, and a quotient times its divisor at most the dividend)."""
    env = ShapeEnv(solvers=False)
    for name, least in (("n", 0), ("w", 1), ("e", 0)):
        env.symbol(name, least)
    question = "min(n, ceildiv(n, w)*(e//(n//w + 1))) <= e"
    assert isinstance(env.ask(question), GaveUp)
    env.assume("w <= 3")
    env.assume("e <= 3")
    verdict = env.ask(question)
    assert isinstance(verdict, Always)
    assert (len(verdict.core), verdict.core_minimal) == (4, False)


def test_a_core_is_minimal_where_the_question_is_decided_without_each_other_fact() -> None:
    """The range of s is left out although the question has operations of s in all its parts but one."""
    question = (
        "(((s*s + (p - s)) % s) == gcd(8 % 8, 8)) or ((ceildiv((p * 2), s)*s) != 2) "
        "or ((1//p + (1 if (p * 2) < 1 % p else 0)) <= min(2, w))"
    )
    for lo, hi in ((1, 6), (None, None)):
        env = ShapeEnv(solvers=False)
        for name, least, most in (("s", lo, hi), ("p", -1, 0), ("w", -1, 2)):
            env.symbol(name, least, most)
        verdict = env.ask(question)
        assert isinstance(verdict, Always)
        assert (len(verdict.core), verdict.core_minimal) == (1, True)


@pytest.mark.parametrize(
    "line",
    [
        "a 2.. b 2.. c 2.. d 2.. e ..; a*b*c*d*e == 17",
        "x 1.. y ..; x*y == 12; 12 % x == 0",
        "a -2..7 b 1.. c 0..64 d -2..; gcd(b,c) == 4; a*b >= 9; a // c == b",
    ],
)
def test_a_core_from_which_a_fact_can_be_left_out_is_not_called_minimal(line: str) -> None:
    """Two of four factors make a product composite, and a divisor may be negative: nothing was proven without a fact,
    nor shown to need it."""
    verdict = asked(line).verdict()
    assert isinstance(verdict, (Always, Never)) and len(verdict.core) > 1
    assert not verdict.core_minimal


def test_a_core_called_minimal_is_minimal_for_z3() -> None:
    """z3 proves the conclusion from no core claimed to be minimal with one of its facts removed; most cores are so
    claimed."""
    rng = random.Random(2026)
    several = claimed = 0
    while several < 150:
        interner = Interner()
        facts: Facts | Conflict = Facts.empty(interner)
        names = {name: interner.symbol(name) for name in "abcd"}
        for symbol in names.values():
            assert isinstance(facts, Facts)
            facts = facts.declare_range(symbol, rng.choice((None, -2, 0, 1, 2)), rng.choice((None, 7, 64)))
        for _ in range(rng.randrange(2, 8)):
            assert isinstance(facts, Facts)
            parsed = parse(proposition(rng), names, interner)
            more = assume(facts, facts.next_fact(parsed.prop, domain=parsed.domain))
            if isinstance(more, Conflict):
                claimed += _minimal_for_z3(more.core, more.core_minimal, interner.true, interner.true.negation)
                several += len(more.core) > 1
            else:
                facts = more
        assert isinstance(facts, Facts)
        parsed = parse(proposition(rng), names, interner)
        try:
            verdict = decide(facts, parsed.prop, domain=parsed.domain, solvers=False)
        except (Undefined, Contradictory):
            continue
        if isinstance(verdict, (Always, Never)):
            claimed += _minimal_for_z3(verdict.core, verdict.core_minimal, verdict.domain, verdict.goal)
            several += len(verdict.core) > 1
    assert claimed >= 0.9 * several


def _minimal_for_z3(core: Sequence[Fact], claimed: bool, domain: Prop, goal: Prop) -> bool:
    """Return True if a core of several facts is claimed to be minimal, once z3 found no fact to spare."""
    for spared in core if claimed else ():
        others = [p for fact in core if fact is not spared for p in (fact.prop, fact.domain)]
        assert objection([*others, domain], goal) is not None, (core, spared)
    return claimed and len(core) > 1
