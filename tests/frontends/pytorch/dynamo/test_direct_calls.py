"""Direct calls: the functions that stand for callables that Dynamo does not enter by themselves."""

from __future__ import annotations

import contextlib
import dis
import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
import torch

from frontends.pytorch import compile
from frontends.pytorch.dynamo import direct_calls as module
from frontends.pytorch.dynamo.direct_calls import MISSED, caller


class Scale:
    """A callable object with a default."""

    def __call__(self, x: torch.Tensor, *, by: float = 2.0) -> torch.Tensor:
        return x * by


def test_a_caller_has_the_name_the_defaults_and_the_result_of_what_it_calls() -> None:
    """Torch remembers by the code's name which sizes vary: callers share no name, and keep defaults and callees."""
    made = caller(Scale())
    assert isinstance(made, FunctionType)
    assert (made.__code__.co_name, made.__kwdefaults__) == ("Scale", {"by": 2.0})
    assert torch.equal(made(torch.ones(3)), torch.full((3,), 2.0))
    assert torch.equal(made(torch.ones(3), by=4.0), torch.full((3,), 4.0))


def test_compiled_callables_are_called_by_their_callers() -> None:
    """A compiled object or partial gives what the original gives, at sizes that vary."""
    for called in (Scale(), functools.partial(Scale(), by=3.0)):
        made = compile(called, backend="cpu")
        for size in (3, 4, 5):
            assert torch.equal(made(torch.ones(size)), called(torch.ones(size)))
        assert len(made._program.graphs) <= 2


def test_code_of_functions_is_never_replaced() -> None:
    """Another thread sees the code of a function. Fails when code is written to a function, even to one of ours."""
    functions = [each for each in vars(module).values() if isinstance(each, FunctionType)]
    written = [
        (each.__name__, step.argval) for each in functions for step in dis.get_instructions(each)
        if step.opname == "STORE_ATTR" and step.argval == "__code__"
    ]  # fmt: skip
    assert written == []


@pytest.mark.parametrize("around", [contextlib.nullcontext, torch._C.DisableTorchFunctionSubclass], ids=["on", "off"])
def test_guards_that_raise_leave_functions_of_torch_as_they_are(around: Callable[[], Any]) -> None:
    """Torch leaves its functions disabled where a guard raises: subclasses are ignored from then on."""
    f = compile(lambda x: x * 2, dynamic=True)
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.strided)
    with around():
        f(torch.ones(3))
        before = torch._C._get_torch_function_state()
        for _ in range(2):
            assert f(nested).is_nested
            assert f._program._direct.call((nested,), {}) is MISSED and f._program._direct.has_raised
            f._program._direct.has_raised = False
            assert torch._C._get_torch_function_state() == before
