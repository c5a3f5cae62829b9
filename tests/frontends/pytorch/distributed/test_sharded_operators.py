"""Torch's samples of operators on DTensors are right when compiled with symbolic sizes, and mostly captured."""

from __future__ import annotations

import pytest

from tests.frontends.pytorch.distributed.sharded_operators import judged, names


def check(chosen: list[str], least: float, gradients: bool = False) -> None:
    """Fails where an operator is wrong or raises, or where too few are graphs."""
    found = judged(chosen, gradients)
    by_verdict = {verdict: [name for name in found if found[name][0] == verdict] for verdict in ("right", "eager")}
    assert {name: outcome for name, outcome in found.items() if outcome[0] in ("wrong", "error")} == {}
    captured = len(by_verdict["right"])
    assert captured >= least * (captured + len(by_verdict["eager"])), by_verdict["eager"]


def test_samples() -> None:
    """A DTensor of symbolic sizes is no argument of a graph."""
    check(["asinh", "mm"], 1)


@pytest.mark.thorough
def test_samples_of_more_operators() -> None:
    """The same, for one in 25 of the operators that eager torch has on DTensors: all of them take an hour."""
    check(names()[::25], 0.9)


@pytest.mark.thorough
def test_products_and_checks() -> None:
    """Products of three sizes, which run operator by operator, are wrong; or checks of a factorization are no graph."""
    check(["nn.functional.adaptive_avg_pool2d", "linalg.ldl_factor"], 0.5)


@pytest.mark.thorough
def test_gradients_of_samples() -> None:
    """A size of a gradient that is recorded as computed of itself is wrong: the graph runs operator by operator."""
    check(["hstack", "linalg.cholesky_ex", "mm"], 0.3, gradients=True)
