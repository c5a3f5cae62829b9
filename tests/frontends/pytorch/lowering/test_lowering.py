"""Programs of tensor expressions give what eager gives, at the traced sizes and at others."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch
from torch.nn import functional as F

from benchmarks.models import MODELS, step
from benchmarks.models.running import admitted, close, traced
from frontends.pytorch import compile, trace
from frontends.pytorch.graphs.functional import functional, functional_joint
from frontends.pytorch.lowering import LOWERINGS
from tests.backends.evaluation import evaluate
from tests.frontends.pytorch.lowering.lowered import agrees, written
from tests.frontends.pytorch.lowering.lowered_functions import FLOATS, GRADIENTS, INTEGERS, special

randn, randint = torch.randn, torch.randint


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
    variant = agrees(lambda x: x[x > 0].max(), *samples, calls=("_local_scalar_dense.default",))
    with pytest.raises(AssertionError, match="no elements to choose from"):
        evaluate(written(functional(variant), variant)[0], [torch.tensor([-4.0, -2.0])])


@pytest.mark.parametrize("name", GRADIENTS)
def test_backward(name: str) -> None:
    """Fails when a gradient is another than autograd's, or the two programs pass each other something else."""
    function = GRADIENTS[name]
    torch.manual_seed(0)
    first = [randn(4, 8, requires_grad=True), randn(8, 8, requires_grad=True)]
    variant = trace(function, first, gradients=True)
    joint = functional_joint(variant, LOWERINGS)
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
        assert variant.joint is not None
        reached = [each.result in variant.joint.leaves for each in variant.inputs]
        assert reached == [theirs is not None for theirs in wanted]
        for mine, theirs in zip(got, [each for each in wanted if each is not None], strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


SHARE = {
    "gpt2": "embedding",
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


def test_an_operator_whose_decomposition_asks_what_only_the_run_tells_is_called() -> None:
    """`repeat` has a case for no repetition."""

    def function(x, times):
        return (x + 1).repeat(times, 1) * 2

    compiled = compile(function, backend="cpu", dynamic=True)
    for rows, times in ((3, 2), (2, 0), (4, 1)):
        x, count = torch.randn(rows, 4), torch.tensor(times)
        torch.testing.assert_close(compiled(x, count), function(x, count))
    assert len(compiled.variants) == 1
