"""The page of operators is what the rules say; if it fails, run `python -m shapes.rules > docs/reference/rules.md`."""

import subprocess
import sys
from pathlib import Path

from shapes.rules import rules
from shapes.rules.reference import arguments_text, depends_on_data, ours, page

ROOT = Path(__file__).parent.parent.parent.parent
PAGE = ROOT / "docs" / "reference" / "rules.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page()


def test_there_are_enough_of_them_and_each_says_what_its_sizes_are() -> None:
    found = list(ours())
    assert len(found) >= 180
    assert [rule.name for rule in found if not rule.__doc__] == []


def test_what_depends_on_data_is_marked() -> None:
    data = {rule.name for rule in ours() if depends_on_data(rule)}
    assert data >= {"nonzero", "masked_select", "unique", "repeat_interleave", "bincount", "index", "all_to_all_single"}
    assert not data & {"conv2d", "reshape", "cat", "add", "topk"}


def test_a_rule_can_be_looked_up() -> None:
    def run(*names: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "shapes.rules", *names]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    shown = run("conv2d", "nonzero")
    assert shown.stdout.startswith(f"conv2d({arguments_text(rules['conv2d'])}), in shapes/rules/convolution.py\n")
    assert "\nnonzero(" in shown.stdout
    assert run("no_such").returncode == 1
