"""Installation and removal, the other threads of a process, shadow mode, and memoized arithmetic."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import sympy
import torch
from torch._dynamo.backends.debugging import aot_eager
from torch._subclasses.fake_impls import op_implementations_dict
from torch.fx.experimental import proxy_tensor, sym_node, symbolic_shapes
from torch.fx.experimental.symbolic_shapes import ShapeEnv as Torchs

from frontends.pytorch import reasoner
from frontends.pytorch.shape_env import EngineShapeEnv, installed
from frontends.pytorch.shape_env.installing import INSTALLATION
from frontends.pytorch.shape_env.nodes import EngineSymNode
from tests.frontends.pytorch.shape_env.environments import made, sizes_of


@pytest.fixture(autouse=True)
def _removed() -> Iterator[None]:
    """Each test begins and ends without."""
    before = bound()
    yield
    assert INSTALLATION.count == 0
    assert bound() == before


def bound() -> list[object]:
    """The constructors and rules that an installation replaces."""
    return [Torchs.__init__, sym_node.SymNode.__init__, *op_implementations_dict.items()]


# ---------------------------------------------------------------------- on and off


def test_removed_after_an_error_and_after_inner_blocks() -> None:
    """Torch is unchanged after the block."""
    import torch._dynamo.output_graph as output_graph
    import torch._export.non_strict_utils as non_strict

    with pytest.raises(KeyError), installed():
        with reasoner():
            pass
        for module in (symbolic_shapes, output_graph, non_strict):
            assert type(module.ShapeEnv()) is EngineShapeEnv
        raise KeyError
    assert type(symbolic_shapes.ShapeEnv()) is Torchs


def test_a_rate_of_zero_is_read_once() -> None:
    """A float of a module that is 0.0 is a symbol, for which AOTAutograd has Dynamo begin anew."""
    backend = Mock(side_effect=aot_eager)
    with reasoner():
        torch.compile(torch.nn.Dropout(0.0), backend=backend, dynamic=True)(torch.ones(3))
    assert backend.call_count == 1


def test_another_thread_has_torchs_own_class() -> None:
    """A thread that compiles with another backend meanwhile has torch's own class."""
    found: list[Any] = []

    def other() -> None:
        torch._dynamo.reset()
        environments: list[Any] = []

        def backend(graph: Any, inputs: Any) -> Any:
            (x,) = [node.meta["example_value"] for node in graph.graph.find_nodes(op="placeholder")][-1:]
            environments.append(x.fake_mode.shape_env)
            return graph.forward

        torch.compile(lambda x: x * x.shape[0], backend=backend, dynamic=True)(torch.ones(5))
        found.extend([type(environments[0]), type(sizes_of(environments[0], 4, name="y")[0].node)])

    with installed():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        ours = sizes_of(symbolic_shapes.ShapeEnv(), 4)[0].node
        assert isinstance(ours, sym_node.SymNode)
    assert found == [Torchs, sym_node.SymNode]
    assert type(ours) is EngineSymNode


def test_the_inner_block_decides() -> None:
    """The innermost block decides on policies and the comparison."""
    with installed(compare=True) as outer, installed() as inner:
        assert inner is None
        assert made().comparison is None
    with installed(compare=True) as outer:
        assert made().comparison is outer


def test_another_torch_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """An untested version of torch is left unchanged, with one warning."""
    monkeypatch.setattr(torch, "__version__", "2.99.1+cpu")
    monkeypatch.setattr(INSTALLATION, "warned", False)
    with caplog.at_level(logging.WARNING, "symshape"), reasoner(), reasoner():
        assert type(symbolic_shapes.ShapeEnv()) is Torchs
    lines = [record.getMessage() for record in caplog.records if "2.99.1" in record.getMessage()]
    assert lines == ["reasoner: torch 2.99.1 is not among those tested (2.13.0): nothing is changed"]


IMPORTED = """
import importlib, os, sys
import frontends.pytorch
from torch.fx.experimental import symbolic_shapes
print(type(symbolic_shapes.ShapeEnv()).__name__)
os.environ["SYMSHAPE_REASONER"] = "1"
importlib.reload(frontends.pytorch)
print(type(symbolic_shapes.ShapeEnv()).__name__)
"""


def test_the_variable_of_the_environment() -> None:
    """Importing the frontend changes torch only if the environment asks for it."""
    environment = {**os.environ, "SYMSHAPE_REASONER": "0"}
    command = [sys.executable, "-W", "ignore", "-c", IMPORTED]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert found.stdout.splitlines() == ["ShapeEnv", "EngineShapeEnv"], found.stderr[-2000:]


