"""A program that can not be one graph runs as in Python, by Dynamo or with graph breaks, whatever changes around it."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch._C._dynamo.eval_frame import set_eval_frame
from torch.utils._pytree import tree_leaves

from frontends.pytorch import compile
from frontends.pytorch.calls.breaking import Breaking
from frontends.pytorch.dynamo.captured import Captured
from frontends.pytorch.dynamo.trusted import against_code, reason_against
from tests.frontends.pytorch.dynamo.breaking_programs import LOG, PROGRAMS, Made, stays
from tests.frontends.pytorch.dynamo.python_programs import PYTHON

SIZES = ((3, 4), (5, 2), (2, 7), (3, 4), (3, 4), (4, 4))
WITH_BREAKS = frozenset((
    "asserts", "compares_sizes", "largest_of_two", "numpy_in_between", "catches", "generates", "makes_a_dictionary",
    "rows_changed_in_place", "backward_inside", "a_counter_in_a_closure", "a_list_that_grows",
    "results_that_are_remembered", "a_counter_of_a_module", "raises_of_itself", "prints_sizes_in_columns",
    "prints_sizes_as_numbers", "prints_a_number_in_short", "prints_in_a_loop", "raises", "logs",
))  # fmt: skip
"""What Dynamo is not trusted with."""
LEFT_TO_BREAKS = frozenset((
    "percent_fmt", "percent_fmt_of_name", "str_format", "list_comp", "assert_data", "assert_size", "enable_grad_in",
    "detach_mix", "req_grad", "list_alias", "list_arg_mut_nested", "mask_assign", "stack_rows", "print_order",
    "tensor_in_if_list",
))  # fmt: skip
"""The same of the programs in another file."""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    gradients = torch.is_grad_enabled()
    yield
    torch.set_grad_enabled(gradients)
    torch.compiler.reset()


class Kept(logging.Handler):
    """Keeps messages."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def outcome(function: Callable[..., Any], size: tuple[int, int], seed: int, *, learned: bool) -> list[object]:
    """All that a call does: what it gives, or raises, prints and draws, and what it leaves of its argument."""
    generator = torch.Generator().manual_seed(seed)
    leaf = torch.randn(size, generator=generator).requires_grad_(learned)
    x = leaf * 1 if learned else leaf
    torch.manual_seed(seed)
    handler, returned, raised = Kept(), None, None
    LOG.addHandler(handler)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            returned = function(x)
        except Exception as error:
            raised = type(error).__name__, str(error)
    LOG.removeHandler(handler)
    outputs = [each for each in tree_leaves(returned) if isinstance(each, torch.Tensor) and each.requires_grad]
    gradients: Any = ()
    if outputs and learned:
        # of a complex tensor, the magnitude
        total = sum([(each.abs() if each.is_complex() else each).sum() for each in outputs])
        gradients = torch.autograd.grad(total, leaf, allow_unused=True)
    is_given = [each is x for each in tree_leaves(returned)]
    return [returned, raised, printed.getvalue(), handler.messages, torch.get_rng_state(), x, gradients, is_given]


def same(found: object, expected: object, where: str) -> None:
    ones, others = tree_leaves(found), tree_leaves(expected)
    assert len(ones) == len(others), where
    for one, other in zip(ones, others):
        assert type(one) is type(other), where
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other, msg=lambda text: f"{where}: {text}")
            assert (one.stride(), one.requires_grad) == (other.stride(), other.requires_grad), where
        elif isinstance(other, float):
            assert one == pytest.approx(other, rel=1e-5, abs=1e-6), where
        else:
            assert one == other, where


def state_of(program: object) -> list[object]:
    return list(program.state_dict().values()) if isinstance(program, torch.nn.Module) else []


WAYS = [
    pytest.param("cpu", False, id="cpu-inference"),
    pytest.param("cpu", True, id="cpu-training", marks=pytest.mark.thorough),
    pytest.param("eager", True, id="eager-training", marks=pytest.mark.thorough),
    pytest.param("eager", False, id="eager-inference", marks=pytest.mark.thorough),
]


