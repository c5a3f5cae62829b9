"""The surroundings of compiled functions in user programs that kernels must handle."""

from __future__ import annotations

import pytest
import torch

from backends import named
from frontends.pytorch import compile, trace

torch.manual_seed(0)


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(6, 5))

    def forward(self, x):
        return (x * self.weight).softmax(-1)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize(
    "data",
    [torch.randn(5, 6).t(), torch.randn(6, 10)[:, ::2], torch.randn(1), torch.randn(6, 5).double()],
    ids=["turned", "every second", "another shape", "another dtype"],
)
def test_data_of_a_parameter_is_replaced(backend, data):
    """A kernel reads a parameter at an old address, or beyond its end."""
    module = Scaled()
    compiled = compile(module, backend=backend, dynamic=True)
    x = torch.randn(6, 5)
    torch.testing.assert_close(compiled(x), module(x))
    module.weight.data = data
    torch.testing.assert_close(compiled(x), module(x))


@pytest.mark.parametrize("second", [slice(5, 10), slice(2, 7), slice(0, 5)], ids=["apart", "overlapping", "the same"])
def test_arguments_that_overlap(second):
    """An argument is mutated, and the other one shares its memory."""

    def program(x, y):
        x.add_(1)
        return x * y

    compiled = compile(program, backend="cpu", dynamic=True)
    compiled(torch.randn(5), torch.randn(5))
    ours, theirs = (torch.arange(10.0) for _ in range(2))
    torch.testing.assert_close(compiled(ours[:5], ours[second]), program(theirs[:5], theirs[second]))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    "x",
    [
        torch.randn(4, 1).expand(4, 7),
        torch.randn(3, 0),
        torch.randn(0, 3),
        torch.randn(20)[3:15].view(3, 4),
        torch.randn(4, 5).t(),
        torch.randn(1, 1),
        torch.randn(2, 6)[:, ::2],
    ],
    ids=["expanded", "no columns", "no rows", "offset", "turned", "one", "every second"],
)
def test_how_an_argument_lies(x):
    """A kernel takes strides or an offset for something else, or does not bear an empty tensor."""

    def program(x):
        return x.exp() + x.sum(-1, keepdim=True)

    compiled = compile(program, backend="cpu", dynamic=True)
    compiled(torch.randn(3, 4))
    torch.testing.assert_close(compiled(x), program(x))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8])
def test_dtypes(dtype):
    """A dtype is computed with as another one."""

    def program(x, y):
        return torch.where(x > y, x * 2, y - 1).sum(0)

    x, y = ((torch.rand(5, 9) * 200).to(dtype) for _ in range(2))
    torch.testing.assert_close(compile(program, backend="cpu", dynamic=True)(x, y), program(x, y))


def test_more_elements_than_a_32_bit_number_counts():
    """A count of elements overflows; `x` is of one byte."""
    x = torch.ones(1, dtype=torch.uint8).expand(2**31 + 5)
    assert int(compile(lambda x: (x + 1).sum(), backend="cpu", dynamic=True)(x)) == 2 * (2**31 + 5)


@pytest.mark.thorough
def test_more_memory_than_a_32_bit_number_counts():
    """An index overflows; four gigabytes are read and written."""
    x = torch.zeros(2**31 + 5, dtype=torch.uint8)
    assert bool((compile(lambda x: x + 1, backend="cpu", dynamic=True)(x) == 1).all())


def test_row_that_is_masked_whole():
    """A row of softmax without anything to look at is not nan, or others are."""

    def program(x, mask):
        return x.masked_fill(mask, float("-inf")).softmax(-1)

    mask = torch.zeros(3, 5, dtype=torch.bool)
    mask[1] = True
    x = torch.randn(3, 5)
    torch.testing.assert_close(compile(program, backend="cpu", dynamic=True)(x, mask), program(x, mask), equal_nan=True)


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_casts_to_halves_are_rounded(half):
    """A cast to a half and back rounds the elements."""

    def program(x, y):
        copied = torch.empty_like(x, dtype=half).copy_(y)
        return x.to(half).float() + y, (x * 1e4).long().to(half).long(), copied.double()

    compiled = compile(program, backend="cpu", dynamic=True)
    x, y = torch.randn(5, 37), torch.randn(5, 37)
    for found, expected in zip(compiled(x, y), program(x, y)):
        assert torch.equal(found, expected)


