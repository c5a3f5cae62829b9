"""The duration of each test, and by that the tests that `make quick` runs.

    HYPOTHESIS_PROFILE=quick python -m pytest --quick    # a twentieth: of a second, or of what a function takes
    python -m pytest --record-durations [FILES]          # measures anew, and writes that to durations.txt

A function whose cases together take less than a twentieth of a second runs whole, as does one that is not recorded yet.
Of a longer one run as many cases, spread evenly, as fit into that or into a twentieth of all its cases: a table of
hundreds of programs reaches more of the packages than many functions of one case. It is left out where a case takes
0.15 seconds in the mean, or one takes 0.6, and more than that share. A search looks at fewer examples
(`tests/effort.py`). Seconds are of the processor, with those of processes that a test starts: they do not depend on
what else the machine does.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.effort import QUICK

ROOT: Final = Path(__file__).parents[1]
RECORDED: Final = Path(__file__).with_suffix(".txt")
SHARE: Final = 0.05
"""The seconds of a test function in a quick run, and the part of the time of all its cases, if that is more."""
MEAN: Final = 0.15
LONGEST: Final = 0.6
"""Seconds of a case from which on a quick run leaves the function out, in the mean and for one case."""
HEADER: Final = "# Seconds of the processor: of a case in the mean, of the longest; where all take more than a share.\n"
PROPERTY: Final = "seconds"

Rows = dict[str, tuple[float, float]]

_begun: Final = [0.0]
"""The processor time used when the running test began."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="a twentieth of every test function, or of a second")
    parser.addoption("--record-durations", action="store_true", help=f"write what is run to {RECORDED.name}")


def function_of(name: str) -> str:
    """A test without its case: the unit that is recorded."""
    return name.partition("[")[0]


def unit_of(item: pytest.Item) -> str:
    """The unit of which a quick run takes a share: a function, or a file whose cases are computed together."""
    return item.nodeid.partition("::")[0] if item.get_closest_marker("shared") else function_of(item.nodeid)


def recorded() -> Rows:
    """Seconds of a case, in the mean and at most, by the function; only those that exceed their share as a whole."""
    rows = [line.split() for line in RECORDED.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {name: (float(mean), float(longest)) for mean, longest, name in rows}


def longest_by_file(seconds: Rows) -> dict[str, float]:
    """The longest case of each file: the first to run also pays for the fixture that computes for all of them."""
    longest: dict[str, float] = {}
    for name, (_, of_a_case) in seconds.items():
        path = name.partition("::")[0]
        longest[path] = max(longest.get(path, 0.0), of_a_case)
    return longest


def cases_within_share(count: int, mean: float, longest: float) -> set[int]:
    """The cases among `count` that run, if each takes this long: the first one, and others spread evenly."""
    share = SHARE * max(1, count * mean)
    if mean > max(MEAN, share) or longest > max(LONGEST, 2 * share):
        return set()
    chosen = min(count, max(1, int(share / mean))) if mean else count
    return {count * place // chosen for place in range(chosen)}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("quick"):
        return
    seconds = recorded()
    counts = Counter(map(unit_of, items))
    longest_of_file = longest_by_file(seconds)
    shared = {
        unit_of(item): (SHARE, longest_of_file.get(unit_of(item), SHARE))
        for item in items
        if item.get_closest_marker("shared")
    }
    searches = {unit_of(item) for item in items if item.get_closest_marker("hypothesis")}
    chosen = {}
    for name, count in counts.items():
        mean, longest = shared.get(name) or seconds.get(name, (0.0, 0.0))
        fewer = QUICK if name in searches else 1
        chosen[name] = cases_within_share(count, mean / fewer, longest / fewer)
    met: Counter[str] = Counter()
    kept, left_out = [], []
    for item in items:
        name = unit_of(item)
        (kept if met[name] in chosen[name] else left_out).append(item)
        met[name] += 1
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def processor_time() -> float:
    """The processor time of this process, and of those that it started and that ended."""
    return sum(os.times()[:4])


def pytest_runtest_logstart() -> None:
    """Before the first fixture of a test is set up."""
    _begun[0] = processor_time()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Add the time of the teardown to the last report of a test, which is made after this."""
    try:
        return (yield)
    finally:
        item.user_properties.append((PROPERTY, processor_time() - _begun[0]))


class Recorder:
    """Collects what all processes of a run report."""

    def __init__(self) -> None:
        self.seconds: dict[str, dict[str, float]] = defaultdict(dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == PROPERTY and isinstance(value, float):
                self.seconds[function_of(report.nodeid)][report.nodeid] = value

    def pytest_sessionfinish(self) -> None:
        RECORDED.write_text(written(updated(recorded(), self.seconds)), encoding="utf-8")


def updated(known: Rows, measured: Mapping[str, Mapping[str, float]]) -> Rows:
    """The records of functions that are still there, and the new durations of those that were measured."""
    there = {name for name in known.keys() - measured.keys() if (ROOT / name.partition("::")[0]).exists()}
    kept = {name: known[name] for name in there}
    for name, cases in measured.items():
        if sum(cases.values()) > SHARE:
            kept[name] = sum(cases.values()) / len(cases), max(cases.values())
    return kept


def written(rows: Rows) -> str:
    return HEADER + "".join(f"{mean:.3f} {longest:.3f} {name}\n" for name, (mean, longest) in sorted(rows.items()))


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("record_durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(), "recorder of durations")
