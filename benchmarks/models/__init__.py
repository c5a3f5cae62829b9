"""Small models with random weights, to trace: each with inputs for any batch and length, and sizes to run it at.

    >>> from benchmarks.models import MODELS
    >>> model = MODELS["resnet"]
    >>> model.sizes[0]
    (2, 8)
    >>> sorted((name, tuple(tensor.shape)) for name, tensor in model.inputs(2, 8).items())
    [('x', (2, 3, 32, 32))]

A model's program (`step`) is a training step: the loss and the gradients of all its parameters.
"""

from __future__ import annotations

from typing import Final

from benchmarks.models import language, ragged, vision
from benchmarks.models.model import Model, step

MODELS: Final[dict[str, Model]] = {model.name: model for model in (*language.MODELS, *vision.MODELS, *ragged.MODELS)}

__all__ = ["MODELS", "Model", "step"]
