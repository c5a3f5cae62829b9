"""Random chains of operators, forward and backward, by kernels and by torch operator by operator."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch._C._dynamo.guards import _empty_strided_cpu

from backends import cpu
from backends.interpreter import interpreted
from benchmarks.kernels.chains import random_chain
from frontends.pytorch import trace

SIZES = ((4, 3, 5), (2, 7, 1), (1, 1, 1), (3, 17, 33))
BY_TORCH = SimpleNamespace(
    kernels=lambda kernels, decisions: interpreted(kernels),
    allocate=_empty_strided_cpu,
    threads=None,
    device="cpu",
    interchanges=True,
    large=None,
    pooled=None,
    operator=None,
    combine=None,
)


@pytest.mark.parametrize("seed", range(40))
def test_schedules(seed):
    """A chain is fused to something that computes other numbers."""
    check(seed, BY_TORCH)


@pytest.mark.parametrize("seed", range(40, 56))
def test_compiled_kernels(seed):
    """A chain becomes C that computes other numbers."""
    check(seed, cpu)


def check(seed, backend):
    chain = random_chain(seed)
    variant = trace(chain.function, leaves(chain, SIZES[0]), gradients=True)
    run = variant.run_by(backend)
    assert not variant.running.note
    for sizes in SIZES:
        inputs = leaves(chain, sizes)
        (found,) = run(inputs)
        expected = chain.function(*inputs)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5, msg=lambda text: f"{text}\n{chain.text}")
        assert [step for step, size in zip(found.stride(), found.shape) if size > 1] == [
            step for step, size in zip(expected.stride(), expected.shape) if size > 1
        ]
        gradient = torch.randn_like(expected)
        for one, other in zip(
            torch.autograd.grad(found, inputs, gradient, allow_unused=True),
            torch.autograd.grad(expected, inputs, gradient, allow_unused=True),
        ):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4, msg=lambda text: f"{text}\n{chain.text}")


def leaves(chain, sizes):
    torch.manual_seed(1)
    return tuple([tensor.requires_grad_() for tensor in chain.inputs(*sizes)])
