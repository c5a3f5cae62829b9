"""The suite for other people's environments and rules: it accepts ours, and finds what is wrong with others."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

ADAPTERS = '''
from shapes import ShapeEnv
from shapes.rules import rules


class Plain:
    """An environment with nothing but symbols, facts and questions."""

    def __init__(self):
        self.env = ShapeEnv(origin=lambda: None)

    def symbol(self, name, lo=None, hi=None):
        self.env.symbol(name, lo=lo, hi=hi)

    def assume(self, prop):
        self.env.assume(prop)

    def ask(self, prop):
        return type(self.env.ask(prop, effort="fast")).__name__.lower()


class Sloppy(Plain):
    """Believes what is true at the first sizes it sees."""

    def ask(self, prop):
        answer = super().ask(prop)
        return answer if answer in ("always", "never") else True


class Forgetful(Plain):
    """Knows a little less after every question."""

    def ask(self, prop):
        answer = super().ask(prop)
        self.env = ShapeEnv(origin=lambda: None)
        for name in "bsthwca":
            self.env.symbol(name)
        return answer


def cat(env, tensors, dim=0):
    first, *rest = tensors
    return tuple(sum(each[i] for each in tensors) if i == dim % len(first) else size for i, size in enumerate(first))


good = {"cat": rules["cat"]}
bad = {"cat": cat}
'''


def suite(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "others.py").write_text(ADAPTERS)
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "shapes.testing.plugin", "-p", "no:cacheprovider",
        "--import-mode=importlib", "-o", "pythonpath=", "--rootdir", str(folder), "--pyargs",
        "shapes.testing.conformance", "--shape-examples=10", *options,
    ]  # fmt: skip
    path = f"{ROOT}:{folder}"
    return subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": path, "PATH": ""}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("options", "failing"),
    [
        (["--shape-env=others:Plain", "-k", "know or every_point or rollback"], None),
        (["--shape-env=others:Sloppy", "-k", "every_point"], "test_answers_are_true_at_every_point"),
        (["--shape-env=others:Forgetful", "-k", "changes_nothing"], "test_asking_changes_nothing"),
        (["--shape-rules=others:good", "-k", "test_rules"], None),
        (["--shape-rules=others:bad", "-k", "test_rules"], "test_a_rule_agrees_with_the_operator"),
        (["--shape-env=others", "-k", "beyond"], "expected module:name"),
    ],
    ids=lambda value: value[0].partition("=")[2] if isinstance(value, list) else "",
)
def test_the_suite_on_others(tmp_path, options, failing):
    """The suite refuses wrong environments and rules, and accepts right ones."""
    if "test_rules" in options:
        pytest.importorskip("torch")
    done = suite(tmp_path, *options)
    if failing is None:
        assert done.returncode == 0, done.stdout + done.stderr
        assert "passed" in done.stdout
    else:
        assert done.returncode == 1, done.stdout + done.stderr
        assert failing in done.stdout


def test_options_are_documented():
    """The options by which the suite is pointed at something are documented."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "shapes.testing.plugin", "--help"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert all(option in done.stdout for option in ("--shape-env", "--shape-rules", "--shape-examples"))
