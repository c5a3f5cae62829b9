"""Limits of recompilation hold on every route."""

from __future__ import annotations

import logging

import pytest
import torch

from frontends.pytorch import Policy, report
from tests.frontends.pytorch.dynamo.routes import ROUTES, Route, agrees, double, pinned, routes

route = pytest.fixture(routes, params=ROUTES)
COUNT = 2


def repeated(x: torch.Tensor) -> torch.Tensor:
    return x.repeat(COUNT)


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_the_same_question_is_answered_a_limited_number_of_times(
    route: Route, limit: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Fails when a size that becomes a constant is compiled for every new value, or results differ past the limit."""
    compiled = route(pinned, dynamic=True, policy=Policy(recompile_limit=limit))
    with caplog.at_level(logging.WARNING, "symshape"):
        for rows in (2, 3, 4, 5, 6, 7, 8, 2, 3, 9):
            agrees(compiled, pinned, torch.ones(rows, 2))
    assert len(route.graphs) == limit + 1
    told = [each.getMessage() for each in caplog.records if each.name == "symshape"]
    assert len(told) == 1 and f"{limit} recompilations for the same question" in told[0]


def test_a_length_is_asked_about_as_often_as_by_torch(route: Route) -> None:
    """Fails when a list that grows is given up sooner than torch does, or compiled for forever."""
    kept: list[torch.Tensor] = []

    def step(x: torch.Tensor) -> torch.Tensor:
        kept.append(x)
        return x * len(kept)

    compiled = route(step, dynamic=True)
    for number in range(1, 13):
        assert compiled(torch.ones(2)).tolist() == [number, number]
    # torch stops at its own number of graphs
    assert 8 <= len(route.graphs) <= 10


def test_other_sizes_stay_dynamic_at_the_limit(route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when a pinned size takes the others with it: each new size is another graph, or known ones run without."""
    # threads that compile at once may leave torch's flag on
    monkeypatch.setattr(torch.compiler, "_is_compiling_flag", False)

    def program(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, bool]:
        return pinned(x).sum() + y, torch.compiler.is_compiling()

    def in_graph(rows: int, *others: int) -> bool:
        x, y = torch.ones(rows, others[0]), torch.ones(others[1])
        found, compiling = compiled(x, y)
        torch.testing.assert_close(found, pinned(x).sum() + y)
        return bool(compiling)

    compiled = route(program, dynamic=True, policy=Policy(recompile_limit=2))
    assert [in_graph(rows, rows + 1, rows + 2) for rows in (2, 3, 4, 5, 6)] == [True, True, True, False, False]
    assert all(in_graph(2 + rows % 3, rows, rows + 7) for rows in range(2, 30))
    assert len(route.sizes) == 3


def test_the_number_of_variants_is_limited(route: Route) -> None:
    """Fails when a program is compiled for more often than its policy allows, for different questions too."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return pinned(x) + pinned(x.t()).t()

    compiled = route(program, dynamic=True, policy=Policy(recompile_limit=9, variants=3))
    for rows in range(2, 9):
        agrees(compiled, program, torch.ones(rows, 10 - rows))
    assert len(route.sizes) == 3


def test_limits_hold_behind_a_graph_break(route: Route, caplog: pytest.LogCaptureFixture) -> None:
    """Fails when the rest of a function is compiled for every constant, or its eager calls are wrong or not noted."""

    def program(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        print(end="")
        return pinned(y)

    compiled = route(program, dynamic=True, policy=Policy(recompile_limit=2))
    with caplog.at_level(logging.WARNING, "symshape"):
        for rows in (2, 3, 4, 5, 6, 7, 3, 8):
            agrees(compiled, program, torch.ones(rows, 2))
    # one before the break
    assert len(route.graphs) == 4
    assert ["2 recompilations for the same question" in each.getMessage() for each in caplog.records] == [True]


def test_a_global_number_is_a_symbol_once_it_has_changed(route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when an integer that is no argument is compiled for with each value, until the limit."""
    monkeypatch.setitem(globals(), "COUNT", 2)
    compiled = route(repeated)
    for number in (2, 3, 5, 8, 13):
        monkeypatch.setitem(globals(), "COUNT", number)
        agrees(compiled, repeated, torch.ones(3))
    assert len(route.graphs) == 2


def test_wrong_arguments_are_no_question(route: Route) -> None:
    """Fails when calls that raise a TypeError count as recompilations, and other calls run eagerly for them."""
    compiled = route(double, dynamic=True, policy=Policy(recompile_limit=1))
    agrees(compiled, double, torch.ones(3))
    for _ in range(4):
        with pytest.raises(TypeError, match="argument"):
            compiled()
        with pytest.raises(TypeError, match="argument"):
            compiled(torch.ones(3), 2)
    assert not report(compiled).fallbacks


def test_a_value_of_the_middle_is_a_break_and_not_a_guard(route: Route) -> None:
    """Fails when a branch on data is dropped or taken as it was at first, or each value costs a graph."""

    def program(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return y + 1 if y.sum() > 0 else y - 1

    compiled = route(program, dynamic=True)
    for rows, sign in ((3, 1), (4, -1), (5, 1), (1, -1), (9, 1), (9, -1)):
        agrees(compiled, program, sign * torch.ones(rows))
    assert route.sizes == ["?", "?", "?"]
