"""Programs by families of features, compiled and by eager torch: nothing that a caller can see differs."""

import warnings
from collections.abc import Callable

import pytest
import torch

from frontends.pytorch import compile
from frontends.pytorch.variants.compiled_graph import CompiledGraph
from tests.frontends.pytorch.differential.comparing import agrees
from tests.frontends.pytorch.differential.programs import PROGRAMS

KNOWN = {
    "tensors-structseq text": "the text of a result names the graph",
    "texts-str scalar": "the same",
    "raised and caught-map is returned": "Dynamo's type of `enumerate`",
    "mutation-chunks are changed": "Dynamo's rows of a tensor are no views of one operator",
    "tensors-iterate and add": "the same",
    "generators-iter len bool": "Dynamo's truth of an object takes a negative length",
}
"""The programs that docs/differences.md lists."""


def marks(name: str) -> list[pytest.MarkDecorator]:
    """The marks of a program: a known failure, and a thorough run only."""
    known = [pytest.mark.xfail(strict=True, reason=KNOWN[name])] if name in KNOWN else []
    return [*known, pytest.mark.thorough] if PROGRAMS[name].thorough else known


NAMES = [pytest.param(name, marks=marks(name)) for name in PROGRAMS]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", NAMES)
def test_program(name: str, backend: str) -> None:
    """A compiled program does what it does in Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agrees(PROGRAMS[name], lambda function: compile(function, backend=backend, dynamic=True))


BY_TORCH_COMPILE = (
    *("autograd functions-a checkpoint of its own", "control-branch on data", "data-item", "data-nonzero"),
    *("gradients-backward inside", "gradients-inference inside", "memory-alias returned"),
    *("mutation-add to an argument",),
    *("random-checkpointed", "random-dropout module", "random-two checkpoints", "sizes-expand returned"),
    *("state-printed", "tensors-get item tricks", "views-every second", "indexing-by a mask"),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BY_TORCH_COMPILE)
def test_by_torch_compile(name: str) -> None:
    """A program by the other spelling does what it does in Python."""
    agrees(PROGRAMS[name], lambda function: torch.compile(function, backend="symshape", dynamic=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["random-checkpointed", "random-two checkpoints"])
def test_what_is_not_traced_runs_operator_by_operator(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that runs operator by operator is recomputed with the same random numbers."""

    def found(self: object, args: object) -> object:
        raise KeyError("not traced")

    torch.compiler.reset()
    monkeypatch.setattr(CompiledGraph, "_traced", found)
    compiled = []

    def compiling(function: Callable[..., object]) -> Callable[..., object]:
        compiled.append(compile(function, dynamic=True))
        return compiled[-1]

    agrees(PROGRAMS[name], compiling)
    assert compiled[0].graphs and all(graph.reason for graph in compiled[0].graphs)
