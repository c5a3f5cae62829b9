"""Decisions are made before code is printed, and nothing is changed after it is decided."""

from dataclasses import FrozenInstanceError

import pytest

from backends.cpu.emission.functions import file_source, printed
from backends.cpu.emission.plan import plan
from backends.decisions.questions import Decisions
from backends.loops.kernels import Kernel
from backends.loops.schedule import schedule
from tests.backends.programs import CASES


def kernels_of(case):
    program = case.program()
    steps = schedule(program, interchanges=True)
    return [step for step in steps if isinstance(step, Kernel)], program.decisions


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_question_is_asked_while_code_is_printed(case, monkeypatch):
    """The log of a kernel, and the guards that it would want, depend on how its text is written."""
    kernels, decisions = kernels_of(case)
    expected = file_source(kernels, decisions)
    plans = [plan(kernel, decisions) for kernel in kernels]

    def asked(*_, **__):
        raise AssertionError("a question is asked while code is printed")

    for name in ("holds", "same", "equal", "is_one", "sooner", "number"):
        monkeypatch.setattr(Decisions, name, asked)
    assert printed(plans) == expected


def test_kernels_and_plans_are_values():
    """A finished kernel is changed, and what was decided about it is no longer true."""
    (kernel, *_), decisions = kernels_of(CASES[0])
    planned = plan(kernel, decisions)
    for value, name in ((kernel, "interleaved"), (planned, "forms"), (planned.forms[0], "passes")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, None)
