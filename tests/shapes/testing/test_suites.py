"""A suite of any framework's operators is run with checks, by an observer of that framework."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shapes.errors import ShapeError
from shapes.rules.registry import Rule
from shapes.testing import Call, Input
from shapes.testing.suites import Operation, failures, observer

ROOT = Path(__file__).parents[3]

FRAMEWORK = '''
from contextlib import contextmanager
from shapes.rules.registry import Rule
from shapes.testing import Call, Input
from shapes.testing.suites import Operation

CALLS = []

def positive(size):
    def check():
        if size == 0:
            raise ValueError("empty")
    return check

def halve(size):
    rule = Rule("halve", lambda env, x: (x[0] // 2,))
    CALLS.append(Operation("my::halve", Call((Input((size,)),)), (((size + 1) // 2,),), rule, {"size": positive(size)}))

@contextmanager
def observing(namespaces):
    assert list(namespaces) == ["my"]
    CALLS.clear()
    yield CALLS
'''

TESTS = '''
from framework import halve

def test_even():
    halve(4)
    halve(6)

def test_odd():
    halve(5)

def test_empty():
    halve(0)

def test_nothing():
    pass
'''


def run(folder, *options):
    (folder / "framework.py").write_text(FRAMEWORK)
    (folder / "test_mine.py").write_text(TESTS)
    command = [
        sys.executable, "-m", "pytest", "-v", "-p", "shapes.testing.plugin", "-p", "no:cacheprovider",
        "--rootdir", str(folder), "--operators", "my", *options, "test_mine.py",
    ]  # fmt: skip
    path = os.pathsep.join([str(ROOT), str(folder)])
    return subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": path, "PATH": ""}, capture_output=True, text=True, check=False
    )


def test_an_observer_of_another_framework(tmp_path):
    """Tests fail where a check of an operator fails; the summary counts the tests."""
    done = run(tmp_path, "--operators-by", "framework:observing")
    assert done.returncode == 1, done.stdout + done.stderr
    passed = [line.partition(" ")[0] for line in done.stdout.splitlines() if " PASSED" in line]
    assert passed == ["test_mine.py::test_even", "test_mine.py::test_nothing"]
    assert "shape rule: halve(Input((5,))): the operator gives ((3,),)" in done.stdout
    assert "size: my::halve(Input((0,))): ValueError: empty" in done.stdout
    assert "my::halve: in 3 tests" in done.stdout.partition("checked operators")[2]


def test_every_check_is_made():
    """A failed check does not hide the next one."""

    def fails():
        raise ValueError("no")

    def halve(env, x):
        return (x[0] // 2,)

    call = Call((Input((3,)),))
    made = Operation("halve", call, ((2,),), Rule("halve", halve), {"one": fails, "two": lambda: None, "three": fails})
    assert [line.partition(":")[0] for line in failures([made])] == ["shape rule", "one", "three"]


@pytest.mark.parametrize("named", ["no_such_module:observing", "math:observing", "math", ""])
def test_an_unknown_observer_is_an_error(named):
    """The error says what an observer is."""
    with pytest.raises(ShapeError, match="--operators-by MODULE:FUNCTION"):
        observer(named)
