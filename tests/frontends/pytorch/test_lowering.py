"""Programs of tensor expressions give what eager gives, at the traced sizes and at others."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Mapping, Sequence

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from torch.nn import functional as F

from backends.decisions import Decisions
from backends.loops.program import Check, Program
from benchmarks.models import MODELS, step
from benchmarks.models.running import admitted, close, traced
from frontends.pytorch import Variant, trace
from frontends.pytorch.errors import GraphBreak, Unsupported
from frontends.pytorch.graphs.functional import Functional, functional, functional_joint
from frontends.pytorch.lowering.writer import Writer
from shapes.errors import UndecidedGuard
from tests.backends.evaluation import evaluate
from tests.frontends.pytorch import test_mutation
from tests.frontends.pytorch.against_eager import admits, same
from tests.frontends.pytorch.test_random_programs import REFUSALS, programs
from tests.frontends.pytorch.test_random_programs import Program as RandomProgram

randn, randint = torch.randn, torch.randint
Inputs = Sequence[torch.Tensor]
Function = Callable[..., object]


def written(form: Functional, variant: Variant) -> tuple[Program, list[str]]:
    """A program, and the operators in it that are called."""
    program = Program(Decisions(variant.env))
    writer = Writer(program, form)
    writer.run()
    return program, [str(operation.target).removeprefix("aten.") for operation in writer.calls]


def agrees(function: Function, *samples: Inputs, calls: Sequence[str] = ()) -> Variant:
    """The values, strides, changed arguments and shared memory are those of eager; only these operators are called."""
    variant = trace(function, copy.deepcopy(list(samples[0])))
    program, called = written(functional(variant), variant)
    assert sorted(set(called)) == sorted(calls)
    for inputs in samples:
        assert admits(variant, inputs)
        theirs, ours = copy.deepcopy(list(inputs)), copy.deepcopy(list(inputs))
        torch.manual_seed(0)
        expected = function(*theirs)
        torch.manual_seed(0)
        same((variant.assembled(evaluate(program, ours)), ours), (expected, theirs))
    return variant


SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 0.5, -0.5, 3.0, -3.0, 20.5, -20.5, 100.0, -100.0, 1e-20)


def special(rows: int) -> torch.Tensor:
    """All numbers that an operator may treat in a way of their own."""
    return torch.tensor(SPECIAL).repeat(rows, 1)


FLOATS: dict[str, Function] = {
    "abs": torch.abs,
    "acosh": torch.acosh,
    "addcdiv": lambda x: torch.addcdiv(x, x, x + 1, value=0.5),
    "addcmul": lambda x: torch.addcmul(x, x, x, value=-2),
    "atan2": lambda x: torch.atan2(x, x + 1),
    "ceil": torch.ceil,
    "clamp": lambda x: x.clamp(-1, 2.5),
    "clamp by tensors": lambda x: torch.clamp(x, x - 1, -x),
    "clamp from below": lambda x: x.clamp(min=0.25),
    "compare": lambda x: torch.stack([x < 1, x <= 0, x > -x, x >= 2, x == 0, x != x]),
    "copysign": lambda x: torch.copysign(x, -x),
    "cos": torch.cos,
    "div rounded": lambda x: torch.div(x, 0.3, rounding_mode="trunc") + torch.div(x, 7.0, rounding_mode="floor"),
    "elu": lambda x: F.elu(x, 0.7),
    "erf": torch.erf,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "floor": torch.floor,
    "floor divide": lambda x: x // 0.7,
    "fmax": lambda x: torch.fmax(x, x.roll(1, -1)),
    "fmod": lambda x: torch.fmod(x, 0.7),
    "gelu": lambda x: F.gelu(x.clamp(-1e4, 1e4)),
    "gelu by tanh": lambda x: F.gelu(x.clamp(-1e4, 1e4), approximate="tanh"),
    "glu": F.glu,
    "hardshrink": F.hardshrink,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "hardtanh": F.hardtanh,
    "isfinite": torch.isfinite,
    "isnan": torch.isnan,
    "leaky relu": F.leaky_relu,
    "lerp": lambda x: torch.lerp(x, -x, 0.7),
    "log": torch.log,
    "log sigmoid": F.logsigmoid,
    "log1p": torch.log1p,
    "logaddexp": lambda x: torch.logaddexp(x, x.roll(1, -1)),
    "logical": lambda x: torch.logical_and(x, x > 1) | torch.logical_not(x),
    "logit": lambda x: torch.logit(x, 0.1),
    "masked fill": lambda x: x.masked_fill(x > 0, -math.inf),
    "maximum": lambda x: torch.maximum(x, x.roll(1, -1)),
    "mish": F.mish,
    "nan to num": torch.nan_to_num,
    "neg": torch.neg,
    "pow": lambda x: torch.stack([x**2, x**3, x**0.5, x**-1, x**1.5, x**-2, 2**x]),
    "pow of tensors": lambda x: x.abs() ** x,
    "reciprocal": torch.reciprocal,
    "relu": F.relu,
    "relu6": F.relu6,
    "remainder": lambda x: torch.remainder(x, -0.7),
    "round": torch.round,
    "rsqrt": torch.rsqrt,
    "rsub": lambda x: torch.rsub(x, 2.5, alpha=3),
    "selu": F.selu,
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "signbit": torch.signbit,
    "silu": F.silu,
    "sin": torch.sin,
    "softplus": lambda x: F.softplus(x, 2, 10),
    "softshrink": F.softshrink,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "tan": torch.tan,
    "tanh": torch.tanh,
    "threshold": lambda x: F.threshold(x, 0.1, 20),
    "trunc": torch.trunc,
    "where": lambda x: torch.where(x > 0, x, -1.5),
    "xlogy": lambda x: torch.xlogy(x, x),
    # reductions
    "amax": lambda x: x.amax(1),
    "any": lambda x: torch.stack([(x > 50).any(-1), (x > 0).all(-1)]),
    "aminmax": lambda x: torch.stack(torch.aminmax(x, dim=1)),
    "count nonzero": lambda x: torch.count_nonzero(x, 1),
    "log softmax": lambda x: F.log_softmax(x.clamp(-50, 50), -1),
    "logsumexp": lambda x: torch.logsumexp(x, 1),
    "max": torch.max,
    "mean": lambda x: x.mean(0),
    "mean of all": torch.mean,
    "nansum": lambda x: torch.nansum(x, -1),
    "norms": lambda x: torch.stack([torch.linalg.vector_norm(x, order, -1) for order in (1, 2, 3, math.inf, 0)]),
    "prod": lambda x: x.prod(1),
    "softmax": lambda x: torch.softmax(x, -1),
    "softmax over rows": lambda x: torch.softmax(x, 0),
    "std": lambda x: torch.stack([x.nan_to_num(0, 5, -5).std(1), x.nan_to_num(0, 5, -5).var(1, correction=0)]),
    "sum": lambda x: x.sum(1, keepdim=True) + x.sum(),
    "var mean": lambda x: torch.stack(torch.var_mean(x.clamp(-9, 9), 1)),
    # views and copies
    "broadcast": lambda x: x[:, None] + x[None, :, :1],
    "cat": lambda x: torch.cat([x, x * 2, x[:, :3]], 1),
    "chunk": lambda x: (x.exp().chunk(4, 1)[3] * 2,),
    "clone": lambda x: (x.clone(), x.t().contiguous()),
    "diagonal": lambda x: (x + 1).diagonal(1) + (x * 2).diagonal(1),
    "diagonal embedded": lambda x: torch.diag_embed(x + 1, 1),
    "expand": lambda x: (x + 1)[:, None].expand(-1, 5, -1) * 2,
    "flip": lambda x: (x * 2).flip(0, 1),
    "flatten": lambda x: (x * 2).t().flatten() + 1,
    "narrow": lambda x: (x * 2).narrow(1, 3, 5) + x[:, -5:],
    "pad": lambda x: F.pad(x, (1, 2, 0, 3), value=7.0),
    "permute": lambda x: (x.view(-1, 4, 4) + 1).permute(2, 0, 1) * 2,
    "repeat": lambda x: (x + 1).repeat(2, 3) + 1,
    "resized": lambda x: F.interpolate(x.nan_to_num(0, 1, 2)[None, None], scale_factor=1.5, mode="bicubic"),
    "roll": lambda x: x.roll((1, -2), (0, 1)),
    "select": lambda x: (x * 2)[0] + x[-1] + x[:, -2][0],
    "slices": lambda x: (x * 2)[:, 1::3] + x[:, 1::3],
    "squeeze": lambda x: x.sum(1, keepdim=True).squeeze(1) + 1,
    "stack": lambda x: torch.stack([x, x + 1], 1),
    "tril": lambda x: x.tril(1) + x.triu(-2),
    "unbind": lambda x: sum(each * 2 for each in (x + 1).view(-1, 4, 4).unbind(1)),
    "unflatten": lambda x: (x.exp().unflatten(1, (2, 8)).transpose(0, 1) + 1).flatten(1),
    "unfold": lambda x: (x * 2).unfold(1, 3, 2) + 1,
    # creation
    "arange": lambda x: x + torch.arange(x.shape[1]) * torch.arange(2, 2 + x.shape[0])[:, None],
    "eye": lambda x: torch.eye(x.shape[0], x.shape[1]) + torch.ones_like(x) + x.new_zeros(x.shape),
    "full": lambda x: torch.full((x.shape[0], 3), 2.5) * x.shape[1],
    "linspace": lambda x: torch.linspace(-3, 4, x.shape[1]) + x,
    "literal": lambda x: x * torch.tensor(2.5),
    # normalization and losses
    "layer norm": lambda x: F.layer_norm(x.clamp(-5, 5), (16,), torch.ones(16) * 2, torch.ones(16)),
    "group norm": lambda x: F.group_norm(x.clamp(-5, 5).view(-1, 4, 4).expand(-1, 4, 4), 2),
    "batch norm": lambda x: F.batch_norm(x.clamp(-5, 5), torch.zeros(16), torch.ones(16)),
    "rms norm": lambda x: F.rms_norm(x.clamp(-5, 5), (16,)),
    "huber": lambda x: F.huber_loss(x, -x, delta=0.7),
    "mse": lambda x: F.mse_loss(x, -x, reduction="none"),
    "smooth l1": lambda x: F.smooth_l1_loss(x, x + 0.4, beta=0.3, reduction="sum"),
    "with logits": lambda x: F.binary_cross_entropy_with_logits(x, x.sigmoid()),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOATS)
def test_operator(name: str) -> None:
    """Fails when a lowering computes something else than eager, for nan, infinities and zeros of both signs too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agrees(FLOATS[name], (special(4),), (special(7),))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["gelu", "softmax", "mean", "rms norm", "pow", "rsub", "std"])
