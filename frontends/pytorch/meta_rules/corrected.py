"""Corrections of torch's meta functions where the CPU kernels' result has another layout.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def rows(x):
    ...     return torch.linalg.svd(x, full_matrices=False).Vh
    >>> trace(rows, (torch.ones(2, 3),), dynamic=False).outputs[0].metadata.strides, rows(torch.ones(2, 3)).stride()
    ((1, 2), (1, 2))
    >>> rows(torch.ones(2, 3, device="meta")).stride()
    (3, 1)

Sizes and dtypes are those of the meta functions; a row of `LAID` has the layout of each result. Accelerators have other
kernels with other layouts; for them the meta functions answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import torch

from frontends.pytorch.meta_rules.registry import column_strides, metadata_of
from frontends.pytorch.symbolic.metadata import Metadata, Template
from frontends.pytorch.symbolic.tensor import Trace
from shapes.environment.layout import contiguous_strides
from shapes.rules.memory_order import elementwise_strides, is_number, strides_of, suggested_strides
from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int

aten: Final = torch.ops.aten
Strides = Callable[["Trace", Shape, Sequence[object]], "Sequence[Int] | None"]
"""Computes the strides of a result from its sizes and the operator's arguments; None where the meta function is
right."""


def packed(recorder: Trace, sizes: Shape, args: Sequence[object]) -> Sequence[Int]:
    """Contiguous strides."""
    return contiguous_strides(sizes)


def by_columns(recorder: Trace, sizes: Shape, args: Sequence[object]) -> Sequence[Int]:
    """Column-major matrices, as LAPACK writes them."""
    return column_strides(sizes, sizes[-2])


def as_image(place: int = 0) -> Strides:
    """Channels-last if the argument at this index is, else contiguous."""

    def strides(recorder: Trace, sizes: Shape, args: Sequence[object]) -> Sequence[Int] | None:
        return suggested_strides(recorder.env, metadata_of(recorder, args[place]).shape, sizes)

    return strides


def as_rolled(recorder: Trace, sizes: Shape, args: Sequence[object]) -> Sequence[Int] | None:
    """Contiguous if the first argument is rolled as a flat one."""
    return as_image()(recorder, sizes, args) if len(args) > 2 and args[2] else contiguous_strides(sizes)


def as_normalized(place: int = 0) -> Strides:
    """The layout that batch normalization gives to the argument at this index: contiguous where ATen suggests none."""
    return lambda recorder, sizes, args: as_image(place)(recorder, sizes, args) or contiguous_strides(sizes)


def as_first(recorder: Trace, sizes: Shape, args: Sequence[object]) -> Sequence[Int] | None:
    """The layout of a copy of the first argument."""
    return elementwise_strides(recorder.env, [metadata_of(recorder, args[0]).shape], sizes)


def as_kept(recorder: Trace, sizes: Shape, args: Sequence[object]) -> Sequence[Int] | None:
    """The layout of a copy if the first argument is expanded: replacing a part of such a tensor does not keep its
    strides and gaps."""
    base, env = metadata_of(recorder, args[0]), recorder.env
    repeated = [size for size, stride in zip(base.shape, strides_of(base.shape)) if is_number(stride, 0)]
    if all(is_number(size, 1) for size in repeated) or not any(env.guard_or_true(size > 1) for size in repeated):
        return None
    return elementwise_strides(env, [base.shape], sizes)


LAID: Final[Mapping[torch._ops.OpOverload, tuple[Strides | None, ...]]] = {
    aten.native_batch_norm.default: (as_normalized(), None, None),
    aten._native_batch_norm_legit.default: (as_normalized(), None, None),
    aten._native_batch_norm_legit_no_training.default: (as_normalized(), None, None),
    aten._batch_norm_with_update.default: (as_normalized(), None, None, None),
    aten._batch_norm_with_update_functional.default: (as_normalized(), *(None,) * 5),
    aten._batch_norm_no_update.default: (as_normalized(), None, None, None),
    aten._native_batch_norm_legit.no_stats: (as_normalized(), None, None),
    aten._native_batch_norm_legit_functional.default: (as_normalized(), *(None,) * 4),
    aten.native_batch_norm_backward.default: (as_normalized(1), None, None),
    aten.batch_norm_backward.default: (as_normalized(1), None, None),
    # the mean is expanded to the sizes of both
    aten.normal.Tensor_Tensor: (packed,),
    aten.huber_loss_backward.default: (packed,),
    # of a contiguous copy
    aten.log_sigmoid_forward.default: (packed, packed),
    aten.log_sigmoid_backward.default: (as_first,),
    aten.nll_loss2d_forward.default: (packed, None),
    aten._linalg_svd.default: (by_columns, None, by_columns),
    aten.linalg_eig.default: (None, by_columns),
    aten.roll.default: (as_rolled,),
    **dict.fromkeys(
        (aten.pow.Scalar, aten.mse_loss_backward.default, aten.smooth_l1_loss_backward.default), (packed,)
    ),
    **dict.fromkeys(
        (
            aten.select_scatter.default, aten.slice_scatter.default, aten.diagonal_scatter.default,
            aten.as_strided_scatter.default,
        ),
        (as_kept,),
    ),
    **dict.fromkeys(
        (
            aten.reflection_pad2d.default, aten.reflection_pad3d.default, aten.replication_pad2d.default,
            aten.replication_pad3d.default, aten.channel_shuffle.default, aten.native_channel_shuffle.default,
            aten.max_unpool2d.default,
        ),
        (as_image(),),
    ),
    **dict.fromkeys(
        (
            aten.reflection_pad2d_backward.default, aten.reflection_pad3d_backward.default,
            aten.replication_pad2d_backward.default, aten.replication_pad3d_backward.default,
        ),
        (as_image(1),),
    ),
}  # fmt: skip


def filled(x: torch.Tensor, dim: int, index: torch.Tensor, value: object) -> torch.Tensor:
    """`index_fill`, which fills a clone; its meta function fills a contiguous one of a tensor with gaps."""
    x.clone().index_fill_(dim, index, value)
    return x.clone()


MEANT: Final[Mapping[torch._ops.OpOverload, Callable[..., torch.Tensor]]] = {
    aten.index_fill.int_Scalar: filled,
    aten.index_fill.int_Tensor: filled,
}
"""Operators equivalent to others whose meta functions are right."""


def corrected(recorder: Trace, func: object, args: Sequence[object], found: Template) -> Template:
    """Correct the predicted results of an operator to the kernels' layouts."""
    rows = LAID.get(func)
    if rows is None:
        return found
    pieces = found.output if isinstance(found.output, tuple) else (found.output,)

    def piece(given: object, strides: Strides | None) -> object:
        if not isinstance(given, Metadata) or strides is None or given.device.type != "cpu":
            return given
        lies = strides(recorder, given.shape, args)
        return given if lies is None else recorder.kinds.laid(given.shape, lies, 0, given.dtype, given.device)

    pieces = tuple(map(piece, pieces, rows))
    return replace(found, output=pieces if isinstance(found.output, tuple) else pieces[0])
