"""The compiled solver and the written one: which of them is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WHERE = "import solver.expr; print(solver.expr.__file__)"


def loaded(root: Path, **environment: str) -> str:
    """The file that `solver.expr` comes from."""
    variables = {name: value for name, value in os.environ.items() if name != "SYMSHAPE_PURE"} | environment
    run = subprocess.run(
        [sys.executable, "-c", WHERE], cwd=root, env=variables, capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


def test_the_written_solver_on_request() -> None:
    """A failure means that nobody can debug the solver, or mutate it, where it is installed compiled."""
    assert loaded(ROOT, SYMSHAPE_PURE="1").endswith("expr.py")


def test_what_is_compiled_is_never_older_than_its_source(tmp_path: Path) -> None:
    """A failure means that an edit of the solver has no effect until somebody compiles it again."""
    if loaded(ROOT).endswith(".py"):
        pytest.skip("not compiled here, or not current")
    for file in ROOT.glob("symshape__mypyc*"):
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "solver").mkdir()
    for folder in ("", "integer", "rungs", "edges"):
        (tmp_path / "solver" / folder).mkdir(exist_ok=True)
        for file in (ROOT / "solver" / folder).iterdir():
            if file.is_file():
                (tmp_path / "solver" / folder / file.name).symlink_to(file)
    assert not loaded(tmp_path).endswith(".py")
    edited = tmp_path / "solver" / "expr.py"
    text = edited.read_text(encoding="utf-8")
    edited.unlink()
    edited.write_text(text, encoding="utf-8")
    os.utime(edited, (4e9, 4e9))
    assert loaded(tmp_path).endswith("expr.py")
