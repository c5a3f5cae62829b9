"""Resampling as single operators, forward and backward, where torch decomposes it to gathers.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def program(x):
    ...     return torch.nn.functional.interpolate(x, size=(x.shape[2] * 2, x.shape[3] + 1), mode="bilinear")
    >>> variant = trace(program, (torch.randn(2, 3, 4, 5),))
    >>> [str(node.target) for node in variant.graph.graph.nodes if "upsample" in str(node.target)]
    ['aten.upsample_bilinear2d.default']

Torch decomposes these operators to gathers before autograd; the gradients then scatter pixel by pixel, which is slower
than eager's operators, and cubic resampling of bytes rounds differently. During a trace the 2-D operators are not
decomposed. All reject empty images, as eager does, which gathers would not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch._C import DispatchKey
from torch._decomp.decompositions import upsample_compute_output_size

from frontends.pytorch.meta_rules.convolution import require_points
from frontends.pytorch.meta_rules.layouts import suggests_channels_last
from frontends.pytorch.meta_rules.registry import metadata_of, sizes_of
from frontends.pytorch.symbolic.tensor import current_trace

aten: Final = torch.ops.aten
Kernel = Callable[..., torch.Tensor]


def whole(operator: torch._ops.OpOverload) -> Kernel:
    """Convert a call with scale factors to one with sizes."""

    def function(input: torch.Tensor, output_size: Any, *given: Any) -> torch.Tensor:
        *options, factors = given
        sizes = upsample_compute_output_size(input.size(), output_size, factors)
        return operator(input, sizes, *options, *(factors or [None, None]))

    return function


def with_points(kernel: Kernel) -> Kernel:
    """A decomposition of torch's that takes factors or a size, with a check for empty images."""

    def function(input: torch.Tensor, output_size: Any, *options: Any) -> torch.Tensor:
        sizes = upsample_compute_output_size(input.size(), output_size, options[-1])
        require_points(current_trace().env, sizes_of(input), sizes_of(sizes))
        return kernel(input, output_size, *options)

    return function


def picked(kernel: Kernel) -> Kernel:
    """A gathering decomposition of torch's, whose result has the input's dimension order: made contiguous or
    channels-last, as the C++ operator's."""

    def function(input: torch.Tensor, output_size: Any, *options: Any) -> torch.Tensor:
        by_channel = suggests_channels_last(current_trace().env, metadata_of(current_trace(), input))
        form = torch.channels_last_3d if by_channel else torch.contiguous_format
        return kernel(input, output_size, *options).contiguous(memory_format=form)

    return function


WHOLE: Final = ("upsample_bilinear2d", "upsample_nearest2d", "upsample_bicubic2d")
APART: Final = [
    getattr(aten, name).vec
    for name in (
        "upsample_nearest1d",
        "upsample_nearest3d",
        "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d",
        "_upsample_nearest_exact3d",
        "upsample_linear1d",
        "upsample_trilinear3d",
    )
]
"""Those that torch decomposes in Python."""
PICKED: Final = frozenset(
    [operator for operator in APART if "nearest" in operator.name() and "2d" not in operator.name()]
)
"""Those whose decomposition gathers points with another layout."""


def asking(operator: torch._ops.OpOverload) -> Kernel:
    kernel = with_points(operator.py_kernels[DispatchKey.Autograd])
    return picked(kernel) if operator in PICKED else kernel


RESAMPLED: Final[Mapping[torch._ops.OpOverload, Kernel | None]] = {
    **{getattr(aten, name).vec: whole(getattr(aten, name).default) for name in WHOLE},
    **{getattr(aten, name).default: None for name in WHOLE},
    **{operator: asking(operator) for operator in APART},
}
"""The implementation of each operator that replaces torch's decomposition; None for the C++ one."""