def compared(expected: Made, given: Made, *, backend: str, learned: bool) -> Breaking | None:
    """What became of a program that is compiled, each of whose calls is compared."""
    (program, change), (function, change_ours) = expected, given
    compiled = compile(function, backend=backend, dynamic=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, size in enumerate(SIZES):
            change(number)
            wanted = outcome(program, size, number, learned=learned)
            change_ours(number)
            found = outcome(compiled, size, number, learned=learned)
            same(found, wanted, f"call {number} at {size}")
            same(state_of(function), state_of(program), f"state after call {number}")
    assert set_eval_frame(None) is None
    return None if compiled.variants else compiled._compilation.broken


@pytest.mark.parametrize(("backend", "learned"), WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eager_torch(name: str, backend: str, learned: bool) -> None:
    """If it fails, a program that breaks does something else than in Python, or forgets what has changed around it."""
    broken = compared(PROGRAMS[name](), PROGRAMS[name](), backend=backend, learned=learned)
    assert broken is None or broken.is_captured == (name not in WITH_BREAKS), broken.way


@pytest.mark.thorough
@pytest.mark.parametrize(("backend", "learned"), [("cpu", False), ("cpu", True), ("eager", True)])
@pytest.mark.parametrize("name", PYTHON)
def test_python_around_breaks(name: str, backend: str, learned: bool) -> None:
    """If it fails, Python between two graphs does something else than in Python."""
    made: Made = PYTHON[name], stays
    broken = compared(made, made, backend=backend, learned=learned)
    assert broken is None or name not in LEFT_TO_BREAKS or not broken.is_captured or broken.way.refused


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_what_is_told_of_it(backend: str) -> None:
    """If it fails, one does not see where a program breaks, or how often, as one does of any other."""

    def run(x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x) * 2
        if y.sum() > 0:
            y = y + 1
        return y.exp()

    compiled = compile(run, backend=backend, dynamic=True)
    assert compiled._compilation.broken is None
    with compiled.timed() as times:
        for rows in (2, 3, 4):
            compiled(torch.ones(rows, 7))
    broken = compiled._compilation.broken
    assert broken is not None and broken.is_captured and len(broken.graphs) == 2
    assert [(each.times, each.cause, each.operators_before) for each in broken.breaks] == [(3, "branch", 12)]
    assert (times.calls, times.captured, times.operators) == (3, 18, 21) and times.in_graphs > 0
    report = compiled.report()
    assert (report.graphs, report.captured, report.operators) == (2, 18, 21)
    assert "cannot decide" in compiled.explain()
    assert "3 x branch" in compiled.explain() and "test_captured.py" in report.breaks
    assert len(report.stretches) == (0 if backend == "eager" else 2)


def test_what_is_not_trusted_is_told_in_advance() -> None:
    """If it fails, Dynamo is given code that it was seen to do otherwise."""
    made = {name: make()[0] for name, make in PROGRAMS.items()}
    codes = {name: each.__code__ for name, each in made.items() if not isinstance(each, torch.nn.Module)}
    trusted = [name for name, code in codes.items() if against_code(code) == ""]
    named = {"largest_of_two", "generates", "results_that_are_remembered"}
    assert set(trusted) & WITH_BREAKS <= {"raises_of_itself", *named}
    assert all(reason_against([codes[name]]) for name in named)
    assert {"branches", "loops", "prints", "draws", "calls_others"} <= set(trusted)


def test_an_error_within_dynamo_is_no_error_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, what Dynamo can not do ends the call, or its hook of the interpreter stays."""

    def run(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x

    captured = Captured(run, backend="eager")

    def fails(module: torch.fx.GraphModule, inputs: object) -> Any:
        raise KeyError("no such thing")

    monkeypatch.setattr(captured, "_compiled", fails)
    assert captured.run((torch.ones(2),), {}).tolist() == [2.0, 2.0]
    assert "no such thing" in captured.refused and captured.call is None
    assert set_eval_frame(None) is None
