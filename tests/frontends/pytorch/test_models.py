"""Small models, forward and backward in one graph, checked against eager at sizes with a single row or token."""

from __future__ import annotations

import pytest
import torch

from benchmarks.models import MODELS, Model, step
from benchmarks.models.running import admitted, agree, refusing_lines, traced

pytest.importorskip("transformers")

QUICK = (
    "gpt2", "t5", "bert", "llama_sdpa", "mixtral", "qwen2", "opt", "whisper", "vit", "convnext", "resnet", "unet",
    "detection", "routing", "jagged",
)  # fmt: skip
"""The models of the suite; the benchmark of tracing looks at all of them."""


@pytest.mark.parametrize("name", QUICK)
def test_model(name: str) -> None:
    """A graph of a model is right at other sizes, and its guards accept them but for the model's own branches."""
    model: Model = MODELS[name]
    torch.manual_seed(0)
    module = model.build()
    variant = traced(module, model)
    program = step(module)
    accepted = 0
    for batch, length in model.sizes[:1] + model.sizes[4:]:
        torch.manual_seed(batch * 100 + length)
        inputs = model.inputs(batch, length)
        if admitted(variant, inputs):
            accepted += 1
            assert agree(module, program, variant, inputs), f"{name} at {(batch, length)}"
        elif runs(module, program, inputs):
            files = [line.partition(":")[0] for line in refusing_lines(variant, inputs)]
            assert files and set(files) <= set(model.branches), f"{name} refuses {(batch, length)}: {files}"
    assert accepted


def runs(module: torch.nn.Module, program: object, inputs: dict[str, object]) -> bool:
    """Return True if eager takes these arguments."""
    try:
        program(**inputs)
    except (RuntimeError, ValueError):
        return False
    return True
