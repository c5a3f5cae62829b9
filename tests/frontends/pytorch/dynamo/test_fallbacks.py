"""Programs without a graph run as Python with their reason, and nothing else is said to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters

from frontends.pytorch import compile

no_entries = pytest.fixture(torch._dynamo.reset, autouse=True)


def test_fullgraph_without_operators_runs_as_python() -> None:
    """Fails when a frame that has nothing to compile does by Dynamo's code what Python does otherwise, or when a call
    that has an operator is not compiled."""

    def step(x: torch.Tensor, more: bool) -> object:
        return enumerate([x * 2 if more else x])

    compiled = compile(step, fullgraph=True)
    for _ in range(2):
        result: Any = compiled(torch.ones(3), False)
        assert type(result) is enumerate and next(result)[1].tolist() == [1.0] * 3
    assert [each.reason for each in compiled.fallbacks] == ["no operators on tensors"] and not compiled.graphs
    result = compiled(torch.ones(3), True)
    assert next(result)[1].tolist() == [2.0] * 3 and len(compiled.graphs) == 1


def test_fullgraph_without_operators_has_no_active_error() -> None:
    """Fails when what runs as Python sees the error that ended its capture: a bare `raise` would raise it again."""

    def step(x: torch.Tensor) -> str:
        try:
            raise  # noqa: PLE0704
        except RuntimeError as error:
            return str(error)

    assert compile(step, fullgraph=True)(torch.ones(3)) == step(torch.ones(3)) == "No active exception to reraise"


@pytest.mark.parametrize("name", ["of an operator", "of Python", "of an index"])
def test_a_call_that_raises_is_no_fallback(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Fails when a program's own error is said to make it run as Python, or keeps the next call from being a graph."""
    programs: dict[str, Callable[[torch.Tensor], object]] = {
        "of an operator": lambda x: x.view(-1, 4) * 2,
        "of Python": lambda x: x * [2, 3][x.shape[0] % 4],
        "of an index": lambda x: x[5] * 2,
    }
    compiled = compile(programs[name], dynamic=True)
    for size in (3, 2, 8, 3, 12):
        try:
            expected = programs[name](torch.ones(size))
        except (RuntimeError, IndexError) as error:
            with pytest.raises(type(error)):
                compiled(torch.ones(size))
        else:
            torch.testing.assert_close(compiled(torch.ones(size)), expected)
    assert not compiled.fallbacks and compiled.graphs
    assert not [each for each in caplog.records if each.name == "symshape"]


def test_what_breaks_with_fullgraph_is_no_fallback(caplog: pytest.LogCaptureFixture) -> None:
    """Fails when an error of `fullgraph` is said to run as Python, or when the reason of what does is not Dynamo's."""
    with pytest.raises(Exception, match="tolist"):
        compile(lambda x: x.tolist(), fullgraph=True)(torch.ones(3))
    assert "runs as Python" not in caplog.text
    compiled = compile(lambda x: x.tolist())
    assert compiled(torch.ones(1)) == [1.0]
    assert ["tolist" in each.reason for each in compiled.fallbacks] == [True]


@pytest.mark.parametrize("by", [compile, partial(torch.compile, backend="symshape")])
def test_an_operator_that_raises_is_the_programs_error(by: Callable[..., Callable[..., object]]) -> None:
    """An operator's error has the class that it has in eager and is caught as there; other calls are graphs."""

    def caught(x: torch.Tensor) -> object:
        try:
            return x.view(-1, 5) * 2
        except RuntimeError as error:
            return type(error).__name__, x.sum().item()

    def not_caught(x: torch.Tensor) -> torch.Tensor:
        return x.amax(0) + 1

    def outcome(function: Callable[..., object], size: int) -> str:
        try:
            return repr(function(torch.ones(size, 3)))
        except (RuntimeError, IndexError) as error:
            return type(error).__name__

    for program in (caught, not_caught):
        compiled = by(program)
        before = counters["stats"]["unique_graphs"]
        for size in (4, 5, 0, 6, 0, 10):
            assert outcome(compiled, size) == outcome(program, size)
        assert counters["stats"]["unique_graphs"] - before == 2


def appends(x: torch.Tensor, items: list[torch.Tensor]) -> torch.Tensor:
    items.append(x + 1)
    return x * 2


def branches(x: torch.Tensor, items: list[torch.Tensor]) -> torch.Tensor:
    return x if x.shape[0] == 5 else x * 2


def marks(x: torch.Tensor, items: list[torch.Tensor]) -> torch.Tensor:
    torch._dynamo.mark_dynamic(x, 0)
    return x * 2


ASKED = {
    "side effects": (appends, {"replay_side_effects": False, "side_effect_replay_policy": "error"}, "side effects"),
    "undecided branches": (branches, {}, "Could not guard on data-dependent expression"),
    "forbidden calls": (marks, {}, "forbidden callable"),
}


@pytest.mark.parametrize("name", ASKED)
def test_errors_that_are_asked_for_are_raised(name: str) -> None:
    """Fails when a program runs as Python although a setting of torch's asks for an error, or torch forbids a call."""
    program, settings, said = ASKED[name]
    strict = torch.fx.experimental._config.patch(no_data_dependent_graph_break=program is branches)
    x = torch.ones(5, 2)
    torch._dynamo.decorators.mark_unbacked(x, 0)
    with strict, torch._dynamo.config.patch(settings), pytest.raises((RuntimeError, AssertionError), match=said):
        torch.compile(program, backend="symshape", options={"kernels": "eager"})(x, [])
