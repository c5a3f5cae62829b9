"""Replacements of torch's reference implementations that add unnecessary guards.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: torch.nn.functional.glu(x), (torch.ones(3, 2),))
    >>> variant.guards[0].text
    'x_size1 % 2 == 0'
    >>> len(variant.guards)
    1

The meta functions of operators without a rule of ours use them. They branch on every size being 1 to broadcast, and on
contiguity; here such branches are skipped where the answer is known.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, TypeAlias

import torch
import torch._meta_registrations
import torch._refs._conversions
import torch._refs.nn.functional
import torch._refs.special
from torch._prims_common import is_cpu_scalar_tensor
from torch._prims_common.wrappers import Number, TensorLike

from frontends.pytorch.symbolic.node import TorchValue, ours, same, value_of
from shapes.environment.layout import non_overlapping_and_dense
from solver.decide.verdict import Always

Size: TypeAlias = TorchValue
Sizes: TypeAlias = Sequence[Size]

BROADCAST: Final = torch._refs._broadcast_shapes
EXPAND: Final = torch._refs._maybe_broadcast
SCALE: Final = torch._decomp.decompositions._compute_scale
NEAREST: Final = torch._decomp.decompositions._compute_upsample_nearest_indices
CHANNELS: Final = torch._decomp.decompositions._broadcast_batch_norm_backward
DENSE: Final = torch._prims_common._is_non_overlapping_and_dense_or_false


def broadcast_shapes(*given: Sizes | Size | None) -> list[Size] | None:
    """Like torch's function of this name, which is called only if sizes differ."""
    shapes = [each if isinstance(each, Sequence) else (each,) for each in given if each is not None]
    if not any(ours(size) for sizes in shapes for size in sizes):
        return BROADCAST(*given)
    common: list[Size] = [1] * max([len(sizes) for sizes in shapes])
    for sizes in shapes:
        for place, size in enumerate(sizes, len(common) - len(sizes)):
            known = common[place]
            if type(known) is int and known == 1:
                common[place] = size
            elif not same(known, size) and not (type(size) is int and size == 1):
                (common[place],) = BROADCAST((known,), (size,))
    return common


def expanded(*args: object, preserve_cpu_scalar_tensors: bool = True) -> tuple[object, ...]:
    """Like torch's function of this name: expand the tensors among the arguments to one shape."""
    shapes = [each.shape if isinstance(each, TensorLike) else None for each in args]
    if not any(ours(size) for sizes in shapes if sizes is not None for size in sizes):
        return EXPAND(*args, preserve_cpu_scalar_tensors=preserve_cpu_scalar_tensors)
    common = broadcast_shapes(*shapes)
    assert common is not None

    def one(value: object) -> object:
        if value is None or isinstance(value, Number):
            return value
        assert isinstance(value, torch.Tensor)
        if preserve_cpu_scalar_tensors and is_cpu_scalar_tensor(value):
            return value
        if len(value.shape) == len(common) and all(map(same, value.shape, common)):
            return value
        return value.expand(common)

    return tuple([one(value) for value in args])


def dense(sizes: Sizes, strides: Sizes) -> bool:
    """Return True if a tensor is non-overlapping and dense; torch's function is called if that is not proven."""
    nodes = next((number.node.nodes for number in (*sizes, *strides) if ours(number)), None)
    if nodes is not None:
        truth = non_overlapping_and_dense([value_of(size) for size in sizes], [value_of(stride) for stride in strides])
        if truth is True or (truth is not False and isinstance(nodes.env.ask(truth), Always)):
            return True
    return DENSE(sizes, strides)


def scale(in_size: Size, out_size: Size, align_corners: bool, scale: float | None = None) -> object:
    """The scale of resampling; irrelevant for a single element with aligned corners."""
    if align_corners and ours(out_size):
        return (in_size - 1.0) / (torch.sym_max(out_size, 2) - 1.0)
    return SCALE(in_size, out_size, align_corners, scale)


def nearest(input: torch.Tensor, output_size: Sizes, scales: object, exact: bool = False) -> object:
    """The nearest elements of the input; the kernel rejects empty ones."""
    for size in output_size:
        torch._check(size > 0, lambda: "Input and output sizes should be greater than 0")
    return NEAREST(input, output_size, scales, exact)


def for_each_channel(x: torch.Tensor, mask: Sizes) -> torch.Tensor:
    """A vector over channels (axis 1), with the input's rank; it may have one element."""
    return x.reshape([1, x.shape[0], *[1] * (len(mask) - 2)]) if x.dim() == 1 else CHANNELS(x, mask)


INSTEAD: Final = {
    "_broadcast_shapes": (BROADCAST, broadcast_shapes),
    "_maybe_broadcast": (EXPAND, expanded),
    "_is_non_overlapping_and_dense_or_false": (DENSE, dense),
    "_broadcast_batch_norm_backward": (CHANNELS, for_each_channel),
    "_compute_scale": (SCALE, scale),
    "_compute_upsample_nearest_indices": (NEAREST, nearest),
}
PLACES: Final = [
    (module, name, new)
    for name, (theirs, new) in INSTEAD.items()
    for module in list(sys.modules.values())
    if getattr(module, "__name__", "").startswith("torch._") and vars(module).get(name) is theirs
]
"""Where they are called by name."""
