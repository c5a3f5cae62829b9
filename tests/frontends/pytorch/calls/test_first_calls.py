"""What is done for the first time in a process (modules imported, types made) is done while a program is traced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frontends.pytorch.calls.first_calls import CAPTURED, PROGRAMS

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def outcomes():
    command = [sys.executable, "-m", "tests.frontends.pytorch.calls.first_calls"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {each["program"]: each for each in found}, done.stderr


@pytest.mark.shared
@pytest.mark.parametrize("name", [program.__name__ for program in PROGRAMS])
def test_a_first_call_is_as_any_other(name: str, outcomes) -> None:
    """If it fails, what else ran in a process decides how a program is run, or what it does is lost."""
    by_name, errors = outcomes
    assert name in by_name, errors
    found = by_name[name]
    assert found["first"] == found["second"] or name == "trains"
    assert not found["first"]["wrong"] and not found["unraisable"]
    assert set(found["first"]["kinds"]) <= {"Tensor", "Parameter", "NoneType"}
    if name in [program.__name__ for program in CAPTURED]:
        assert found["first"]["variants"] and not found["first"]["reasons"]


def test_what_is_imported_counts(outcomes) -> None:
    """If it fails, what a module has that the program is the first to import is taken for the call's own."""
    assert outcomes[0]["counts"]["count"] == 6


def test_a_step_of_training_is_left_to_eager_torch(outcomes) -> None:
    """If it fails, the first step runs with graph breaks for what torch and Python do for themselves."""
    reasons = outcomes[0]["trains"]["first"]["reasons"]
    assert "the gradient of a parameter" in reasons[0]
    assert all("runs the call eagerly" in reason for reason in reasons)
