"""Rules for reductions over selected elements (`frontends.pytorch.graphs.selections`).

    >>> import torch
    >>> from frontends.pytorch.graphs.masked_reductions import IDENTITIES
    >>> IDENTITIES[torch.ops.aten.prod.default](torch.float32), IDENTITIES[torch.ops.aten.amax.default](torch.int8)
    (1, -128)

Sums are taken in another order than eager torch's, over the zeros of other elements as well: they may be rounded
otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.graphs.masked_operators import broadcast, moved, rule, spread
from frontends.pytorch.graphs.selection import NotMasked, Site
from frontends.pytorch.recording.operations import flat
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


def least(dtype: torch.dtype) -> float:
    """The smallest number of a dtype."""
    return -math.inf if dtype.is_floating_point else 0 if dtype is torch.bool else torch.iinfo(dtype).min


def most(dtype: torch.dtype) -> float:
    """The largest number of a dtype."""
    return math.inf if dtype.is_floating_point else 1 if dtype is torch.bool else torch.iinfo(dtype).max


IDENTITIES: Final[dict[object, Callable[[torch.dtype], float]]] = {
    **dict.fromkeys((aten.sum.default, aten.sum.dim_IntList, aten.nansum.default), lambda dtype: 0),
    **dict.fromkeys((aten.any.default, aten.any.dim, aten.any.dims, aten.linalg_vector_norm.default), lambda dtype: 0),
    **dict.fromkeys((aten.count_nonzero.default, aten.count_nonzero.dim_IntList), lambda dtype: 0),
    **dict.fromkeys((aten.prod.default, aten.prod.dim_int), lambda dtype: 1),
    **dict.fromkeys((aten.all.default, aten.all.dim, aten.all.dims), lambda dtype: 1),
    **dict.fromkeys((aten.amax.default, aten.max.default, aten.logsumexp.default), least),
    **dict.fromkeys((aten.amin.default, aten.min.default), most),
}
"""The identity of each reduction: the number that changes no result."""


@rule(*IDENTITIES)
def reduced(site: Site) -> None:
    """A reduction over all elements, with the identity for those that are not selected."""
    given, target, source = site.given, site.operation.target, site.given["self"]
    if target is aten.linalg_vector_norm.default and not given["ord"] >= 0:
        raise NotMasked("a norm of the smallest element")
    dims, keepdim = dims_of(site)
    is_selected, over = site.axis(source) in dims, spread(site, source, dims)
    whole = site.whole(source)
    if is_selected:
        whole = site.filled(source, IDENTITIES[target](site.rewriting.kind(source).dtype))
    if isinstance(given.get("dim"), int):
        whole = whole.flatten(over[0], over[-1]) if len(over) > 1 else whole
        made = site.called(self=whole, dim=over[0], keepdim=False)
    else:
        made = site.called(self=whole, dim=over, keepdim=False)
    kept(site, made, [dim if is_selected else moved(site, source, dim) for dim in dims] if keepdim else ())


def dims_of(site: Site) -> tuple[list[int], bool]:
    """The axes that are reduced, and whether they are kept with one element."""
    given = site.given
    rank = len(site.rewriting.kind(given["self"]).sizes)
    dims = given.get("dim")
    listed = [dims] if isinstance(dims, int) else list(dims or range(rank))
    return [dim % rank for dim in listed], bool(given.get("keepdim", False))


def kept(site: Site, made: Tensor, dims: Sequence[int]) -> None:
    """Give a reduced tensor, with these axes of one element again."""
    for dim in sorted(dims):
        made = made.unsqueeze(dim)
    site.gives(made)


def accumulated_in(dtype: torch.dtype) -> torch.dtype:
    """The dtype in which a mean of elements is computed."""
    if dtype.is_complex:
        raise NotMasked("a mean of complex numbers")
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def count_over(site: Site, value: Result, dims: Sequence[int], dtype: torch.dtype) -> Tensor:
    """The number of elements in these axes of a tensor, that of the selected ones among them."""
    count, sizes, axis = site.count(dtype), site.rewriting.kind(value).sizes, site.axis(value)
    for dim in dims:
        if dim != axis and not (isinstance(sizes[dim], int) and sizes[dim] == 1):
            count = count * sizes[dim]
    return count


@rule(aten.mean.default, aten.mean.dim)
def averaged(site: Site) -> None:
    """The mean of the selected elements: their sum by their count, in the dtype that sums accumulate in."""
    source, (dims, keepdim) = site.given["self"], dims_of(site)
    if site.axis(source) not in dims:
        reduced(site)
        return
    dtype = site.given["dtype"] or site.rewriting.kind(source).dtype
    wide = accumulated_in(dtype)
    total = site.filled(source, 0).sum(spread(site, source, dims), dtype=wide)
    kept(site, (total / count_over(site, source, dims, wide)).to(dtype), dims if keepdim else ())


@rule(aten.var.correction, aten.std.correction)
def variance(site: Site) -> None:
    """The variance, a mean of squared deviations; as in eager torch, NaN without a degree of freedom."""
    given, source, (dims, keepdim) = site.given, site.given["self"], dims_of(site)
    if site.axis(source) not in dims:
        reduced(site)
        return
    kind = site.rewriting.kind(source)
    wide = accumulated_in(kind.dtype)
    whole, over = site.filled(source, 0).to(wide), spread(site, source, dims)
    count = count_over(site, source, dims, wide)
    away = whole - whole.sum(over, keepdim=True) / count
    correction = 1 if given["correction"] is None else given["correction"]
    made = total(site, source, away * away, over) / (count - correction).clamp(min=0)
    made = made.sqrt() if site.operation.target is aten.std.correction else made
    kept(site, made.to(kind.dtype), dims if keepdim else ())


def total(site: Site, like: Result, whole: Tensor, over: Sequence[int]) -> Tensor:
    """The sum of the selected elements, of a tensor with the sizes of another."""
    axis = site.axis(like)
    assert axis is not None
    none = torch.zeros((), dtype=whole.dtype, device=whole.device)
    return torch.where(site.mask(len(site.rewriting.kind(like).sizes) - axis - 1), whole, none).sum(list(over))


ALONG: Final = {
    aten._softmax.default: -math.inf, aten._log_softmax.default: -math.inf, aten.cumsum.default: 0,
    aten._softmax_backward_data.default: 0, aten._log_softmax_backward_data.default: 0,
}  # fmt: skip
"""Operators along an axis that give a tensor of the same sizes, with the number that changes no other element."""


@rule(*ALONG)
def along(site: Site) -> None:
    """An operator along selected elements: the axes of the mask become one, in the order of selection."""
    given, output = site.given, site.operation.output
    axis, rank = site.axis(output), len(site.rewriting.kind(output).sizes)
    assert axis is not None
    tensors = {name: value for name, value in given.items() if isinstance(value, Result)}
    if any(site.axis(each) != axis or len(site.rewriting.kind(each).sizes) != rank for each in tensors.values()):
        raise NotMasked("other tensors along the selected elements")
    dim, fill = given["dim"] % rank, ALONG[site.operation.target]
    if dim != axis:
        site.gives(site.called(dim=moved(site, output, dim)))
        return
    flattened = {
        name: site.filled(each, fill).flatten(axis, axis + site.rank - 1) for name, each in tensors.items()
    }
    site.gives(site.called(**flattened).reshape(site.sizes(output)))


# ---------------------------------------------------------------------- losses

LOSSES: Final = {
    aten.mse_loss.default: 2, aten.smooth_l1_loss.default: 2, aten.huber_loss.default: 2,
    aten.binary_cross_entropy.default: 3, aten.binary_cross_entropy_with_logits.default: 4,
    aten.mse_loss_backward.default: 3, aten.smooth_l1_loss_backward.default: 3, aten.huber_loss_backward.default: 3,
    aten.binary_cross_entropy_backward.default: 4,
}  # fmt: skip
"""Losses with a reduction and their gradients, by their number of tensors."""
NONE, MEAN = 0, 1


@rule(*LOSSES)
def lost(site: Site) -> None:
    """A loss or its gradient for each element, with zeros where nothing is selected: of these no loss raises an error.

    It is computed in the dtype in which means accumulate.
    """
    given, target = site.given, site.operation.target
    names = [each.name for each in target._schema.arguments][: LOSSES[target]]
    is_gradient, reduction = "grad_output" in names, given["reduction"]
    like = site.operation.output if is_gradient else given["self"]
    axis, kind = site.axis(like), site.rewriting.kind(like)
    if axis is None:
        raise NotMasked("a loss of which only targets are selected")
    rank, wide = len(kind.sizes), accumulated_in(kind.dtype)
    tensors: dict[str, Any] = {}
    for name in names:
        value = given[name]
        if value is not None:
            whole = broadcast(site, value, axis, rank)
            tensors[name] = (whole if site.axis(value) is None else site.filled(value, 0)).to(wide)
    if is_gradient:
        if reduction == MEAN:
            tensors["grad_output"] = tensors["grad_output"] / count_over(site, like, range(rank), wide)
        tensors["grad_output"] = tensors["grad_output"].expand(site.sizes(like))
    made = site.called(**tensors, reduction=NONE)
    if not is_gradient and reduction != NONE:
        made = total(site, like, made, range(made.dim()))
        made = made / count_over(site, like, range(rank), wide) if reduction == MEAN else made
    site.gives(made.to(kind.dtype))


@rule(aten.nll_loss_forward.default, aten.nll_loss_backward.default)
def likelihood(site: Site) -> None:
    """The negative log likelihood, or its gradient: rows that are not selected get the ignored class."""
    given = site.given
    rows, classes = given["self"], given["target"]
    if site.rank != 1 or site.axis(rows) != 0 or len(site.rewriting.kind(rows).sizes) != 2 or site.axis(classes) != 0:
        raise NotMasked("classes of other elements than rows")
    made = site.called(target=site.filled(classes, given["ignore_index"]))
    for each, output in zip(flat(made), site.operation.outputs):
        site.gives(each, output)
