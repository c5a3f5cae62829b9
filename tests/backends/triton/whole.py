"""`compile(backend="triton")` beside eager, forward and backward: the functions that the benchmark measures, and models
that are trained."""

from __future__ import annotations

import torch

from benchmarks.kernels.programs import CLASSES, HEADS, IMAGES, PROGRAMS, Program
from benchmarks.models import Model, step
from benchmarks.models.running import admitted, agree, traced
from frontends.pytorch import compile

SMALL = {CLASSES: ((5, 33), (129, 2)), HEADS: ((2, 3, 5, 66), (1, 2, 3, 8)), IMAGES: ((2, 8, 3, 5), (1, 8, 5, 1))}
SMALL_ROWS = ((2, 3, 33), (3, 11, 7))
NAMES = [program.name for program in PROGRAMS]
TRAINED = ("gpt2", "unet")


def wrong(program: Program, device: str) -> list[str]:
    """The differences from eager: outputs, gradients; and operators that run one by one, or sizes that need another
    program.
    """
    found = []
    compiled = compile(program.function, backend="triton", dynamic=True)
    for size in SMALL.get(program.sizes, SMALL_ROWS):
        given = program.make(*size)
        results = []
        for call in (compiled, program.function):
            torch.manual_seed(0)
            arguments = [each.to(device, copy=True).requires_grad_(each.is_floating_point()) for each in given]
            made = call(*arguments)
            made.backward(torch.ones_like(made) / 3)
            results.append([made, *[each.grad for each in arguments if each.grad is not None]])
        try:
            torch.testing.assert_close(*results, atol=2e-5, rtol=2e-4, equal_nan=True)
        except AssertionError as error:
            found.append(f"{size}: {error}")
    text = compiled.explain(kernels=True)
    if len(compiled.variants) != 1 or "lanes i" not in text:
        found.append(text)
    return found


def wrong_model(model: Model) -> list[str]:
    """The sizes at which the training step of a model differs from eager."""
    torch.manual_seed(0)
    module = model.build()
    variant = traced(module, model, "triton")
    found = [variant.running.note] if variant.running.note else []
    for size in (model.sizes[1], model.sizes[4]):
        inputs = model.inputs(*size)
        if not admitted(variant, inputs) or not agree(module, step(module), variant, inputs):
            found.append(f"{model.name} at {size}")
    return found
