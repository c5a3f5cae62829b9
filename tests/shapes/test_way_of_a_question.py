"""The way of a question from `ask` to its verdict: few calls, few packages, and no name that means two things."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
CALLS: Final = 300
PACKAGES: Final = 6
COLD: Final = (
    ("b*s >= 16", ("b >= 1", "s >= 16"), "Always (bounds)"),
    ("s + b >= 2", ("b >= 1", "s >= 1"), "Always (bounds)"),
    ("s < 0", ("s >= 1",), "Never (bounds)"),
    ("s % 8 == 0", ("s % 16 == 0",), "Always (substitution)"),
    ("b*s % 64 == 0", ("b % 4 == 0", "s % 16 == 0"), "Always (substitution)"),
    ("b*s == b*b", ("s == b",), "Always (substitution)"),
)
"""Questions, what is known, and how they are answered."""
TRACED: Final = """
import json, sys
from tests.walk import calls_of
print(json.dumps([calls_of(question, known, "b s") for question, known, _ in json.loads(sys.argv[1])]))
"""

Call = tuple[str, str]
"""The file of a function, and its name within it."""


@pytest.fixture(scope="module")
def ways() -> list[tuple[str, list[Call]]]:
    """The verdict on each question and the calls of ours that led there, by the sources: compiled ones are not seen."""
    run = subprocess.run(
        [sys.executable, "-c", TRACED, json.dumps(COLD)],
        cwd=ROOT,
        env={**os.environ, "SYMSHAPE_PURE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [(verdict, [(file, name) for file, name in calls]) for verdict, calls in json.loads(run.stdout)]


def test_a_cold_question_takes_few_calls_through_few_packages(ways: list[tuple[str, list[Call]]]) -> None:
    """If this fails, a layer was added on the way of every question."""
    for (question, _, expected), (verdict, calls) in zip(COLD, ways, strict=True):
        packages = {str(Path(file).parent) for file, _ in calls}
        assert verdict == expected, question
        assert 0 < len(calls) <= CALLS, f"{question}: {len(calls)} calls"
        assert len(packages) <= PACKAGES, f"{question}: {sorted(packages)}"


def test_each_layer_is_passed_once(ways: list[tuple[str, list[Call]]]) -> None:
    """If this fails, a question goes through the facade, the cache of answers or the solver's entry twice, or not."""
    for _, calls in ways:
        layers = [call for call in calls if call[1] in ("Asking.ask", "Questions.answer", "decide")]
        assert layers == [
            ("shapes/asking.py", "Asking.ask"),
            ("shapes/environment/questions.py", "Questions.answer"),
            ("solver/decide/ladder.py", "decide"),
        ]


def test_no_name_is_used_twice(ways: list[tuple[str, list[Call]]]) -> None:
    """If this fails, a reader who follows a question meets two functions of one name."""
    for (question, _, _), (_, calls) in zip(COLD, ways, strict=True):
        places: dict[str, set[Call]] = {}
        for file, name in calls:
            last = name.rpartition(".")[2]
            # comprehensions have no name of their own, constructors that of their class, and expressions and
            # propositions are nodes that answer to the same methods
            if last.startswith(("<", "__")) or (file in NODES and "." in name):
                continue
            places.setdefault(last, set()).add((file, name))
        twice = {name: sorted(found) for name, found in places.items() if len(found) > 1}
        assert not twice, f"{question}: {twice}"


NODES: Final = ("solver/terms/expr.py", "solver/terms/prop.py")
