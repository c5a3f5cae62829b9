"""The parts of an environment, each alone: no facade, no symbolic numbers, only what it is made of."""

from __future__ import annotations

from threading import RLock

import pytest

from shapes.environment.access import Access
from shapes.environment.commands import Commands
from shapes.environment.declaring import Declarations
from shapes.environment.events import Assumed
from shapes.environment.ledger import Ledger
from shapes.environment.memory import Memory
from shapes.environment.questions import Questions
from shapes.environment.reader import Reader
from shapes.environment.scopes import supposing
from shapes.environment.symbols import SymbolTable
from shapes.errors import Contradiction, FalseAtHint, StaleCheckpoint
from shapes.policies import unspecialized
from solver.decide.verdict import Always, Depends
from solver.terms.interner import Interner


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(Interner(), SymbolTable(), origin=lambda: None)


@pytest.fixture
def reader(ledger: Ledger) -> Reader:
    access = Access(RLock())
    return Reader(ledger.interner, ledger.table, access, decimals="ieee", forget=lambda: None)


@pytest.fixture
def questions(ledger: Ledger, reader: Reader) -> Questions:
    questions = Questions(ledger, reader, Access(RLock()), solvers=False, forget=Memory(ledger).forget)
    ledger.trails = (questions, reader)
    return questions


@pytest.fixture
def declarations(ledger: Ledger, reader: Reader) -> Declarations:
    return Declarations(ledger, reader)


def test_a_ledger_takes_back_symbols_and_facts(
    ledger: Ledger, reader: Reader, questions: Questions, declarations: Declarations
) -> None:
    """A rollback of a ledger undoes its symbols, facts and answers."""
    declarations.declare("s", 1, None, None, "backed", None)
    mark = ledger.position()
    declarations.declare("n", 0, None, 5, "backed", None, strict=True)
    within = ledger.position()
    prop, domain = reader.parse("n >= s")
    fact = ledger.fact(prop, domain, "given", "n >= s")
    ledger.add(fact, Assumed(fact))
    assert questions.proves(prop) and ledger.about(prop) and len(ledger.commitments) == 3
    ledger.return_to(mark)
    assert list(ledger.table.names) == ["s"] and not ledger.table.strict and not ledger.table.hints
    assert ledger.facts is mark.facts and len(ledger.commitments) == 1
    assert not questions.answers and not reader.texts
    with pytest.raises(StaleCheckpoint):
        ledger.return_to(within)


def test_what_a_ledger_refuses_changes_nothing(ledger: Ledger, reader: Reader, declarations: Declarations) -> None:
    """A fact that a ledger refuses, by contradiction or by the hints, changes nothing."""
    declarations.declare("s", 1, 8, 4, "backed", None)
    before = ledger.facts, list(ledger.commitments)
    for text, error in (("s >= 9", Contradiction), ("s >= 5", FalseAtHint)):
        prop, domain = reader.parse(text)
        fact = ledger.fact(prop, domain, "given", text)
        with pytest.raises(error):
            ledger.add(fact, Assumed(fact))
        assert (ledger.facts, ledger.commitments) == before


def test_answers_stand_as_long_as_their_witnesses(
    ledger: Ledger, reader: Reader, questions: Questions, declarations: Declarations
) -> None:
    """An open answer stands as long as its witnesses satisfy the facts."""
    declarations.declare("s", 0, None, None, "backed", None)
    prop, domain = reader.parse("s >= 8")
    first = questions.answer(prop, domain)
    assert isinstance(first, Depends) and questions.valid_verdicts() == [first]
    for text, kind in (("s <= 10000", Depends), ("s >= 16", Always)):
        fact = ledger.fact(*reader.parse(text), "given", text)
        ledger.add(fact, Assumed(fact))
        assert isinstance(questions.answer(prop, domain), kind)


def test_commands_and_scopes_need_no_facade(
    ledger: Ledger, reader: Reader, questions: Questions, declarations: Declarations
) -> None:
    """A hypothesis does not leak, and commitments made inside of it last."""
    declarations.declare("s", 0, None, 64, "backed", None)
    commands = Commands(questions, reader)
    with supposing(commands, declarations, ["i < s"]) as (variable,):
        assert str(variable) == "i" and questions.proves(reader.parse("i <= s")[0])
        assert commands.branch("s > 16", None, unspecialized)
    assert list(ledger.table.names) == ["s"] and not ledger.hypotheses
    assert [str(event) for event in ledger.commitments] == ["symbol s >= 0, hint 64", "guard s > 16"]
