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

from frontends.pytorch.graphs.masked_operators import broadcast, rule
from frontends.pytorch.graphs.masked_views import moved, spread
from frontends.pytorch.graphs.selection import NotMasked, Site
from frontends.pytorch.recording.operations import Argument
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


def zero(dtype: torch.dtype) -> float:
    return 0


def one(dtype: torch.dtype) -> float:
    return 1


def least(dtype: torch.dtype) -> float:
    """The smallest number of a dtype."""
    return -math.inf if dtype.is_floating_point else 0 if dtype is torch.bool else torch.iinfo(dtype).min


def most(dtype: torch.dtype) -> float:
    """The largest number of a dtype."""
    return math.inf if dtype.is_floating_point else 1 if dtype is torch.bool else torch.iinfo(dtype).max


IDENTITIES: Final[dict[object, Callable[[torch.dtype], float]]] = {
    **dict.fromkeys((aten.sum.default, aten.sum.dim_IntList, aten.nansum.default), zero),
    **dict.fromkeys((aten.any.default, aten.any.dim, aten.any.dims, aten.linalg_vector_norm.default), zero),
    **dict.fromkeys((aten.count_nonzero.default, aten.count_nonzero.dim_IntList), zero),
    **dict.fromkeys((aten.prod.default, aten.prod.dim_int, aten.all.default, aten.all.dim, aten.all.dims), one),
    **dict.fromkeys((aten.amax.default, aten.max.default, aten.logsumexp.default), least),
    **dict.fromkeys((aten.amin.default, aten.min.default), most),
}
"""The identity of each reduction: the number that changes no result."""

@rule(*IDENTITIES)
def reduced(site: Site) -> None:
    """A reduction over all elements, with the identity for those that are not selected."""
    source = site.given["self"]
    identity = IDENTITIES[site.operation.target]
    if site.operation.target is aten.linalg_vector_norm.default and not site.given["ord"] >= 0:
        raise NotMasked("a norm of the smallest element")
    reduce(site, lambda: site.filled(source, identity(site.rewriting.kind(source).dtype)))


def dims_of(site: Site) -> tuple[list[int], bool]:
    """The axes that are reduced, and whether they are kept with one element."""
    given = site.given
    rank = len(site.rewriting.kind(given["self"]).sizes)
    dims = given.get("dim")
    listed = [dims] if isinstance(dims, int) else list(dims or range(rank))
    return [dim % rank for dim in listed], bool(given.get("keepdim", False))


def reduce(site: Site, filled: Callable[[], Tensor]) -> None:
    """Reduce with the operator, `filled` where the selected elements are reduced."""
    given, target = site.given, site.operation.target
    source = given["self"]
    axis = site.axis(source)
    assert axis is not None
    dims, keepdim = dims_of(site)
    over = spread(site, source, dims)
    whole = filled() if axis in dims else site.whole(source)
    made = applied(target, whole, over, given)
    for dim in sorted(dims) if keepdim else ():
        made = made.unsqueeze(dim if axis in dims else moved(site, source, dim))
    if axis in dims:
        site.gives(made)
    else:
        site.stands(made)


def applied(target: Any, whole: Tensor, over: Sequence[int], given: dict[str, Argument]) -> Tensor:
    """The operator over these axes, which are not kept."""
    if "dim" not in given:
        return target(whole, **{name: given[name] for name in ("dtype",) if given.get(name) is not None})
    if any(str(each.type) == "int" for each in target._schema.arguments if each.name == "dim"):
        whole = whole.flatten(min(over), max(over)) if len(over) > 1 else whole
        fresh = given | {"self": whole, "dim": min(over), "keepdim": False}
    else:
        fresh = given | {"self": whole, "dim": over, "keepdim": False}
    declared = target._schema.arguments
    positional = [fresh[each.name] for each in declared if not each.kwarg_only]
    return target(*positional, **{each.name: fresh[each.name] for each in declared if each.kwarg_only})


