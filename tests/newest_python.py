"""The newest tested Python at hand, if it is newer than the one that asks.

    python -m tests.newest_python    # its path, or nothing

>>> TESTED
((3, 13), (3, 12))
"""

import shutil
import subprocess
import sys
from pathlib import Path

TESTED = ((3, 13), (3, 12))
"""The releases beside 3.11 with which the suite passes, newest first."""


def newest() -> str | None:
    """The path of the newest interpreter, on PATH or installed by pyenv."""
    for major, minor in TESTED:
        if (major, minor) <= sys.version_info[:2]:
            return None
        installed = sorted(Path.home().glob(f".pyenv/versions/{major}.{minor}.*/bin/python{major}.{minor}"))
        on_path = shutil.which(f"python{major}.{minor}")
        for path in [*map(str, reversed(installed)), *([on_path] if on_path else [])]:
            if subprocess.run([path, "-c", "import venv, ssl"], capture_output=True).returncode == 0:
                return path
    return None


if __name__ == "__main__":
    print(newest() or "")
