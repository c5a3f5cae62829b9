"""Layouts of operator calls: which use channels-last images, return the predicted strides, or return fresh memory.

For a contiguous image, oneDNN reorders a convolution's input into blocks of channels, padded to whole blocks, and its
output back. A channels-last image needs no reordering, and our kernels write either layout. So a convolution uses
channels-last if its windows overlap and another convolution follows, and the layout propagates through elementwise and
pooling operators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import torch

from backends.decisions.questions import Choice, Question
from backends.loops.channels_last import is_channels_last
from frontends.pytorch.lowering.results import Results
from frontends.pytorch.recording.operations import Operation
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten

MOST_WEIGHTS: Final = 1 << 17
"""Reordering more weights than this for channels-last takes longer than reordering the image."""
FEW: Final = 32
"""A convolution with fewer products for each element does not justify a copy of its image."""
CONVOLUTIONS: Final = {aten.convolution.default: (0,), aten.convolution_backward.default: (1, 0)}
"""The arguments of a convolution that are images, its input first; the weights follow them."""
FOLLOWING: Final = {
    aten.max_pool2d_with_indices.default: (0,),
    aten.max_pool2d_with_indices_backward.default: (0, 1, 7),
    aten.upsample_nearest2d.default: (0,),
    aten.upsample_nearest2d_backward.default: (0,),
    aten.upsample_bilinear2d.default: (0,),
    aten.upsample_bilinear2d_backward.default: (0,),
}
"""The image arguments of operators whose results have the first one's layout."""
FRESH: Final = frozenset([*CONVOLUTIONS, *FOLLOWING, *[getattr(aten, name).default for name in (
    "avg_pool2d", "avg_pool2d_backward", "_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward", "upsample_bicubic2d",
    "upsample_bicubic2d_backward", "sort", "topk",
)]])  # fmt: skip
"""Operators whose results alias neither their arguments nor each other; the arguments determine the layout."""
INTO: Final = {getattr(aten, name).default: getattr(torch, name) for name in ("mm", "bmm", "addmm", "baddbmm")}
"""Operators with fresh results whose `out` variants are as fast."""
SURE: Final = frozenset([*INTO, *[getattr(aten, name).default for name in (
    "argmax", "argmin", "cumsum", "index_select", "embedding", "embedding_dense_backward", "nll_loss_forward", "gather",
)]])  # fmt: skip
"""Operators whose results are always contiguous."""


def images_of(operation: Operation, results: Results, *, begins: bool) -> Sequence[int]:
    """The arguments that should be channels-last, if any; then so are the results.

    A convolution `begins` with a copy of another layout if that is profitable.
    """
    target = operation.target
    if target in CONVOLUTIONS:
        places = CONVOLUTIONS[target]
        return places if _pays(operation, results, places[0], len(places), begins=begins) else ()
    places = FOLLOWING.get(target, ())
    return places if places and is_channels_last(results.value(operation.args[places[0]]).tensor) else ()


def begins(operations: Sequence[Operation]) -> bool:
    """Return True if there is more than one convolution, so that one can pass its layout to another."""
    return sum(operation.target in CONVOLUTIONS for operation in operations) > 1


def _pays(operation: Operation, results: Results, image: int, behind: int, *, begins: bool) -> bool:
    x, weights = operation.args[image], operation.args[behind]
    assert isinstance(x, Result) and isinstance(weights, Result)
    kind, sizes = results.kind(x), results.sizes(results.kind(weights))
    if kind.device.type != "cpu" or kind.dtype is not torch.float32 or len(kind.sizes) != 4:
        return False
    if not torch.backends.mkldnn.is_available():
        return False
    value = results.value(x)
    goes_on = is_channels_last(value.tensor)
    if not goes_on and (not begins or value.memory is None):
        return False
    decisions = results.build.decisions
    terms = decisions.interner
    first, second, *windows = sizes
    products = math.prod(windows, start=first)
    questions, words = [terms.le(products * second, MOST_WEIGHTS)], [products * second, "<=", MOST_WEIGHTS]
    if not goes_on:
        steps, groups = operation.args[behind + 2], operation.args[-1 if image == 0 else -2]
        pairs = [(window, step) for window, step in zip(windows, steps) if type(step) is int]
        overlap = terms.disjunction([terms.gt(window, step) for window, step in pairs])
        questions += [terms.ge(products, FEW * groups), overlap]
        words += ["and", products, ">=", FEW * groups, "and either"]
        words += [word for pair in pairs for word in ("or", pair[0], ">", pair[1])][1:]
    question = Question(terms.conjunction(questions), tuple(words))
    return decisions.holds("channels", question, Choice("channels innermost", "as it lies")) is True
