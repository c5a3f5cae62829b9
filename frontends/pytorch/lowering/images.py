"""Convolutions, and what is around them: which of them take and give images whose channels lie next to each other.

Where the last axis of an image lies innermost, as it does unless a program says otherwise, oneDNN copies what a
convolution is given into blocks of channels, rounded up to whole blocks, and what it gives out of them. Where channels
lie innermost it copies nothing, and kernels write an image either way. So a convolution takes such an image where
windows overlap and another convolution follows, and what is made of its result lies so as well, as far as it is made
element by element or window by window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import torch

from backends.loops.channels import lies_by_channel
from frontends.pytorch.lowering.results import Results
from frontends.pytorch.recording.recorder import Operation, Result

aten: Final = torch.ops.aten

MOST_WEIGHTS: Final = 1 << 17
"""More of them are copied for longer than the image is, where its channels lie innermost."""
FEW: Final = 32
"""A convolution with fewer products for each element of its image is no reason to copy that."""
CONVOLUTIONS: Final = {
    aten.convolution.default: (0,),
    aten.convolution_backward.default: (1, 0),
}
"""The arguments that are images of a convolution, its input first; the weights are behind them."""
FOLLOWING: Final = {
    aten.max_pool2d_with_indices.default: (0,),
    aten.max_pool2d_with_indices_backward.default: (0, 1, 7),
    aten.upsample_nearest2d.default: (0,),
    aten.upsample_nearest2d_backward.default: (0,),
    aten.upsample_bilinear2d.default: (0,),
    aten.upsample_bilinear2d_backward.default: (0,),
}
"""The arguments that are images of operators which give images that lie as the first does."""


def images_of(operation: Operation, results: Results, *, begins: bool) -> Sequence[int]:
    """The arguments whose channels are to lie innermost, if any; the images that come out lie so as well. A
    convolution `begins` with a copy of what does not lie so, where that pays."""
    target = operation.target
    if target in CONVOLUTIONS:
        places = CONVOLUTIONS[target]
        return places if _pays(operation, results, places[0], len(places), begins=begins) else ()
    places = FOLLOWING.get(target, ())
    return places if places and lies_by_channel(results.value(operation.args[places[0]]).tensor) else ()


def begins(operations: Sequence[Operation]) -> bool:
    """Whether there is more than one convolution, so that what one gives another may take as it is."""
    return sum(operation.target in CONVOLUTIONS for operation in operations) > 1


def _pays(operation: Operation, results: Results, image: int, behind: int, *, begins: bool) -> bool:
    x, weights = operation.args[image], operation.args[behind]
    assert isinstance(x, Result) and isinstance(weights, Result)
    kind, sizes = results.kind(x), results.kind(weights).sizes
    if kind.device.type != "cpu" or kind.dtype is not torch.float32 or len(kind.sizes) != 4:
        return False
    if not torch.backends.mkldnn.is_available() or not all(type(size) is int for size in sizes):
        return False
    if math.prod(sizes) > MOST_WEIGHTS:
        return False
    value = results.value(x)
    if lies_by_channel(value.tensor):
        return True
    steps, groups = operation.args[behind + 2], operation.args[-1 if image == 0 else -2]
    products = math.prod(sizes) // (max(sizes[1], 1) * groups)
    overlap = any(type(step) is int and window > step for window, step in zip(sizes[2:], steps))
    return begins and overlap and products >= FEW and value.memory is not None


__all__ = ["begins", "images_of"]
