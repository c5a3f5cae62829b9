"""The coverage of a check is returned, and shown by pytest."""

import subprocess
import sys
from pathlib import Path

import pytest

from shapes.testing import check_rule
from shapes.testing.coverage import reports

ROOT = Path(__file__).parents[3]

TESTS = '''
from shapes.testing import check_rule

def halves(env, x):
    env.require(len(x) == 1, "expected one axis")
    return (x[0] // 2,) if x[0] % 2 == 0 else ((x[0] - 1) // 2,)

def doubles(env, x):
    env.require(x[0] >= 0, "negative")
    return (2 * x[0],)

def halved(call):
    return ((call.args[0][0] // 2,),) if len(call.args[0]) == 1 else None

def doubled(call):
    return ((call.args[0][0] * 2,),)

def test_both():
    check_rule(halves, halved)
    check_rule(doubles, doubled)

def test_fails():
    check_rule(halves, doubled)

def test_other():
    pass
'''


def run(folder, *options):
    (folder / "test_rules.py").write_text(TESTS)
    command = [
        sys.executable, "-m", "pytest", "-p", "shapes.testing.plugin", "-p", "no:cacheprovider",
        "--rootdir", str(folder), *options, "test_rules.py",
    ]  # fmt: skip
    return subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT), "PATH": "", "COLUMNS": "400"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def lines(done, word):
    return [line for line in done.stdout.splitlines() if word in line]


def test_pytest_shows_what_was_covered(tmp_path):
    """`-v` shows it beside a passed test, `--rules-report` has a line for each rule; a failure is short."""
    done = run(tmp_path, "-v", "--rules-report")
    assert done.returncode == 1, done.stdout + done.stderr
    (both,) = lines(done, "::test_both")
    assert "PASSED [halves: " in both
    assert "; doubles: " in both
    assert "both sides of 1 of 1 conditions" in both
    (other,) = lines(done, "::test_other")
    assert "[halves" not in other
    section = done.stdout.partition("checked rules")[2].splitlines()
    assert [line.partition(":")[0] for line in section if " calls (" in line] == ["halves", "doubles"]
    # a disagreement shows the call of the check, and no line of the kit
    failure = done.stdout.partition("test_fails __")[2].partition("checked rules")[0]
    assert "check_rule(halves, doubled)" in failure
    assert "The smallest call on which they differ" in failure
    assert "shapes/testing/trying.py" not in failure
    assert len(failure.splitlines()) < 40


@pytest.mark.thorough
def test_nothing_is_shown_unasked(tmp_path):
    """Without options pytest prints what it always does."""
    done = run(tmp_path, "-q", "-k", "both or other")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "halves" not in done.stdout
    assert ".." in done.stdout


def test_a_report_says_what_was_covered():
    """Ranks, sizes, numbers and sides of conditions are those of the calls that were compared."""

    def steps(env, x, step):
        env.require(len(x) == 1, "expected one axis")
        env.require(step > 0, "no step")
        return ((x[0] + step - 1) // step,) if x[0] < 5000 else (-(-x[0] // step),)

    def stepped(call):
        x, step = call.args
        return ((-(-x[0] // step),),) if len(x) == 1 and step > 0 else None

    before = len(reports)
    report = check_rule(steps, stepped)
    assert report.rule == "steps"
    assert report.calls == report.accepted + report.refused
    assert report.ranks >= {0, 1, 2}
    assert report.sizes >= {0, 1, 4999, 5000, 2**31}
    assert report.numbers >= {0, 1}
    assert report.conditions["x[0] <= 4999"] == {True, False}
    assert str(report).startswith(f"steps: {report.calls} calls ({report.accepted} accepted")
    assert reports[before:] == [(str(report), report.details())]


def test_one_sided_conditions_are_listed():
    """A condition that no call violated is listed."""

    def sized(env, x):
        return (x[0] if x[0] * x[0] >= 0 else 0,)

    def size(call):
        return ((call.args[0][0],),) if call.args[0] else None

    report = check_rule(sized, size)
    one_sided = [text for text, answers in report.conditions.items() if len(answers) == 1]
    assert len(report.details().splitlines()) == len(one_sided)


@pytest.mark.parametrize("count", [1, 3])
def test_few_examples(count):
    """The report counts no more calls than were wanted."""
    report = check_rule(lambda env, x: tuple(x), lambda call: (tuple(call.args[0]),), examples=count)
    assert report.calls <= count
