"""Newcomers: commands that a page shows from an empty folder print what it says, with the package installed.

Each page has one block of commands, at most five, from nothing to a result.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.distributions import build, clone

pytest.importorskip("setuptools", minversion="77")
pytestmark = pytest.mark.shared

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r'^```console title="from an empty folder"\n(.*?)^```', re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ ((?:[^\n]*<<'END'\n.*?^END)|[^\n]*)\n", re.DOTALL | re.MULTILINE)
MOST = 5
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Newcomer:
    """Somebody with a page, an empty folder and the installed package."""

    page: str
    wants: str
    needs: tuple[str, ...] = ()


NEWCOMERS = [
    Newcomer("embedding.md", "to embed the engine"),
    Newcomer("prompt.md", "to ask"),
    Newcomer("how-to/rules.md", "to test a rule", ("hypothesis", "numpy")),
    Newcomer("pytorch.md", "to compile a PyTorch function", ("torch",)),
    Newcomer("certify.md", "to serve a model", ("torch",)),
]


def steps(page: str) -> list[tuple[str, str]]:
    """The commands of a page with what it shows under each."""
    (block,) = BLOCK.findall((DOCS / page).read_text())
    _, *parts = COMMAND.split(block)
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package is installed, with its scripts and entry points, and nothing else."""
    work = tmp_path_factory.mktemp("installed")
    clone(work / "clone")
    wheel = build("wheel", work / "clone", work / "dist", SYMSHAPE_PURE="1")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(work / "site")]
    subprocess.run([*pip, str(wheel)], check=True, timeout=600)
    return work / "site"


@pytest.mark.parametrize("newcomer", NEWCOMERS, ids=lambda newcomer: newcomer.wants)
def test_a_newcomer_gets_a_result(newcomer: Newcomer, installed: Path, tmp_path: Path) -> None:
    """At most five commands of the page alone, in an empty folder, print what the page shows."""
    for library in newcomer.needs:
        pytest.importorskip(library)
    commands = steps(newcomer.page)
    assert 1 < len(commands) <= MOST
    path = os.pathsep.join([str(installed / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PYTHONPATH": str(installed), "PATH": path, "NO_COLOR": "1", "COLUMNS": "120"}
    for command, wanted in commands:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        printed = done.stdout + done.stderr
        assert doctest.OutputChecker().check_output(wanted, printed, OPTIONS), f"{command}\n{printed}"
    assert any(wanted.strip() for _, wanted in commands)
