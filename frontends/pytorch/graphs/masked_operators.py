"""Rules by which operators on selected elements become operators on all of them, for `selections` beside this file.

    >>> import torch
    >>> from frontends.pytorch.graphs.masked_operators import RULES
    >>> torch.ops.aten.index_put.default in RULES
    True

Elements outside of the mask have any value, NaN as well. A rule sees to it that none reaches a result, and that no
operator raises an error because of one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.graphs.graph import is_symbol
from frontends.pytorch.graphs.selection import NotMasked, Site, atoms_of
from frontends.pytorch.recording.operations import Argument, has_effects, is_custom
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.tensor import Result
from solver.floats.programs import Node as Step
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
    found = RULES.get(site.operation.target)
    if found is not None:
        found(site)
    elif is_pointwise(site):
        pointwise(site)
    else:
        raise NotMasked(str(site.operation.target))


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
    """The operator on all elements; a number that counts the selected ones is a tensor."""
    output = site.operation.output
    axis = site.axis(output)
    if axis is None:
        numbered(site)
        return
    rank = len(output.metadata.sizes)
    args = [broadcast(site, value, axis, rank) for value in site.operation.args]
    kind = site.rewriting.kind(output)
    if site.operation.target.overloadpacket in DIVIDING and not (kind.dtype.is_floating_point or kind.dtype.is_complex):
        args[1] = divisor(site, args[1], rank - axis - 1)
    if any(isinstance(value, Node) and site.selection.atom in atoms_of(value) for value in site.operation.args):
        site.stands(by_count(site, args))
        return
    kwargs = {name: broadcast(site, value, axis, rank) for name, value in site.operation.kwargs.items()}
    if kwargs.get("memory_format") not in (None, torch.preserve_format, torch.contiguous_format):
        raise NotMasked("an image's memory format")
    site.stands(site.operation.target(*args, **kwargs))


def broadcast(site: Site, value: Argument, axis: int, rank: int) -> Any:
    """An argument that broadcasts with all elements: one axis of it becomes those of the mask."""
    if isinstance(value, Node):
        return value.outside
    if isinstance(value, list):
        return [broadcast(site, each, axis, rank) for each in value]
    if not isinstance(value, Result):
        return value
    own = site.axis(value)
    kind = site.rewriting.kind(value)
    place = axis - (rank - len(kind.sizes))
    whole = site.whole(value)
    if own is not None:
        if own != place:
            raise NotMasked("selected elements along another axis")
        return whole
    if place >= 0:
        size = kind.sizes[place]
        if not (isinstance(size, int) and size == 1):
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


def numbered(site: Site) -> None:
    """An operator on other tensors that reads the count of selected elements."""
    site.gives(by_count(site, [outside(site, value) for value in site.operation.args]))


def outside(site: Site, value: Argument) -> Any:
    """An argument as torch takes it."""
    if isinstance(value, list):
        return [outside(site, each) for each in value]
    if isinstance(value, Node):
        return value.outside
    return site.whole(value) if isinstance(value, Result) else value


ARITHMETIC: Final = tuple(
    [getattr(packet, each) for packet in (aten.add, aten.sub, aten.mul, aten.div) for each in ("Tensor", "Scalar")]
)
QUOTIENTS: Final = (aten.div.Tensor, aten.div.Scalar)


def by_count(site: Site, args: Sequence[Any]) -> Tensor:
    """Arithmetic of a tensor and a number computed from the count of selected elements, a tensor here."""
    target, operands = site.operation.target, site.operation.args
    if target in ARITHMETIC and len(args) == 2 and not site.operation.kwargs and isinstance(operands[1], Node):
        whole = args[0]
        if whole.dtype.is_floating_point or (target in QUOTIENTS and not whole.dtype.is_complex):
            wide = torch.float64 if whole.dtype is torch.float64 else torch.float32
            made = target.overloadpacket.Tensor(whole.to(wide), number_tensor(site, operands[1]).to(wide))
            return made.to(whole.dtype if whole.dtype.is_floating_point else torch.get_default_dtype())
    # the number is read once
    return target(*args, **{name: outside(site, value) for name, value in site.operation.kwargs.items()})


def number_tensor(site: Site, number: Node) -> Tensor:
    """A number made of sizes, as a double.

    Raises:
        NotMasked: it is no polynomial of them, nor a quotient of such.
    """
    value = number.value
    if number.kind == "int":
        return polynomial(site, value.expr)
    if number.kind == "float":
        return quotient(site, value.value.program.node, value.value.arguments)
    raise NotMasked("a truth value computed from the count of selected elements")


def polynomial(site: Site, expr: Expr) -> Tensor:
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


STEPS: Final = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "truediv": operator.truediv,
}  # fmt: skip


def quotient(site: Site, step: Step, arguments: Sequence[Expr]) -> Tensor:
    """A float computed from sizes."""
    if step.operation == "constant":
        return torch.full((), step.value, dtype=torch.float64, device=site.count(torch.int64).device)
    if step.operation == "integer":
        return polynomial(site, arguments[step.place])
    operands = [quotient(site, each, arguments) for each in step.operands]
    if step.operation == "float":
        return operands[0]
    if step.operation not in STEPS:
        raise NotMasked(step.operation)
    return STEPS[step.operation](*operands)


@rule(aten._assert_scalar.default)
def checked(site: Site) -> None:
    """Rewrite a check: that an element is selected is computed from the mask; other checks read the count."""
    condition, message = site.operation.args
    truth = condition.value
    ways = [site.selection.number.value >= 1, site.selection.number.value != 0]
    mask = site.rewriting.tensor(site.selection.mask)
    if mask.device.type == "cpu" and any(truth.prop is way.prop and truth.domain is way.domain for way in ways):
        aten._assert_async.msg(mask.any(), message)
    else:
        site.rewriting.operations.append(site.operation)


# ---------------------------------------------------------------------- reading and writing by the mask


@rule(aten.index.Tensor)
def selected(site: Site) -> None:
    """Rewrite a selection: all elements stand for the selected ones."""
    source, indices = site.operation.args
    if site.axis(source) is not None:
        raise NotMasked("an index of selected elements")
    picks_by(site, indices)
    site.stands(site.rewriting.tensor(source))


@rule(aten.nonzero.default)
def coordinates(site: Site) -> None:
    """The coordinates of selected elements, which are read axis by axis."""
    site.rewriting.coordinates[site.operation.output] = None


def coordinate(site: Site, output: Result, axis: int) -> None:
    """The coordinate of each element along an axis of the mask."""
    site.rewriting.coordinates[output] = axis
    sizes = mask_sizes(site)
    along = torch.arange(sizes[axis], device=site.rewriting.kind(output).device)
    site.stands(along.view([-1 if other == axis else 1 for other in range(len(sizes))]).expand(sizes), output)


@rule(aten.unbind.int)
def unbound(site: Site) -> None:
    source, dim = site.given["self"], site.given["dim"]
    if source not in site.rewriting.coordinates or dim % 2 != 1:
        raise NotMasked("parts of the selected elements")
    for axis, output in enumerate(site.operation.outputs):
        coordinate(site, output, axis)


@rule(aten.masked_select.default)
def selected_elements(site: Site) -> None:
    site.stands(site.rewriting.tensor(site.operation.args[0]).expand(mask_sizes(site)))


def mask_sizes(site: Site) -> Sequence[Any]:
    return site.rewriting.kind(site.selection.mask).sizes


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


@rule(aten.masked_scatter_backward.default)
def scattered_gradient(site: Site) -> None:
    """The gradient of a masked write with respect to its values: the mask selects from the gradient."""
    gradient = site.operation.args[0]
    if site.axis(site.operation.output) != 0 or len(site.operation.output.metadata.sizes) != 1:
        raise NotMasked("other elements than those of the mask")
    site.stands(site.rewriting.tensor(gradient).expand(mask_sizes(site)))
