"""Rules by which operators on selected elements become operators on all of them, for `selections` beside this file.

    >>> import torch
    >>> from frontends.pytorch.graphs.masked_operators import RULES
    >>> torch.ops.aten.index_put.default in RULES
    True

Elements outside of the mask have any value, NaN as well. A rule sees to it that none reaches a result, and that no
operator raises an error because of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from frontends.pytorch.graphs.graph import is_symbol
from frontends.pytorch.graphs.selection import NotMasked, Site, atoms_of
from frontends.pytorch.recording.operations import flat, has_effects, is_custom
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.tensor import Result
from solver.terms.expr import Expr

aten: Final = torch.ops.aten
Rule: TypeAlias = Callable[[Site], None]
Tensor: TypeAlias = torch.Tensor
RULES: Final[dict[object, Rule]] = {}


def rule(*operators: object) -> Callable[[Rule], Rule]:
    """Register a rule of these operators."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(operators, function))
        return function

    return register


def rewritten(site: Site) -> None:
    """Record the operators that stand for one.

    Raises:
        NotMasked: there is no rule.
    """
    operation = site.operation
    found = RULES.get(operation.target)
    if found is not None:
        found(site)
    elif is_pointwise(site):
        pointwise(site)
    elif all(site.axis(each) is None for each in flat((*operation.arguments, operation.output))):
        # it takes their number, which is read once
        site.rewriting.operations.append(operation)
    else:
        raise NotMasked(str(operation.target))


# ---------------------------------------------------------------------- elementwise

COPIES: Final = (
    aten._to_copy.default, aten.detach.default, aten.alias.default, aten.masked_fill.Tensor, aten.copy.default,
    aten.fill.Scalar, aten.fill.Tensor, aten.zeros_like.default, aten.ones_like.default, aten.full_like.default,
    aten.floor_divide.default, aten._conj.default, aten.real.default, aten.imag.default,
)  # fmt: skip
"""Operators that compute each element from elements in the same place, without torch's tag."""
DIVIDING: Final = (aten.div, aten.floor_divide, aten.remainder, aten.fmod)
"""Operators that raise an error where an integer is divided by 0."""


def is_pointwise(site: Site) -> bool:
    target = site.operation.target
    if is_custom(target) or has_effects(site.operation) or len(target._schema.returns) != 1:
        return False
    return target in COPIES or torch.Tag.pointwise in target.tags


def pointwise(site: Site) -> None:
    """The operator on all elements; a number that counts the selected ones is a tensor, if it can be one."""
    given, output = site.given, site.operation.output
    axis, rank = site.axis(output), len(output.metadata.sizes)
    if axis is None:
        changed = {name: site.whole(value) for name, value in given.items() if isinstance(value, Result)}
    else:
        tensors = {name: value for name, value in given.items() if isinstance(value, Result)}
        changed = {name: broadcast(site, value, axis, rank) for name, value in tensors.items()}
        kind = site.rewriting.kind(output)
        is_exact = not (kind.dtype.is_floating_point or kind.dtype.is_complex)
        if site.operation.target.overloadpacket in DIVIDING and is_exact:
            changed["other"] = divisor(site, changed.get("other", site.outside(given["other"])), rank - axis - 1)
        if given.get("memory_format") not in (None, torch.preserve_format, torch.contiguous_format):
            raise NotMasked("an image's memory format")
    number = given.get("other")
    if isinstance(number, Node) and site.selection.atom in atoms_of(number):
        made = by_count(site, changed["self"], number)
        if made is not None:
            site.gives(made)
            return
    if axis is None:
        # the number is read once
        site.rewriting.operations.append(site.operation)
    else:
        site.gives(site.called(**changed))


def broadcast(site: Site, value: Result, axis: int, rank: int) -> Tensor:
    """A tensor that broadcasts with all elements: one axis of it becomes those of the mask."""
    own, whole = site.axis(value), site.whole(value)
    sizes = site.rewriting.kind(value).sizes
    place = axis - (rank - len(sizes))
    if own is not None:
        if own != place:
            raise NotMasked("selected elements along another axis")
    elif place >= 0:
        if not (isinstance(sizes[place], int) and sizes[place] == 1):
            raise NotMasked("an axis that may be as long as the selection")
        for _ in range(site.rank - 1):
            whole = whole.unsqueeze(place)
    return whole


