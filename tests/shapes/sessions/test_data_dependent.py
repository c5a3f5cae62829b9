"""Recorded programs whose sizes come from data, against the labels of z3 and of sampled assignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from shapes.sessions.recording import open_recording, read_sessions
from shapes.sessions.replay import replay_session

RECORDED = sorted((Path(__file__).parents[3] / "benchmarks" / "corpus" / "data-dependent").glob("*.jsonl.gz"))

def judge(files: Iterable[Path]) -> dict[str, Counter[str]]:
    """The comparison of each file's answers with the labels that are known."""
    found: dict[str, Counter[str]] = {}
    for path in files:
        tally = found[path.name] = Counter()
        with open_recording(path) as file:
            for session in read_sessions(file, labels=True):
                for answer in replay_session(session.lines, solvers=False, decimals=session.decimals).answers:
                    truth = session.labels[answer.line]
                    if truth != "unknown":
                        outcome = "open" if answer.verdict == "gave_up" else "wrong"
                        tally["right" if answer.verdict == truth else outcome] += 1
    return found


def test_all_of_them_are_there() -> None:
    """The corpus has all of its programs."""
    assert len(RECORDED) == 242


TWICE = {path.name.removeprefix("own-") for path in RECORDED if path.name.startswith("own-")}
"""Programs recorded from our own tracer too, most of whose recordings from torch are longer."""
LONG = [path for path in RECORDED if path.name.removeprefix("unbacked-") in TWICE]


@pytest.mark.parametrize(
    "files",
    [
        pytest.param([path for path in RECORDED if path not in LONG], id="quick"),
        pytest.param(LONG, id="long", marks=pytest.mark.thorough),
    ],
)
def test_none_is_wrong_and_nearly_all_are_decided(files: list[Path]) -> None:
    """No answer contradicts its label, and clamps, ceiling quotients and products of data-dependent sizes are decided.
    """
    judged = judge(files)
    assert not {name: tally["wrong"] for name, tally in judged.items() if tally["wrong"]}
    total = sum(judged.values(), Counter())
    assert total["right"] >= 0.998 * (total["right"] + total["open"])
    left = {name: tally["open"] for name, tally in judged.items() if tally["open"] > max(1, 0.015 * tally["right"])}
    assert not left
