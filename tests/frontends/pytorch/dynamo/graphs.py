"""The graphs that Dynamo hands over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from frontends.pytorch.dynamo import backend
from frontends.pytorch.dynamo.backend import Graph


def graphs_of_dynamo(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Graph]]:
    """The graphs that Dynamo hands over during a test."""
    seen: list[Graph] = []

    class Watched(Graph):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            seen.append(self)

    monkeypatch.setattr(backend, "Graph", Watched)
    torch.compiler.reset()
    yield seen
    torch.compiler.reset()