@rule(aten.mean.default, aten.mean.dim)
def averaged(site: Site) -> None:
    """The mean of the selected elements: their sum by their count, in the dtype that sums accumulate in."""
    given, source = site.given, site.given["self"]
    dims, keepdim = dims_of(site)
    axis = site.axis(source)
    assert axis is not None
    if axis not in dims:
        reduce(site, lambda: site.whole(source))
        return
    kind = site.rewriting.kind(source)
    dtype = given["dtype"] or kind.dtype
    wide = accumulated_in(dtype)
    total = masked_sum(site, source, dims, keepdim, wide)
    count = count_over(site, kind.sizes, axis, dims, wide)
    site.gives((total / count).to(dtype))


def accumulated_in(dtype: torch.dtype) -> torch.dtype:
    """The dtype in which a mean of elements is computed."""
    if dtype.is_complex:
        raise NotMasked("a mean of complex numbers")
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def count_over(site: Site, sizes: Sequence[Any], axis: int, dims: Sequence[int], dtype: torch.dtype) -> Tensor:
    """The number of elements that are reduced to one, of a tensor with these sizes."""
    count = site.count(dtype)
    for dim in dims:
        if dim != axis and not (isinstance(sizes[dim], int) and sizes[dim] == 1):
            count = count * sizes[dim]
    return count


def masked_sum(
    site: Site, source: Result, dims: Sequence[int], keepdim: bool, dtype: torch.dtype, whole: Tensor | None = None
) -> Tensor:
    """A sum over the selected elements and other axes, of a tensor with zeros elsewhere."""
    axis = site.axis(source)
    assert axis is not None
    over = spread(site, source, dims)
    made = (site.filled(source, 0) if whole is None else whole).sum(over, dtype=dtype)
    for dim in sorted(dims) if keepdim else ():
        made = made.unsqueeze(dim)
    return made


# ---------------------------------------------------------------------- along the selected elements

ALONG: Final = {
    aten._softmax.default: least, aten._log_softmax.default: least,
    aten.cumsum.default: zero, aten.cumprod.default: one,
    aten._softmax_backward_data.default: zero, aten._log_softmax_backward_data.default: zero,
}  # fmt: skip
"""Operators along an axis that give a tensor of the same sizes, with the number that changes no other element."""


@rule(*ALONG)
def along(site: Site) -> None:
    """An operator along selected elements: the axes of the mask become one, in the order of selection."""
    given, target = dict(site.given), site.operation.target
    output = site.operation.output
    axis, rank = site.axis(output), len(site.rewriting.kind(output).sizes)
    assert axis is not None
    tensors = [name for name, value in given.items() if isinstance(value, Result)]
    dim = given["dim"] % rank
    for name in tensors:
        value = given[name]
        if site.axis(value) != axis or len(site.rewriting.kind(value).sizes) != rank:
            raise NotMasked("other tensors along the selected elements")
        identity = ALONG[target](site.rewriting.kind(value).dtype)
        whole = site.filled(value, identity) if dim == axis else site.whole(value)
        given[name] = whole.flatten(axis, axis + site.rank - 1) if dim == axis else whole
    given["dim"] = dim if dim == axis else moved(site, output, dim)
    declared = target._schema.arguments
    made = target(
        *[given[each.name] for each in declared if not each.kwarg_only],
        **{each.name: given[each.name] for each in declared if each.kwarg_only},
    )
    site.stands(made.reshape(site.sizes(output)) if dim == axis else made)


@rule(aten.argmax.default, aten.argmin.default)
def extreme_place(site: Site) -> None:
    """The index of the extreme element among the selected ones: as many are selected before it."""
    given, source = site.given, site.given["self"]
    kind = site.rewriting.kind(source)
    if len(kind.sizes) != 1 or given["keepdim"]:
        raise NotMasked("an index along one of several axes")
    identity = least if site.operation.target is aten.argmax.default else most
    place = site.operation.target(site.filled(source, identity(kind.dtype)).flatten())
    before = site.mask(0).flatten().cumsum(0) - 1
    # where all selected elements are the identity, another one may come first
    site.gives(before.index_select(0, place.view(1)).clamp(min=0).view(()))


