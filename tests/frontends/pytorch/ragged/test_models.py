"""Models on ragged rows train as in eager torch, as one graph for all lengths."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from frontends.pytorch import compile
from tests.frontends.pytorch.ragged.models import Recommender, Transformer, trained

STEPS = 50
EAGER: dict[type[nn.Module], list[float]] = {}


@pytest.mark.parametrize("how", ["cpu", "torch.compile"])
@pytest.mark.parametrize("model", [Transformer, Recommender])
def test_losses(model: type[nn.Module], how: str) -> None:
    """Fails when a compiled model trains otherwise than in eager, or needs more than a static and a dynamic graph."""
    torch._dynamo.reset()
    if model not in EAGER:
        EAGER[model] = trained(model, lambda module: module, STEPS)[0]
    if how == "torch.compile":
        losses, _ = trained(model, lambda module: torch.compile(module, backend="symshape"), STEPS)
    else:
        losses, compiled = trained(model, lambda module: compile(module, backend=how), STEPS)
        assert not compiled.fallbacks and not compiled.breaks and len(compiled.graphs) <= 2
        assert [[len(part.variants) for part in graph.parts] for graph in compiled.graphs] == [[1, 1]] * 2
    assert max(abs(one - other) for one, other in zip(losses, EAGER[model])) < 1e-5
