"""mypy, as a user of the library runs it, over a file that uses the public API."""

import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "public_api.py"


def test_a_typed_program_gets_what_the_documentation_says() -> None:
    """A typed program gets the types that the documentation says, and is told of its mistakes.

    mypy raises the recursion limit and the threshold of the collector of its process, which is therefore its own.
    """
    root = PROGRAM.parent.parent.parent
    options = ["--strict", f"--config-file={root / 'setup.cfg'}", "--no-error-summary"]
    command = [sys.executable, "-m", "mypy", *options, str(PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = {int(line) for line in re.findall(rf"{PROGRAM.name}:(\d+): error", done.stdout)}
    wanted = {number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) if "# E:" in line}
    assert not done.stderr
    assert found == wanted, done.stdout
