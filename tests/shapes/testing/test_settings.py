"""Seeds, Hypothesis' profiles, its database and its options apply to checks of rules."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase

from shapes.testing import Call, Input, check_rule
from shapes.testing.checking import RuleDisagrees

ROOT = Path(__file__).parents[3]


def halves(env, x):
    env.require(len(x) == 1, "expected one axis")
    return (x[0] // 2,)


def recorded(seen):
    """A reference of `halves` that keeps its calls."""

    def halved(call):
        seen.append(repr(call))
        (x,) = call.args
        return ((x[0] // 2,),) if len(x) == 1 else None

    return halved


def calls_of(**options):
    seen = []
    check_rule(halves, recorded(seen), examples=60, **options)
    return seen


@pytest.fixture
def profile():
    """A function that loads a profile of Hypothesis'; the one before is loaded again after the test."""
    before = settings.get_current_profile_name()

    def load(**options):
        settings.register_profile("of this test", **options)
        settings.load_profile("of this test")

    yield load
    settings.load_profile(before)


def test_a_seed_chooses_the_random_calls(profile):
    """Checks of one seed make the same calls, those of another make others; the directed ones are always the same."""
    profile(database=None, deadline=None)
    first, again, other = [calls_of(seed=seed) for seed in (1, 1, 2)]
    assert first == again
    assert first != other
    assert first[:30] == other[:30]


def test_a_profile_without_randomness(profile):
    """With `derandomize` all calls are the same."""
    profile(derandomize=True, deadline=None)
    assert calls_of() == calls_of()


@pytest.mark.parametrize("examples", [20, 80])
def test_a_profile_says_how_many_calls(profile, examples):
    """The number of examples is that of the profile, unless the check says another."""
    profile(max_examples=examples, database=None, deadline=None)
    report = check_rule(halves, recorded([]))
    assert 0 < report.calls + report.untested <= examples
    more = check_rule(halves, recorded([]), examples=100)
    assert examples < more.calls + more.untested <= 100


def test_the_database_keeps_what_failed(profile):
    """A call that failed is tried first the next time."""
    profile(database=InMemoryExampleDatabase(), derandomize=False, deadline=None)
    sizes = st.integers(0, 100).map(lambda size: Call((Input((size,)),)))
    tries = []

    def wrong(env, x):
        return (x[0] // 2 + (x[0] > 0),)

    for _ in range(2):
        seen = []
        with pytest.raises(RuleDisagrees) as raised:
            check_rule(wrong, recorded(seen), calls=sizes)
        assert raised.value.disagreement.call.args == ((1,),)
        tries.append(seen)
    kept = repr(Call((Input((1,)),)))
    assert tries[0][0] != kept
    assert tries[1][0] == kept


TEST = '''
from pathlib import Path
from hypothesis import settings
from shapes.testing import check_rule
settings.register_profile("few", max_examples=60, database=None)
settings.load_profile("few")
seen = []
def halves(env, x):
    return (x[0] // 2,)
def halved(call):
    seen.append(repr(call))
    return ((call.args[0][0] // 2,),) if len(call.args[0]) == 1 else ((call.args[0][0] // 2,),)
def test_it():
    check_rule(halves, halved)
    Path("calls").write_text(chr(10).join(seen))
'''


@pytest.mark.thorough
def test_the_seed_of_the_command_line(tmp_path):
    """`--hypothesis-seed` chooses the random calls."""
    (tmp_path / "test_it.py").write_text(TEST)
    found = []
    for seed in (1, 1, 2):
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path),
            f"--hypothesis-seed={seed}", "test_it.py",
        ]  # fmt: skip
        env = {"PYTHONPATH": str(ROOT), "PATH": ""}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        found.append((tmp_path / "calls").read_text())
    assert found[0] == found[1]
    assert found[0] != found[2]
