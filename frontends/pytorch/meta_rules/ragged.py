"""Rows of different lengths, one after another, as rows padded to one length, and back.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def doubled(values, offsets):
    ...     padded = torch.ops.aten._jagged_to_padded_dense_forward(values, [offsets], [4], 0.0)
    ...     return torch.ops.aten._padded_dense_to_jagged_forward(padded * 2, [offsets], values.size(0))
    >>> variant = trace(doubled, (torch.ones(5, 2), torch.tensor([0, 2, 5])))
    >>> variant.graph(torch.ones(6, 2), torch.tensor([0, 1, 2, 6]))[0].shape
    torch.Size([6, 2])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from frontends.pytorch.meta_rules.registry import kind_rule, metadata_of, packed, sizes_of
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules import Shape
from shapes.symbolic.choices import Int

aten: Final = torch.ops.aten


@kind_rule(aten._jagged_to_padded_dense_forward.default)
def padded(
    recorder: Trace, values: torch.Tensor, offsets: Sequence[torch.Tensor], max_lengths: Sequence[Int], *_: object
) -> object:
    """A row for each pair of offsets, as long as the longest."""
    if len(offsets) != 1 or len(max_lengths) != 1:
        return NotImplemented
    kind = metadata_of(recorder, values)
    rows = metadata_of(recorder, offsets[0]).shape[0] - 1
    return packed(recorder, Shape((rows, sizes_of(max_lengths[0]), *kind.shape[1:])), kind.dtype, kind.device)


@kind_rule(aten._padded_dense_to_jagged_forward.default)
def unpadded(
    recorder: Trace, dense: torch.Tensor, offsets: Sequence[torch.Tensor], total_L: Int | None = None
) -> object:
    """A tensor of as many elements as the last offset."""
    if len(offsets) != 1 or total_L is None:
        return NotImplemented
    kind = metadata_of(recorder, dense)
    return packed(recorder, Shape((sizes_of(total_L), *kind.shape[2:])), kind.dtype, kind.device)
