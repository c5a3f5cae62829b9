"""The share of graphs in the calls of a compiled function, in operators and in time."""

from __future__ import annotations

import time
from pathlib import Path

import torch
from torch import randn

from frontends.pytorch import Policy, compile
from frontends.pytorch.calls.report import table


def test_a_function_of_one_graph() -> None:
    """Fails when what is in graphs is not counted, or a trace is none of the time."""
    weight = randn(64, 64)

    def program(x):
        for _ in range(20):
            x = torch.tanh(x @ weight)
        return x

    f = compile(program, dynamic=True)
    with f.timed() as first:
        f(randn(256, 64))
    assert (first.calls, first.operators, first.captured) == (1, 40, 40)
    with f.timed() as times:
        for rows in (256, 512, 256):
            f(randn(rows, 64))
    assert (times.calls, times.operators, times.captured, len(f.variants)) == (3, 120, 120, 1)
    assert 0 < times.in_graphs <= times.seconds
    assert first.seconds - first.in_graphs > times.seconds - times.in_graphs, "a trace is in no graph"
    # and no more outside of the block
    f(randn(256, 64))
    assert times.calls == 3


def test_python_between_graphs_is_no_time_of_theirs() -> None:
    """Fails when the time of Python, or of operators that no graph has, counts as captured."""

    def program(x):
        y = x.relu() + 1
        if y.sum() > 0:
            time.sleep(0.02)
        return y.exp() * y

    f = compile(program)
    f(randn(8)), f(randn(8))
    with f.timed() as times:
        for _ in range(3):
            f(randn(8))
    assert times.operators == 3 * 7 and times.captured == 3 * 6
    assert times.seconds > 0.06 and times.share_of_time < 0.5
    (row,) = table([f.report()]).splitlines()[2:]
    assert row.startswith("| program | 2 | 18 | 21 | 86 % | ") and row.endswith(" % |")


def test_what_runs_as_it_is() -> None:
    """Fails when calls without a graph are left out."""

    def unrolled(x):
        for step in range(x.shape[0]):
            x = x * step
        return x

    f = compile(unrolled, dynamic=True, policy=Policy(recompile_limit=1))
    f(randn(2)), f(randn(3))
    with f.timed() as times:
        f(randn(2)), f(randn(4)), f(randn(5))
    assert (times.operators, times.captured) == (2 + 4 + 5, 2)


def test_the_page_has_the_table(tmp_path: Path) -> None:
    """Fails when the page of the report says nothing of the shares."""
    f = compile(lambda x: x + 1)
    with f.timed():
        f(randn(3))
    f.report().save(tmp_path / "report.html")
    assert "| share captured | share of time |" in (tmp_path / "report.html").read_text()
    assert "| 100 % |" in f.report().text()
