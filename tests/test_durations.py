"""The selection of `make quick` leaves out little, and in no place all; no test depends on how busy the machine is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.durations import LONGEST, MEAN, SHARE, cases_within_share, recorded, updated
from tests.effort import processor_seconds

ROOT = Path(__file__).parent.parent


def test_names_are_those_of_tests() -> None:
    """The names in the recorded durations are those of tests; `make durations` renews them."""
    gone = {name.partition("::")[0] for name in recorded()} - {
        str(path.relative_to(ROOT)) for folder in ("tests", "solver", "shapes", "backends", "frontends", "symshape")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert len(gone) <= 5, sorted(gone)


def test_every_package_is_touched() -> None:
    """`make quick` touches every package."""
    left_out = {name for name, seconds in recorded().items() if not cases_within_share(1, *seconds)}
    for folder in (ROOT / "tests").glob("*/*/"):
        kept, of = 0, 0
        for path in folder.rglob("test_*.py"):
            names = re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
            of += len(names)
            kept += sum(f"{path.relative_to(ROOT)}::{name}" not in left_out for name in names)
        assert kept >= of / 3 or folder.name in ("properties", "typing"), (folder, kept, of)


@pytest.mark.parametrize(
    ("count", "mean", "longest", "chosen"),
    [
        (700, 0.0, 0.0, set(range(700))),  # not recorded
        (4, SHARE / 2, SHARE, {0, 2}),
        (5, SHARE / 100, SHARE, {0, 1, 2, 3, 4}),
        (3, MEAN, LONGEST, {0}),
        (3, 2 * MEAN, 2 * MEAN, set()),
        (300, SHARE / 50, 2 * LONGEST, set()),
        (300, 2 * SHARE, 2 * LONGEST, set(range(0, 300, 20))),
        (100, 2 * MEAN, 2 * LONGEST, {0, 20, 40, 60, 80}),
    ],
)
def test_cases_are_spread(count: int, mean: float, longest: float, chosen: set[int]) -> None:
    """A quick run spreads over the cases, and takes no longer than it says."""
    assert cases_within_share(count, mean, longest) == chosen


def test_what_is_not_run_stays_recorded() -> None:
    """Durations of tests that are not run stay recorded."""
    here = "tests/test_durations.py"
    known = {f"{here}::slow": (1.0, 2.0), f"{here}::faster": (1.0, 1.0), "tests/test_gone.py::gone": (1.0, 1.0)}
    measured = {f"{here}::faster": {"a": SHARE / 2}, f"{here}::new": {"a": SHARE, "b": 3 * SHARE}}
    assert updated(known, measured) == {f"{here}::slow": (1.0, 2.0), f"{here}::new": (2 * SHARE, 3 * SHARE)}


def test_no_test_is_measured_by_the_clock() -> None:
    """No test is measured by the clock: `tests/effort.py` counts the processor's seconds, and a limit that only guards
    against a hang is of minutes.
    """
    wrong = []
    for path in (ROOT / "tests").rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            limits = re.findall(r"""(?:\btimeout|\btlimit-per)["']?\s*[=(,]\s*["']?(\d+)""", line)
            if any(int(limit) < 300 for limit in limits) or re.search(r"assert .*\w+_?(?:time|counter)\(\) -", line):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not wrong, "\n".join(wrong)


def test_what_takes_too_much_of_the_processor_fails() -> None:
    """A test that takes too much of the processor fails."""
    with processor_seconds(100):
        pass
    with pytest.raises(AssertionError, match=r"takes more than 0\.05 seconds"), processor_seconds(0.05):
        while True:
            pass
    # its exception is caught on the way
    with pytest.raises(AssertionError, match=r"took more than 0\.05 seconds"), processor_seconds(0.05):
        try:
            while True:
                pass
        except AssertionError:
            pass
