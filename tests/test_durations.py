"""What `make quick` leaves out is little, and in no place all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.durations import LONGEST, MEAN, SHARE, cases_within_share, recorded

ROOT = Path(__file__).parent.parent


def test_names_are_those_of_tests() -> None:
    """If it fails, a file was moved, and `make quick` runs all of what is slow in it: `make durations`."""
    gone = {name.partition("::")[0] for name in recorded()} - {
        str(path.relative_to(ROOT)) for folder in ("tests", "solver", "shapes", "backends", "frontends")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert len(gone) <= 5, sorted(gone)


def test_every_package_is_touched() -> None:
    """If it fails, a package can be broken without `make quick` seeing it."""
    left_out = {name for name, seconds in recorded().items() if not cases_within_share(1, *seconds)}
    for folder in (ROOT / "tests").glob("*/**/"):
        kept, of = 0, 0
        for path in folder.glob("test_*.py"):
            names = re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
            of += len(names)
            kept += sum(f"{path.relative_to(ROOT)}::{name}" not in left_out for name in names)
        assert kept >= 0.6 * of or folder.name in ("properties", "typing"), (folder, kept, of)


@pytest.mark.parametrize(
    ("count", "mean", "longest", "chosen"),
    [
        (700, 0.0, 0.0, set(range(700))),  # not recorded
        (4, SHARE / 2, SHARE, {0, 2}),
        (5, SHARE / 100, SHARE, {0, 1, 2, 3, 4}),
        (3, MEAN, LONGEST, {0}),
        (3, 2 * MEAN, 2 * MEAN, set()),
        (300, SHARE / 50, 2 * LONGEST, set()),
    ],
)
def test_cases_are_spread(count: int, mean: float, longest: float, chosen: set[int]) -> None:
    """If it fails, a quick run takes longer than it says, or looks at the first cases only."""
    assert cases_within_share(count, mean, longest) == chosen
