"""Programs with ragged tensors are one graph, and do what eager torch does."""

from __future__ import annotations

import copy

import pytest
import torch

from frontends.pytorch import compile
from tests.frontends.pytorch.ragged.comparing import LENGTHS, ran, unlike
from tests.frontends.pytorch.ragged.programs import PROGRAMS, made_and_taken_apart, one, parts


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_graph_for_all_lengths(name: str) -> None:
    """Fails when a ragged program is no graph, when other lengths need another one, or when results differ."""
    torch._dynamo.reset()
    program, arguments = PROGRAMS[name]
    compiled = compile(copy.deepcopy(program) if isinstance(program, torch.nn.Module) else program, dynamic=True)
    for lengths in LENGTHS:
        given = arguments(lengths), {}
        assert unlike(ran(compiled, given), ran(program, given)) == ""
    (graph,) = compiled.graphs
    assert not compiled.fallbacks and not compiled.breaks and not graph.reason
    assert graph.variants and graph.parts[0].variants


@pytest.mark.parametrize("name", ["module", "made from lengths", "padded", "attention"])
def test_kernels(name: str) -> None:
    """Fails when C kernels of a ragged program compute something else, or torch.compile with this backend does."""
    program, arguments = PROGRAMS[name]
    for compiled in (compile(program, backend="cpu"), torch.compile(program, backend="symshape")):
        torch._dynamo.reset()
        for lengths in LENGTHS[:3]:
            given = arguments(lengths), {}
            assert unlike(ran(compiled, given), ran(program, given)) == ""


def test_errors_of_autograd_run_as_captured() -> None:
    """Fails when an error of AOTAutograd's own reaches a program that eager torch runs."""
    for program, arguments in ((made_and_taken_apart, parts), (lambda x: x.sum(-1), one)):
        compiled = compile(program)
        for lengths in LENGTHS[:2]:
            given = arguments(lengths), {}
            assert unlike(ran(compiled, given), ran(program, given)) == ""
        assert all(graph.reason for graph in compiled.graphs)