@rule(aten.max.dim, aten.min.dim)
def extreme_along(site: Site) -> None:
    """The extreme rows with their indices; the gradient has those among all elements."""
    given, source = site.given, site.given["self"]
    kind, target = site.rewriting.kind(source), site.operation.target
    axis, dim = site.axis(source), given["dim"] % len(kind.sizes)
    if dim != axis or site.rank != 1:
        raise NotMasked("extreme elements along another axis")
    identity = least if target is aten.max.dim else most
    values, places = target(site.filled(source, identity(kind.dtype)), dim, given["keepdim"])
    first, second = site.operation.outputs
    site.gives(values, first)
    mask = site.mask(0)
    # where all selected elements are the identity, another one may come first
    is_selected = mask.index_select(0, places.flatten()).view(places.shape)
    places = torch.where(is_selected, places, mask.to(torch.uint8).argmax())
    before = mask.cumsum(0) - 1
    site.gives(before.index_select(0, places.flatten()).view(places.shape), second)
    site.rewriting.places[second] = site.selection.atom, places


@rule(aten.var.correction, aten.std.correction)
def variance(site: Site) -> None:
    """The variance, a mean of squared deviations; as in eager torch, NaN without a degree of freedom."""
    given, source = site.given, site.given["self"]
    dims, keepdim = dims_of(site)
    axis, kind = site.axis(source), site.rewriting.kind(source)
    assert axis is not None
    if axis not in dims:
        reduce(site, lambda: site.whole(source))
        return
    wide = accumulated_in(kind.dtype)
    whole, over = site.filled(source, 0).to(wide), spread(site, source, dims)
    count = count_over(site, kind.sizes, axis, dims, wide)
    away = whole - whole.sum(over, keepdim=True) / count
    zero = torch.zeros((), dtype=wide, device=whole.device)
    squares = torch.where(site.mask(len(kind.sizes) - axis - 1), away * away, zero).sum(over)
    correction = 1 if given["correction"] is None else given["correction"]
    made = squares / (count - correction).clamp(min=0)
    for dim in sorted(dims) if keepdim else ():
        made = made.unsqueeze(dim)
    site.gives((made.sqrt() if site.operation.target is aten.std.correction else made).to(kind.dtype))


@rule(aten.scatter.src)
def scattered(site: Site) -> None:
    """The gradient of extreme rows."""
    target, dim, index, source = site.operation.args
    known = site.rewriting.places
    if site.axis(target) != dim or index not in known or site.axis(source) is not None:
        raise NotMasked("a scatter to selected elements")
    site.stands(site.whole(target).scatter(dim, known[index][1], site.whole(source)))


# ---------------------------------------------------------------------- losses

LOSSES: Final = {
    aten.mse_loss.default: 2, aten.smooth_l1_loss.default: 2, aten.huber_loss.default: 2,
    aten.binary_cross_entropy.default: 3, aten.binary_cross_entropy_with_logits.default: 4,
}  # fmt: skip
"""Losses with a reduction, by their number of tensors."""
GRADIENTS: Final = {
    aten.mse_loss_backward.default: 3, aten.smooth_l1_loss_backward.default: 3, aten.huber_loss_backward.default: 3,
    aten.binary_cross_entropy_backward.default: 4,
}  # fmt: skip
NONE, MEAN = 0, 1


