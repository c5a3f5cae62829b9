"""Dropout as eager torch decomposes it: with probability 0 or 1 no random numbers are drawn.

>>> import torch
>>> from frontends.pytorch import trace
>>> trace(lambda x: torch.dropout(x, 0.0, True), (torch.ones(3),)).recording.operations
[]
"""

from __future__ import annotations

import torch

from frontends.pytorch.decompositions.registry import composite

aten = torch.ops.aten


@composite(aten.dropout.default)
def dropout(input: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    if p == 0 or not train or any(type(size) is int and size == 0 for size in input.shape):
        return input
    if p == 1:
        return input * torch.zeros((), dtype=input.dtype, device=input.device)
    return aten.native_dropout.default(input, p, train)[0]

