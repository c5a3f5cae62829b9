"""Forward and backward traced together: values, gradients and what autograd may ask besides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch

from frontends.pytorch import compile, trace
from frontends.pytorch.graphs.joint import runner
from tests.frontends.pytorch.differential.comparing import gradients_of, same

Program = Callable[..., object]


def flat(value: object) -> list[object]:
    return list(value) if isinstance(value, tuple | list) else [value]


def agrees(program: Program, traced: Sequence[torch.Tensor], *others: Sequence[torch.Tensor]) -> None:
    """The graphs give what eager gives, on the traced inputs and on others."""
    variant = trace(program, traced, gradients=True)
    assert variant.joint is not None
    run = runner(variant)
    for inputs in (traced, *others):
        learned = [each for each in inputs if each.requires_grad]
        expected, got = flat(program(*inputs)), run(inputs)
        same(list(got), expected, "result")
        same(gradients_of(got, learned), gradients_of(expected, learned), "gradient")


def leaf(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, requires_grad=True)


def broadcast(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x * y).sin().sum(0)


def several(x: torch.Tensor, y: torch.Tensor) -> tuple[object, ...]:
    hidden = (x @ y).relu()
    return hidden, hidden.detach(), hidden.shape[0] * 2, None, hidden.mean(1), (hidden > 0).sum()


def unused(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.exp()


def data_dependent(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x[x > 0].square().sum() + y.sum()


def in_place(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    hidden = x * 2
    hidden[:, 1:].mul_(y[:, 1:])
    return hidden.add_(1).tanh()


PROGRAMS = {
    "broadcast": (broadcast, [(3, 4), (1, 4)], [(5, 7), (1, 7)]),
    "several outputs": (several, [(3, 4), (4, 5)], [(6, 2), (2, 7)]),
    "an input without influence": (unused, [(3, 4), (4,)], [(1, 9), (2,)]),
    "sizes of the run": (data_dependent, [(3, 4), (4,)], [(8, 1), (2,)]),
    "in place on a view": (in_place, [(3, 4), (3, 4)], [(2, 9), (2, 9)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eager(name: str) -> None:
    """A compiled function trains the same model as in eager."""
    program, first, second = PROGRAMS[name]
    torch.manual_seed(0)
    agrees(program, [leaf(*sizes) for sizes in first], [leaf(*sizes) for sizes in second])


def test_an_input_that_is_an_output() -> None:
    """`return x` gives x itself, and counts its gradient once."""

    def program(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, x * y

    inputs = [leaf(3), leaf(3)]
    agrees(program, inputs, [leaf(8), leaf(8)])
    variant = trace(program, inputs, gradients=True)
    assert variant.joint is not None
    assert runner(variant)(inputs)[0] is inputs[0]


def test_a_gradient_of_other_strides() -> None:
    """A backward that was traced for packed gradients is right for an expanded one."""
    x = leaf(3, 4)
    variant = trace(lambda x: (x * x).view(-1), (x,), gradients=True)
    (y,) = runner(variant)([x])
    y.backward(torch.ones(()).expand(12))
    torch.testing.assert_close(x.grad, 2 * x.detach())


@pytest.mark.parametrize(
    "program",
    [
        lambda x: (x * 2).unsqueeze(0).expand(3, -1, -1),
        lambda x: (x * 2)[:, ::2],
        lambda x: (x * 2).unfold(1, 3, 1),
        lambda x: (x * 2)[:, 1:].t(),
    ],
    ids=["expanded", "every second", "overlapping windows", "a part"],
)
@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_outputs_that_are_views_with_gaps_or_repeated(backend: str, program: Callable[..., torch.Tensor]) -> None:
    """The gradient of an output that is a view with gaps or repeated elements is right."""
    compiled = compile(program, backend=backend, dynamic=True)
    for sizes in ((4, 5), (2, 7), (1, 3)):
        x = leaf(*sizes)
        found, expected = compiled(x), program(x)
        torch.testing.assert_close(found, expected)
        turned = torch.randn(expected.shape[::-1]).permute(*reversed(range(expected.dim())))
        for tangent in (torch.randn(expected.shape), turned):
            (one,) = torch.autograd.grad(found, x, tangent, retain_graph=True)
            (other,) = torch.autograd.grad(expected, x, tangent, retain_graph=True)
            torch.testing.assert_close(one, other)


def test_gradients_of_gradients_are_an_error() -> None:
    """A second derivative is an error, not zero."""
    x = leaf(3)
    variant = trace(lambda x: x.pow(3), (x,), gradients=True)
    (y,) = runner(variant)([x])
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    torch.testing.assert_close(first.detach(), 3 * x.detach() ** 2)
    with pytest.raises(RuntimeError, match="differentiated twice"):
        (first * x).sum().backward()


@pytest.mark.parametrize("asked", ["argument", "parameter", "before"])
def test_a_penalty_on_gradients_is_an_error(asked: str) -> None:
    """A second derivative with respect to any tensor is an error, not left out by autograd."""
    first, weight = torch.nn.Linear(3, 3), leaf(3)
    x = leaf(2, 3)
    variant = trace(lambda x: (x * weight).tanh(), (first(x),), gradients=True)
    hidden = first(x)
    (y,) = runner(variant)([hidden])
    (gradient,) = torch.autograd.grad(y.sum(), hidden, create_graph=True)
    wanted = {"argument": hidden, "parameter": weight, "before": first.weight}[asked]
    with pytest.raises(RuntimeError, match="differentiated twice"):
        torch.autograd.grad(y.sum() + gradient.pow(2).sum(), wanted)


def test_a_tensor_changed_before_its_backward_is_an_error() -> None:
    """A tensor that is overwritten between forward and backward is an error."""
    x, y = leaf(3), torch.randn(3)
    variant = trace(lambda x, y: x * y, (x, y), gradients=True)
    assert variant.joint is not None
    (z,) = runner(variant)([x, y])
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_guards_of_the_backward_are_guards() -> None:
    """A guard of the backward is a guard of the forward."""
    x, y = leaf(3, 4), leaf(3, 4)

    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x.sum(0) * y.sum(0)).sum()

    variant = trace(program, (x, y), gradients=True)
    assert [str(guard) for guard in variant.guards] == ["x.shape[1] == y.shape[1]"]


def test_nothing_to_differentiate() -> None:
    """Inference has no backward."""
    assert trace(lambda x: x * 2, (torch.randn(3),), gradients=True).joint is None
    assert trace(lambda x: x.argmax(), (leaf(3),), gradients=True).joint is None


UNUSED = {
    "an infinite slope": lambda x, w: (x.sqrt() * w, x * 2, x.exp()),
    "a sum of several": lambda x, w: ((x * w).relu(), (x * w).sum(0), x.t() * 2 + w.t()),
    "views of one": lambda x, w: (x * w).unbind(0)[:3],
    "two of one operator": lambda x, w: (*torch.std_mean(x * w, 1), x),
    "a loss and what it is of": lambda x, w: (
        torch.nn.functional.cross_entropy(x @ w.t(), torch.zeros(len(x), dtype=torch.int64)),
        x @ w.t(),
        torch.nn.functional.layer_norm(x, x.shape[1:]).chunk(2, 1)[0],
    ),
}


@pytest.mark.parametrize("name", UNUSED)
@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_outputs_that_nobody_used(backend: str, name: str) -> None:
    """Unused outputs have no gradients: no zero times infinity, no gradient of another input, no other strides."""
    program = UNUSED[name]
    compiled = compile(program, backend=backend, dynamic=True)
    for used in ((1,), (0,), (2,), (0, 2), (0, 1, 2)):
        for sizes in ((3, 4), (5, 6)):
            x, w = torch.arange(sizes[0] * sizes[1]).view(sizes) % 5 / 2, torch.randn(sizes)
            found, expected = [
                torch.autograd.grad(
                    [outputs[place].square().sum() for place in used], (x_leaf, w_leaf), allow_unused=True
                )
                for function in (compiled, program)
                for x_leaf, w_leaf in [(x.clone().requires_grad_(), w.clone().requires_grad_())]
                for outputs in [function(x_leaf, w_leaf)]
            ]
            for mine, theirs in zip(found, expected):
                assert (mine is None) == (theirs is None)
                if theirs is not None:
                    torch.testing.assert_close(mine, theirs, equal_nan=True)
                    assert mine.stride() == theirs.stride()


class Shifted(torch.autograd.Function):
    """Two outputs, and a backward that makes something of nothing."""

    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, first, second):
        return first * 2 + second.exp()


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_a_backward_that_makes_something_of_zeros(backend: str) -> None:
    """A program's own backward runs also where a gradient is absent."""
    found = []
    for function in (compile(Shifted.apply, backend=backend), Shifted.apply):
        x = torch.ones(3, requires_grad=True)
        function(x)[0].sum().backward()
        found.append(x.grad)
    assert torch.equal(*found) and found[0].tolist() == [3.0] * 3


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("given", [True, False], ids=["an argument", "a parameter"])
def test_what_has_no_gradient_is_no_part_of_the_graph(given: bool, backend: str) -> None:
    """A backward keeps the graph of an argument that the result does not depend on, which is unused, as in eager."""
    before = torch.randn(3, requires_grad=True)
    weight = torch.nn.Parameter(torch.randn(3))
    apart = before.exp()

    def detached(weight: torch.Tensor) -> torch.Tensor:
        return (apart.detach() * weight).sum()

    function = compile((lambda x, w: (x.detach() * w).sum()) if given else detached, backend=backend)
    result = function(apart, weight) if given else function(weight)
    result.backward()
    apart.sum().backward()
    assert torch.equal(before.grad, before.detach().exp()) and torch.equal(weight.grad, apart.detach())
    with pytest.raises(RuntimeError, match="not have been used"):
        torch.autograd.grad(function(apart, weight) if given else function(weight), before)


