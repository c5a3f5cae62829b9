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
from typing import Any, Final

import torch

from frontends.pytorch.graphs.masked_operators import moved, rule, spread
from frontends.pytorch.graphs.selection import NotMasked, Site
from frontends.pytorch.recording.operations import Argument
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten
Tensor = torch.Tensor


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
"""Of each reduction the number that changes no result."""

@rule(*IDENTITIES)
def reduced(site: Site) -> None:
    """A reduction over all elements, of which those that are not selected are the identity."""
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
        first = min(over)
        if len(over) > 1:
            whole = whole.flatten(first, max(over))
        over = first
    fresh = given | {"self": whole, "dim": over, "keepdim": False}
    declared = target._schema.arguments
    positional = [fresh[each.name] for each in declared if not each.kwarg_only]
    return target(*positional, **{each.name: fresh[each.name] for each in declared if each.kwarg_only})


@rule(aten.mean.default, aten.mean.dim)
def averaged(site: Site) -> None:
    """The sum of the selected elements by how many they are, in the dtype that sums accumulate in."""
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
        if dim != axis and sizes[dim] != 1:
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
