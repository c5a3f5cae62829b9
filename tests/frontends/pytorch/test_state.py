"""Torch's settings, hooks of modules, containers, and who a tensor is: as in eager torch, at every call."""

from __future__ import annotations

import pytest

from frontends.pytorch import compile
from tests.frontends.pytorch.observed import compared
from tests.frontends.pytorch.state_programs import PROGRAMS

KNOWN: dict[str, str] = {
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
    """If it fails, a compiled function goes by what held at its first call, or does something at that call only."""
    assert compared(PROGRAMS[name], backend) == []


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize(
    "name",
    ["list_returned_within", "identities"],
)
def test_is_captured(name: str, backend: str) -> None:
    """If it fails, programs that are given and return containers, or compare tensors, have no graph any more."""
    program = PROGRAMS[name]()
    compiled = compile(program.fn, backend=backend, fullgraph=True)
    for size in (3, 5):
        program.within(compiled, program.arguments(size))
    assert compiled.variants