# ---------------------------------------------------------------------- shadow mode


def test_in_shadow_mode_torch_answers() -> None:
    """Comparing counts questions, and changes no answer or guard."""
    with installed(compare=True) as seen:
        shapes = made()
        (n,) = sizes_of(shapes, 6)
        assert n > 3
        assert n > 2
        u = shapes.create_unbacked_symint()
        torch._check(u % 4 == 0)
        with pytest.raises(symbolic_shapes.GuardOnDataDependentSymNode):
            assert u == 4 * (u // 4)
    assert seen is not None
    assert (seen.conflicts, seen.only_torch, len(seen.only_ours)) == ([], [], 1)
    assert seen.both > 0
    assert seen.neither > 0


def test_a_conflict_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    """Comparing reports a conflict."""
    with installed(compare=True) as seen:
        shapes = made()
        (n,) = sizes_of(shapes, 6)
        shapes._decided[n.node.expr > 1] = sympy.false
        assert n > 1
    assert seen is not None
    assert len(seen.conflicts) == 1
    assert "torch gives True, ours is False" in caplog.text
    assert "1 conflicts" in str(seen)


# ---------------------------------------------------------------------- memoized arithmetic


def test_replacements_are_seen() -> None:
    """A product of a size that was found to equal another is the product of that other."""
    with installed():
        a, b, c = sizes_of(made(duck_shape=False), 6, 6, 4)
        before = (a * c).node.expr == (b * c).node.expr
        assert a == b
        assert ((a * c).node.expr == (b * c).node.expr, before) == (True, False)


def test_what_holds_in_a_block_alone_is_forgotten_after_it() -> None:
    """Arithmetic for a graph of one size, which torch replaces without counting, is forgotten after its block."""

    def fresh(size: torch.SymInt) -> Any:
        """The same size as of another tensor: a node keeps the expression that it once had."""
        node = size.node
        return torch.SymInt(sym_node.SymNode(node._expr, node.shape_env, int, node._hint))

    def expressions(a: torch.SymInt, b: torch.SymInt) -> list[str]:
        # has torch forget: it holds all environments against the count of the last one that was asked
        x, y, z = sizes_of(symbolic_shapes.ShapeEnv(duck_shape=False), 6, 6, 6)
        assert x == y and y == z and (x * y).node.expr is not None
        return [str((fresh(a) + fresh(b)).node.expr), str((fresh(a) * fresh(b)).node.expr)]

    found = []
    for within in (nullcontext(), installed()):
        with within:
            shapes = symbolic_shapes.ShapeEnv(duck_shape=False)
            a, b, c, d = sizes_of(shapes, 6, 4, 5, 5)
            assert c == d
            (source,) = [name for name, symbol in shapes.source_to_var.items() if symbol == a.node._expr]
            results = []
            for size in (8, 16):
                with shapes.patch_source_specialization(SimpleNamespace(name=source), lambda s, size=size: s == size):
                    results.append(expressions(a, b))
            results.append(expressions(a, b))
        found.append(results)
    assert "8" in found[0][0][0]
    assert "8" not in found[0][2][0]
    assert found[1] == found[0]


def test_each_result_is_a_node_of_its_own() -> None:
    """Each result is a node of its own, which proxies tell apart; no number gets the hint of an equal expression."""
    with installed():
        a, b = sizes_of(made(duck_shape=False), 6, 4)
        x, y = (a * b).node, (a * b).node
        unknown = sym_node.SymNode(a.node.expr, a.node.shape_env, int, sym_node._NO_HINT).mul(b.node)
        assert x is not y
        assert x.expr is y.expr
        assert (x.hint, unknown.hint) == (24, None)


def test_environments_are_told_apart() -> None:
    """An operation of one environment is not answered by another's."""
    with installed():
        pairs = [sizes_of(made(duck_shape=False), 6, 4) for _ in "ab"]
        for a, b in pairs + pairs:
            assert (a * b).node.shape_env is a.node.shape_env


def test_divisions_by_zero_are_errors() -> None:
    """A division that torch refuses is an error."""
    with installed():
        a, b = sizes_of(made(duck_shape=False), 6, 4)
        for _ in "ab":
            with pytest.raises(ZeroDivisionError):
                a // (b - 4)


def test_proxies_see_every_operation() -> None:
    """A graph of sizes has every operation, remembered ones included."""
    with installed():
        graph = proxy_tensor.make_fx(
            lambda x: x.new_zeros(x.shape[0] * 2) + x.new_ones(x.shape[0] * 2), tracing_mode="symbolic"
        )(torch.ones(5))
    assert graph(torch.ones(7)).shape == (14,)