def divisor(site: Site, value: Any, behind: int) -> Any:
    """A divisor that is 1 where nothing is selected."""
    if isinstance(value, torch.Tensor):
        return torch.where(site.mask(behind), value, torch.ones((), dtype=value.dtype, device=value.device))
    if value == 0:
        raise NotMasked("a division by 0, which is an error for selected elements only")
    return value


ARITHMETIC: Final = {
    getattr(packet, each): packet.Tensor
    for packet in (aten.add, aten.sub, aten.mul, aten.div)
    for each in ("Tensor", "Scalar")
}
QUOTIENTS: Final = (aten.div.Tensor, aten.div.Scalar)


def by_count(site: Site, whole: Tensor, number: Node) -> Tensor | None:
    """Arithmetic of a tensor and a number computed from the count of selected elements, a tensor here."""
    target = site.operation.target
    is_quotient = target in QUOTIENTS and not whole.dtype.is_complex
    if site.selection.count is None or number.kind != "int" or site.given.get("alpha", 1) != 1:
        return None
    if target not in ARITHMETIC or not whole.dtype.is_floating_point and not is_quotient:
        return None
    wide = torch.float64 if whole.dtype is torch.float64 else torch.float32
    made = ARITHMETIC[target](whole.to(wide), polynomial(site, number.value.expr).to(wide))
    return made.to(whole.dtype if whole.dtype.is_floating_point else torch.get_default_dtype())


def polynomial(site: Site, expr: Expr) -> Tensor:
    """A polynomial of sizes, as a double.

    Raises:
        NotMasked: it is none.
    """
    count, monomials = site.count(torch.float64), expr.interner.monomials
    total = torch.full((), expr.constant, dtype=torch.float64, device=count.device)
    operations = site.selection.number.value.operations
    for monomial, coefficient in expr.terms:
        product: Any = float(coefficient)
        for atom in monomials[monomial]:
            if atom is site.selection.atom:
                product = count * product
            elif is_symbol(atom.expr) and atom.definition is None:
                size = site.rewriting.recorder.nodes.wrap(operations.integer(atom.expr, operations.true))
                product = size * product
            else:
                raise NotMasked(str(expr))
        total = total + product
    return total


# ---------------------------------------------------------------------- reading and writing by the mask


@rule(aten.index.Tensor)
def selected(site: Site) -> None:
    """Rewrite a selection: all elements stand for the selected ones."""
    source, indices = site.operation.args
    if site.axis(source) is not None:
        raise NotMasked("an index of selected elements")
    picks_by(site, indices)
    site.gives(site.rewriting.tensor(source))


@rule(aten.nonzero.default)
def coordinates(site: Site) -> None:
    """The coordinates of selected elements, which are indices only."""
    site.rewriting.coordinates[site.operation.output] = None


@rule(aten.unbind.int)
def unbound(site: Site) -> None:
    source, dim = site.given["self"], site.given["dim"]
    if source not in site.rewriting.coordinates or dim % 2 != 1:
        raise NotMasked("parts of the selected elements")
    site.rewriting.coordinates.update({output: axis for axis, output in enumerate(site.operation.outputs)})


@rule(aten.masked_select.default, aten.masked_scatter_backward.default)
def selected_elements(site: Site) -> None:
    """Rewrite a selection of elements, or the gradient of the source of a scatter."""
    if site.axis(site.operation.output) != 0:
        raise NotMasked("other elements than those of the mask")
    site.gives(site.rewriting.tensor(site.operation.args[0]).expand(site.sizes(site.operation.output)))


def picks_by(site: Site, indices: Sequence[Result | None]) -> int:
    """The axis in front of which the mask picks, or its coordinates one after another.

    Raises:
        NotMasked: there are other indices.
    """
    places = [place for place, index in enumerate(indices) if index is not None]
    given = [index for index in indices if index is not None]
    if len(given) == 1 and given[0].metadata is not None and given[0].metadata.dtype is torch.bool:
        return places[0]
    known = site.rewriting.coordinates
    follow = places == list(range(places[0], places[0] + site.rank))
    if not follow or [known.get(each) for each in given] != list(range(site.rank)):
        raise NotMasked("indices beside the mask")
    return places[0]