def test_a_graph_of_parameters_run_with_gradients_on():
    """A graph that was traced with its gradients stops where an operator writes to memory of the kernels."""
    weight = torch.nn.Parameter(torch.randn(6, 6))

    def step(x):
        loss = ((x @ weight).relu() @ weight).square().sum()
        return loss, torch.autograd.grad(loss, weight)[0]

    variant = trace(step, (torch.randn(4, 6),))
    run = variant.run_by(named("cpu"))
    x = torch.randn(5, 6)
    loss, gradient = step(x)
    torch.testing.assert_close(run([x]), [loss.detach(), gradient])


def test_several_values_kept_beside_numbers_that_are_the_same_in_all_lanes():
    """Two things in the generated code have one name, and the program falls back to operators."""

    def program(x):
        padded = torch.tanh(torch.nn.functional.pad(torch.cat([x, x]), (1, 2), value=0.5))
        return torch.nn.functional.layer_norm(padded, padded.shape[1:]), padded.sum(0)

    compiled = compile(program, backend="cpu", dynamic=True)
    for sizes in ((3, 5, 7), (2, 1, 40)):
        x = torch.randn(sizes)
        for found, expected in zip(compiled(x), program(x)):
            torch.testing.assert_close(found, expected)
    assert not compiled.variants[0].running.note


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_inference_mode(backend):
    """Operators that are made of others come whole: a conversion to the dtype it has already is taken for a view of
    itself without end, a norm changes its statistics unseen."""
    norm = torch.nn.BatchNorm1d(3)

    def program(x, weight):
        norm.running_mean.zero_()
        y = norm(x.float().contiguous().transpose(1, 2)) @ weight.t().to(torch.float32)
        return y.reshape(-1, y.shape[-1]).type_as(x)[:, torch.tensor([0, 1])], norm.running_mean + 0

    compiled = compile(program, backend=backend, dynamic=True)
    for length in (5, 6, 9):
        x, weight = torch.randn(4, length, 3), torch.randn(2, length)
        with torch.inference_mode():
            torch.testing.assert_close(compiled(x, weight), program(x, weight))
    assert len(compiled.variants) == 1
    assert not compiled.variants[0].running.note


@pytest.mark.parametrize("held", ["alone", "in a list"])
def test_parameters_are_frozen_and_learned_again(held):
    """Parameters can be frozen and made to require gradients again."""
    weight, bias = torch.nn.Parameter(torch.randn(4, 4)), torch.nn.Parameter(torch.randn(4))
    parameters = [weight, bias]

    def alone(x):
        return (x @ weight).tanh() * bias

    def in_a_list(x):
        return (x @ parameters[0]).tanh() * parameters[1]

    program = alone if held == "alone" else in_a_list
    compiled = compile(program, backend="cpu", dynamic=True)
    for learned in [(False, False), (True, False), (False, True), (True, True)] * 2:
        for parameter, is_learned in zip(parameters, learned):
            parameter.requires_grad_(is_learned)
        x = torch.randn(3, 4)
        found, expected = compiled(x), program(x)
        assert found.requires_grad == expected.requires_grad
        wanted = [parameter for parameter in parameters if parameter.requires_grad]
        if wanted:
            gradients = [torch.autograd.grad(each.sum(), wanted) for each in (found, expected)]
            torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_hooks_of_parameters(backend):
    """A hook changes a gradient twice: when it is traced, and when it is there."""
    linear = torch.nn.Linear(3, 3)
    seen = []
    linear.weight.register_hook(lambda gradient: seen.append(gradient) or gradient * 2)
    compiled = compile(linear, backend=backend, dynamic=True)
    x = torch.randn(4, 3)
    for module in (compiled, linear):
        (gradient,) = torch.autograd.grad(module(x).sum(), linear.weight)
        torch.testing.assert_close(gradient, 2 * x.sum(0).expand(3, 3))
    assert len(seen) == 2
    linear(x).sum().backward()
    assert len(seen) == 3


