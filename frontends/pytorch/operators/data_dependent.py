"""Operators whose sizes depend on data: the sizes are unbacked symbols, with the facts that hold of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.operators.registry import kind_rule, packed, ruled
from shapes.rules import Shape

if TYPE_CHECKING:
    from frontends.pytorch.recording import Recorder

aten: Final = torch.ops.aten


@kind_rule(aten.nonzero.default, once=True)
def nonzero(recorder: Recorder, self: torch.Tensor) -> object:
    """A row of coordinates for each element that is not 0."""
    return packed(recorder, ruled(recorder, aten.nonzero.default, self), torch.int64, self.device)


@kind_rule(aten.index.Tensor, once=True)
def index(recorder: Recorder, self: torch.Tensor, indices: list[torch.Tensor | None]) -> object:
    """What indices pick, of which a mask picks as many as it has true elements; without one, torch's own answer."""
    if not any(each is not None and each.dtype in (torch.bool, torch.uint8) for each in indices):
        return NotImplemented
    shape = ruled(recorder, aten.index.Tensor, self, indices)
    assert isinstance(shape, Shape)
    return packed(recorder, shape, self.dtype, self.device)
