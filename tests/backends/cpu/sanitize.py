"""Tests that run generated C, over kernels that stop at the first access or operation that C does not define.

    python -m tests.backends.cpu.sanitize [arguments of pytest]

The address sanitizer has to be in the process from its start, so this starts another one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from backends.cpu.compiler import sanitizer_environment
from shapes.guards.toolchain import Unavailable

FOLDER = Path(__file__).parent
MORE = ("decisions", "loops", "program", "test_random_programs.py")
"""The test files that run generated C in the folder above; its other tests, and programs of users, take as long as all
of these.
"""
WITHOUT = ("test_compiler.py", "launcher/test_launcher.py")
"""The tests that are not about kernels."""
MEASURING = "test_memory_is_given_back"
"""The sanitizer keeps memory that is given back, to see who uses it."""


def main() -> None:
    variables = sanitizer_environment()
    if isinstance(variables, Unavailable):
        raise SystemExit(variables.reason)
    ignored = [f"--ignore={FOLDER / name}" for name in WITHOUT]
    chosen = ["-k", f"not {MEASURING}", *(sys.argv[1:] or [str(FOLDER), *[str(FOLDER.parent / name) for name in MORE]])]
    command = [sys.executable, "-m", "pytest", "-q", *ignored, *chosen]
    os.execve(sys.executable, command, os.environ | variables)


if __name__ == "__main__":
    main()
