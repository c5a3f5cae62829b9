"""Plain numbers or elements wanted by torch's C++: in one graph where that is possible."""

import pytest
import torch

from frontends.pytorch import compile


def diagonal(x):
    made = torch.zeros(x.shape[0] + 2, 3)
    made.fill_diagonal_(2.0)
    return made + x.sum()


CAPTURED = {
    "list of numbers": lambda x: torch.tensor([x.sum(), 2]),
    "list of lists of numbers": lambda x: torch.tensor([[x.sum(), 2.5], [x.shape[0], x.mean()]]),
    "of two dtypes": lambda x: torch.tensor([x.long().sum(), True]),
    "new_tensor of numbers": lambda x: x.new_tensor([x.sum(), 2]),
    "diagonal filled": diagonal,
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", CAPTURED)
def test_in_one_graph(name: str, backend: str) -> None:
    """Such a program is one graph, with the results of eager torch."""
    program = CAPTURED[name]
    compiled = compile(program, backend=backend, dynamic=True, fullgraph=True)
    for seed, rows in enumerate((3, 5, 2, 4)):
        x = torch.randn(rows, 4, generator=torch.Generator().manual_seed(seed))
        torch.testing.assert_close(compiled(x), program(x))


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_sizes_as_an_argument(backend: str) -> None:
    """A call with a `torch.Size` as an argument is one graph."""

    def program(x, size, sizes):
        return (x * 2 if x.size() == size else x), sizes, x.new_ones(sizes["y"])

    compiled = compile(program, backend=backend, dynamic=True, fullgraph=True)
    for shape, other in (((3, 4), (3, 4)), ((3, 4), (4, 3)), ((5, 2), (5, 2)), ((5, 2), (1, 2))):
        x, given = torch.ones(shape), {"y": torch.Size(other)}
        found, back, made = compiled(x, torch.Size(other), given)
        assert torch.equal(found, program(x, torch.Size(other), given)[0])
        assert back is given and made.shape == torch.Size(other)


def test_truth_of_one_element() -> None:
    """A branch on the one element of a tensor with axes is that of eager torch."""

    def program(x):
        return x + 1 if x == 0 else x + 2

    compiled = compile(program, dynamic=True)
    for value in (0.0, 1.0):
        assert torch.equal(compiled(torch.tensor([value])), program(torch.tensor([value])))
    for wrong in (torch.zeros(2), torch.zeros(0)):
        with pytest.raises(RuntimeError, match=r"Boolean value of Tensor with (no values|more than one value)"):
            compiled(wrong)


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
    """Numbers that only the backward reads are no inputs of the forward, and their checks stay."""

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
    with pytest.raises(RuntimeError):
        y = compiled(x, torch.tensor([4, 5]), torch.tensor([11, -2]))
        y.sum().backward()
