"""What torch's C++ wants as plain numbers or as elements: in one graph where that is possible, else refused by name."""

import pytest
import torch

from frontends.pytorch import compile
from frontends.pytorch.errors import Unsupported
from shapes.errors import ShapeError, UndecidedGuard


def diagonal(x):
    made = torch.zeros(x.shape[0] + 2, 3)
    made.fill_diagonal_(2.0)
    return made + x.sum()


def nested(x):
    inner = lambda y: y + torch.cond(y.mean() > 0.1, lambda z: z * 10, lambda z: -z, (y,))  # noqa: E731
    return torch.cond(x.sum() > 0, torch.sin, inner, (x,))


def nested_over_given(x):
    low, high = x.sum() > 0, x.sum() < 0.5
    inner = lambda y: y + torch.cond(high, lambda z: z * 10, lambda z: -z, (y,))  # noqa: E731
    return torch.cond(low, inner, torch.sin, (x,))


CAPTURED = {
    "list of numbers": lambda x: torch.tensor([x.sum(), 2]),
    "list of lists of numbers": lambda x: torch.tensor([[x.sum(), 2.5], [x.shape[0], x.mean()]]),
    "as_tensor of numbers": lambda x: torch.as_tensor([x.double().sum(), x.shape[0]]),
    "of two dtypes": lambda x: torch.tensor([x.long().sum(), True]),
    "new_tensor of numbers": lambda x: x.new_tensor([x.sum(), 2]),
    "shape as tensor": lambda x: torch._shape_as_tensor(x) * 2,
    "diagonal filled": diagonal,
    "branch in a branch": nested,
    "branch in a branch over what is around": nested_over_given,
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", CAPTURED)
def test_in_one_graph(name: str, backend: str) -> None:
    """If it fails, such a program has no graph, or another result than in eager torch."""
    program = CAPTURED[name]
    compiled = compile(program, backend=backend, dynamic=True, fullgraph=True)
    for seed, rows in enumerate((3, 5, 2, 4)):
        x = torch.randn(rows, 4, generator=torch.Generator().manual_seed(seed))
        torch.testing.assert_close(compiled(x), program(x))


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_sizes_as_an_argument(backend: str) -> None:
    """If it fails, a call that is given a `torch.Size` has no graph."""

    def program(x, size, sizes):
        return (x * 2 if x.size() == size else x), sizes, x.new_ones(sizes["y"])

    compiled = compile(program, backend=backend, dynamic=True, fullgraph=True)
    for shape, other in (((3, 4), (3, 4)), ((3, 4), (4, 3)), ((5, 2), (5, 2)), ((5, 2), (1, 2))):
        x, given = torch.ones(shape), {"y": torch.Size(other)}
        found, back, made = compiled(x, torch.Size(other), given)
        assert torch.equal(found, program(x, torch.Size(other), given)[0])
        assert back is given and made.shape == torch.Size(other)


def test_truth_of_one_element() -> None:
    """If it fails, a branch on the one element of a tensor with axes is an error about symbolic sizes."""

    def program(x):
        return x + 1 if x == 0 else x + 2

    with pytest.raises(UndecidedGuard, match="x == 0"):
        compile(program, dynamic=True, fullgraph=True)(torch.zeros(1))
    compiled = compile(program, dynamic=True)
    for value in (0.0, 1.0):
        assert torch.equal(compiled(torch.tensor([value])), program(torch.tensor([value])))
    for wrong in (torch.zeros(2), torch.zeros(0)):
        with pytest.raises(RuntimeError, match=r"Boolean value of Tensor with (no values|more than one value)"):
            compiled(wrong)
        with pytest.raises(RuntimeError, match=r"Boolean value of Tensor with (no values|more than one value)"):
            compile(program, dynamic=True, fullgraph=True)(wrong)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: torch.FloatTensor([x.sum(), 2.0]),
        lambda x: torch.tensor([x, x]),
        lambda x: f"{x.sum():.2f}",
    ],
)
def test_refused_with_the_line(program) -> None:
    """If it fails, a message of torch's about symbolic sizes, or of Python's about our class, reaches the user; or the
    plain call does not do what eager torch does."""
    x = torch.ones(1)
    with pytest.raises(ShapeError, match=r"(?s)test_concretized_in_cpp\.py.*fullgraph=False runs the call eagerly"):
        compile(program, dynamic=True, fullgraph=True)(x)
    found, expected = compile(program, dynamic=True)(x), program(x)
    assert torch.equal(found, expected) if isinstance(expected, torch.Tensor) else found == expected


def test_refused_by_name() -> None:
    with pytest.raises(Unsupported, match="this takes tensors with elements and plain numbers"):
        compile(lambda x: torch.FloatTensor([x.sum()]), dynamic=True, fullgraph=True)(torch.ones(2))


def test_class_in_errors_of_python() -> None:
    """If it fails, an error that Python raises names a class of ours."""
    with pytest.raises(TypeError, match="type Tensor doesn't define __round__"):
        compile(lambda x: round(x), fullgraph=True)(torch.ones(2))


class Pieces(torch.autograd.Function):
    @staticmethod
    def forward(ctx, one, other, lengths):
        ctx.save_for_backward(lengths)
        return torch.cat([one, other])

    @staticmethod
    def backward(ctx, gradient):
        (lengths,) = ctx.saved_tensors
        one, other = gradient.split(lengths.tolist())
        return one * 2, other * 3, None


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_numbers_of_the_backward(backend: str) -> None:
    """If it fails, the forward wants numbers that only the backward reads, or a check of them is left out."""

    def program(x, lengths, later):
        one, other = x.split(lengths.tolist())
        return Pieces.apply(one, other, later)

    compiled = compile(program, backend=backend, dynamic=True, fullgraph=True)
    for count in (3, 6, 1):
        gradients = []
        for function in (program, compiled):
            x, lengths = torch.ones(9, requires_grad=True), torch.tensor([count, 9 - count])
            function(x, lengths, lengths).sum().backward()
            gradients.append(x.grad)
        assert torch.equal(*gradients)
    x = torch.ones(9, requires_grad=True)
    y = compiled(x, torch.tensor([4, 5]), torch.tensor([11, -2]))
    with pytest.raises(RuntimeError):
        y.sum().backward()
