"""Errors of results where the mean is far from zero, beside the dtype's precision: the truth is of float64."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from frontends.pytorch import compile

EPS = torch.finfo(torch.float32).eps
LAST = torch.channels_last


def around(mean: float, sizes: tuple[int, ...]) -> torch.Tensor:
    """Numbers of deviation 1 around a mean."""
    return (torch.randn(sizes, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + mean).float()


def off(program, x: torch.Tensor) -> float:
    """The largest error of a result, against float64."""
    truth = program(x.double())
    return (compile(program, backend="cpu", dynamic=True)(x).double() - truth).abs().max().item()


SPREADS = {
    "rows": (lambda x: x.var(1), (16, 1000)),
    "short rows": (lambda x: x.var(1), (64, 7)),
    "columns": (lambda x: x.var(0), (1000, 16)),
    "all": (lambda x: x.var(), (100, 1000)),
    "first and last": (lambda x: x.var((0, 2)), (8, 4, 300)),
    "kept": (lambda x: x.var(1, keepdim=True), (16, 300)),
    "without a correction": (lambda x: x.var(1, correction=0), (16, 300)),
    "deviation": (lambda x: x.std(1), (16, 300)),
    "variance and mean": (lambda x: torch.var_mean(x, 1)[0], (16, 300)),
    "deviation and mean": (lambda x: torch.std_mean(x, 1)[0], (16, 300)),
    "turned": (lambda x: x.t().var(1), (300, 16)),
    "computed before": (lambda x: (x + 1).var(1), (16, 300)),
}


@pytest.mark.parametrize("mean", [0.0, 1e4, -1e6])
@pytest.mark.parametrize(("program", "sizes"), SPREADS.values(), ids=SPREADS)
def test_variance(program, sizes, mean):
    """The square of what the mean is off by is in the variance: a hundred times eager's error at a mean of 1e4."""
    assert off(program, around(mean, sizes)) < 8 * EPS


@pytest.mark.parametrize("mean", [1e4, 1e6])
def test_mean_beside_the_variance(mean):
    """The mean that comes with a variance is off by more than the rounding of its last digit."""
    assert off(lambda x: torch.var_mean(x, 1)[1], around(mean, (16, 5000))) <= mean * EPS


NORMS = {
    "layers": (lambda x: functional.layer_norm(x, (x.shape[-1],)), (4, 50000)),
    "layers of three axes": (lambda x: functional.layer_norm(x, x.shape[1:]), (4, 50, 30, 30)),
    "groups": (lambda x: functional.group_norm(x, 4), (2, 16, 50, 50)),
    "images": (functional.instance_norm, (2, 4, 100, 100)),
    "batches": (lambda x: functional.batch_norm(x, None, None, training=True), (4, 4, 50, 50)),
    "batches, channels last": (
        lambda x: functional.batch_norm(x.contiguous(memory_format=LAST), None, None, training=True),
        (4, 4, 50, 50),
    ),
}


@pytest.mark.parametrize("mean", [1e4, 1e6])
@pytest.mark.parametrize(("program", "sizes"), NORMS.values(), ids=NORMS)
def test_norms_of_many_elements(program, sizes, mean):
    """The mean of many elements is off by more digits than eager's, and everything that is normalized with it."""
    assert off(program, around(mean, sizes)) < 0.5 * mean * EPS


STATISTICS = {
    "layers": (lambda x: torch.native_layer_norm(x, (x.shape[1],), None, None, 0.0)[2], (4, 768)),
    "long layers": (lambda x: torch.native_layer_norm(x, (x.shape[1],), None, None, 0.0)[2], (4, 50000)),
    "groups": (lambda x: torch.native_group_norm(x, None, None, len(x), 16, x.shape[2], 4, 0)[2], (2, 16, 144)),
    "large groups": (lambda x: torch.native_group_norm(x, None, None, len(x), 16, x.shape[2], 4, 0)[2], (2, 16, 2500)),
}


@pytest.mark.parametrize(("program", "sizes"), STATISTICS.values(), ids=STATISTICS)
def test_statistics_for_the_backward(program, sizes):
    """The statistics that a norm saves for its backward are off by no more than a few digits."""
    assert off(program, around(1e4, sizes)) < 10 * EPS


ROWS = [[1.0, math.inf], [-math.inf, 1.0], [math.inf, -math.inf], [math.nan, 1.0], [3.0, 3.0, 3.0], [0.1] * 7]


@pytest.mark.parametrize("row", ROWS)
def test_rows_without_a_spread(row):
    """A correction makes a variance negative, or not a number where eager has infinity, or the other way round."""
    x = torch.tensor([row, row])
    ours = compile(lambda x: (x.var(1, correction=0), x.std(1), x.mean(1)), backend="cpu")(x)
    for mine, theirs in zip(ours, (x.var(1, correction=0), x.std(1), x.mean(1))):
        torch.testing.assert_close(mine, theirs, equal_nan=True, rtol=0, atol=1e-6)


def test_squares_that_are_too_large():
    """A variance that is infinite becomes not a number."""
    x = torch.tensor([[1e30, -1e30, 3e30], [1e25, 2e25, -1e25]])
    assert compile(lambda x: x.var(1), backend="cpu")(x).tolist() == x.var(1).tolist() == [math.inf, math.inf]
