"""Images in another size by one operator, with one for its gradient, where torch's Python would gather pixel by pixel.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def program(x):
    ...     return torch.nn.functional.interpolate(x, size=(x.shape[2] * 2, x.shape[3] + 1), mode="bilinear")
    >>> variant = trace(program, (torch.randn(2, 3, 4, 5),))
    >>> [str(node.target) for node in variant.graph.graph.nodes if "upsample" in str(node.target)]
    ['aten.upsample_bilinear2d.default']

Torch has these operators taken apart before autograd, in Python, as gathers; their gradients then add pixel by pixel,
slower than the operators that eager runs, and cubic ones of bytes round otherwise than these. For the time of a trace
those over two axes are whole again. All refuse images without points, as eager does, which gathers would not.
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
    """A call with factors as one of the operator, which takes sizes; both as it is in between."""

    def function(input: torch.Tensor, output_size: Any, *given: Any) -> torch.Tensor:
        *options, factors = given
        sizes = upsample_compute_output_size(input.size(), output_size, factors)
        return operator(input, sizes, *options, *(factors or [None, None]))

    return function


def with_points(kernel: Kernel) -> Kernel:
    """A kernel of torch's Python that is given factors or a size, for images with points."""

    def function(input: torch.Tensor, output_size: Any, *options: Any) -> torch.Tensor:
        sizes = upsample_compute_output_size(input.size(), output_size, options[-1])
        require_points(current_trace().env, sizes_of(input), sizes_of(sizes))
        return kernel(input, output_size, *options)

    return function


def picked(kernel: Kernel) -> Kernel:
    """A kernel of torch's Python that gathers points, which leaves them as they lie in the input, gaps aside: packed
    instead, or by channel, as the operator of C++ gives them."""

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
"""Those that torch's Python takes apart."""
PICKED: Final = frozenset(
    [operator for operator in APART if "nearest" in operator.name() and "2d" not in operator.name()]
)
"""Those of which it gives each point as it is, in a layout of its own."""


def asking(operator: torch._ops.OpOverload) -> Kernel:
    kernel = with_points(operator.py_kernels[DispatchKey.Autograd])
    return picked(kernel) if operator in PICKED else kernel


RESAMPLED: Final[Mapping[torch._ops.OpOverload, Kernel | None]] = {
    **{getattr(aten, name).vec: whole(getattr(aten, name).default) for name in WHOLE},
    **{getattr(aten, name).default: None for name in WHOLE},
    **{operator: asking(operator) for operator in APART},
}
"""For each operator what computes it instead of torch's Python; None where that is its C++."""
