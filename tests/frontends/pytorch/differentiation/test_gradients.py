"""One graph of a gradient is right for all sizes, where torch's formula has one for each."""

import pytest
import torch

from benchmarks.operators.resizing import scaled
from frontends.pytorch import trace

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0")


def factors(x):
    _, lower, upper = torch.linalg.lu(x)
    return lower.sin().sum() + upper.cos().sum()


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
    "cumprod": (lambda x: x.cumprod(0), (5, 4)),
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
    "trace": (torch.trace, (5, 3)),
    "sgn": (torch.sgn, (5, 3)),
    "flip": (lambda x: x.flip(0).diff(dim=0), (5, 3)),
    "sums of rows": (lambda x: torch.linalg.matrix_norm(x, ord=float("inf"), dim=(-1, 0)), (5, 2, 3)),
    "lstsq": (lambda a, b: torch.linalg.lstsq(a, b).solution, (5, 3), (5, 2)),
    "batch_norm": (lambda x: torch.nn.functional.batch_norm(x, None, None, training=True), (4, 2, 3)),
    "var": (torch.var, (5, 3)),
    "var along an axis": (lambda x: x.var(0), (5, 3)),
    "var of one": (torch.var, (1, 1)),
    "std": (lambda x: x.std(0, keepdim=True), (5, 3)),
    "var_mean": (lambda x: torch.add(*torch.var_mean(x, 1, correction=2)), (5, 3)),
    "std_mean": (lambda x: torch.mul(*torch.std_mean(x)), (5, 3)),
    "wide factors": (factors, (3, 5)),
    "tall factors": (factors, (5, 3)),
    "stacked factors": (factors, (2, 3, 5)),
    "packed factors": (lambda x: torch.linalg.lu_factor(x)[0].sin(), (3, 5)),
    "householder_product": (torch.linalg.householder_product, (5, 3), (2,)),
    "ormqr": (torch.ormqr, (4, 3), (3,), (4, 2)),
    "ormqr from the right": (lambda a, t, c: torch.ormqr(a, t, c, left=False, transpose=True), (4, 3), (3,), (2, 4)),
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


@pytest.mark.parametrize("zeros", [(), (0,), (2,), (1, 3), (0, 1, 4)])
def test_zeros_among_factors(zeros):
    """The gradient of a running product divides by an element that is 0."""

    def function(x):
        return x.cumprod(0)

    (x,) = drawn([(5, 2)])
    variant = trace(lambda x: gradients(function, x), [x])
    with torch.no_grad():
        for place in zeros:
            x[place] = 0
    compare(variant, function, [x])


def twice(function, x):
    (first,) = torch.autograd.grad(function(x).sin().sum(), x, create_graph=True)
    return torch.autograd.grad((first * first).sum(), x)


@pytest.mark.parametrize(
    "function",
    [lambda x: x.cumprod(0), factors, lambda x: x.var(0), lambda x: torch.linalg.householder_product(x, x.diagonal())],
)
def test_gradients_have_gradients(function):
    """A formula of ours ends what eager can differentiate again."""
    (x,) = drawn([(4, 3)])
    with torch.no_grad():
        x[1] = 0
    torch.testing.assert_close(trace(lambda x: twice(function, x), [x]).graph(x)[0], twice(function, x)[0])


def test_a_broadcast_is_summed_up():
    """A bias of one element, which need not be one, gets a gradient for each row."""
    sizes = (1,), (2, 4), (4, 3)
    variant = trace(lambda *tensors: gradients(torch.addmm, *tensors), drawn(sizes))
    assert [guard for guard in variant.guards if str(guard).endswith(" == 1")]
    compare(variant, torch.addmm, drawn(sizes, seed=1))


def test_complex_factors():
    """A formula forgets to conjugate."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 5, dtype=torch.complex128, generator=generator).requires_grad_()

    def function(x):
        _, lower, upper = torch.linalg.lu(x)
        return lower.abs().sum() + upper.sin().real.sum()

    variant = trace(lambda x: torch.autograd.grad(function(x), x), [x])
    torch.testing.assert_close(variant.graph(x)[0], torch.autograd.grad(function(x), x)[0])


def test_residuals():
    """The gradient of what is left of equations, which there is only with more of them than unknowns."""

    def function(a, b):
        found = torch.linalg.lstsq(a, b, driver="gelsd")
        return torch.cat([found.solution, found.residuals.unsqueeze(0)])

    variant = trace(lambda a, b: gradients(function, a, b), drawn([(5, 3), (5, 2)]))
    for sizes in ([(5, 3), (5, 2)], [(7, 2), (7, 4)]):
        compare(variant, function, drawn(sizes, seed=1))


def test_transforms_of_functions_keep_torch_formulas():
    """A formula of ours is no part of `torch.func`, which raises where it meets one."""

    def program(x):
        return torch.func.grad(lambda x: x.var(0).sum() + torch.linalg.lu(x)[2].sum())(x)

    (x,) = drawn([(3, 4)])
    x = x.detach()
    torch.testing.assert_close(trace(program, [x]).graph(x)[0], program(x))


def test_a_change_to_a_view_of_one_element():
    """The gradient of a change to a view copies; taken for a copy that may be a view, it is refused at size 1."""

    def program(x):
        return torch.nn.functional.pad(x, (1, 1), mode="circular")

    variant = trace(lambda x: gradients(program, x), drawn([(1, 2, 5)]))
    for sizes in ((1, 2, 5), (3, 1, 4)):
        compare(variant, program, drawn([sizes]))
