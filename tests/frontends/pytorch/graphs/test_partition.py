"""Tensors passed from forward to backward: a slope in the place of its operands, and never one tensor more."""

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


def test_a_dear_slope_is_kept_and_not_its_argument() -> None:
    """The backward computes erf and exp again, though the slope takes as much memory as their argument."""
    found = joint(lambda x, bias: functional.gelu(x + bias), given(3, 8), given(8))
    assert [str(each.metadata) for each in found.saved] == ["float32[x_size0, x_size1]"]
    assert [each.target for each in found.backward.operations][:1] == [aten.mul.Tensor]


def test_no_slope_is_kept_beside_its_argument() -> None:
    """More is alive between forward and backward, to save work."""
    found = joint(lambda x: x.square() * functional.gelu(x), given(3, 8))
    assert len(found.saved) == 1 and found.saved[0].metadata.dtype is torch.float32
    targets = [each.target for each in found.backward.operations]
    assert aten.gelu_backward.default in targets


def test_what_costs_little_is_not_kept() -> None:
    """Memory is written that kernels would not write otherwise, to save one function."""
    found = joint(lambda x, bias: functional.silu(x + bias), given(3, 8), given(8))
    assert [str(each.metadata) for each in found.saved] == ["float32[x_size0, x_size1]", "float32[bias_size0]"]


def test_a_slope_that_would_be_rounded_is_not_kept() -> None:
    """Gradients of bfloat16 lose digits: the slope is rounded before it is multiplied."""
    found = joint(lambda x: functional.gelu(x), given(3, 8, dtype=torch.bfloat16))
    assert aten.gelu_backward.default in [each.target for each in found.backward.operations]


def test_a_slope_at_an_argument_that_changes_is_the_one_before() -> None:
    """It is computed from what was written over its argument."""

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
    """Indices of max pooling are saved, of eight bytes each, and images that are larger than their source; or
    overlapping windows are computed twice."""

    def program(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        y = functional.max_pool2d(functional.conv2d(x, weight), window, step)
        return functional.interpolate(functional.interpolate(y, size=(19, 23)), size=(29, 31), mode="bilinear").square()

    found = joint(program, given(2, 3, 8, 8), given(4, 3, 3, 3))
    assert (torch.int64 not in [each.metadata.dtype for each in found.saved]) is again
    assert not [each for each in found.saved if 19 in each.metadata.sizes[2:3] or 29 in each.metadata.sizes[2:3]]
