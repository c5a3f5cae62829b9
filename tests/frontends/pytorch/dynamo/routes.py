"""The routes of compilation, `compile` and `torch.compile(f, backend="symshape")`, and programs for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from frontends.pytorch import Policy, compile
from frontends.pytorch.dynamo.backend import Graph
from tests.frontends.pytorch.dynamo.graphs import graphs_of_dynamo

Made = Callable[..., Any]
ROUTES = ("compile", "torch.compile")


@dataclass
class Route:
    """One way to compile, and the graphs that were captured by it."""

    name: str
    graphs: list[Graph]

    def __call__(
        self,
        function: Made,
        *,
        dynamic: bool | Mapping[str, Any] | Callable[[str, int, int], object] | None = None,
        fullgraph: bool = False,
        policy: Policy | None = None,
    ) -> Made:
        if self.name == "compile":
            return compile(function, backend="cpu", dynamic=dynamic, fullgraph=fullgraph, policy=policy)  # type: ignore[arg-type]
        options: dict[str, Any] = {"kernels": "cpu"}
        if policy is not None:
            options["policy"] = policy
        if not (dynamic is None or isinstance(dynamic, bool)):
            options["dynamic"], dynamic = dynamic, None
        return torch.compile(function, backend="symshape", dynamic=dynamic, fullgraph=fullgraph, options=options)

    @property
    def sizes(self) -> list[str]:
        """The sizes of the inputs of each graph, by name: `?` for a symbol."""
        found = []
        for variant in [variant for graph in self.graphs for variant in graph.variants]:
            shapes = {given.name: map(str, given.result.metadata.shape) for given in variant.inputs}
            texts = {name: " ".join([size if size.isdigit() else "?" for size in shapes[name]]) for name in shapes}
            found.append(", ".join([texts[name] for name in sorted(texts)]))
        return found


def routes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Route]:
    """A route, with the graphs that Dynamo captures in a test."""
    for graphs in graphs_of_dynamo(monkeypatch):
        yield Route(request.param, graphs)


def agrees(compiled: Made, function: Made, *inputs: object) -> None:
    torch.testing.assert_close(compiled(*inputs), function(*inputs))


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def branches(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.shape[0] == 8 else x * 3


def pinned(x: torch.Tensor) -> torch.Tensor:
    for step in range(x.shape[0]):
        x = x * step
    return x
