"""The generated parts of docs/architecture.md are those of the tree."""

import json
import os
import subprocess
import sys

import pytest

from tests.architecture import PAGE
from tests.walk import EXAMPLES, ROOT, VALUES

PURE = {**os.environ, "SYMSHAPE_PURE": "1"}
WALKS = """
import json
from tests.walk import EXAMPLES, walk_of
walks = [walk_of(question, assumed, "a b s") for question, assumed in EXAMPLES]
print(json.dumps([(walk.packages, sorted(walk.reentered)) for walk in walks]))
"""


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=PURE, capture_output=True, text=True, check=True)
    return done.stdout


def test_drawings_and_walks_are_up_to_date() -> None:
    """The drawings of imports and walks are up to date: else run `python -m tests.architecture --write`."""
    assert run("-m", "tests.architecture").rstrip("\n") == PAGE.read_text().rstrip("\n")


def test_a_question_enters_few_packages_and_none_twice() -> None:
    """The way from `ask` to the verdict enters few packages, each once, as docs/architecture.md says."""
    walks = json.loads(run("-c", WALKS))
    assert len(walks) == len(EXAMPLES)
    for packages, reentered in walks:
        solver = [each for each in packages if each.startswith("solver/")]
        assert packages[:2] == ["shapes", "shapes/environment"]
        assert 3 <= len({*packages} - {VALUES}) <= 8 and packages == [*packages[:2], *solver]
        assert not reentered


@pytest.mark.parametrize(("question", "verdict"), [("b*s % 64 == 0", "Depends"), ("b*s % 16 == 0", "Always")])
def test_the_walk_of_one_question(question: str, verdict: str) -> None:
    """The command that shows a walk works."""
    lines = run("-m", "tests.walk", question, "--assume", "s % 16 == 0").splitlines()
    assert lines[0].startswith(verdict) and "solver/decide" in lines