@rule(aten.index_put.default)
def written(site: Site) -> None:
    """Rewrite a masked write as a select of new and old values."""
    given = site.given
    target, values = given["self"], given["values"]
    axis = picks_by(site, given["indices"])
    kind = site.rewriting.kind(target)
    rank = len(kind.sizes) - site.rank + 1
    if site.axis(target) is not None or site.rewriting.kind(values).dtype is not kind.dtype:
        raise NotMasked("the target is selected, or has another dtype")
    whole = site.rewriting.tensor(target)
    fresh = broadcast(site, values, axis, rank)
    chosen = whole + fresh if given["accumulate"] else fresh
    site.gives(torch.where(site.mask(rank - axis - 1), chosen, whole), like=target)


@rule(aten.masked_scatter.default)
def scattered(site: Site) -> None:
    """Rewrite a scatter of elements that the same mask selected: they are written where they were."""
    target, _, source = site.operation.args
    kind = site.rewriting.kind(target)
    if site.axis(source) != 0 or len(source.metadata.sizes) != 1 or len(kind.sizes) != site.rank:
        raise NotMasked("other elements than those of the mask")
    site.gives(torch.where(site.mask(0), site.whole(source), site.rewriting.tensor(target)), like=target)


# ---------------------------------------------------------------------- new tensors, and views of other axes


@rule(aten.expand.default)
def expanded(site: Site) -> None:
    source, output = site.operation.args[0], site.operation.output
    axis = site.axis(output)
    assert axis is not None
    site.gives(broadcast(site, source, axis, len(output.metadata.sizes)).expand(site.sizes(output)))


@rule(
    aten.zeros.default, aten.ones.default, aten.full.default, aten.empty.memory_format, aten.new_zeros.default,
    aten.new_ones.default, aten.new_full.default, aten.new_empty.default,
)  # fmt: skip
def new(site: Site) -> None:
    """A new tensor, of all sizes; or one with the dtype of selected elements."""
    site.gives(site.called(size=site.sizes(site.operation.output)))


@rule(aten.squeeze.dim, aten.select.int, aten.slice.Tensor, aten.unsqueeze.default)
def along(site: Site) -> None:
    """A view along another axis, or the coordinates along an axis of the mask."""
    source, target = site.given["self"], site.operation.target
    dim = site.given["dim"] % (len(source.metadata.sizes) + (target is aten.unsqueeze.default))
    if source in site.rewriting.coordinates:
        place = 0 if target is aten.squeeze.dim else site.given.get("index")
        if dim != 1 or not isinstance(place, int):
            raise NotMasked("a part of the coordinates")
        site.rewriting.coordinates[site.operation.output] = place % site.rank
        return
    if site.axis(site.operation.output) is None:
        raise NotMasked("a part of the selected elements")
    site.gives(site.called(dim=moved(site, source, dim, is_new=target is aten.unsqueeze.default)))


def moved(site: Site, source: Result, dim: int, *, is_new: bool = False) -> int:
    """The position among all axes of an axis beside the selected elements, or of a new axis."""
    axis = site.axis(source)
    if axis is None or dim == axis and not is_new:
        raise NotMasked("an axis of selected elements")
    return dim + site.rank - 1 if dim > axis else dim


def spread(site: Site, source: Result, dims: Sequence[int]) -> list[int]:
    """The axes of all elements for these of the selected ones."""
    axis = site.axis(source)
    assert axis is not None
    own = range(axis, axis + site.rank)
    return [each for dim in dims for each in (own if dim == axis else [moved(site, source, dim)])]


@rule(aten.permute.default, aten.t.default, aten.transpose.int)
def permuted(site: Site) -> None:
    source, *rest = site.operation.args
    rank = len(source.metadata.sizes)
    order = list(range(rank))
    if site.operation.target is aten.permute.default:
        order = [each % rank for each in rest[0]]
    else:
        one, other = [each % rank for each in rest] or ([0, 1] if rank == 2 else [0, 0])
        order[one], order[other] = order[other], order[one]
    site.gives(site.whole(source).permute(spread(site, source, order)))


@rule(aten.view.default, aten._unsafe_view.default)
def viewed(site: Site) -> None:
    """A view that splits or merges axes other than that of the selected elements."""
    source, output = site.operation.args[0], site.operation.output
    before, after = site.axis(source), site.axis(output)
    if before is None or after is None or not statically_known_true(
        math.prod(source.metadata.sizes[:before]) == math.prod(output.metadata.sizes[:after])
    ):
        raise NotMasked("the axis of the selected elements is split or merged")
    site.gives(site.whole(source).reshape(site.sizes(output)))
