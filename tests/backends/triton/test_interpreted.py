"""Kernels in Triton's interpreter beside eager, at the edges of sizes and values."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.kernels.programs import PROGRAMS
from tests.backends.programs import CASES as COMMON
from tests.backends.triton import whole
from tests.backends.triton.cases import CASES
from tests.backends.triton.operating import operations, reductions

pytestmark = pytest.mark.shared
ROOT = Path(__file__).parents[3]


SUFFIXES = {"test_functions_are_as_eager": ", compiled", "test_models_are_as_eager": ", trained"}
"""The suffix of a case's name, where its form does not say."""


@pytest.fixture(scope="module")
def wrong(request: pytest.FixtureRequest) -> dict[str, list[list[str]]]:
    """The faults of each case that is asked for, from one process that has the interpreter on."""
    names = [
        each.callspec.params["name"] + (each.callspec.params.get("forms") or SUFFIXES.get(each.originalname, ""))
        for each in request.session.items
        if isinstance(each, pytest.Function) and each.path == request.path
    ]
    command = [sys.executable, "-m", "tests.backends.triton.interpreting", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.parametrize("forms", ["", ", in 64 bits", ", in blocks"])
@pytest.mark.parametrize("name", [case.name for case in [*COMMON, *CASES]])
def test_fused_kernels_are_as_eager(name: str, forms: str, wrong: dict[str, list[list[str]]]) -> None:
    """Fused kernels agree with eager: at no rows, one, odd ones, a whole block or one more."""
    assert wrong[name + forms] == []


@pytest.mark.parametrize("name", [case.name for case in reductions()])
@pytest.mark.parametrize("forms", ["", ", in blocks"])
def test_reductions_are_as_eager(name: str, forms: str, wrong: dict[str, list[list[str]]]) -> None:
    """Reductions agree with eager, those of rows in parts too."""
    assert wrong[name + forms] == []


@pytest.mark.parametrize("name", [program.name for program in PROGRAMS])
def test_functions_are_as_eager(name: str, wrong: dict[str, list[list[str]]]) -> None:
    """`compile(backend="triton")` makes kernels, and its outputs and gradients agree with eager."""
    assert wrong[f"{name}, compiled"] == []


@pytest.mark.parametrize("name", whole.TRAINED)
def test_models_are_as_eager(name: str, wrong: dict[str, list[list[str]]]) -> None:
    """The loss and the gradients of whole models agree with eager: no kernel overwrites what others read."""
    pytest.importorskip("transformers")
    assert wrong[f"{name}, trained"] == []


@pytest.mark.parametrize("name", [case.name for case in operations()])
def test_operations_are_as_eager(name: str, wrong: dict[str, list[list[str]]]) -> None:
    """Operations agree with torch in Triton's language: signs of zeros, nan, wraps."""
    assert wrong[name] == []
