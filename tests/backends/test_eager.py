"""The eager backend: the text of a graph does what the graph does, whatever its nodes are and hold."""

import math
import operator

import pytest
import torch
from torch import fx

from backends import eager


def graph_of(*steps) -> fx.GraphModule:
    """A graph of one input; each step is a target with what it takes, where "x" and "last" stand for nodes."""
    graph = fx.Graph()
    nodes = {"x": graph.placeholder("x")}
    nodes["last"] = nodes["x"]
    for target, *args in steps:
        made = fx.node.map_aggregate(tuple(args), lambda each: nodes.get(each, each) if type(each) is str else each)
        nodes["last"] = graph.call_function(target, made)
    graph.output([nodes["last"]])
    return fx.GraphModule(torch.nn.Module(), graph)


@pytest.mark.parametrize(
    "steps",
    [
        [(operator.pow, -2, "x")],
        [(operator.sub, "x", -3), (operator.mul, -1, "last"), (operator.mod, "last", 4)],
        [(operator.neg, "x"), (operator.floordiv, "last", -2), (operator.ge, "last", -1.5)],
        [(torch.full_like, "x", math.inf), (torch.add, "last", 0.1)],
        [(torch.full, [2, 3], math.nan), (torch.isnan, "last")],
        [(torch.stack, ["x", "x"]), (operator.getitem, "last", (0, slice(None, None, 1)))],
        [(torch.ops.aten.mul.Tensor, "x", 3), (torch.ops.aten.sum.dim_IntList, "last", [0], True)],
        [(torch.zeros, (2,))],
    ],
    ids=range(8),
)
def test_the_text_does_what_the_graph_does(steps) -> None:
    """A compiled function computes the same as its graph."""
    graph = graph_of(*steps)
    x = torch.tensor([1.0, 2.0, 3.0])
    (found,), (expected,) = eager.runner(graph)((x,)), fx.Interpreter(graph).run(x)
    assert found.dtype == expected.dtype and torch.allclose(found, expected, equal_nan=True)


def test_modules_methods_and_attributes() -> None:
    """Graphs that torch itself has traced can be run."""

    class Program(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Sequential(torch.nn.Linear(3, 3))
            self.register_buffer("shift", torch.ones(3))

        def forward(self, x, *, scale=None):
            return [self.inner(x).relu().add(self.shift, alpha=2)]

    graph = torch.fx.symbolic_trace(Program())
    x = torch.randn(2, 3)
    assert torch.equal(eager.runner(graph)((x, None))[0], graph(x)[0])


def test_a_value_is_let_go_behind_its_last_use() -> None:
    """A graph frees each value after its last use."""
    graph = graph_of((torch.neg, "x"), (torch.exp, "last"), (torch.add, "last", "last"))
    assert eager.Text(graph).body.splitlines() == [
        "    x, = _inputs",
        "    neg = _neg(x);  x = None",
        "    exp = _exp(neg);  neg = None",
        "    add = _add(exp, exp);  exp = None",
        "    return [add]",
    ]


def test_names_of_inputs_are_no_names_of_operators() -> None:
    """An input whose name is an operator's hides no operator."""
    graph = fx.Graph()
    first, second = graph.placeholder("_neg"), graph.placeholder("run")
    graph.output([graph.call_function(torch.neg, (first,)), graph.call_function(torch.neg, (second,))])
    found = eager.runner(fx.GraphModule(torch.nn.Module(), graph))((torch.ones(1), torch.zeros(1)))
    assert [float(each) for each in found] == [-1.0, 0.0]


def test_a_graph_without_inputs() -> None:
    """A constant program can be run."""
    graph = fx.Graph()
    graph.output([graph.call_function(torch.ones, (2,)), 3, None])
    found = eager.runner(fx.GraphModule(torch.nn.Module(), graph))(())
    assert found[0].tolist() == [1.0, 1.0] and found[1:] == [3, None]
