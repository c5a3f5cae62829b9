"""The gate on benchmarks: which figures it compares, and what it calls worse."""

from pathlib import Path

import pytest

from benchmarks.check import Cell, Regression, ratios, recorded_sections, worse

RECORDED = """
| model | first call, s | dynamic's | ratio | / dynamic | worst | / eager | worst | gain |
|---|---:|---:|---:|---:|---:|---:|---:|---|
| gpt2 | 1.1 | 21.4 | 0.053 | 0.46 | 0.69 | 0.24 | 0.48 | x5.4 |
"""
SPEED = Cell(0, "gpt2", "x ours", 0)
TIME = Cell(0, "gpt2", "/ eager", 0)


def test_only_ratios_are_compared() -> None:
    """Only ratios are compared, not the seconds of different machines."""
    found = ratios(RECORDED)
    assert {cell.column: value for cell, value in found.items()} == {
        "ratio": 0.053, "/ dynamic": 0.46, "/ eager": 0.24, "gain": 5.4
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "before", "runs", "is_worse"),
    [
        (TIME, 1.0, (1.3, 1.4), True),
        (TIME, 1.0, (1.1, 1.4), False),  # one run within the margin: the other was disturbed
        (TIME, 1.0, (0.5, 0.4), False),
        (SPEED, 50.0, (30.0, 35.0), True),
        (SPEED, 50.0, (30.0, 45.0), False),
        (SPEED, 50.0, (90.0, 95.0), False),
        (SPEED, 50.0, (), False),
    ],
)
def test_worse_is_beyond_the_noise(cell: Cell, before: float, runs: tuple[float, ...], is_worse: bool) -> None:
    """The gate is red for changes beyond the noise only: of ratios that count how often a baseline takes our time,
    smaller is worse.
    """
    found = worse({cell: before}, [{cell: run} for run in runs], margin=0.25)
    assert [each.cell for each in found] == [cell] * is_worse


def test_the_median_is_told() -> None:
    assert worse({TIME: 1.0}, [{TIME: 3.0}, {TIME: 2.0}, {TIME: 4.0}], margin=0.25) == [Regression(TIME, 1.0, 3.0)]


def test_sections_name_commands_that_exist() -> None:
    """The sections of `make bench-check` name existing benchmarks, whose ratios are recorded."""
    sections = recorded_sections()
    root = Path(__file__).parents[2]
    assert len(sections) > 20
    for command, _ in sections.values():
        module = root.joinpath(*command[0].split("."))
        assert module.with_suffix(".py").exists() or (module / "__main__.py").exists(), command
    assert sum(bool(ratios(body)) for _, body in sections.values()) > 15
