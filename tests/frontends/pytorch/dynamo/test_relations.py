"""Stated relations between sizes hold on every route, and decide branches."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import dims, one_of
from frontends.pytorch.errors import ConstraintViolation
from tests.frontends.pytorch.dynamo.routes import ROUTES, Route, agrees, double, routes
from tests.interpreter import evaluates_frames

route = pytest.fixture(routes, params=ROUTES)


def test_a_relation_of_another_argument(route: Route) -> None:
    """Fails when sizes are stated of an argument that the function does not have, and nothing is said."""
    compiled = route(double, dynamic={"x": ("b", None), "weight": (None, "2*b")})
    with pytest.raises(ConstraintViolation, match="weight"):
        compiled(torch.ones(3, 2))


def scaled(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x.sum() * w


def test_violated_relations_are_refused_every_time(route: Route) -> None:
    """Fails when a call whose sizes violate a relation is accepted, the first time or a later one."""
    compiled = route(scaled, dynamic={"x": ("b",), "w": ("2*b",)})
    agrees(compiled, scaled, torch.ones(4), torch.ones(8))
    for _ in range(6):
        with pytest.raises(ConstraintViolation, match=r"`w.shape\[0\] == 2\*b` is stated.* = 7, b = 3"):
            compiled(torch.ones(3), torch.ones(7))
        assert evaluates_frames()
        agrees(compiled, scaled, torch.ones(3), torch.ones(6))
    assert len(route.graphs) == 1


def breaks(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x * 2
    return y.sum() + w.sum() if y.sum() > 0 else y.sum()


def test_relations_hold_in_programs_with_breaks(route: Route) -> None:
    """Fails when a relation is dropped by a program whose graph ends before it reads the second size."""
    compiled = route(breaks, dynamic={"x": ("b",), "w": ("2*b",)})
    for size in (3, 4, 1):
        agrees(compiled, breaks, torch.ones(size), torch.ones(2 * size))
        with pytest.raises(ConstraintViolation, match=r"== 2\*b` is stated"):
            compiled(torch.ones(size), torch.ones(7))


def test_relations_decide_branches(route: Route) -> None:
    """Fails when a stated multiple, sum or choice of values is not known where the program asks."""

    def program(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        if x.shape[0] == 5 * y.shape[0] and z.shape[0] % 4 == 0 and z.shape[0] <= 16:
            return x.view(5, -1).sum(0) + y + z.sum()
        return x

    (b,) = dims("b", lo=1, hi=8)
    compiled = route(program, dynamic={"y": (b,), "x": (5 * b,), "z": (one_of(4, 8, 16),)})
    for size, other in ((2, 8), (1, 4), (8, 16)):
        agrees(compiled, program, torch.ones(5 * size), torch.ones(size), torch.ones(other))
    assert len(route.graphs) == 1
    for size, other in ((9, 8), (2, 12)):
        with pytest.raises(ConstraintViolation):
            compiled(torch.ones(5 * size), torch.ones(size), torch.ones(other))
