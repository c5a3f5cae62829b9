"""Programs with graph breaks: always right, and the operators between breaks run in captured graphs."""

import math

import pytest
import torch

from frontends.pytorch import compile
from frontends.pytorch.dynamo.program import Program
from tests.frontends.pytorch.against_eager import alike

F = torch.nn.functional


BACKENDS = pytest.mark.parametrize("backend", ["eager", "cpu"])


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 8))
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(x + self.inner(x))


@BACKENDS
def test_share_on_both_sides(backend):
    """From the second call on at least 90 % of the operators around a break are captured; new sizes add no graph."""
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
        alike(compiled(x), program(x))
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
        alike(compiled(x), program(x))
    graphs = len(compiled.graphs)
    for rows in range(3, 40, 6):
        x = torch.rand(rows)
        alike(compiled(x), program(x))
    assert len(compiled.graphs) == graphs


@BACKENDS
@pytest.mark.parametrize("dynamic", [True, False])
def test_signs_of_zeros_are_numbers(backend, dynamic):
    """0.0 and -0.0 are different numbers of a graph, and different constants."""
    compiled = compile(lambda x, factor: 1 / (x * factor), backend=backend, dynamic=dynamic)
    for factor in (0.0, 0.0, -0.0, 0.0, -0.0):
        alike(compiled(torch.ones(3), factor), torch.full((3,), math.copysign(math.inf, factor)))


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
        alike(compiled[1](x, depth), wanted)
    monkeypatch.setattr(Program, "_rest", None)
    alike(compiled[1](x, depth), wanted)
