"""Rules for new tensors and views of selected elements, for `selections` beside this file.

    >>> import torch
    >>> from frontends.pytorch.graphs.masked_views import SIZED
    >>> SIZED[torch.ops.aten.new_zeros.default]
    1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from frontends.pytorch.graphs.masked_operators import broadcast, coordinate, outside, rule
from frontends.pytorch.graphs.selection import NotMasked, Site
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten

@rule(aten.expand.default)
def expanded(site: Site) -> None:
    source, output = site.operation.args[0], site.operation.output
    axis = site.axis(output)
    assert axis is not None
    site.stands(broadcast(site, source, axis, len(output.metadata.sizes)).expand(site.sizes(output)))


SIZED: Final = {
    **dict.fromkeys((aten.zeros.default, aten.ones.default, aten.full.default, aten.empty.memory_format), 0),
    **dict.fromkeys((aten.new_zeros.default, aten.new_ones.default, aten.new_full.default, aten.new_empty.default), 1),
}


@rule(*SIZED)
def new(site: Site) -> None:
    """A new tensor, of all sizes; or one with the dtype of selected elements."""
    args, output = list(site.operation.args), site.operation.output
    args[SIZED[site.operation.target]] = site.sizes(output)
    made = site.operation.target(*[outside(site, each) for each in args], **site.operation.kwargs)
    if site.axis(output) is None:
        site.gives(made)
    else:
        site.stands(made)


@rule(aten.unsqueeze.default)
def unsqueezed(site: Site) -> None:
    source, dim = site.operation.args
    if source in site.rewriting.places:
        atom, places = site.rewriting.places[source]
        site.rewriting.places[site.operation.output] = atom, places.unsqueeze(dim)
        site.rewriting.operations.append(site.operation)
        return
    dim %= len(source.metadata.sizes) + 1
    site.stands(site.whole(source).unsqueeze(moved(site, source, dim)))


@rule(aten.squeeze.dim, aten.select.int, aten.slice.Tensor)
def along(site: Site) -> None:
    """A view along another axis."""
    source, *rest = site.operation.args
    dim = (rest[0] if rest else 0) % len(source.metadata.sizes)
    if source in site.rewriting.coordinates:
        is_squeeze = site.operation.target is aten.squeeze.dim
        if dim == 0 or not (is_squeeze or isinstance(rest[1], int)):
            raise NotMasked("a part of the coordinates")
        coordinate(site, site.operation.output, 0 if is_squeeze else rest[1] % site.rank)
        return
    axis = site.axis(source)
    if dim == axis or axis is None:
        raise NotMasked("a part of the selected elements")
    rest = [outside(site, each) for each in rest[1:]]
    site.stands(site.operation.target(site.whole(source), moved(site, source, dim), *rest))


def moved(site: Site, source: Result, dim: int) -> int:
    """The position among all axes of an axis beside the selected elements, or of a new axis."""
    axis = site.axis(source)
    assert axis is not None
    return dim + site.rank - 1 if dim > axis else dim


@rule(aten.permute.default, aten.t.default, aten.transpose.int)
def permuted(site: Site) -> None:
    source, *rest = site.operation.args
    axis, rank = site.axis(source), len(source.metadata.sizes)
    assert axis is not None
    order = list(range(rank))
    if site.operation.target is aten.permute.default:
        order = [each % rank for each in rest[0]]
    else:
        one, other = [each % rank for each in rest] or ([0, 1] if rank == 2 else [0, 0])
        order[one], order[other] = order[other], order[one]
    site.stands(site.whole(source).permute(spread(site, source, order)))


def spread(site: Site, source: Result, dims: Sequence[int]) -> list[int]:
    """The axes of all elements for these of the selected ones."""
    axis = site.axis(source)
    assert axis is not None
    own = range(axis, axis + site.rank)
    return [each for dim in dims for each in (own if dim == axis else [moved(site, source, dim)])]


@rule(aten.view.default, aten._unsafe_view.default)
def viewed(site: Site) -> None:
    """A view that splits or merges axes other than that of the selected elements."""
    source, output = site.operation.args[0], site.operation.output
    before, after = site.axis(source), site.axis(output)
    if before is None or after is None:
        raise NotMasked("the axis of the selected elements is split or merged")
    lengths = [product(kind.sizes[:axis]) for kind, axis in ((source.metadata, before), (output.metadata, after))]
    if not statically_known_true(lengths[0] == lengths[1]):
        raise NotMasked("the axis of the selected elements is split or merged")
    site.stands(site.whole(source).reshape(site.sizes(output)))


def product(sizes: Sequence[Any]) -> Any:
    found: Any = 1
    for size in sizes:
        found = found * size
    return found
