"""Windows and resampling of images by kernels: the numbers, places and ties that eager gives, at sizes that vary."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from backends.loops.program import Call
from frontends.pytorch import compile
from frontends.pytorch.graphs.functional import functional_joint
from frontends.pytorch.lowering import LOWERINGS
from frontends.pytorch.tracing import trace

SIZES = (2, 3, 8, 9), (1, 2, 7, 6), (3, 1, 4, 4), (1, 1, 13, 20)


def agrees(function: Callable[[Tensor], object], called: int) -> None:
    """The same as eager at all sizes by one variant, with so many operators called."""
    compiled = compile(function, backend="cpu", dynamic=True)
    for seed, sizes in enumerate(SIZES):
        torch.manual_seed(seed)
        x = (torch.randn(sizes) * 3).round()
        x[x > 5] = float("nan")
        x[x < -4] = -float("inf")
        torch.testing.assert_close(compiled(x), function(x), rtol=1e-5, atol=1e-5, equal_nan=True)
    (variant,) = compiled.variants
    (host,) = variant.running.hosts
    assert sum([isinstance(step, Call) for step in host.steps]) == called


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "called"),
    [(2, None, 0, 0), ((2, 3), (2, 3), 0, 0), (3, 2, 0, 0), (2, 3, 0, 0), (3, 2, 1, 1), (4, None, 0, 1)],
)
@pytest.mark.parametrize("indices", [False, True])
def test_largest_of_windows(kernel, stride, padding, called, indices) -> None:
    """Another element of equal ones is named, nan is lost, or a window that is not inside is read."""
    agrees(lambda x: F.max_pool2d(x.abs(), kernel, stride, padding, return_indices=indices), called)


@pytest.mark.parametrize(
    ("called", "named"),
    [
        (0, {"mode": "nearest"}),
        (1, {"mode": "bilinear", "align_corners": False}),
        (1, {"mode": "bilinear", "align_corners": True}),
    ],
)
@pytest.mark.parametrize("size", [(17, 5), (1, 1), None])
def test_resampled(size, called, named) -> None:
    """An element is read from another index than in eager."""
    agrees(
        lambda x: F.interpolate(x.neg(), size=size or (x.shape[2] * 2 + 1, x.shape[3] + 3), **named),
        called,
    )


def test_nearest_places_are_those_of_eager() -> None:
    """A place that is computed in float32 is rounded otherwise than by eager."""
    compiled = compile(lambda x, y: F.interpolate(x, size=y.shape), backend="cpu", dynamic=True)
    for given in (2, 3, 7, 24, 33, 49, 63, 100, 129, 1000):
        x = torch.arange(float(given)).reshape(1, 1, given, 1).expand(1, 1, given, 2).contiguous()
        for wanted in (2, 5, 12, 24, 48, 49, 98, 100, 333, 1023):
            y = torch.empty(wanted, 3)
            assert torch.equal(compiled(x, y), F.interpolate(x, size=y.shape))


def test_what_a_call_is_given_is_kept() -> None:
    """The backward computes into memory once more what the forward has written for a convolution."""

    def program(x, first, second):
        return F.conv2d(F.conv2d(x, first).relu(), second).sum()

    inputs = torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3), torch.randn(5, 4, 3, 3)
    variant = trace(program, tuple([each.requires_grad_() for each in inputs]), gradients=True)
    joint = functional_joint(variant, LOWERINGS)
    assert not any(each.target is torch.ops.aten.relu.default for each in joint.backward.operations)
