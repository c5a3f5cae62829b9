"""Coq's compiler, where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

COQ = shutil.which("coqc")
needs_coq = pytest.mark.skipif(COQ is None, reason="coqc is not installed (Debian package coq)")


def accepted(text: str, folder: Path) -> bool:
    """Return True if coqc accepts a file."""
    assert COQ is not None
    source = folder / "evidence.v"
    source.write_text(text, encoding="utf-8")
    done = subprocess.run([COQ, source.name], cwd=folder, capture_output=True, text=True, check=False)
    print(done.stderr)  # pytest shows it where a test fails
    assert done.returncode == 0 or "Error" in done.stderr, done.stderr
    return done.returncode == 0
