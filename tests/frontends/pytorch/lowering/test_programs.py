"""Programs of tensor expressions and what is around them: changed arguments, outputs, memory, what only a run tells."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.nn import functional as F

from backends.loops.program import Check
from frontends.pytorch import trace
from frontends.pytorch.graphs.functional import functional
from tests.backends.evaluation import evaluate
from tests.frontends.pytorch import test_mutation
from tests.frontends.pytorch.against_eager import agrees_at
from tests.frontends.pytorch.lowering.lowered import Function, agrees, written

randn = torch.randn

ONE = sorted(test_mutation.ONE - {test_mutation.resized, test_mutation.written_down}, key=lambda each: each.__name__)


@pytest.mark.parametrize("function", ONE)
def test_changed_arguments(function: Function) -> None:
    """Fails when an argument ends with another value, or an output shares memory with something else."""
    samples = [(randn(4, 3),), (randn(7, 5),), (randn(3, 6),)]
    variant = trace(function, copy.deepcopy(list(samples[0])))
    program, _ = written(functional(variant), variant)
    for inputs in samples:
        agrees_at(variant, function, inputs, lambda *given: evaluate(program, given))


def test_an_argument_becomes_what_it_was_elsewhere() -> None:
    """Fails when an argument is overwritten while its old elements are still needed."""

    def turned(x, y):
        old = x.clone()
        x.copy_(x.t() + y)
        y.copy_(old)
        return old * 2, x.sum(0)

    agrees(turned, (randn(4, 4), randn(4, 4)), (randn(5, 5), randn(5, 5)))


def test_outputs_of_their_own() -> None:
    """Fails when a copy that is returned is the argument, or two outputs of one memory are two."""

    def program(x):
        y = x + 1
        return x.clone(), y, y.t(), y[0], x[1:], x

    agrees(program, (randn(4, 3),), (randn(2, 5),))


def test_arguments_that_lie_otherwise() -> None:
    """Fails when strides of an argument are taken for those of a packed one."""
    agrees(lambda x: (x.exp().view(-1), x * 2, x.t()), (randn(4, 3),), (randn(2, 5),))
    agrees(lambda x: (x.exp().reshape(-1), x * 2, x.t()), (randn(4, 3).t(),), (randn(2, 5).t(),))
    agrees(lambda x: (x + 1, x.sum(0)), (randn(4, 8)[:, 1::2],), (randn(3, 6)[:, 1::2],))
    agrees(lambda x: (x + 1, x.sum(0)), (randn(1, 8).expand(5, -1),), (randn(1, 6).expand(3, -1),))


def test_overlapping_arguments_are_seen() -> None:
    """Fails when the form is used though an argument that is changed is part of another one."""
    form = functional(trace(lambda x, y: (x.mul_(2), y + 1)[1], (randn(4), randn(4))))
    base = randn(8)
    assert form.overlaps([base[:4], base[3:]]) and form.overlaps([base, base[2:5]])
    assert not form.overlaps([base[:4], base[4:]]) and not form.overlaps([base, randn(8)])
    assert not functional(trace(lambda x: x + 1, (randn(4),))).overlaps([base])


def test_running_statistics() -> None:
    """Fails when batch normalization does not update its statistics."""
    norm, other = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
    variant = trace(norm, (randn(4, 3),))
    program, called = written(functional(variant), variant)
    assert not called
    x = randn(6, 3)
    torch.testing.assert_close(evaluate(program, [x])[0], other(x).detach())
    torch.testing.assert_close(dict(norm.state_dict()), dict(other.state_dict()))


def test_statistics_in_use() -> None:
    """Fails when batch normalization that updates nothing is taken for a change of its statistics."""
    mean, variance = torch.zeros(3), torch.ones(3)

    def program(x):
        legit = torch.ops.aten._native_batch_norm_legit.default
        return legit(x, None, None, mean, variance, False, 0.1, 1e-5)[0]

    agrees(program, (randn(4, 3),), (randn(6, 3),))


def test_sizes_of_the_run() -> None:
    """Fails when a size that only the run tells is not there when it is needed, or not checked."""

    def program(x):
        found = x.nonzero().squeeze(1)
        count = found.shape[0]
        torch._check(count >= 2, lambda: "two at least")
        return x[found] * count + torch.ones(count), found.shape[0] * 0.5

    variant = trace(program, (torch.tensor([1.0, 0.0, 2.0, 3.0]),))
    steps = written(functional(variant), variant)[0].steps
    assert any(isinstance(each, Check) for each in steps)
    agrees(program, (torch.tensor([1.0, 0.0, 2.0, 3.0]),), (torch.tensor([0.0, 5.0, 2.0]),),
           calls=("index.Tensor", "nonzero.default"))  # fmt: skip


def test_floats_of_sizes() -> None:
    """Fails when a float that is computed from sizes is not computed in the run."""
    agrees(lambda x: x * (1 / torch.sym_sqrt(x.shape[1])) + x.shape[0] / 3, (randn(4, 3),), (randn(2, 7),))


def test_random_numbers() -> None:
    """Fails when numbers are drawn in another order or way."""
    agrees(lambda x: F.dropout(x * 2, 0.3) + torch.randn_like(x) + F.dropout(x, 0.5), (randn(4, 3),), (randn(5, 2),),
           calls=("randn_like.default",))  # fmt: skip
    agrees(lambda x: F.dropout(x.t() * 2, 0.3), (randn(4, 3),), (randn(5, 2),))
    samples = (randn(4, 3),), (randn(5, 2),)
    agrees(lambda x: torch.empty_like(x).uniform_(1, 2) + x, *samples, calls=("uniform.default",))
    agrees(lambda x: F.dropout1d(x, 0.5), (randn(4, 3, 2),), (randn(5, 2, 7),),
           calls=("bernoulli.p",))  # fmt: skip


def test_fallbacks() -> None:
    """Fails when what loops do not hold is lowered, or not run."""
    agrees(lambda x: torch.view_as_real(x * x)[0], (randn(4, 3, dtype=torch.complex64),),
           (randn(2, 5, dtype=torch.complex64),), calls=("mul.Tensor", "view_as_real.default"))  # fmt: skip
    agrees(lambda x: x.sort(-1).values + x.cumsum(-1), (randn(4, 3),), (randn(2, 5),),
           calls=("cumsum.default", "sort.default"))  # fmt: skip
