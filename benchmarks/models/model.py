"""A model of the benchmarks: its constructor, its inputs, the sizes it runs at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

TEXT: tuple[tuple[int, int], ...] = (
    (2, 12), (3, 16), (1, 12), (2, 2), (1, 2), (7, 11), (5, 31), (4, 33), (2, 1), (1, 1),
)  # fmt: skip
"""Ten batches and lengths, those with a single row or token among them; the first one is traced."""


@dataclass(frozen=True, slots=True)
class Model:
    """A program with sizes.

    Attributes:
        build: makes the module, in training mode, without dropout.
        inputs: its arguments for a batch and a length (or the side of an image).
        sizes: batches and lengths to run it at; the first one is traced.
        branches: the files in which the model itself branches on sizes, so that others need other graphs.
    """

    name: str
    build: Callable[[], torch.nn.Module]
    inputs: Callable[[int, int], dict[str, torch.Tensor]]
    sizes: tuple[tuple[int, int], ...] = TEXT
    branches: tuple[str, ...] = ()


def step(module: torch.nn.Module) -> Callable[..., Sequence[torch.Tensor | None]]:
    """A training step of a module: its loss and the gradients of its parameters."""
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]

    def forward_and_backward(**inputs: torch.Tensor) -> Sequence[torch.Tensor | None]:
        loss = loss_of(module(**inputs))
        return loss, *torch.autograd.grad(loss, parameters, allow_unused=True)

    return forward_and_backward


def loss_of(output: object) -> torch.Tensor:
    """A number to differentiate: a model's own loss, else the mean square of what it gives."""
    if isinstance(output, torch.Tensor):
        return output if not output.dim() else output.pow(2).mean()
    loss = getattr(output, "loss", None)
    if loss is not None:
        return loss
    found = [value for value in output.values() if isinstance(value, torch.Tensor) and value.is_floating_point()]
    return torch.stack([value.pow(2).mean() for value in found]).sum()
