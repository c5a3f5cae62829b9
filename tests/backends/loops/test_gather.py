"""Elements at computed places, joins and paddings by kernels and by torch, forward and backward."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from backends import cpu
from backends.cpu.emission import file_source
from backends.loops.kernels import Kernel, Load, walk
from frontends.pytorch import compile, trace
from tests.backends.test_random_chains import BY_TORCH


def rotary(x, cosine, sine):
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat((-second, first), -1) * sine


def rotary_in_pieces(x, cosine, sine):
    first, second = x.chunk(2, -1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)


torch.manual_seed(0)


def pieces(*sizes):
    return [(torch.randn(5, first), torch.randn(5, second)) for first, second in sizes]


MEETING = pieces((2, 3), (5, 11), (16, 16), (20, 33), (100, 3))
LENGTHS = [(torch.randn(5, size),) for size in (3, 2, 16, 17, 40)]
WIDTHS = (4, 6, 14, 64, 70)
CASES = {
    "rotary": (rotary, [(torch.randn(2, 3, n), torch.randn(n), torch.randn(n)) for n in (*WIDTHS, 5, 33)]),
    "rotary in pieces": (
        rotary_in_pieces,
        [(torch.randn(2, 3, n), torch.randn(n // 2), torch.randn(n // 2)) for n in WIDTHS],
    ),
    "by rows": (lambda x, y: torch.cat((x.T, y.T), 0).sin() * 2, MEETING),
    "reduced": (lambda x, y: torch.cat((x, y), 1).softmax(1), MEETING),
    "of what is reduced": (lambda x, y: torch.cat((x.softmax(1), y.exp()), 1) * 2, MEETING),
    "three": (lambda x, y: torch.cat((x, y, x), 1).relu() + 1, MEETING),
    "turned": (lambda x, y: torch.cat((x, y), -1).permute(1, 0).relu().mean(0), MEETING),
    "seen as one": (lambda x, y: torch.cat((x.T, y.T), 0).flatten().tanh(), MEETING),
    "of joins": (lambda x, y: torch.cat((torch.cat((x, y), 1).exp(), y), 1).sin(), MEETING),
    "half": (lambda x, y: torch.cat((x.half(), y.half()), 1).mul(2).float(), MEETING),
    "strided": (lambda x, y: torch.cat((x[:, ::2], y.flip(1)), 1).sin(), MEETING),
    "padded": (lambda x: functional.pad(x, (1, 2, 3, 1)) * x.sum() + 1, LENGTHS),
    "padded with a number": (lambda x: functional.pad(x, (1, 2), value=3.0), LENGTHS),
    "paddings summed": (
        lambda x: (functional.pad(x, (1, 2)) + functional.pad(x, (2, 1)) + functional.pad(x, (0, 3))).exp(),
        LENGTHS,
    ),
    "neighbours": (lambda x: (x[:, 1:] - x[:, :-1]).square().sum(), LENGTHS),
    "one place": (lambda x: torch.where(torch.arange(x.shape[1]) == 3, x * 2, 0).sum(1), LENGTHS),
    "a place of each row": (
        lambda x: torch.where(torch.arange(x.shape[1])[None] == torch.arange(x.shape[0])[:, None], x.exp(), 0).sum(1),
        LENGTHS,
    ),
}


@pytest.mark.parametrize("backend", [BY_TORCH, cpu], ids=["kernels by torch", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_joins(name, backend):
    """A piece is read elsewhere, or where it is not; the gradient of one is that of another."""
    function, calls = CASES[name]
    variant = trace(function, leaves(calls[0]), gradients=True)
    run = variant.run_by(backend)
    assert not variant.running.note
    for given in calls:
        inputs = leaves(given)
        (found,), expected = run(inputs), function(*inputs)
        torch.testing.assert_close(found, expected)
        gradient = torch.randn_like(expected)
        for one, other in zip(
            torch.autograd.grad(found, inputs, gradient), torch.autograd.grad(expected, inputs, gradient)
        ):
            # a sum of terms is off by what its largest one is off by: `exp` in `sin` has derivatives of a hundred
            largest = max(1.0, other.abs().max().item())
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5 * largest)


def leaves(inputs):
    return tuple([tensor.clone().requires_grad_() for tensor in inputs])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(reduction):
    """A target's element is another, or one that is left out or not finite is seen in the loss of the others."""
    odd = torch.randn(5, 7)
    odd[0], odd[1, 2], odd[2, 3] = -math.inf, math.inf, math.nan
    targets = torch.tensor([0, 1, 2, 3, 6])
    calls = [(odd, targets), (torch.randn(4, 33), torch.tensor([-100, 3, 32, 0]))]
    calls += [(torch.randn(2, 3), torch.tensor([-100, -100])), (torch.randn(5, 1), torch.zeros(5, dtype=torch.int64))]
    calls += [(torch.randn(3, 0), torch.tensor([-100, -100, -100]))]

    def loss(x, target):
        return functional.cross_entropy(x, target, reduction=reduction)

    compiled = compile(loss, backend="cpu", dynamic=True)
    for x, target in calls:
        one, other = [x.clone().requires_grad_() for _ in range(2)]
        found, expected = compiled(one, target), loss(other, target)
        torch.testing.assert_close(found, expected, equal_nan=True)
        found.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(one.grad, other.grad, equal_nan=True)
    for outside in (33, -1):
        with pytest.raises(IndexError):
            compiled(torch.randn(2, 33), torch.tensor([0, outside]))


def kernels(function, *inputs):
    """The kernels of forward and backward."""
    variant = trace(function, leaves(inputs[:1]) + inputs[1:], gradients=True)
    variant.run_by(cpu)
    hosts = variant.running.hosts
    return [[step for step in host.steps if isinstance(step, Kernel)] for host in hosts], hosts[0].program.decisions


def test_one_kernel_without_masks():
    """Pieces are written before they are read, or loaded under masks though the loop could end where they meet."""
    both, decisions = kernels(rotary, torch.randn(2, 3, 8), torch.randn(8), torch.randn(8))
    assert [len(each) for each in both] == [1, 1]
    assert "_where_" not in file_source([step for each in both for step in each], decisions)


def test_a_target_is_loaded():
    """All classes are computed for the element of one."""
    (forward, backward), _ = kernels(functional.cross_entropy, torch.randn(4, 9), torch.tensor([0, 3, 8, 2]))
    rows = forward[0]
    assert [len(each.reductions) for each in rows.passes] == [1, 1, 0]
    loads = [value for value in walk(forward[1].roots()) if isinstance(value, Load)]
    assert any(load.indirect and load.condition is not None for load in loads)
    assert [kernel.reductions for kernel in backward] == [()]
