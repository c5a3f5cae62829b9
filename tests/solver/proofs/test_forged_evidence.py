"""Evidence that was changed after it was found: `check()` notices, whatever was changed.

`tests/solver/proofs/forging.py` makes the forgeries, a million of them where it is run by itself.
"""

from __future__ import annotations

import random

import pytest

from solver.decide.verdict import Always, Depends, Never
from solver.knowledge.facts import Facts
from tests.solver.asked import asked
from tests.solver.proofs.forging import FORGES, OPEN, SETTLED, Forge, accepted, main, witnesses


@pytest.mark.parametrize("forge", FORGES)
def test_no_forged_proof_is_accepted(forge: Forge) -> None:
    """`check()` accepts no forged proof or core."""
    assert accepted(random.Random(forge.__name__), 400, [forge]) == []


def test_an_accepted_forgery_is_counted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that cannot fail would report nothing accepted for ever."""
    assert main(["--count", "30", "--seed", "3"]) == 0
    assert "30 forged, 0 accepted" in capsys.readouterr().out
    monkeypatch.setattr("tests.solver.proofs.forging.FORGES", [nothing])
    assert main(["--count", "5"]) == 1
    assert "nothing of `a 1.." in capsys.readouterr().out


def nothing(rng: random.Random, verdict: Always | Never) -> bool:
    """A forgery that changes nothing."""
    return True


def test_an_answer_turned_around_is_not_accepted() -> None:
    for line in SETTLED:
        verdict = asked(line).verdict()
        assert isinstance(verdict, (Always, Never))
        opposite = (Never if isinstance(verdict, Always) else Always)(
            verdict.prop, verdict.domain, verdict.rung, verdict.proof, asked(line).known()[0]
        )
        assert not opposite.check()


def test_no_forged_witness_is_accepted() -> None:
    """Witnesses that do not satisfy their proposition are not accepted."""
    rng = random.Random(3)
    refused = 0
    for _ in range(1500):
        verdict, holds = witnesses(rng)
        if not holds and verdict._shown is not None:
            assert not verdict.check()
            refused += 1
        elif holds:
            assert verdict.check()
    assert refused > 300


def test_a_witness_of_other_facts_is_not_accepted() -> None:
    """A witness is not accepted for facts that it was not evaluated against."""
    for line in OPEN:
        for other in ("a 1.. b 1..; a >= 1; a >= 1", line):
            verdict, stranger = asked(line).verdict(), asked(other).known()[0]
            assert isinstance(verdict, Depends) and isinstance(stranger, Facts)
            verdict._facts = stranger
            assert not verdict.check(), (line, other)


def test_a_fact_that_was_changed_under_a_witness_is_noticed() -> None:
    """A fact that was changed under a witness is noticed."""
    for line in OPEN:
        verdict = asked(line).verdict()
        assert isinstance(verdict, Depends)
        for fact in list(verdict.facts.records()):
            for name in ("prop", "domain"):
                before = getattr(fact, name)
                object.__setattr__(fact, name, fact.prop.interner.true if before.kind != "true" else fact.prop.negation)
                assert not verdict.check(), (line, fact)
                object.__setattr__(fact, name, before)
        assert verdict.check()
        with pytest.raises(AttributeError):
            verdict.facts = verdict.facts  # type: ignore[misc]
