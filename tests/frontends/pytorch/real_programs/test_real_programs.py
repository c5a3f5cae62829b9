"""Programs as people write them: equal to eager torch, and in graphs as `docs/programs.md` says."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from tests.frontends.pytorch.real_programs.page import LISTED, PAGE, TORCHS, is_as_good, rows
from tests.frontends.pytorch.real_programs.running import (
    CASES,
    KINDS,
    Case,
    Outcome,
    by_dynamo,
    compared,
    is_torchs,
    ours,
)

ROWS = rows(PAGE.read_text())
LIGHT = ("counts its calls", "a list of losses", "a step of Adam")
"""The programs of which `make quick` runs one."""
QUICK = (
    "a recurrent state on a module", "a growing cache of an object",
    "a queue of keys", "prints a loss", "running statistics", "dropout", "training and evaluation in turns",
    "spectral norm", "parameters frozen between calls", "hooks of modules", "a loss compiled",
    "gradients accumulated", "a scaler", "activation checkpointing with dropout", "a gradient penalty",
    "gradients by sample", "cond that learns", "greedy gpt2",
)  # fmt: skip
"""The programs that take part in each run, and every fifth of the small ones; `make thorough` looks at all small ones.
Whole models, and programs by `torch.compile`, take an hour: these are run when the page is written
(`python -m tests.frontends.pytorch.real_programs.page`)."""
SMALL = [name for name in LISTED if CASES[name].is_small]
QUICK_BY_DYNAMO = (
    "a recurrent state on a module", "activation checkpointing with dropout", "a step of SGD",
    "jvp in what is compiled", "a scaler", "cond",
)  # fmt: skip


def marked(quick: tuple[str, ...]) -> list[object]:
    always = {*quick, *SMALL[::5]}
    names = [name for name in LISTED if name not in LIGHT and (name in always or CASES[name].is_small)]
    return [pytest.param(name, marks=() if name in always else pytest.mark.thorough) for name in names]


@pytest.mark.parametrize("name", LIGHT)
def test_light_ones_by_compile(name: str) -> None:
    """As `test_by_compile`, for light programs."""
    by_compile(name)


@pytest.mark.parametrize("name", marked(QUICK))
def test_by_compile(name: str) -> None:
    """A compiled program does what it does in Python, and keeps the graphs that it had."""
    by_compile(name)


def by_compile(name: str) -> None:
    found = ours(CASES[name])
    assert found.wrong == ()
    assert is_as_good(found, ROWS[name][1]), f"{found.text}, where the page says {ROWS[name][1]}"


@pytest.mark.parametrize("name", QUICK_BY_DYNAMO)
def test_by_torch_compile(name: str) -> None:
    """Our backend of `torch.compile` is right where torch's own is, and runs no less in graphs."""
    said = ROWS[name][2]
    if said == TORCHS:
        assert is_torchs(CASES[name]), "torch is right by now: write the row anew"
        return
    found = by_dynamo(CASES[name])
    assert found.wrong == ()
    assert is_as_good(found, said), f"{found.text}, where the page says {said}"


def test_the_page_lists_them() -> None:
    """The page lists every program, and nothing else."""
    assert list(ROWS) == LISTED and len(ROWS) >= 40 and len(SMALL) >= 200
    for name, (feature, *said) in ROWS.items():
        assert feature == CASES[name].feature
        assert all(each == TORCHS or each.partition(", ")[0] in KINDS for each in said), name
    assert {*LIGHT, *QUICK} <= set(CASES) and set(QUICK_BY_DYNAMO) <= set(CASES)


def test_what_is_raised_drawn_and_printed_is_compared() -> None:
    """A difference in errors, random numbers, printed text or results is noticed."""
    wrongs: list[tuple[Callable[[int], object], str]] = [
        (lambda size: 1 / 0, "raises"),
        (lambda size: random.random(), "random numbers"),
        (lambda size: np.random.rand(), "random numbers"),
        (lambda size: torch.rand(3), "random numbers"),
        (lambda size: print("so"), "prints"),
        (lambda size: torch.ones(3, dtype=torch.int32), "float32"),
    ]
    for wrong, said in wrongs:
        case = Case("", "", lambda compiling, wrong=wrong: (compiling(lambda size: torch.zeros(3)), lambda: None))
        assert compared(case, lambda fn: fn) == ()
        assert any(said in text for text in compared(case, lambda fn, wrong=wrong: wrong)), said


def test_a_worse_run_is_told() -> None:
    """The comparison with the page notices a worse run."""
    assert is_as_good(Outcome((), "graphs", 2), "graphs, 2") and is_as_good(Outcome((), "graphs", 9), "breaks, 2")
    assert not is_as_good(Outcome((), "graphs", 3), "graphs, 2")
    assert not is_as_good(Outcome((), "eager", 0), "breaks, 2")
