"""Recorded programs whose sizes come from data, against the labels of z3 and of sampled assignments."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from shapes.recording import open_recording, read_sessions
from shapes.replay import replay_session

RECORDED = sorted((Path(__file__).parents[2] / "benchmarks" / "corpus" / "data-dependent").glob("*.jsonl.gz"))


def judge() -> dict[str, Counter[str]]:
    """How the answers of each file compare with the labels that are known."""
    found: dict[str, Counter[str]] = {}
    for path in RECORDED:
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
    """If it fails, the figures below are about other programs."""
    assert len(RECORDED) == 65


def test_none_is_wrong_and_nearly_all_are_decided() -> None:
    """If it fails, the engine is unsound, or a label is; or clamps, ceiling quotients or products of sizes that depend
    on data are left open again."""
    judged = judge()
    assert not {name: tally["wrong"] for name, tally in judged.items() if tally["wrong"]}
    total = sum(judged.values(), Counter())
    assert total["right"] >= 0.999 * (total["right"] + total["open"])
    assert not [name for name, tally in judged.items() if tally["right"] < 0.985 * (tally["right"] + tally["open"])]
