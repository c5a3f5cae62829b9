"""Meta functions that torch lacks, or has for plain sizes or other kernels only.

>>> import torch
>>> from frontends.pytorch import trace
>>> variant = trace(lambda x: torch.histogram(x, 4), (torch.ones(3),))
>>> [tuple(value.shape) for value in variant.graph(torch.ones(5))]
[(4,), (5,)]

Data-dependent sizes are unbacked symbols with their bounds. Fourier transforms have the layout of MKL's results, where
torch's meta functions guard, and are wrong for real numbers along several axes:

>>> variant = trace(lambda x: torch.fft.hfftn(x, dim=(0, 2)), (torch.randn(4, 6, 5),), dynamic=False)
>>> variant.outputs[0].metadata.strides == torch.fft.hfftn(torch.randn(4, 6, 5), dim=(0, 2)).stride()
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch
from torch._prims_common import corresponding_complex_dtype, corresponding_real_dtype

from frontends.operator_names.aten_operators import aten as vocabulary
from frontends.pytorch.errors import unsupported
from frontends.pytorch.meta_rules.convolution import on_cpu_and_packed
from frontends.pytorch.meta_rules.registry import (
    Ruled,
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
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import value_of
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules import Shape
from shapes.rules.broadcasting import broadcast, same
from shapes.rules.elements import Elements
from shapes.rules.memory_order import (
    Order,
    elementwise_strides,
    is_number,
    is_packed,
    is_repeated,
    order_of,
    strides_of,
)
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
    if not is_repeated(base.shape) and not (is_packed(base.shape) and is_number(base.shape.storage_offset, 0)):
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
def trilinear(recorder: Trace, i1: torch.Tensor, i2: torch.Tensor, i3: torch.Tensor, *axes: Sequence[int]) -> object:
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


# ---------------------------------------------------------------------- Fourier transforms


@kind_rules(aten._fft_r2c.default, aten._fft_c2c.default, aten._fft_c2r.default)
def transformed(
    func: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, dim: Sequence[int], normalization: int,
    last: bool | int | torch.SymInt,
) -> object:  # fmt: skip
    """Real to complex, `last` if half of the last axis is left out; complex to complex; and complex to real along the
    last axis, of the size `last`, after a complex transform along the others.

    As in `_exec_fft` of ATen's `mkl/SpectralOps.cpp`: axes that are not transformed come first, sorted by their strides
    in the argument, then the transformed ones. Without MKL, results are contiguous.
    """
    base = metadata_of(recorder, self)
    is_right = base.dtype.is_floating_point if func is aten._fft_r2c.default else base.dtype.is_complex
    if base.device.type != "cpu" or not dim or not is_right:
        return NotImplemented
    *along, inner = [axis % len(base.shape) for axis in dim]
    sizes = list(base.shape)
    if func is aten._fft_c2c.default:
        return _made(recorder, base, _by_stride(base, [*along, inner]), sizes, base.dtype)
    if func is aten._fft_r2c.default:
        if last:
            sizes[inner] = sizes[inner] // 2 + 1
        return _made(recorder, base, [*_by_stride(base, along), inner], sizes, corresponding_complex_dtype(base.dtype))
    if along:
        base = _made(recorder, base, _by_stride(base, along), sizes, base.dtype)
    sizes[inner] = value_of(last)
    return _made(recorder, base, [inner], sizes, corresponding_real_dtype(base.dtype))


def _by_stride(given: Metadata, axes: Sequence[int]) -> list[int]:
    """The axes, outermost first, by a stable sort; a guard where hints decide."""
    strides = strides_of(given.shape)
    placed: list[int] = []
    for axis in axes:
        before = [place for place, other in enumerate(placed) if strides[other] < strides[axis]]
        placed.insert(before[0] if before else len(placed), axis)
    return placed


def _made(
    recorder: Trace, given: Metadata, along: Sequence[int], sizes: Sequence[Int], dtype: torch.dtype
) -> Metadata:
    """The metadata of a transform's result along these axes, the last one innermost."""
    if not torch.backends.mkl.is_available():
        return recorder.kinds.laid(sizes, None, 0, dtype, given.device)
    rank = len(sizes)
    others = _by_stride(given, _partitioned(rank, along))
    steps: list[Int] = [1] * rank
    step: Int = 1
    for axis in reversed([*others, *along]):
        steps[axis] = step
        step = step * sizes[axis]
    return recorder.kinds.laid(sizes, steps, 0, dtype, given.device)


