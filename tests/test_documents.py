"""The examples in the documents: every `>>>` example and every `$ shapes` command in them is run.

In a page, the fenced `python` blocks share one namespace, in order; a fenced `console` block is commands and what they
print, `...` standing for anything. What begins in an empty folder is run by `tests/test_newcomers.py`.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(\w+)(?! title=\"from an empty folder)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(autouse=True)
def profile_of_the_suite():
    """Examples check rules with as many calls as a user's, in a quick run, too."""
    before = settings.get_current_profile_name()
    settings.load_profile("test")
    yield
    settings.load_profile(before)


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """The fenced blocks of a language, each with the line where it begins."""
    text = page.read_text()
    return [
        (text.count("\n", 0, found.start()) + 1, found[2]) for found in FENCE.finditer(text) if found[1] == language
    ]


def commands(block: str) -> list[tuple[str, str]]:
    """Each `$ command` with the output that the page shows under it."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples(page: Path) -> None:
    """The answers in the documents are those of the engine."""
    names: dict[str, object] = {}
    report: list[str] = []
    for line, block in blocks(page, "python"):
        if ">>>" not in block:
            continue
        example = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), line)
        runner = doctest.DocTestRunner(optionflags=OPTIONS)
        runner.run(example, out=report.append, clear_globs=False)
        names = example.globs
    assert not report, "".join(report)


def run(command: str, folder: Path) -> str:
    program, *arguments = shlex.split(command, comments=True)
    assert program == "shapes", f"a page shows a command that no test runs: {command}"
    done = subprocess.run(
        [sys.executable, "-m", "shapes", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=lambda page: page.name)
def test_commands(page: Path, tmp_path: Path) -> None:
    """The outputs of commands in the documents are those printed."""
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    compare = doctest.OutputChecker().check_output
    for line, block in blocks(page, "console"):
        for command, wanted in commands(block):
            if command.startswith(("make", "pip", "git")):
                continue  # installing is what the continuous integration itself does
            printed = run(command, tmp_path)
            assert compare(wanted, printed, OPTIONS), f"{page.name}:{line}: {command}\n{printed}"
