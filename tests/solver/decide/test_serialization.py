"""Terms, facts, proofs and verdicts after pickle: the same answers with the same evidence."""

from __future__ import annotations

import copy
import pickle
from typing import TypeVar

import pytest
from hypothesis import given, settings

from solver.decide.ladder import decide
from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.errors import Contradictory, NotExported, Undefined
from solver.knowledge.facts import Facts
from solver.proofs.fact import Fact, Record
from solver.syntax.parser import parse
from solver.terms.digest import digest, same
from solver.terms.interner import Interner
from tests.effort import examples
from tests.properties.programs import Case, cases, known
from tests.solver.asked import asked
from tests.solver.proofs.forging import SETTLED

T = TypeVar("T")


def loaded(value: T) -> T:
    found: T = pickle.loads(pickle.dumps(value))
    return found


def is_equal(verdict: Verdict, other: Verdict) -> bool:
    return (
        (verdict, verdict.rung, repr(verdict), hash(verdict)) == (other, other.rung, repr(other), hash(other))
        and other.check()
        and verdict.prop.interner is not other.prop.interner
    )


@pytest.mark.parametrize("line", SETTLED)
def test_proofs_by_every_rule_still_check(line: str) -> None:
    """Numbers of monomials in payloads are those of the new interner."""
    verdict = asked(line).verdict()
    assert isinstance(verdict, (Always, Never))
    after = loaded(verdict)
    assert isinstance(after, (Always, Never)) and is_equal(verdict, after)
    assert after.core_minimal is verdict.core_minimal
    assert [fact.text for fact in after.core] == [fact.text for fact in verdict.core]


@settings(max_examples=examples(100), deadline=None)
@given(cases())
def test_knowledge_is_the_same(case: Case) -> None:
    """Facts have the same samples after pickle, and the same question has the same answer with the same evidence."""
    before = known(case)
    if before is None:
        return
    facts, names = before
    other, others = loaded((facts, names))
    assert other.samples.alive == facts.samples.alive
    for atom, twin in zip(facts.all_symbols(), other.all_symbols(), strict=True):
        assert list(facts.samples.columns.get(atom.serial) or ()) == list(other.samples.columns.get(twin.serial) or ())
    verdicts = []
    for now, symbols in ((facts, names), (other, others)):
        parsed = parse(case.question, symbols, now.interner)
        try:
            verdicts.append(decide(now, parsed.prop, domain=parsed.domain, solvers=False))
        except (Undefined, Contradictory) as error:
            verdicts.append(type(error))
    assert verdicts[0] == verdicts[1]
    if isinstance(verdicts[0], (Always, Never, Depends, GaveUp)):
        assert is_equal(verdicts[0], verdicts[1]) and is_equal(verdicts[0], loaded(verdicts[0]))


def test_a_changed_certificate_does_not_become_right() -> None:
    """Pickle takes what was recorded along as it was recorded: what was forged before is refused after."""
    verdict = asked("a 1.. b 1..; a % 8 == 0; b % 6 == 0; (a*b) % 24 == 0").verdict()
    assert isinstance(verdict, Always)
    (fact, *_) = verdict.core
    object.__setattr__(fact, "written", "a % 16 == 0")
    assert not verdict.check() and not loaded(verdict).check()


def test_deep_terms_and_long_chains_of_facts() -> None:
    """Neither the depth of a term nor the number of facts is a depth of recursion."""
    terms = Interner()
    s = terms.symbol("s")
    deep = s
    for _ in range(400):
        deep = terms.floordiv(deep, 3) + 1
    either = terms.ge(deep, 5)
    for i in range(150):
        join = terms.conjunction if i % 2 else terms.disjunction
        either = join([either, terms.ge(deep, i)])
    again, other = loaded((either, terms))
    assert str(again) == str(either) and again.interner is other and same(again, either)
    facts = Facts.empty(terms).declare_range(s, 0, None)
    for i in range(1500):
        facts = facts.learn_prop(terms.ne(s, 3 * i))
    many = loaded(facts)
    assert [fact.text for fact in many.records()] == [fact.text for fact in facts.records()]


def test_what_is_pickled_together_shares_an_interner_and_a_copy_stays() -> None:
    """Identity means the same normal form, in a pickle too; a deep copy is the term itself."""
    terms = Interner()
    b, s = terms.symbol("b"), terms.symbol("s")
    named = terms.name_of(b * s)
    first, second, symbol, name = loaded((b * s + 1, terms.ge(b * s, 0), s, named))
    assert first.interner is second.interner and second.expr + 1 is first and symbol.interner.name_of(first - 1) is name
    fresh = first.interner.symbol("t")
    assert fresh.atom.serial > max(atom.serial for atom in first.atoms) and fresh.atom.key > symbol.atom.key
    assert copy.deepcopy([b * s, terms.ge(b, s), s.atom, terms]) == [b * s, terms.ge(b, s), s.atom, terms]
    late = loaded((terms.ge(s, 0), s, b))  # the younger symbol first
    assert late[2].atom.serial < late[1].atom.serial and str(late[2] * late[1]) == "b*s"


def test_digests_tell_terms_apart() -> None:
    """A cache that confused two of these would serve wrong code."""
    terms = Interner()
    names = {name: terms.symbol(name) for name in ("b", "s", "bs")}
    texts = [
        *("b >= s", "s >= b", "b == s", "b != s", "b >= s + 1", "b*s >= 1", "bs >= 1", "b*b*s >= 1", "b >= 10**5000"),
        *("b // s >= 1", "s // b >= 1", "b % s >= 1", "b >= 1 and s >= 1", "s >= 1 and b >= 1", "b >= 1 or s >= 1"),
        *("max(b, s) >= 1", "gcd(b, s) >= 2", "min(b, s) >= 1", "(b if s > 2 else 3) >= 1"),
    ]
    digests = [digest(parse(text, names, terms).prop) for text in texts]
    assert len(set(digests)) == len(texts)


def test_errors_of_the_solver() -> None:
    """Errors come back from worker processes as they were raised."""
    terms = Interner()
    s = terms.symbol("s")
    fact = Fact(terms.ge(s, 3), terms.true, "given", None, None, 7, 0)
    record = loaded(Record(fact, Record(fact, None)))
    assert record.before is not None and record.before.fact is record.fact and record.is_unchanged()
    for error in (NotExported("shift", "no lemma"), Undefined("no sense")):
        assert str(loaded(error)) == str(error) and vars(loaded(error)) == vars(error)
