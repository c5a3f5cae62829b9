"""The compiled solver and the written one: which of them is loaded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from solver import MADE_FROM, checksum

ROOT = Path(__file__).parent.parent
WHICH = "import solver, sys; print('sources' if solver._Sources in sys.meta_path else 'extensions')"


def chosen(root: Path, **environment: str) -> str:
    """The source of the solver's modules in this folder: extensions or Python files."""
    variables = {name: value for name, value in os.environ.items() if name not in ("SYMSHAPE_PURE", "PYTHONPATH")}
    run = subprocess.run(
        [sys.executable, "-c", WHICH], cwd=root, env=variables | environment, capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """A solver as an installer leaves it that writes the extension first. Nothing looks into the extension here."""
    (tmp_path / f"symshape__mypyc{EXTENSION_SUFFIXES[0]}").write_bytes(b"")
    shutil.copytree(ROOT / "solver", tmp_path / "solver", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    (tmp_path / "solver" / MADE_FROM).write_text(checksum(tmp_path / "solver"))
    for file in tmp_path.glob("symshape__mypyc*"):
        os.utime(file, (1e9, 1e9))
    return tmp_path


def test_extensions_are_used_in_whatever_order_files_were_written(compiled: Path) -> None:
    """A failure means that an installed wheel runs at half its speed: pip writes the extension before the sources."""
    assert chosen(compiled) == "extensions"


def test_the_written_solver_on_request(compiled: Path) -> None:
    """A failure means that nobody can debug the solver, or mutate it, where it is installed compiled."""
    assert chosen(compiled, SYMSHAPE_PURE="1") == "sources"


@pytest.mark.parametrize("name", ["terms/expr.py", "syntax/parser.py", "integer/simplex.py", "rungs/linear.py"])
@pytest.mark.parametrize("written", [1e8, 4e9])
def test_an_edit_is_never_without_effect(compiled: Path, name: str, written: float) -> None:
    """A failure means that an edit of the solver has no effect until somebody compiles it again."""
    file = compiled / "solver" / name
    before = file.read_bytes()
    file.write_bytes(before.replace(b"a", b"o", 1))
    os.utime(file, (written, written))
    assert chosen(compiled) == "sources"
    file.write_bytes(before)
    assert chosen(compiled) == "extensions"


@pytest.mark.parametrize("change", ["added", "removed", "renamed", "no record", "no extension", "of another Python"])
def test_what_was_not_compiled_together_is_not_used_together(compiled: Path, change: str) -> None:
    """A failure means that extensions of one state of the sources run with the rest of another."""
    (extension,) = compiled.glob("symshape__mypyc*")
    match change:
        case "added":
            (compiled / "solver" / "rungs" / "new.py").write_text("")
        case "removed":
            (compiled / "solver" / "samples" / "proposals.py").unlink()
        case "renamed":
            (compiled / "solver" / "samples" / "proposals.py").rename(compiled / "solver" / "samples" / "proposal.py")
        case "no record":
            (compiled / "solver" / MADE_FROM).unlink()
        case "no extension":
            extension.unlink()
        case _:
            extension.rename(compiled / "symshape__mypyc.cpython-39-other.so")
    assert chosen(compiled) == "sources"


def test_what_is_compiled_here_runs() -> None:
    """A failure means that the extensions beside the sources are those of other sources, and are used all the same."""
    where = "import solver.terms.expr; print(solver.terms.expr.__file__)"
    if chosen(ROOT) == "sources":
        pytest.skip("not compiled here, or not current")
    run = subprocess.run([sys.executable, "-c", where], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip().endswith(tuple(EXTENSION_SUFFIXES))
