"""The benchmarks judge as they say: a figure is only as good as what counts an answer right."""

import doctest
import importlib
from pathlib import Path

import pytest

from benchmarks import entailment, report
from benchmarks.baselines import ALWAYS, NEVER, OPEN, Answer, Inexpressible
from benchmarks.baselines.phrase import ARITHMETIC, phrase
from benchmarks.baselines.worker import replay
from benchmarks.recorded import Session

LINES = [
    {"op": "symbol", "name": "b", "hint": 4, "lo": 1, "hi": None},
    {"op": "symbol", "name": "s", "hint": 32, "lo": 2, "hi": 64},
    {"op": "assume", "prop": "s % 16 == 0"},
    {"op": "ask", "prop": "b*s % 64 == 0", "truth": "depends"},
    {"op": "ask", "prop": "s >= 16", "truth": "always"},
]
SESSION = Session("file", "session", LINES)
TRUE_AT, FALSE_AT = {"b": 4, "s": 16}, {"b": 1, "s": 16}


@pytest.mark.parametrize(
    "name",
    ["report", "oracle", "recorded", "textbook", "baselines", "baselines.phrase"],
)
def test_examples(name: str) -> None:
    """The examples in a benchmark's description hold."""
    assert not doctest.testmod(importlib.import_module(f"benchmarks.{name}")).failed


@pytest.mark.parametrize(
    ("true_at", "false_at", "outcome"),
    [
        (TRUE_AT, FALSE_AT, "depends shown"),
        (FALSE_AT, TRUE_AT, "depends wrong"),  # each on the wrong side
        ({"b": 4, "s": 17}, FALSE_AT, "depends wrong"),  # breaks a fact
        (TRUE_AT, {"b": 1, "s": 80}, "depends wrong"),  # breaks a bound
        (TRUE_AT, {"b": 0, "s": 16}, "depends wrong"),
        (None, None, "depends shown"),  # a baseline that shows none
    ],
)
def test_witnesses_are_evaluated(true_at: dict[str, int] | None, false_at: dict[str, int] | None, outcome: str) -> None:
    """Counterexamples of an engine are verified by evaluation."""
    assert entailment.judge("depends", Answer("depends", None, true_at, false_at), SESSION, 3) == outcome


@pytest.mark.parametrize(
    ("truth", "answer", "outcome"),
    [
        ("always", ALWAYS, "decided"),
        ("always", NEVER, "decidable wrong"),
        ("always", Answer("depends"), "decidable wrong"),
        ("never", OPEN, "open"),
        ("depends", ALWAYS, "depends wrong"),
        ("depends", OPEN, "depends open"),
        ("unknown", NEVER, "not judged"),
    ],
)
def test_verdicts_are_judged_by_the_label(truth: str, answer: Answer, outcome: str) -> None:
    """A wrong answer is told from an open one by the label."""
    assert entailment.judge(truth, answer, SESSION, 3) == outcome


class Stubborn:
    """A baseline that proves what it has no business to, cannot say one thing and fails at another."""

    def symbol(self, name: str, hint: int | None, lo: int | None, hi: int | None) -> None:
        pass

    def assume(self, prop: str) -> None:
        raise Inexpressible(prop)

    def ask(self, prop: str) -> Answer:
        if prop == "s >= 16":
            raise RuntimeError
        return ALWAYS

    def close(self) -> None:
        pass


def test_a_failing_baseline_is_left_open_and_counted() -> None:
    """A crash of a baseline is counted, and is an open answer."""
    result = replay(Stubborn, LINES, 10)
    assert result["answers"] == [ALWAYS, OPEN]
    assert result["notes"] == {"assume not expressible": 1, "ask error": 1, "ask error: RuntimeError": 1}
    assert len(result["micros"]) == len(LINES)
    assert sum(result["micros"]) <= 1e6 * result["seconds"]


def test_phrase_agrees_with_python() -> None:
    """The baselines are asked what was recorded."""
    words = ARITHMETIC | {
        "floordiv": lambda a, b: a // b,
        "mod": lambda a, b: a % b,
        "min": min,
        "max": max,
        "abs": abs,
        "ge": lambda a, b: a >= b,
        "le": lambda a, b: a <= b,
        "lt": lambda a, b: a < b,
        "and": lambda p, q: p and q,
        "or": lambda p, q: p or q,
        "not": lambda p: not p,
    }
    for text in (
        "3 <= b < 2*s and not (b % 3 >= 2 or abs(-b) < 1)",
        "ceildiv(b, -3) >= min(b, s, -1)",
        "b**3 - (-s) // 4 >= max(b, 2**10)",
        "-b // 2 < -(b // 2) or b**0 >= 1",
    ):
        for b in range(-7, 8):
            for s in (-5, 0, 5):
                wanted = eval(text, {"ceildiv": lambda n, d: -(-n // d)}, {"b": b, "s": s})
                assert phrase(text, words, {"b": b, "s": s}) == wanted, text


def test_a_section_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    """Writing the figures of one benchmark keeps those of the others."""
    path = tmp_path / "RESULTS.md"
    report.write_section("one", "One", "old", command="a", path=path)
    report.write_section("two", "Two", "kept", command="b", path=path)
    report.write_section("one", "One", r"new \1", command="a", path=path)
    text = path.read_text()
    assert "old" not in text and r"new \1" in text and "kept" in text
    assert text.count("<!-- one -->") == 1
