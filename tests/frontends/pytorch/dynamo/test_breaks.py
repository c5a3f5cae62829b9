"""Programs with graph breaks: always right, and the operators between breaks run in captured graphs."""

import copy
import math

import pytest
import torch
from torch.utils._pytree import tree_leaves

from frontends.pytorch import compile
from frontends.pytorch.dynamo.program import Program

F = torch.nn.functional


def item(x):
    y = x.relu().sum(-1)
    if y.max().item() > 1:
        y = y / y.max()
    return y.view(-1, 1) * x


def assert_same(found, wanted):
    assert len(tree_leaves(found)) == len(tree_leaves(wanted))
    for one, other in zip(tree_leaves(found), tree_leaves(wanted)):
        if isinstance(other, torch.Tensor):
            assert type(one) is torch.Tensor
            assert one.requires_grad == other.requires_grad
            torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-6)
        else:
            assert one == other


BACKENDS = pytest.mark.parametrize("backend", ["eager", "cpu"])


def saved_outputs(x):
    y = torch.exp(x)
    s = y.sum().item()
    return torch.softmax(y * s * 1e-3, -1) * torch.sigmoid(x) + F.layer_norm(y, (y.shape[-1],))


@BACKENDS
@pytest.mark.parametrize("program", [item, saved_outputs], ids=lambda program: program.__name__)
def test_gradients_equal_eager(program, backend):
    """A gradient through a break is that of eager."""
    compiled = compile(program, backend=backend, dynamic=True)
    for rows in (3, 4, 3):
        x = torch.randn(rows, 4, requires_grad=True)
        mine = x.detach().clone().requires_grad_()
        program(x).sum().backward()
        compiled(mine).sum().backward()
        torch.testing.assert_close(mine.grad, x.grad)
        assert type(mine.grad) is torch.Tensor


@BACKENDS
def test_buffers_of_a_module(backend):
    """A module that keeps statistics counts each call once."""
    norm = torch.nn.BatchNorm1d(4)
    other = copy.deepcopy(norm)

    def program(module, x):
        y = module(x)
        if y.sum().item() > 100:
            y = -y
        return module(y) * module.running_mean

    compiled = compile(program, backend=backend, dynamic=True)
    for rows in (3, 5, 3):
        x = torch.randn(rows, 4)
        wanted, found = program(norm, x), compiled(other, x)
        assert_same(found, wanted)
        assert_same(list(other.buffers()), list(norm.buffers()))
        wanted.sum().backward()
        found.sum().backward()
        torch.testing.assert_close(other.weight.grad, norm.weight.grad)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 8))
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(x + self.inner(x))


@BACKENDS
def test_share_on_both_sides(backend):
    """At least 90 % of the operators around a break are captured from the second call on, and new sizes cost no new
    graph."""
    before, after = Block(), Block()

    def program(x):
        y = before(x)
        scale = 1.0 if y.mean().item() > 1 else 0.5
        return after(y.view(x.shape[0] * x.shape[1], -1)).view(x.shape) * scale

    compiled = compile(program, backend=backend, dynamic=True)
    compiled(torch.randn(2, 3, 8))
    compiled(torch.randn(3, 5, 8))
    graphs = len(compiled.graphs)
    for batch, length in ((2, 3), (7, 2), (1, 1), (4, 9), (1, 6), (8, 1)):
        x = torch.randn(batch, length, 8)
        assert_same(compiled(x), program(x))
    assert len(compiled.graphs) == graphs
    (found,) = compiled.breaks
    assert found.place is not None and found.place.file == __file__
    assert "if y.mean().item() > 1" in found.place.source_line


def test_sizes_known_only_in_the_run_stay_open():
    """A size that data decided makes no new graph."""

    def program(x):
        kept = x[x > 0]
        return (kept.view(-1, 1) * torch.arange(4)).sum(0) + math.sqrt(kept.shape[0])

    compiled = compile(program, dynamic=True)
    for rows in (5, 9, 2, 7):
        x = torch.rand(rows) - 0.1
        x[0] = 1
        assert_same(compiled(x), program(x))
    graphs = len(compiled.graphs)
    for rows in range(3, 40, 6):
        x = torch.rand(rows)
        assert_same(compiled(x), program(x))
    assert len(compiled.graphs) == graphs


def test_arguments_that_share_memory():
    """A change of an argument reaches others in its memory."""

    def program(x, y):
        x.mul_(2)
        z = y + 1
        return z * z.max().item(), y.sum()

    compiled = compile(program, backend="cpu", dynamic=True)
    for rows in (3, 4, 5):
        for start in (0, 2, rows):
            x = torch.randn(2 * rows)
            mine = x.clone()
            assert_same(compiled(mine[:rows], mine[start : start + rows]), program(x[:rows], x[start : start + rows]))
            assert_same(mine, x)


def test_kinds_of_a_stretch():
    """Kernels for one dtype, rank or order of axes do not run for another."""
    compiled = compile(item, backend="cpu", dynamic=True)
    for dtype in (torch.float32, torch.int64):
        for rows in (3, 5, 1):
            for x in (torch.arange(rows * 4).reshape(rows, 4), torch.arange(rows * 4).reshape(4, rows).t()):
                assert_same(compiled(x.to(dtype)), item(x.to(dtype)))


def test_numbers_of_a_stretch():
    """A number that data decides is neither a constant of the kernels nor makes new ones on each call."""

    def program(x):
        factor = x.mean().item()
        whole = int(x.abs().sum().item())
        return x * factor + whole, x.new_full((whole % 5 + 1,), factor), torch.arange(whole % 7), x[whole % 3 :] ** 2

    compiled = compile(program, backend="cpu", dynamic=True)
    for rows in (4, 5, 6, 7, 8, 9):
        x = torch.randn(rows, 3) * 10
        assert_same(compiled(x), program(x))


@BACKENDS
def test_signs_of_zeros_are_numbers(backend):
    """0.0 and -0.0 are different numbers of a graph."""
    compiled = compile(lambda x, factor: 1 / (x * factor), backend=backend, dynamic=True)
    for factor in (0.0, 0.0, -0.0, 0.0, -0.0):
        assert_same(compiled(torch.ones(3), factor), torch.full((3,), math.copysign(math.inf, factor)))


@BACKENDS
@pytest.mark.parametrize("depth", [0, 2])
def test_the_rest_of_a_function_with_free_variables_is_called_directly(backend, depth, monkeypatch):
    """Dynamo makes such a rest anew at each call, over the cells of that call; only first calls of a rest go through
    Dynamo, in recursion with other cells, too."""

    def scaled(scale):
        def program(x, depth):
            y = torch.relu(x)
            if y.sum() > 4:
                y = y / scale
            if depth:
                y = y + inner(x * scale, depth - 1)
            return y + scale

        inner = compiled.get(scale + 1, program)
        return program

    compiled = {}
    for scale in (3, 2, 1):
        compiled[scale] = compile(scaled(scale), backend=backend, dynamic=True)
    x = torch.ones(3, 4)
    wanted = scaled(1)(x, depth)
    for _ in range(4):
        assert_same(compiled[1](x, depth), wanted)
    monkeypatch.setattr(Program, "_rest", None)
    assert_same(compiled[1](x, depth), wanted)
