"""Autograd in compiled functions and around them: gradients, versions, views, hooks and modes are as in eager torch."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import compile
from frontends.pytorch.errors import EagerOnly
from tests.frontends.pytorch.autograd_programs import PROGRAMS
from tests.frontends.pytorch.observed import compared, left_behind


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_as_eager(name: str, backend: str) -> None:
    """If it fails, a caller sees something else of a compiled function than of the function itself."""
    assert compared(PROGRAMS[name], backend) == []


REFUSED = {
    "backward_of_argument": "backward() gives a gradient to a tensor that the caller has",
    "backward_of_module": "backward() gives a gradient to a tensor that the caller has",
    "backward_for_some_inputs": "backward() gives a gradient to a tensor that the caller has",
    "gradient_by_way_of_an_argument": "autograd.grad() goes by an argument",
    "requires_grad_of_argument": "requires_grad of a tensor that the caller has is changed",
    "requires_grad_of_closure": "requires_grad of a tensor that the caller has is changed",
    "random_that_requires_grad": "a tensor is returned that requires a gradient and was made so by the call",
    "made_parameter": "a parameter is returned that the call made",
    "gradient_assigned_to_closure": "the gradient of a tensor that the caller has is set",
    "gradient_of_argument_read": "the gradient of an argument is read",
    "hook_on_argument_inside": "a hook is registered for a tensor that the caller has",
    "hook_on_parameter_registered_inside": "a hook is registered for a tensor that the caller has",
    "retained_gradient": "a tensor is returned whose gradient is kept",
    "plain_argument_made_to_learn": "what has a gradient is written to a tensor that the caller has",
    "closure_made_to_learn": "what has a gradient is written to a tensor that the caller has",
    "asks_is_leaf_of_inner_argument": "an argument's place in autograd's graph is read",
    "asks_version": "the version of a tensor",
    "asks_base": "what an argument is a view of is read",
    "inference_inside": "inference mode is entered or left",
    "saved_tensors_hooks_inside": "hooks for saved tensors are set",
    "enable_grad_inside_of_no_grad": "a call without gradients returns a tensor with one",
    "data_of_parameter_assigned": "`.data` of a tensor that the function was not given is set",
    "detached_in_place_of_argument": "detach_() of a tensor that the caller has",
    "function_unmaterialized_both": "may be given some of its gradients and not others",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_whole_graph_is_refused_with_the_line(name: str) -> None:
    """If it fails, `fullgraph=True` runs what no graph does, or says not where; or a report has no reason."""
    program = PROGRAMS[name]()
    text = ""
    try:
        with torch.enable_grad() if program.around is None else program.around():
            program.within(compile(program.fn, fullgraph=True), program.arguments(3))
    except EagerOnly as error:
        text = str(error)
    assert REFUSED[name] in text
    assert "autograd_programs.py:" in text
    program = PROGRAMS[name]()
    compiled = compile(program.fn)
    with program.around() if program.around is not None else torch.enable_grad():
        program.within(compiled, program.arguments(3))
    assert REFUSED[name] in compiled.explain() and not compiled.variants and compiled.broken is None


@pytest.mark.filterwarnings("ignore")
def test_nothing_of_a_trace_is_left() -> None:
    """If it fails, an aborted trace leaves its tensors where the program finds them."""
    for name in (
        "backward_of_module",
        "closure_made_to_learn",
        "hook_on_argument_inside",
        "saved_tensors_hooks_around",
    ):
        assert compared(PROGRAMS[name], "eager") == []
    assert left_behind() == []


CAPTURED = (
    "autograd_grad",
    "autograd_grad_of_intermediate",
    "autograd_grad_create_graph",
    "gradient_penalty",
    "made_that_requires_grad_backward",
    "requires_grad_of_inner_backward",
    "detached_views",
    "detached_parts",
    "written_views",
    "written_closure",
    "batch_norm",
    "dropout_of_everything",
    "output_view_of_argument_written_by_caller",
    "outputs_share_memory_written_by_caller",
    "parts_of_inner_written_by_caller",
    "lone_view_written_by_caller",
    "hook_on_inner_changes",
    "function_square",
    "function_with_setup",
    "no_grad_inside",
    "no_grad_around",
)


@pytest.mark.parametrize("name", CAPTURED)
def test_captured(name: str) -> None:
    """If it fails, a program is right because it falls back to eager, and no more in a graph."""
    program = PROGRAMS[name]()
    compiled = compile(program.fn)
    with torch.enable_grad() if program.around is None else program.around():
        compiled(*program.arguments(3))
    assert compiled.variants and not compiled.fallbacks