def test_parameters_alone_have_gradients() -> None:
    """A program has a backward if only its parameters require gradients."""
    layer = torch.nn.Linear(3, 3)
    variant = trace(lambda x: layer(layer(x).relu()), (torch.ones(2, 3),), gradients=True)
    (y,) = runner(variant)([torch.ones(5, 3)])
    y.sum().backward()
    assert layer.weight.grad is not None


UNDERIVED: dict[str, Program] = {
    "alone": lambda x, w: x // 2,
    "two of them": lambda x, w: (1 % (x // 0.5)).relu(),
    "beside others": lambda x, w: (x // w, x * w),
    "of one of two inputs": lambda x, w: (x // 2, x * w),
    "a way around it": lambda x, w: (x // 2 * w).sum(),
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", UNDERIVED)
def test_operators_without_a_derivative(name: str, backend: str) -> None:
    """A backward raises where eager's does not, or the reverse: eager torch runs such a program."""

    def did(call: Program, size: int, output: int, wanted: slice) -> tuple[object, str]:
        x, w = [torch.linspace(low, 3, size).requires_grad_() for low in (0.5, 1)]
        outputs = flat(call(x * 1, w))
        chosen = outputs[output % len(outputs)]
        assert isinstance(chosen, torch.Tensor)
        try:
            return (chosen.detach(), *torch.autograd.grad(chosen.sum(), [x, w][wanted], allow_unused=True)), ""
        except RuntimeError as error:
            return (chosen.detach(),), repr(error)

    compiled = compile(UNDERIVED[name], dynamic=True, backend=backend)
    for size in (3, 5):
        for output in (0, 1):
            for wanted in (slice(2), slice(1), slice(1, 2)):
                values, error = did(UNDERIVED[name], size, output, wanted)
                found, raised = did(compiled, size, output, wanted)
                torch.testing.assert_close(found, values)
                assert raised == error
    assert any(graph.reason for graph in compiled._program.graphs)
