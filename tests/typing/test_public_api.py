"""mypy, as a user of the library runs it, over a file that uses the public API."""

import re
from pathlib import Path

from mypy import api

PROGRAM = Path(__file__).parent / "public_api.py"


def test_a_typed_program_gets_what_the_documentation_says() -> None:
    """If it fails, users of the library lose types, or are no longer told of a mistake."""
    root = PROGRAM.parent.parent.parent
    options = ["--strict", f"--config-file={root / 'setup.cfg'}", "--no-error-summary"]
    printed, errors, _ = api.run([*options, str(PROGRAM)])
    found = {int(line) for line in re.findall(rf"{PROGRAM.name}:(\d+): error", printed)}
    wanted = {number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) if "# E:" in line}
    assert not errors
    assert found == wanted, printed
