"""Gradient formulas of C++: one graph for all sizes where they ask only to save work, and the machine's numbers."""

import pytest
import torch

from benchmarks.operators.resizing import scaled
from frontends.pytorch import compile, trace

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0")


def pool(x):
    return torch.nn.functional.adaptive_max_pool2d(x, 2)


def anti_aliased(x):
    return torch.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear", antialias=True)


CALLS = {
    "mm": (torch.mm, (5, 4), (4, 3)),
    "mm of rows": (torch.mm, (5, 1), (1, 3)),
    "addmm": (torch.addmm, (5, 3), (5, 4), (4, 3)),
    "cumsum": (lambda x: x.cumsum(0), (5, 4)),
    "cumsum of one": (lambda x: x.cumsum(0), (1, 4)),
    "prod": (torch.prod, (5, 4)),
    "prod along an axis": (lambda x: x.prod(0), (5, 4)),
    "rfft": (torch.fft.rfft, (3, 6)),
    "rfft of two": (torch.fft.rfft, (3, 2)),
    "repeat": (lambda x: x.repeat(x.shape[0], 2), (3, 4)),
    "glu of two": (torch.nn.functional.glu, (5, 2)),
    "conv2d": (torch.nn.functional.conv2d, (2, 3, 6, 6), (4, 3, 3, 3)),
    "adaptive pool": (pool, (2, 3, 6, 7)),
    "anti-aliased": (anti_aliased, (2, 3, 6, 7)),
    "diagonal_scatter": (torch.diagonal_scatter, (4, 4), (4,)),
    "pinv": (torch.linalg.pinv, (5, 3)),
    "solve_triangular": (lambda a, b: torch.linalg.solve_triangular(a, b, upper=True), (4, 4), (4, 3)),
    "flip": (lambda x: x.flip(0).diff(dim=0), (5, 3)),
    "sums of rows": (lambda x: torch.linalg.matrix_norm(x, ord=float("inf"), dim=(-1, 0)), (5, 2, 3)),
    "block_diag": (torch.block_diag, (2, 3), (4, 5)),
    "layer_norm": (lambda x: torch.nn.functional.layer_norm(x, x.shape[1:]), (4, 5)),
    "batch_norm": (lambda x: torch.nn.functional.batch_norm(x, None, None, training=True), (4, 2, 3)),
}


def gradients(function, *tensors):
    found = function(*tensors)
    weights = torch.arange(1.0, 1 + found.numel(), dtype=found.real.dtype).view(found.shape)
    total = (found.real * weights).sum()
    return torch.autograd.grad(total, tensors)


def drawn(sizes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(each, generator=generator, dtype=torch.float64).requires_grad_() for each in sizes]


def compare(variant, function, tensors):
    for right, ours in zip(gradients(function, *tensors), variant.graph(*tensors), strict=True):
        torch.testing.assert_close(ours, right, equal_nan=True)


@pytest.mark.parametrize("name", CALLS)
def test_one_graph_for_all_sizes(name):
    """A formula of C++ branched on a size and refuses others, or ours is another than eager's at some size."""
    function, *sizes = CALLS[name]
    variant = trace(lambda *tensors: gradients(function, *tensors), drawn(sizes))
    admits = variant.env.compile_guards(
        {word: (each.name, *path) for each in variant.inputs for word, path in each.symbols},
        arguments=[each.name for each in variant.inputs],
    )
    compare(variant, function, drawn(sizes))
    tried = 0
    one_more = tuple([tuple([size + 1 for size in each]) for each in sizes])
    for changed in (*scaled(tuple(sizes)), one_more):
        tensors = drawn(changed, seed=1)
        try:
            function(*tensors)
        except (RuntimeError, ValueError):
            continue
        tried += 1
        assert admits(*tensors), changed
        compare(variant, function, tensors)
    assert tried


def test_a_broadcast_is_summed_up():
    """A bias of one element, which need not be one, gets a gradient for each row."""
    sizes = (1,), (2, 4), (4, 3)
    variant = trace(lambda *tensors: gradients(torch.addmm, *tensors), drawn(sizes))
    assert [guard for guard in variant.guards if str(guard).endswith(" == 1")]
    compare(variant, torch.addmm, drawn(sizes, seed=1))


def test_a_change_to_a_view_of_one_element():
    """The gradient of a change to a view copies; taken for a copy that may be a view, it is refused at size 1."""

    def program(x):
        return torch.nn.functional.pad(x, (1, 1), mode="circular")

    variant = trace(lambda x: gradients(program, x), drawn([(1, 2, 5)]))
    for sizes in ((1, 2, 5), (3, 1, 4)):
        compare(variant, program, drawn([sizes]))


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize(
    "function", [lambda x: x.var(0), lambda x: x.std(0, correction=2), lambda x: torch.add(*torch.var_mean(x, 0))]
)
def test_variances_of_few_elements(function, backend):
    """A formula divides by a count that is 0 at some sizes: Python would raise an error, eager gives infinities."""
    compiled = compile(function, backend=backend, dynamic=True)
    for rows in (4, 2, 1, 3):
        (x,) = drawn([(rows, 3)])
        torch.testing.assert_close(gradients(compiled, x), gradients(function, x), equal_nan=True)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_gradients_without_memory(backend):
    """Kernels are given the zeros of eager's formula, which have no elements."""

    def function(x):
        return x.sgn() * x

    compiled = compile(function, backend=backend, dynamic=True)
    for sizes in ((3, 4), (5, 2)):
        (x,) = drawn([sizes])
        torch.testing.assert_close(gradients(compiled, x), gradients(function, x))


@pytest.mark.parametrize("function", [torch.max, torch.min, torch.median, torch.nanmedian])
def test_infinite_gradients_of_extrema(function):
    """Elements that are not chosen get the gradient NaN, 0 times infinity."""

    def program(x):
        return function(x) * torch.inf

    (x,) = drawn([(3, 4)])
    compare(trace(lambda x: gradients(program, x), [x]), program, drawn([(2, 5)]))


def test_transforms_of_functions_keep_torch_formulas():
    """A formula of ours is no part of `torch.func`, which raises where it meets one."""

    def program(x):
        return torch.func.grad(lambda x: x.max())(x)

    (x,) = drawn([(3, 4)])
    x = x.detach()
    torch.testing.assert_close(trace(program, [x]).graph(x)[0], program(x))
