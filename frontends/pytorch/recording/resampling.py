"""Resampling as single operators, forward and backward, where torch decomposes it to gathers.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def program(x):
    ...     return torch.nn.functional.interpolate(x, size=(x.shape[2] * 2, x.shape[3] + 1), mode="bilinear")
    >>> variant = trace(program, (torch.randn(2, 3, 4, 5),))
    >>> [str(node.target) for node in variant.graph.graph.nodes if "upsample" in str(node.target)]
    ['aten.upsample_bilinear2d.default']

Torch decomposes these operators to gathers before autograd; the gradients then scatter pixel by pixel, which is slower
than eager's operators, and cubic resampling of bytes rounds differently; and gathers do not reject empty images.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch._decomp.decompositions import upsample_compute_output_size

from frontends.pytorch.meta_rules.convolution import RESAMPLING

aten: Final = torch.ops.aten
Kernel = Callable[..., torch.Tensor]


def whole(operator: torch._ops.OpOverload) -> Kernel:
    """Convert a call with scale factors to one with sizes."""

    def function(input: torch.Tensor, output_size: Any, *given: Any) -> torch.Tensor:
        *options, factors = given
        sizes = upsample_compute_output_size(input.size(), output_size, factors)
        return operator(input, sizes, *options, *(factors or [None] * len(sizes)))

    return function


RESAMPLED: Final[Mapping[torch._ops.OpOverload, Kernel | None]] = {
    **{getattr(aten, name).vec: whole(getattr(aten, name).default) for name in RESAMPLING},
    **{getattr(aten, name).default: None for name in RESAMPLING},
}
"""The implementation of each operator that replaces torch's decomposition; None for the C++ one."""