def operands(site: Site, names: Sequence[str], like: Result, wide: torch.dtype) -> list[Tensor | None]:
    """A loss's tensors, in the dtype in which means accumulate.

    With zeros where nothing is selected, of which no loss raises an error.
    """
    axis, rank = site.axis(like), len(site.rewriting.kind(like).sizes)
    assert axis is not None
    found: list[Tensor | None] = []
    for name in names:
        value = site.given[name]
        if isinstance(value, Result) and site.axis(value) is not None:
            broadcast(site, value, axis, rank)
            found.append(site.filled(value, 0).to(wide))
        else:
            found.append(None if value is None else broadcast(site, value, axis, rank).to(wide))
    return found


@rule(*LOSSES)
def lost(site: Site) -> None:
    given, target = site.given, site.operation.target
    declared = [each.name for each in target._schema.arguments]
    tensors, rest = declared[: LOSSES[target]], declared[LOSSES[target] + 1 :]
    source = given["self"]
    axis, kind = site.axis(source), site.rewriting.kind(source)
    if axis is None:
        raise NotMasked("a loss of which only targets are selected")
    wide = accumulated_in(kind.dtype)
    each = target(*operands(site, tensors, source, wide), NONE, *[given[name] for name in rest])
    if given["reduction"] == NONE:
        site.stands(each.to(kind.dtype))
        return
    dims = range(len(kind.sizes))
    none = torch.zeros((), dtype=wide, device=each.device)
    total = torch.where(site.mask(len(kind.sizes) - axis - 1), each, none).sum()
    if given["reduction"] == MEAN:
        total = total / count_over(site, kind.sizes, axis, dims, wide)
    site.gives(total.to(kind.dtype))


@rule(*GRADIENTS)
def lost_gradient(site: Site) -> None:
    given, target = site.given, site.operation.target
    declared = [each.name for each in target._schema.arguments]
    tensors, rest = declared[: GRADIENTS[target]], declared[GRADIENTS[target] + 1 :]
    output = site.operation.output
    axis, kind = site.axis(output), site.rewriting.kind(output)
    if axis is None:
        raise NotMasked("a loss of which only targets are selected")
    wide = accumulated_in(kind.dtype)
    gradient, *others = operands(site, tensors, output, wide)
    assert gradient is not None
    if given["reduction"] == MEAN:
        gradient = gradient / count_over(site, kind.sizes, axis, range(len(kind.sizes)), wide)
    gradient = gradient.expand(site.sizes(output))
    site.stands(target(gradient, *others, NONE, *[given[name] for name in rest]).to(kind.dtype))


@rule(aten.nll_loss_forward.default)
def likelihood(site: Site) -> None:
    """The negative log likelihood: rows that are not selected get the ignored class."""
    given = site.given
    rows, classes = given["self"], given["target"]
    if site.rank != 1 or site.axis(rows) != 0 or len(site.rewriting.kind(rows).sizes) != 2 or site.axis(classes) != 0:
        raise NotMasked("classes of other elements than rows")
    weight = None if given["weight"] is None else site.whole(given["weight"])
    ignored = site.filled(classes, given["ignore_index"])
    options = given["reduction"], given["ignore_index"]
    loss, total = aten.nll_loss_forward.default(site.filled(rows, 0), ignored, weight, *options)
    first, second = site.operation.outputs
    if given["reduction"] == NONE:
        site.stands(loss, first)
    else:
        site.gives(loss, first)
    site.gives(total, second)


@rule(aten.nll_loss_backward.default)
def likelihood_gradient(site: Site) -> None:
    given = site.given
    rows, classes = given["self"], given["target"]
    if site.rank != 1 or site.axis(rows) != 0 or len(site.rewriting.kind(rows).sizes) != 2:
        raise NotMasked("classes of other elements than rows")
    weight = None if given["weight"] is None else site.whole(given["weight"])
    gradient = given["grad_output"]
    whole = site.filled(gradient, 0) if site.axis(gradient) is not None else site.whole(gradient)
    ignored = site.filled(classes, given["ignore_index"])
    options = given["reduction"], given["ignore_index"], site.whole(given["total_weight"])
    site.stands(aten.nll_loss_backward.default(whole, site.filled(rows, 0), ignored, weight, *options))