def _partitioned(rank: int, along: Sequence[int]) -> list[int]:
    """The axes that are not transformed, in the order of `std::partition`: it is not stable, which matters for equal
    strides."""
    left, found = list(range(rank)), []
    while left:
        axis = left.pop(0)
        if axis in along:
            # the last one of the others takes its place
            left = left[: max([place + 1 for place, other in enumerate(left) if other not in along], default=0)]
            axis = left.pop() if left else -1
        found.append(axis)
    return [axis for axis in found if axis >= 0]


# ---------------------------------------------------------------------- data-dependent sizes


@kind_rule(aten.nonzero.default, once=True)
def nonzero(recorder: Trace, self: torch.Tensor) -> object:
    """A row of coordinates for each element that is not 0, stored column by column."""
    shape = ruled(recorder, aten.nonzero.default, known(recorder, self))
    learn_count(recorder, self, shape[0])
    kind = recorder.kinds.laid(shape, (1, shape[0]), 0, torch.int64, self.device)
    if self.dim() > 1:
        # with one row or none, every order is correct
        kind.shape.order = Order((0, 1), dense=True)
    return kind


@kind_rule(aten.index.Tensor, once=True)
def index(recorder: Trace, self: torch.Tensor, indices: list[torch.Tensor | None]) -> object:
    """Advanced indexing; a mask selects as many elements as are true.

    Torch's meta function answers if all indices are contiguous integers, since it ignores their strides.
    """
    kinds = [None if each is None else metadata_of(recorder, each) for each in indices]
    given = [kind for kind in kinds if kind is not None]
    has_mask = any(is_mask(kind) for kind in given)
    if not has_mask and all(is_packed(kind.shape) or kind.dtype not in (torch.int64, torch.int32) for kind in given):
        return NotImplemented
    shapes = [None if each is None else known(recorder, each) for each in indices]
    shape = ruled(recorder, aten.index.Tensor, self, shapes)
    if len(given) == 1:
        (place,) = [place for place, each in enumerate(indices) if each is not None]
        learn_count(recorder, indices[place], shape[place] if given[0].sizes else None)
    strides = picked_strides(recorder, metadata_of(recorder, self), kinds, shape)
    if strides is None and not has_mask:
        unsupported(
            "indices with different memory layouts, so that the result's layout is ambiguous", "`.contiguous()` of each"
        )
    return recorder.kinds.laid(shape, strides, 0, self.dtype, self.device)


def known(recorder: Trace, tensor: torch.Tensor) -> Shape:
    """The shape of an index, with the facts about its elements."""
    shape = metadata_of(recorder, tensor).shape
    if shape.dtype not in ("bool", "int64", "int32"):
        return shape
    return Shape(shape, dtype=shape.dtype, strides=shape.strides, elements=recorder.elements(tensor))


def learn_count(recorder: Trace, tensor: torch.Tensor | None, count: Int | None) -> None:
    """Learn that another selection by an equal mask has as many elements."""
    if tensor is not None and tensor.dtype is torch.bool and count is not None:
        recorder.learn(tensor, Elements(total=count))


@kind_rule(aten.masked_select.default, once=True)
def masked_select(recorder: Trace, self: torch.Tensor, mask: torch.Tensor) -> object:
    """One element for each True in the mask, which broadcasts with the tensor."""
    shape = ruled(recorder, aten.masked_select.default, self, known(recorder, mask))
    sizes, own = metadata_of(recorder, self).shape, metadata_of(recorder, mask).shape
    if len(own) >= len(sizes) and all(map(same, sizes[::-1], own[::-1])):
        learn_count(recorder, mask, shape[0])
    return packed(recorder, shape, self.dtype, self.device)