def test_floats_of_other_widths(name: str, dtype: torch.dtype) -> None:
    """Fails when a result has another dtype, or a sum of halves is kept in halves."""
    function = FLOATS[name]
    variant = trace(lambda x: function(x), (randn(4, 16).to(dtype),))
    program, _ = written(functional(variant), variant)
    x = randn(6, 16).to(dtype)
    (got,) = evaluate(program, [x])
    rounding = 2e-2 if dtype.itemsize == 2 else 1e-12
    torch.testing.assert_close(got, function(x), rtol=rounding, atol=rounding, equal_nan=True)


INTEGERS: dict[str, Function] = {
    "add": lambda x, y: torch.add(x, y, alpha=3),
    "arithmetic": lambda x, y: x * y - 7 + 2 * x,
    "bits": lambda x, y: (x & y) | (x ^ 5) | ~y,
    "compare": lambda x, y: (x < y) & (x >= 2.5),
    "div": lambda x, y: x / y.abs().clamp(min=1),
    "floor divide": lambda x, y: x // 3 + torch.div(y, -4, rounding_mode="trunc"),
    "max": lambda x, y: torch.maximum(x, y).amax(-1) + x.sum(-1) + y.prod(-1),
    "mixed": lambda x, y: x * 0.5 + y.float(),
    "narrow": lambda x, y: x.to(torch.int8) * y.to(torch.uint8),
    "pow": lambda x, y: x**2 + y**3,
    "remainder": lambda x, y: x % 3 + torch.fmod(y, -3),
    "shifts": lambda x, y: (x << 3) + (y >> 2),
    "sign": lambda x, y: x.sign() * y.abs(),
    "truth": lambda x, y: torch.where(x.bool(), y, -y) + (x > 0) * (y > 0),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    """Fails when integers are promoted, rounded or wrapped otherwise than by torch."""
    samples = [(randint(-300, 300, (n, 5)), randint(-9, 9, (n, 5))) for n in (4, 7)]
    agrees(INTEGERS[name], *samples)


def test_division_by_zero_is_an_error() -> None:
    """Fails when an integer division that eager refuses gives a number."""
    samples = [(randint(1, 9, (n,)), randint(1, 5, (n,))) for n in (3, 6)]
    agrees(lambda x, y: x // y + x % y, *samples, calls=("floor_divide.default", "remainder.Tensor"))


def test_targets_are_inside() -> None:
    """Fails when the loss of a class that is none is a number, or one that is to be ignored is an error."""
    variant = trace(F.nll_loss, (randn(4, 3), torch.tensor([0, 1, 2, 1])))
    program, called = written(functional(variant), variant)
    assert not called
    x, ignored = randn(3, 5), torch.tensor([-100, 4, -100])
    torch.testing.assert_close(evaluate(program, [x, ignored]), [F.nll_loss(x, ignored)])
    for target in (5, -1):
        with pytest.raises(IndexError, match="out of bounds"):
            evaluate(program, [x, torch.tensor([1, 2, target])])


def test_extreme_of_nothing_is_an_error() -> None:
    """Fails when the maximum of no elements is a number."""
    samples = [(torch.tensor([-1.0, 2.0, 3.0]),), (torch.tensor([4.0, -2.0]),)]
    variant = agrees(lambda x: x[x > 0].max(), *samples, calls=("index.Tensor",))
    with pytest.raises(AssertionError, match="u0"):
        evaluate(written(functional(variant), variant)[0], [torch.tensor([-4.0, -2.0])])


GRADIENTS: dict[str, Function] = {
    "activations": lambda x, w: (F.gelu(x) + F.gelu(x, approximate="tanh") + F.silu(x) + x.tanh() + x.sigmoid()) * w[0],
    "more activations": lambda x, w: F.elu(x) + F.leaky_relu(x) + F.softplus(x) + F.mish(x) + F.hardswish(x) + w[0],
    "and more": lambda x, w: F.hardtanh(x) + F.hardsigmoid(x) + F.logsigmoid(x) + F.relu(x) + F.selu(x) * w[0],
    "softmax": lambda x, w: (x @ w).softmax(-1) + (x @ w).log_softmax(0),
    "layer norm": lambda x, w: F.layer_norm(x, (8,), w[0], w[1]),
    "rms norm": lambda x, w: F.rms_norm(x, (8,), w[0]),
    "group norm": lambda x, w: F.group_norm(x.view(-1, 8, 1), 2, w[0], w[1]),
    "batch norm": lambda x, w: F.batch_norm(x, None, None, w[0], w[1], training=True),
    "batch norm in use": lambda x, w: F.batch_norm(x, torch.zeros(8), torch.ones(8), w[0], w[1]),
    "reductions": lambda x, w: x.var(0) + x.std(0) + x.norm() + x.logsumexp(0) + w.amax(0) + w.prod(),
    "views": lambda x, w: torch.cat([x[:, 1:], x[:, :1]], 1).view(-1, 2, 4).transpose(1, 2).flatten() * w.sum(),
    "losses": lambda x, w: F.mse_loss(x, w[:1] + x * 0) + F.smooth_l1_loss(x, x.detach() * 2) + F.huber_loss(x, -x),
    "cross entropy": lambda x, w: F.cross_entropy(x @ w, torch.arange(x.shape[0]) % 8, ignore_index=1),
    "summed cross entropy": lambda x, w: F.cross_entropy(x @ w, torch.arange(x.shape[0]) % 8, reduction="sum"),
    "cross entropies": lambda x, w: F.cross_entropy((x @ w).view(-1, 4, 2), (x[:, :2] > 0).long(), reduction="none"),
    "resized": lambda x, w: F.interpolate((x @ w)[None, None], scale_factor=2, mode="bicubic"),
    "with logits": lambda x, w: F.binary_cross_entropy_with_logits(x @ w, (x @ w).detach().sigmoid()),
    "arithmetic": lambda x, w: x / (w[0] ** 2 + 1) - 2 * x**3 + torch.maximum(x, w[0]) + torch.where(x > 0, x, w[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_backward(name: str) -> None:
    """Fails when a gradient is another than autograd's, or the two programs pass each other something else."""
    function = GRADIENTS[name]
    torch.manual_seed(0)
    first = [randn(4, 8, requires_grad=True), randn(8, 8, requires_grad=True)]
    variant = trace(function, first, gradients=True)
    joint = functional_joint(variant)
    forward, backward = [written(form, variant)[0] for form in (joint.forward, joint.backward)]
    for rows in (4, 7, 2):
        inputs = [randn(rows, 8, requires_grad=True), first[1]]
        (expected,) = [function(*inputs)]
        tangent = randn(expected.shape)
        wanted = torch.autograd.grad(expected, inputs, tangent, allow_unused=True)
        made = evaluate(forward, [x.detach() for x in inputs])
        results, saved = len(joint.results), len(joint.results) + len(joint.saved)
        torch.testing.assert_close(made[0], expected.detach())
        got = evaluate(backward, [*made[results:saved], tangent], made[saved:])
        for mine, theirs in zip(got, wanted, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------------- arguments, outputs, memory

ONE = sorted(test_mutation.ONE - {test_mutation.resized, test_mutation.argument_turned, test_mutation.written_down,
             test_mutation.argument_squeezed}, key=lambda each: each.__name__)  # fmt: skip


@pytest.mark.parametrize("function", ONE)
def test_changed_arguments(function: Function) -> None:
    """Fails when an argument ends with another value, or an output shares memory with something else."""
    samples = [(randn(4, 3),), (randn(7, 5),), (randn(3, 6),)]
    variant = trace(function, copy.deepcopy(list(samples[0])))
    program, _ = written(functional(variant), variant)
    for inputs in samples:
        theirs, ours = copy.deepcopy(list(inputs)), copy.deepcopy(list(inputs))
        expected = function(*theirs)
        same((variant.assembled(evaluate(program, ours)), ours), (expected, theirs))


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
    agrees(lambda x: x * (1 / math.sqrt(x.shape[1])) + x.shape[0] / 3, (randn(4, 3),), (randn(2, 7),))


def test_random_numbers() -> None:
    """Fails when numbers are drawn in another order or way."""
    agrees(lambda x: F.dropout(x * 2, 0.3) + torch.randn_like(x) + F.dropout(x, 0.5), (randn(4, 3),), (randn(5, 2),),
           calls=("randn_like.default",))  # fmt: skip
    agrees(lambda x: F.dropout(x.t() * 2, 0.3), (randn(4, 3),), (randn(5, 2),))
    samples = (randn(4, 3),), (randn(5, 2),)
    agrees(lambda x: torch.empty_like(x).uniform_(1, 2) + x.clone().transpose_(0, 1).t(), *samples,
           calls=("empty_like.default", "uniform.default"))  # fmt: skip
    agrees(lambda x: F.dropout1d(x, 0.5), (randn(4, 3, 2),), (randn(5, 2, 7),),
           calls=("bernoulli.p", "new_empty.default"))  # fmt: skip


def test_fallbacks() -> None:
    """Fails when what loops do not hold is lowered, or not run."""
    agrees(lambda x: torch.view_as_real(x * x)[0], (randn(4, 3, dtype=torch.complex64),),
           (randn(2, 5, dtype=torch.complex64),), calls=("mul.Tensor", "view_as_real.default"))  # fmt: skip
    agrees(lambda x: x.sort(-1).values + x.cumsum(-1), (randn(4, 3),), (randn(2, 5),),
           calls=("cumsum.default", "sort.default"))  # fmt: skip


# ---------------------------------------------------------------------- programs at random, and models


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(programs())
def test_random_programs(drawn: tuple[RandomProgram, dict[str, int], list[dict[str, int]]]) -> None:
    """Fails when a random program and its lowering differ."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(*drawn)


def check(function: RandomProgram, sizes: Mapping[str, int], others: Sequence[Mapping[str, int]]) -> None:
    try:
        variant = trace(function, function.inputs(sizes))
        program, _ = written(functional(variant), variant)
    except (UndecidedGuard, Unsupported, GraphBreak):
        return
    for case in (sizes, *others):
        one, other = function.inputs(case), function.inputs(case)
        if not admits(variant, one):
            continue
        try:
            with torch.no_grad():
                expected = variant.graph(*one)
        except REFUSALS:
            continue
        for mine, theirs in zip([*evaluate(program, other), *other], [*expected, *one]):
            if isinstance(theirs, torch.Tensor):
                torch.testing.assert_close(mine, theirs, equal_nan=True)
            else:
                assert mine == theirs


SHARE = {
    "gpt2": "embedding embedding_dense_backward",
    "resnet": "max_pool2d_with_indices max_pool2d_with_indices_backward",
    "unet": "max_pool2d_with_indices max_pool2d_with_indices_backward upsample_bilinear2d upsample_bilinear2d_backward"
    " upsample_nearest2d upsample_nearest2d_backward",
}
PRODUCTS = {"mm", "addmm", "bmm", "convolution", "convolution_backward"}


@pytest.mark.parametrize("name", SHARE)
def test_model(name: str) -> None:
    """Fails when a training step is wrong, or calls an operator that it had as an expression."""
    pytest.importorskip("transformers")
    model = MODELS[name]
    torch.manual_seed(0)
    module = model.build()
    variant = traced(module, model)
    program, called = written(functional(variant), variant)
    assert {each.partition(".")[0] for each in called} <= {*SHARE[name].split(), *PRODUCTS}
    accepted = 0
    for batch, length in (model.sizes[0], model.sizes[4]):
        torch.manual_seed(batch * 100 + length)
        inputs = model.inputs(batch, length)
        if not admitted(variant, inputs):
            continue
        accepted += 1
        state = copy.deepcopy(module.state_dict())
        expected = step(module)(**inputs)
        after = copy.deepcopy(module.state_dict())
        module.load_state_dict(state)
        got = evaluate(program, [value for value in inputs.values() if isinstance(value, torch.Tensor)])
        assert all(close(mine, theirs) for mine, theirs in zip(got, expected, strict=True))
        torch.testing.assert_close(dict(module.state_dict()), dict(after))
    assert accepted
