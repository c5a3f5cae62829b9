"""Autograd in compiled functions and around them, torch's settings, containers: as in eager torch, at every call."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import compile
from tests.frontends.pytorch.autograd_programs import PROGRAMS as OF_AUTOGRAD
from tests.frontends.pytorch.observed import compared, left_behind
from tests.frontends.pytorch.state_programs import PROGRAMS as OF_STATE

PROGRAMS = OF_AUTOGRAD | OF_STATE

STALE = "Dynamo does not guard a tensor's place in autograd's graph"
KNOWN = {
    "asks_is_leaf_sometimes": STALE,
    "asks_base": STALE,
    "looked_up_by_tensor": "Dynamo does not guard keys of dictionaries that are tensors",
    "sets_autocast": "a graph does not set autocast again",
    "tracing_asked": "Dynamo says that it traces",
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=KNOWN[name])) if name in KNOWN else name
        for name in PROGRAMS
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_as_eager(name: str, backend: str) -> None:
    """A caller sees the same of a compiled function as of the function itself."""
    assert compared(PROGRAMS[name], backend) == []


@pytest.mark.filterwarnings("ignore")
def test_nothing_of_a_trace_is_left() -> None:
    """An aborted trace leaves no tensors where the program finds them."""
    before = left_behind()
    for name in ("backward_of_module", "closure_made_to_learn", "saved_tensors_hooks_around"):
        assert compared(PROGRAMS[name], "eager") == []
    assert [each for each in left_behind() if not any(each is known for known in before)] == []


CAPTURED = (
    "autograd_grad_of_intermediate",
    "autograd_grad_create_graph",
    "requires_grad_of_inner_backward",
    "detached_views",
    "detached_parts",
    "written_views",
    "written_closure",
    "batch_norm",
    "output_view_of_argument_written_by_caller",
    "outputs_share_memory_written_by_caller",
    "parts_of_inner_written_by_caller",
    "lone_view_written_by_caller",
    "hook_on_inner_changes",
    "function_square",
    "no_grad_around",
    "list_returned_within",
    "identities",
)


@pytest.mark.parametrize("name", CAPTURED)
def test_captured(name: str) -> None:
    """A program is right in a graph, not because it falls back to eager."""
    program = PROGRAMS[name]()
    compiled = compile(program.fn)
    with torch.enable_grad() if program.around is None else program.around():
        compiled(*program.arguments(3))
    assert compiled.variants and not compiled.fallbacks
