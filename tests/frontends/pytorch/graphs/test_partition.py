"""Tensors passed from forward to backward: none that can be computed again cheaply, and none from after a change."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from frontends.pytorch import compile, trace
from frontends.pytorch.graphs.functional import functional_joint
from frontends.pytorch.graphs.split import Split
from frontends.pytorch.lowering import LOWERINGS

aten = torch.ops.aten
Program = Callable[..., torch.Tensor]


def joint(program: Program, *inputs: torch.Tensor) -> Split:
    return functional_joint(trace(program, [x.requires_grad_() for x in inputs], gradients=True), LOWERINGS)


def given(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(sizes, dtype=dtype)


def test_what_costs_little_is_not_kept() -> None:
    """Memory is written that kernels would not write otherwise, to save one function."""
    found = joint(lambda x, bias: functional.silu(x + bias), given(3, 8), given(8))
    assert [str(each.metadata) for each in found.saved] == ["float32[x.shape[0], x.shape[1]]", "float32[bias.shape[0]]"]


def test_an_argument_that_changes_is_the_one_before() -> None:
    """A gradient is computed from what was written over its argument."""

    def program(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        y = functional.gelu(x + state)
        state.mul_(2)
        return y

    compiled = compile(program, backend="cpu", dynamic=True)
    for sizes in ((3, 8), (5, 33)):
        x, state = given(*sizes).requires_grad_(), given(*sizes)
        theirs = state.clone()
        (expected,) = torch.autograd.grad(program(x, theirs).sum(), [x])
        (found,) = torch.autograd.grad(compiled(x, state).sum(), [x])
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(state, theirs)


@pytest.mark.parametrize(("window", "step", "again"), [(2, 2, True), (3, 1, False)])
def test_windows_side_by_side_and_elements_taken_are_computed_again(window: int, step: int, again: bool) -> None:
    """Indices of max pooling are saved, or images that are larger than their source; or windows are computed twice."""

    def program(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        y = functional.max_pool2d(functional.conv2d(x, weight), window, step)
        return functional.interpolate(functional.interpolate(y, size=(19, 23)), size=(29, 31)).square()

    found = joint(program, given(2, 3, 8, 8), given(4, 3, 3, 3))
    assert (torch.int64 not in [each.metadata.dtype for each in found.saved]) is again
    assert not [each for each in found.saved if 19 in each.metadata.sizes[2:3] or 29 in each.metadata.sizes[2:3]]
