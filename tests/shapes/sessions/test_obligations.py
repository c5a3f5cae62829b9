"""An environment as SMT-LIB: z3 reads the whole file and answers as the file says it will."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import z3

from shapes import ShapeEnv
from shapes.sessions.recording import FactLine, QuestionLine, SymbolLine, open_recording, read_sessions

CORPUS = Path(__file__).parents[3] / "benchmarks" / "corpus"


def answers(text: str) -> list[str]:
    """The answer of z3 to each check; anything else that it says is a fault."""
    context = z3.Context()
    said = z3.Z3_eval_smtlib2_string(context.ref(), "(set-option :rlimit 2000000)\n" + text).split("\n")
    return [line for line in said if line]


def expected(text: str) -> list[str]:
    return re.findall(r"^\(set-info :status (\w+)\)$", text, re.MULTILINE)


def agreement(text: str) -> Counter[tuple[str, str]]:
    """The number of times each answer was given to each expectation; z3 may answer unknown, never differ."""
    said, wanted = answers(text), expected(text)
    assert len(said) == len(wanted) == text.count("(check-sat)"), said
    found = Counter(zip(wanted, said, strict=True))
    assert not {pair for pair in found if pair[0] != pair[1] and "unknown" not in pair}, found
    return found


def test_every_kind_of_obligation_is_there_and_answered() -> None:
    env = ShapeEnv()
    b, s = env.sizes("b s", hints=(4, 128))
    env.assume(s % 16 == 0)
    assert env.guard(s > 3) and env.guard(s > 64) and env.guard(b * s < 4096)
    u = env.unbacked("u", lo=0)
    env.expect_true(u <= s, "more\ntokens ; than (slots)")
    for question in ("b*s % 16 == 0", "b*s % 64 == 0", "s // b >= 0", "isqrt(s) >= 0", "u % b == 0", "u > s"):
        env.ask(question)
    text = env.export("smtlib")
    place = "test_obligations.py:"
    stated = "range: b >= 0", "s % 16 == 0 (given, ", "s >= 65 (guard, ", "s >= 4 (guard, ", "s >= u (run-time check, "
    for line in stated:
        assert [each for each in text.splitlines() if each.startswith(f"; {line}") and place in each], line
    assert "more tokens ; than (slots)" in text and "; never: " in text
    found = agreement(text)
    assert found["unsat", "unsat"] >= 4 and found["sat", "sat"] >= 3 and found["unknown", "sat"] == 1


def test_a_wrong_conclusion_would_be_seen() -> None:
    """The answers are z3's own: of a file whose fact was weakened it does not say what is expected."""
    env = ShapeEnv(origin=lambda: None)
    s = env.symbol("s", lo=8, hint=128)
    env.ask(s >= 5)
    text = env.export("smtlib")
    assert agreement(text)["unsat", "unsat"] == 1
    assert "(assert (>= s 8))" in text
    with pytest.raises(z3.Z3Exception, match="check annotation that says unsat"):
        agreement(text.replace("(assert (>= s 8))", "(assert (>= s 4))"))


def test_what_was_rolled_back_is_not_there() -> None:
    env = ShapeEnv(origin=lambda: None)
    s = env.symbol("s", hint=128)
    mark = env.checkpoint()
    env.assume(s % 2 == 0)
    env.ask(s % 2 == 1)
    env.rollback(mark)
    assert "always" not in env.export("smtlib") and "never" not in env.export("smtlib")
    assert "% 2" not in env.export()


def test_other_systems_are_refused() -> None:
    with pytest.raises(Exception, match="system='tptp'"):
        ShapeEnv().export("tptp")  # type: ignore[arg-type]


PROGRAMS = ["unbacked-paged-attention", "vision-unet-train-aot", "opinfo-indexing", "gpt2-train-aot"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_recorded_sessions_are_confirmed(name: str) -> None:
    """Hundreds of conclusions of real programs, none of which z3 contradicts."""
    found: Counter[tuple[str, str]] = Counter()
    path = CORPUS / f"{name}.jsonl.gz"
    with open_recording(path) as stream:
        for session in list(read_sessions(stream))[:12]:
            env = ShapeEnv(decimals=session.decimals, solvers=False, origin=lambda: None)
            for line in session.lines[:120]:
                match line:
                    case SymbolLine(name=symbol, lo=lo, hi=hi, hint=None):
                        env.unbacked(symbol, lo=lo, hi=hi)
                    case SymbolLine(name=symbol, lo=lo, hi=hi, hint=hint):
                        env.symbol(symbol, lo=lo, hi=hi, hint=hint)
                    case FactLine(text=text):
                        env.assume(text)
                    case QuestionLine(text=text):
                        env.ask(text)
            found += agreement(env.export("smtlib"))
    assert found["unsat", "unsat"] >= 10
