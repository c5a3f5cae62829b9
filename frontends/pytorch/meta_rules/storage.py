"""`resize_` and its like: sizes changed in place, storage grown where needed.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def program(x):
    ...     y = x.clone()
    ...     return y.resize_(2, x.shape[0])
    >>> trace(program, (torch.randn(3, 4),)).graph(torch.ones(5, 2))[0].shape
    torch.Size([2, 5])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from frontends.pytorch.meta_rules.registry import kind_rule
from frontends.pytorch.symbolic.metadata import Metadata, Template
from frontends.pytorch.symbolic.node import TorchValue
from frontends.pytorch.symbolic.tensor import Trace, Traced

aten: Final = torch.ops.aten


@kind_rule(aten.resize_.default)
def resize(
    recorder: Trace, self: Traced, size: Sequence[TorchValue], *, memory_format: torch.memory_format | None = None
) -> object:
    """A contiguous tensor of these sizes; one that has them already is unchanged, whatever its strides."""
    if memory_format not in (None, torch.contiguous_format):
        return NotImplemented
    before, kinds = self.metadata, recorder.kinds

    def packed(sizes: Sequence[TorchValue]) -> Metadata:
        strides = kinds.packed(sizes, before.dtype, before.device).strides
        return kinds.of(sizes, strides, before.offset, before.dtype, before.device)

    if packed(before.sizes) is not before and len(size) == len(before.sizes):
        if all(bool(one == other) for one, other in zip(size, before.sizes)):
            return Template(0)
    after = packed(size)
    return Template(0, renames=((0, after),) if after is not before else ())


@kind_rule(aten.resize_as_.default)
def resize_as(
    recorder: Trace, self: Traced, other: torch.Tensor, *, memory_format: torch.memory_format | None = None
) -> object:
    """`resize_` to the sizes of the other."""
    return resize(recorder, self, other.shape, memory_format=memory_format)