@pytest.mark.parametrize("breaks", [False, True])
def test_autocast_around_compiled_and_not(breaks):
    """Autocast keeps a tensor of the trace as the cast parameter, or the trace one of before the parameter changed."""
    linear = torch.nn.Linear(3, 3)
    x = torch.randn(4, 3)

    def program(x):
        if breaks:
            x = x * float(x.abs().sum() > 0)
        return linear(x)

    for first in (program, compile(program, backend="cpu", dynamic=True)):
        compiled = compile(program, backend="cpu", dynamic=True)
        for _ in range(2):
            with torch.autocast("cpu", torch.bfloat16):
                for each in (first, compiled, linear, compiled):
                    torch.testing.assert_close(each(x), torch.nn.functional.linear(x, linear.weight, linear.bias))
            with torch.no_grad():
                linear.weight.mul_(2)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_inference_mode_now_and_then(backend):
    """Tensors made in inference mode, and outside of it, can be used in turn."""
    linear = torch.nn.Linear(3, 3)

    def program(x):
        y = linear(x).relu()
        return y * 2 if y.sum() > 0 else y.exp()

    def straight(x):
        with torch.inference_mode():
            y = x.relu() + 1
        return y.sum(), linear(x).relu()

    for each in (program, straight):
        compiled = compile(each, backend=backend, dynamic=True)
        for mode in (torch.inference_mode, torch.enable_grad, torch.no_grad) * 2:
            x = torch.randn(4, 3)
            with mode():
                torch.testing.assert_close(compiled(x), each(x))


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_channels_last_between_breaks(backend):
    """Channels-last tensors keep their layout between graphs: gradients of norms are right, and views are accepted."""
    convolution, norm = torch.nn.Conv2d(2, 4, 3, padding=1), torch.nn.GroupNorm(2, 4)

    def program(x):
        x = x if x.sum() > -1e9 else -x
        y = norm(convolution(x))
        return torch.nn.functional.silu(y) + 1, convolution(x).flatten(2), y.roll(1, 1).reshape(-1)

    compiled = compile(program, backend=backend, dynamic=True)
    for _ in range(3):
        x = torch.randn(2, 2, 8, 4).contiguous(memory_format=torch.channels_last)
        ours, theirs = (x.clone().requires_grad_() for _ in range(2))
        found, expected = compiled(ours), program(theirs)
        torch.testing.assert_close(found, expected)
        (sum((each * each).sum() for each in found)).backward()
        (sum((each * each).sum() for each in expected)).backward()
        torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW], ids=lambda each: each.__name__)
def test_step_of_an_optimizer(backend, kind):
    """The profiler records of an optimizer's step are not taken for operators."""
    parameters = [torch.nn.Parameter(torch.ones(3, 4)) for _ in range(2)]
    optimizers = [kind([each], lr=0.1) for each in parameters]
    steps = [compile(optimizers[0].step, backend=backend, dynamic=True), optimizers[1].step]
    for number in range(4):
        for parameter, step in zip(parameters, steps):
            parameter.grad = torch.full((3, 4), number - 1.5)
            step()
        torch.testing.assert_close(*parameters)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_gradients_that_parameters_have(backend):
    """The gradient of the first call is taken for that of all calls."""
    parameters = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]

    def stepping(parameter):
        def step():
            with torch.no_grad():
                if parameter.grad is not None:
                    parameter.sub_(0.1 * parameter.grad)

        return step

    steps = [compile(stepping(parameters[0]), backend=backend, dynamic=True), stepping(parameters[1])]
    for gradient in (None, torch.ones(3), torch.full((3,), 2.0), None, torch.full((3,), -1.0)):
        for parameter, step in zip(parameters, steps):
            parameter.grad = gradient
            step()
        torch.testing.assert_close(*parameters)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_weighted_bags(backend):
    """An operator that asks for sizes by one that only TorchScript has stops the trace."""
    weights = torch.rand(6)

    def program(table, places):
        offsets = torch.tensor([0, 2, 2])
        return torch.nn.functional.embedding_bag(places, table, offsets, mode="sum", per_sample_weights=weights)

    compiled = compile(program, backend=backend, dynamic=True, fullgraph=True)
    for rows in (5, 9):
        table, places = torch.randn(rows, 4), torch.randint(0, rows, (6,))
        torch.testing.assert_close(compiled(table, places), program(table, places))
