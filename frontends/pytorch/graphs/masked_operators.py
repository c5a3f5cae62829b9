"""Rules by which operators on selected elements become operators on all of them, for `selections` beside this file.

    >>> import torch
    >>> from frontends.pytorch.graphs.masked_operators import IDENTITIES, RULES
    >>> torch.ops.aten.index_put.default in RULES
    True
    >>> IDENTITIES[torch.ops.aten.prod.default](torch.float32), IDENTITIES[torch.ops.aten.amax.default](torch.int8)
    (1, -128)

Elements outside of the mask have any value, NaN as well. A rule sees to it that none reaches a result, and that no
operator raises an error because of one. Sums are taken in another order than eager torch's, over the zeros of other
elements as well: they may be rounded otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from frontends.pytorch.graphs.graph import is_symbol
from frontends.pytorch.graphs.selections import NotMasked, Rewrite, Site, atoms_of
from frontends.pytorch.recording.operations import flat, has_effects, is_custom
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.tensor import Result
from solver.terms.expr import Expr

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor
RULES: Final[dict[object, Rewrite]] = {}


def rule(*operators: object) -> Callable[[Rewrite], Rewrite]:
    """Register a rule of these operators."""

    def register(function: Rewrite) -> Rewrite:
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
        changed = {name: site.whole(value) for name, value in site.tensors.items()}
    else:
        changed = {name: aligned(site, value, axis, rank) for name, value in site.tensors.items()}
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


def aligned(site: Site, value: Result, axis: int, rank: int) -> Tensor:
    """The tensor that stands for an operand of a result of this rank, whose axis of selected elements this is."""
    own, sizes = site.axis(value), site.rewriting.kind(value).sizes
    place = axis - (rank - len(sizes))
    if own is not None and own != place:
        raise NotMasked("selected elements along another axis")
    if own is None and place >= 0 and not (isinstance(sizes[place], int) and sizes[place] == 1):
        raise NotMasked("an axis that may be as long as the selection")
    return site.whole(value)


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


def by_count(site: Site, whole: Tensor, number: Node) -> Tensor | None:
    """Arithmetic of a tensor and a number computed from the count of selected elements, a tensor here."""
    target = site.operation.target
    is_quotient = target.overloadpacket is aten.div and not whole.dtype.is_complex
    if site.selection.count is None or not number.is_int() or site.given.get("alpha", 1) != 1:
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
    axis = picks_by(site, indices)
    site.gives(site.rewriting.tensor(source).flatten(axis, axis + len(site.mask_sizes) - 1))


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
    site.gives(site.rewriting.tensor(site.operation.args[0]).expand(site.mask_sizes).flatten())


def picks_by(site: Site, indices: Sequence[Result | None]) -> int:
    """The axis in front of which the mask picks, or its coordinates one after another.

    Raises:
        NotMasked: there are other indices.
    """
    places = [place for place, index in enumerate(indices) if index is not None]
    given = [index for index in indices if index is not None]
    if len(given) == 1 and given[0].metadata is not None and given[0].metadata.dtype is torch.bool:
        return places[0]
    known, rank = site.rewriting.coordinates, len(site.mask_sizes)
    follow = places == list(range(places[0], places[0] + rank))
    if not follow or [known.get(each) for each in given] != list(range(rank)):
        raise NotMasked("indices beside the mask")
    return places[0]


@rule(aten.index_put.default)
def written(site: Site) -> None:
    """Rewrite a masked write as a select of new and old values."""
    given = site.given
    target, values = given["self"], given["values"]
    axis = picks_by(site, given["indices"])
    kind = site.rewriting.kind(target)
    behind = len(kind.sizes) - axis - len(site.mask_sizes)
    if site.axis(target) is not None or site.rewriting.kind(values).dtype is not kind.dtype:
        raise NotMasked("the target is selected, or has another dtype")
    whole = site.rewriting.tensor(target).flatten(axis, axis + len(site.mask_sizes) - 1)
    fresh = aligned(site, values, axis, axis + 1 + behind)
    chosen = torch.where(site.mask(behind), whole + fresh if given["accumulate"] else fresh, whole)
    site.gives(chosen if len(site.mask_sizes) == 1 else chosen.unflatten(axis, site.mask_sizes), like=target)


@rule(aten.masked_scatter.default)
def scattered(site: Site) -> None:
    """Rewrite a scatter of elements that the same mask selected: they are written where they were."""
    target, mask, source = site.operation.args
    sizes = site.rewriting.kind(target).sizes
    if site.axis(source) != 0 or len(source.metadata.sizes) != 1 or len(sizes) != len(site.mask_sizes):
        raise NotMasked("other elements than those of the mask")
    fresh = site.whole(source).view(site.mask_sizes)
    site.gives(torch.where(site.rewriting.tensor(mask), fresh, site.rewriting.tensor(target)), like=target)


# ---------------------------------------------------------------------- new tensors, and views of other axes


@rule(
    aten.zeros.default, aten.ones.default, aten.full.default, aten.empty.memory_format, aten.new_zeros.default,
    aten.new_ones.default, aten.new_full.default, aten.new_empty.default,
    aten.permute.default, aten.t.default, aten.transpose.int,
)  # fmt: skip
def same(site: Site) -> None:
    """The operator itself: a new tensor, or axes in another order."""
    site.gives(site.called())


@rule(aten.expand.default)
def expanded(site: Site) -> None:
    source, output = site.operation.args[0], site.operation.output
    axis = site.axis(output)
    assert axis is not None
    aligned(site, source, axis, len(output.metadata.sizes))
    same(site)


@rule(aten.squeeze.dim, aten.select.int, aten.slice.Tensor, aten.unsqueeze.default)
def beside(site: Site) -> None:
    """A view along another axis, or the coordinates along an axis of the mask."""
    source, is_new = site.given["self"], site.operation.target is aten.unsqueeze.default
    dim = site.given["dim"] % (len(source.metadata.sizes) + is_new)
    if source in site.rewriting.coordinates:
        place = 0 if site.operation.target is aten.squeeze.dim else site.given.get("index")
        if dim != 1 or not isinstance(place, int):
            raise NotMasked("a part of the coordinates")
        site.rewriting.coordinates[site.operation.output] = place % len(site.mask_sizes)
        return
    axis = site.axis(source)
    if axis is None or axis == dim and not is_new:
        raise NotMasked("a part of the selected elements")
    same(site)


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


# ---------------------------------------------------------------------- reductions


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
    # along an axis, with a result of the same sizes
    **dict.fromkeys((aten._softmax.default, aten._log_softmax.default), least),
    **dict.fromkeys((aten._softmax_backward_data.default, aten._log_softmax_backward_data.default), lambda dtype: 0),
    aten.cumsum.default: lambda dtype: 0,
}
"""The number that changes no result, of each reduction and of each operator along an axis."""


@rule(*IDENTITIES)
def reduced(site: Site) -> None:
    """An operator over or along an axis, with the identity for elements that are not selected."""
    target, kinds = site.operation.target, {each: site.rewriting.kind(each) for each in site.tensors.values()}
    if target is aten.linalg_vector_norm.default and not site.given["ord"] >= 0:
        raise NotMasked("a norm of the smallest element")
    if len({(site.axis(each), len(kind.sizes)) for each, kind in kinds.items()}) > 1:
        raise NotMasked("other tensors along the selected elements")
    if site.axis(next(iter(kinds))) not in dims_of(site):
        same(site)
        return
    filled = {each: site.filled(each, IDENTITIES[target](kind.dtype)) for each, kind in kinds.items()}
    site.gives(site.called(**{name: filled[each] for name, each in site.tensors.items()}))


def dims_of(site: Site) -> list[int]:
    """The axes over which an operator goes, of its first argument."""
    dims, rank = site.given.get("dim"), len(site.rewriting.kind(site.operation.args[0]).sizes)
    return [dim % rank for dim in ([dims] if isinstance(dims, int) else list(dims or range(rank)))]


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


@rule(aten.mean.default, aten.mean.dim, aten.var.correction, aten.std.correction)
def averaged(site: Site) -> None:
    """The mean of selected elements, or of their squared deviations, in the dtype that sums accumulate in; as in eager
    torch, the variance is NaN without a degree of freedom."""
    given, source, dims = site.given, site.given["self"], dims_of(site)
    if site.axis(source) not in dims:
        same(site)
        return
    dtype, keepdim = given.get("dtype") or site.rewriting.kind(source).dtype, given.get("keepdim", False)
    wide = accumulated_in(dtype)
    whole, count = site.filled(source, 0).to(wide), count_over(site, source, dims, wide)
    if "correction" in given:
        away = whole - whole.sum(dims, keepdim=True) / count
        whole, correction = site.filled(source, 0, away * away), given["correction"]
        count = (count - (1 if correction is None else correction)).clamp(min=0)
    made = whole.sum(dims, keepdim) / count
    site.gives((made.sqrt() if site.operation.target is aten.std.correction else made).to(dtype))


# ---------------------------------------------------------------------- losses

LOSSES: Final = (
    aten.mse_loss.default, aten.smooth_l1_loss.default, aten.huber_loss.default, aten.binary_cross_entropy.default,
    aten.mse_loss_backward.default, aten.smooth_l1_loss_backward.default, aten.huber_loss_backward.default,
    aten.binary_cross_entropy_backward.default, aten.binary_cross_entropy_with_logits.default,
)  # fmt: skip
"""Losses with a reduction, and their gradients."""
NONE, MEAN = 0, 1


@rule(*LOSSES)
def lost(site: Site) -> None:
    """A loss or its gradient for each element, with zeros where nothing is selected: of these no loss raises an error.

    It is computed in the dtype in which means accumulate.
    """
    is_gradient, reduction = "grad_output" in site.tensors, site.given["reduction"]
    like = site.operation.output if is_gradient else site.tensors["self"]
    axis, kind = site.axis(like), site.rewriting.kind(like)
    if axis is None:
        raise NotMasked("a loss of which only targets are selected")
    rank, wide = len(kind.sizes), accumulated_in(kind.dtype)
    tensors: dict[str, Any] = {}
    for name, value in site.tensors.items():
        whole = aligned(site, value, axis, rank)
        tensors[name] = (whole if site.axis(value) is None else site.filled(value, 0)).to(wide)
    if is_gradient:
        if reduction == MEAN:
            tensors["grad_output"] = tensors["grad_output"] / count_over(site, like, range(rank), wide)
        tensors["grad_output"] = tensors["grad_output"].expand(site.sizes(like))
    made = site.called(**tensors, reduction=NONE)
    if not is_gradient and reduction != NONE:
        made = site.filled(like, 0, made).sum()
        made = made / count_over(site, like, range(rank), wide) if reduction == MEAN else made
    site.gives(made.to(kind.dtype))


@rule(aten.nll_loss_forward.default, aten.nll_loss_backward.default)
def likelihood(site: Site) -> None:
    """The negative log likelihood, or its gradient: rows that are not selected get the ignored class."""
    given = site.given
    rows, classes = given["self"], given["target"]
    if site.axis(rows) != 0 or len(site.rewriting.kind(rows).sizes) != 2 or site.axis(classes) != 0:
        raise NotMasked("classes of other elements than rows")
    made = site.called(target=site.filled(classes, given["ignore_index"]))
    for each, output in zip(flat(made), site.operation.outputs):
        site.gives(each, output)
