"""Images in another size by one operator, with one for its gradient, where torch's Python would gather pixel by pixel.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def program(x):
    ...     return torch.nn.functional.interpolate(x, size=(x.shape[2] * 2, x.shape[3] + 1), mode="bilinear")
    >>> variant = trace(program, (torch.randn(2, 3, 4, 5),))
    >>> [str(node.target) for node in variant.graph.graph.nodes if "upsample" in str(node.target)]
    ['aten.upsample_bilinear2d.default']

Torch has these operators taken apart before autograd, in Python, as gathers; their gradients then add pixel by pixel,
slower than the operators that eager runs. For the time of a trace the operators are whole again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import torch
from torch._C import DispatchKey
from torch._decomp.decompositions import upsample_compute_output_size

aten: Final = torch.ops.aten
KEYS: Final = (DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd)


def bilinear(input, output_size, align_corners, scale_factors):
    sizes = upsample_compute_output_size(input.size(), output_size, scale_factors)
    return aten.upsample_bilinear2d.default(input, sizes, align_corners, *(scale_factors or [None, None]))


def nearest(input, output_size, scale_factors):
    sizes = upsample_compute_output_size(input.size(), output_size, scale_factors)
    return aten.upsample_nearest2d.default(input, sizes, *(scale_factors or [None, None]))


WHOLE: Final[dict[torch._ops.OpOverload, Callable[..., torch.Tensor] | None]] = {
    aten.upsample_bilinear2d.vec: bilinear,
    aten.upsample_nearest2d.vec: nearest,
    aten.upsample_bilinear2d.default: None,
    aten.upsample_nearest2d.default: None,
}
"""For each operator what computes it instead of torch's Python; None where that is its C++, which takes symbolic sizes
for these two alone."""


@contextmanager
def installed() -> Iterator[None]:
    """While this lasts, resampling is one operator."""
    before = {operator: {key: operator.py_kernels.get(key) for key in KEYS} for operator in WHOLE}
    for operator, function in WHOLE.items():
        _set(operator, dict.fromkeys(KEYS, function))
    try:
        yield
    finally:
        for operator, kernels in before.items():
            _set(operator, kernels)


def _set(operator: torch._ops.OpOverload, kernels: dict[DispatchKey, Callable[..., object] | None]) -> None:
    for key, function in kernels.items():
        if function is None:
            operator.py_kernels.pop(key, None)
        else:
            operator.py_kernels[key] = function
    operator._dispatch_cache.clear()