def is_mask(kind: Metadata) -> bool:
    return kind.dtype in (torch.bool, torch.uint8)


def picked_strides(
    recorder: Trace, source: Metadata, indices: Sequence[Metadata | None], sizes: Shape
) -> Sequence[Int] | None:
    """The strides of an indexing result; None if unclear.

    ATen uses an elementwise kernel. Its first operand is the tensor, expanded along the axes of the indices; the others
    are the indices, expanded along the axes that are kept.
    """
    picked: list[int] = []
    axis = 0
    for kind in indices:
        count = len(kind.shape) if kind is not None and is_mask(kind) else 1
        picked.extend([] if kind is None else range(axis, axis + count))
        axis += count
    before = picked[0] if picked == list(range(picked[0], picked[0] + len(picked))) else 0
    kept = [step for place, step in enumerate(strides_of(source.shape)) if place not in picked]
    behind = len(kept) - before
    count = len(sizes) - len(kept)
    repeated = (*kept[:before], *[0] * count, *kept[before:])
    operands = [Shape(sizes, strides=repeated)]
    for kind in indices:
        if kind is None:
            continue
        # a mask is replaced by one list of indices for each of its axes
        lengths, steps = ((sizes[before + count - 1],), (1,)) if is_mask(kind) else (kind.shape, strides_of(kind.shape))
        left = before + count - len(lengths)
        lengths, steps = (*[1] * left, *lengths, *[1] * behind), (*[0] * left, *steps, *[0] * behind)
        operands.append(Shape(lengths, strides=steps))
        order = None if is_mask(kind) else order_of(recorder.env, kind.shape)
        if order is not None:
            operands[-1].order = Order(tuple([left + each for each in order.axes]), order.dense)
    return elementwise_strides(recorder.env, operands, sizes)


kind_rules(aten.one_hot.default, aten._padded_dense_to_jagged_forward.default, once=True)(by_rule_alone)


@kind_rule(aten.bincount.default, once=True)
def bincount(recorder: Trace, self: torch.Tensor, *args: object) -> object:
    """A bin for each number: no more than the facts about the elements allow."""
    shape = ruled(recorder, aten.bincount.default, known(recorder, self), *args)
    return made(recorder, shape, metadata_of(recorder, self))


@kind_rule(aten.repeat_interleave.Tensor, once=True)
def repeat_interleave(recorder: Trace, repeats: torch.Tensor, *, output_size: Any = None) -> object:
    """A vector of as many indices as the repeats add up to."""
    shape = ruled(recorder, aten.repeat_interleave.Tensor, known(recorder, repeats), output_size=output_size)
    recorder.learn(repeats, Elements(total=shape[0]))
    return packed(recorder, shape, repeats.dtype, repeats.device)


@kind_rules(
    aten._unique2.default, aten._unique.default, aten.unique_consecutive.default, aten.unique_dim.default,
    aten.unique_dim_consecutive.default, once=True,
)  # fmt: skip
def unique(func: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, *args: Any, **kwargs: Any) -> object:
    """The distinct elements or slices, or one for each run of equal ones.

    The inverse indices and the counts, where none requested are empty, but of slices.
    """
    options = dict(zip([argument.name for argument in func._schema.arguments[1:]], args)) | kwargs
    dim = options.get("dim")
    found: Ruled = vocabulary["unique"](
        recorder.env, sizes_of(self), return_inverse=True, return_counts=True, dim=dim
    )
    values, *others = found
    wanted = [dim is not None or options.get(name) for name in ("return_inverse", "return_counts")]
    numbers = [other if want else Shape((0,), dtype="int64") for other, want in zip(others, wanted)]
    count = len(func._schema.returns)
    return made(recorder, (values, *numbers)[:count], metadata_of(recorder, self))
