"""Meta functions that torch lacks, or has in C++ for plain sizes only.

>>> import torch
>>> from frontends.pytorch import trace
>>> variant = trace(lambda x: torch.histogram(x, 4), (torch.ones(3),))
>>> [tuple(value.shape) for value in variant.graph(torch.ones(5))]
[(4,), (5,)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from frontends.pytorch.meta_rules.convolution import on_cpu_and_packed
from frontends.pytorch.meta_rules.layouts import is_number, is_packed, is_repeated
from frontends.pytorch.meta_rules.registry import (
    by_rule_alone,
    column_strides,
    kind_rule,
    kind_rules,
    made,
    metadata_of,
    packed,
    ruled,
    sizes_of,
)
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules import Shape
from shapes.rules.broadcasting import broadcast
from shapes.symbolic.choices import Int, sym_max

aten: Final = torch.ops.aten

kind_rules(
    aten.histogram.bin_ct, aten.histogram.bins_tensor, aten._histogramdd_bin_edges.default,
    aten._histogramdd_from_bin_cts.default, aten._histogramdd_from_bin_tensors.default,
    aten.cudnn_grid_sampler.default, aten.cudnn_grid_sampler_backward.default,
    aten.fractional_max_pool3d.default, aten._jagged_to_padded_dense_forward.default,
    # torch's own branches on the sizes
    aten.linalg_pinv.atol_rtol_tensor,
)(by_rule_alone)  # fmt: skip


@kind_rules(aten.glu.default, aten.flip.default, aten.adaptive_max_pool2d.default)
def of_packed(func: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, *args: object) -> object:
    """Contiguous results of a contiguous tensor, where torch's own branches on the sizes."""
    if not on_cpu_and_packed(metadata_of(recorder, self)):
        return NotImplemented
    return by_rule_alone(func, recorder, self, *args)


@kind_rules(aten.select_scatter.default, aten.slice_scatter.default, aten.diagonal_scatter.default)
def scattered(
    func: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, *args: object, **kwargs: object
) -> object:
    """A copy with a part replaced, which keeps the place in its storage."""
    base = metadata_of(recorder, self)
    if not is_repeated(base) and not (is_packed(base) and is_number(base.shape.storage_offset, 0)):
        return NotImplemented
    return by_rule_alone(func, recorder, self, *args, **kwargs)


# ---------------------------------------------------------------------- linear algebra


@kind_rules(aten.geqrf.default, aten.linalg_lstsq.default, aten.linalg_solve_triangular.default)
def by_lapack(
    func: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, *args: object, **kwargs: object
) -> object:
    """Columns of LAPACK's matrices: as far apart as the matrix it was given has rows, of a system as it has unknowns if
    these are more."""
    base = metadata_of(recorder, self)
    found = ruled(recorder, func, self, *args, **kwargs)
    first, *others = (found,) if isinstance(found, Shape) else found
    rows, columns = base.shape[-2:]
    if func is aten.linalg_lstsq.default:
        right = args[0]
        assert isinstance(right, torch.Tensor)
        if self.dim() - right.dim() == 1:
            return made(recorder, found, base)
        rows = sym_max(rows, columns)
    elif func is aten.linalg_solve_triangular.default:
        rows = first[-2]
    whole = recorder.kinds.laid(first, column_strides(first, rows), 0, base.dtype, base.device)
    return (whole, *made(recorder, others, base)) if others else whole


# ---------------------------------------------------------------------- losses


def ctc_loss(
    recorder: Trace, log_probs: torch.Tensor, targets: object, input_lengths: Sequence[int] | torch.Tensor,
    target_lengths: Sequence[int] | torch.Tensor, *options: object,
) -> object:  # fmt: skip
    """A loss for each sequence, and the likelihoods that its gradient needs.

    If lengths are tensors, the longest target's is data-dependent.
    """
    env = recorder.env
    steps, batch, _ = sizes_of(log_probs)
    if isinstance(input_lengths, torch.Tensor) or isinstance(target_lengths, torch.Tensor):
        longest: Int = env.unbacked(lo=1)
    else:
        for lengths in (input_lengths, target_lengths):
            env.require(batch == len(lengths), "ctc_loss: expected one length for each of the batch")
        for length in input_lengths:
            env.require(steps >= length, "ctc_loss: a length is larger than the input")
        longest = 2 * max(target_lengths, default=0) + 1
    sizes = ((batch,), (batch, steps, longest))
    return tuple([packed(recorder, each, log_probs.dtype, log_probs.device) for each in sizes])


kind_rule(aten._ctc_loss.default)(ctc_loss)
kind_rule(aten._ctc_loss.Tensor, once=True)(ctc_loss)


# ---------------------------------------------------------------------- products


@kind_rule(aten._trilinear.default)
def trilinear(
    recorder: Trace, i1: torch.Tensor, i2: torch.Tensor, i3: torch.Tensor, *axes: Sequence[int]
) -> object:
    """The product of three tensors, each with new axes, summed over some."""
    expanded, sumdim = [], axes[3]
    for tensor, places in zip((i1, i2, i3), axes):
        sizes = list(sizes_of(tensor))
        for place in sorted(places):
            sizes.insert(place, 1)
        expanded.append(sizes)
    whole = broadcast(recorder.env, *expanded)
    left = [size for axis, size in enumerate(whole) if axis not in sumdim]
    return packed(recorder, left, i1.dtype, i1.device)
