"""Gathers as an algebra: a gather of an elementwise expression is the expression of gathers.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.kernels import Buffer
    >>> from backends.loops.tensors import Expressions
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> build = Expressions(Decisions(env))
    >>> x = build.memory(Buffer("x", "float32", (b, s), (s, build.one)))
    >>> target = build.memory(Buffer("target", "int64", (b,), (build.one,)))
    >>> inside = build.apply("ge", target, build.number(0, "int64"))
    >>> found = build.gather(build.apply("exp", x), (b,), (build.axis(0), target), inside)
    >>> found.operation, type(found.operands[0]).__name__
    ('exp', 'Gather')

The sum of a one-hot product along an axis is a gather: at most one of its terms is not 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backends.loops.affine import Affine, affine_sum, is_one, is_zero
from backends.loops.elementwise import Elementwise
from backends.loops.nodes import Gather, GatherIndices, Iota, Memory, Number, Pointwise, Sizes, Tensor, View
from backends.loops.operations import is_float
from solver.terms.expr import Expr


def gather(build: Elementwise, x: Tensor, sizes: Sizes, indices: GatherIndices, inside: Tensor | None) -> Tensor:
    """A tensor of these sizes, each element that of x at `indices`, some of which are data; 0 where not `inside`.

    Gathers are pushed down to the operands of x, so that no other element of x is computed. Where an element of x may
    be gathered more than once, x is materialized instead.
    """
    if not x.rank:
        return x
    if all(isinstance(place, Affine) for place in indices):
        return build.view(x, sizes, [place for place in indices if isinstance(place, Affine)])
    match x:
        case Memory(offset=offset):
            if not any(isinstance(indices[axis], Tensor) for axis in offset.axes):
                fixed = [place if isinstance(place, Affine) else Affine.of(build.zero) for place in indices]
                return build.view(x, sizes, fixed)
            return Gather(sizes, x.dtype, x, tuple(indices), inside)
        case Iota(axis=axis):
            return _index_tensor(build, indices[axis], sizes)
        case Pointwise(operands=operands, operation=operation) if _is_once(indices, sizes):
            return Pointwise(
                sizes, x.dtype, operation, tuple([gather(build, each, sizes, indices, inside) for each in operands])
            )
        case View(source=source, indices=through):
            return gather(build, source, sizes, tuple([_through(build, p, indices, sizes) for p in through]), inside)
    return Gather(sizes, x.dtype, x, tuple(indices), inside)


def _is_once(indices: GatherIndices, sizes: Sizes) -> bool:
    """Return True if no element is gathered twice: each axis of the result is an index by itself."""
    plain = {place.as_axis for place in indices if isinstance(place, Affine)}
    return all(axis in plain or is_one(size) for axis, size in enumerate(sizes))


def _through(build: Elementwise, index: Affine, indices: GatherIndices, sizes: Sizes) -> Affine | Tensor:
    """An affine index of axes, composed with the indices of a gather."""
    direct = [Affine.of(index.constant)]
    computed: list[tuple[Tensor, Expr]] = []
    for axis, step in index.terms:
        place = indices[axis]
        if isinstance(place, Affine):
            direct.append(place * step)
        else:
            computed.append((place, step))
    total = affine_sum(direct)
    if not computed:
        return total
    made: Tensor | None = None
    for place, step in computed:
        part = place if is_one(step) else build.apply("mul", place, build.number(step, "int64"))
        made = part if made is None else build.apply("add", made, part)
    assert made is not None
    if total.axes or not is_zero(total.constant):
        made = build.apply("add", made, _index_tensor(build, total, sizes))
    return made


def _index_tensor(build: Elementwise, place: Affine | Tensor, sizes: Sizes) -> Tensor:
    """An index as an integer tensor."""
    if isinstance(place, Tensor):
        return place
    made: Tensor = build.number(place.constant, "int64")
    for axis, step in place.terms:
        part: Tensor = build.iota(sizes, axis)
        part = part if is_one(step) else build.apply("mul", part, build.number(step, "int64"))
        made = part if isinstance(made, Number) and made.value == 0 else build.apply("add", part, made)
    return made


def one_hot_sum(build: Elementwise, x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, tuple[int, ...]] | None:
    """The sum of one-hot products as a gather, if x is one: that gather, and the axes that are left to be summed."""
    found = _alone(x)
    if found is None:
        return None
    conditions, value = found
    for condition in conditions:
        axis, place = _pinned(condition, axes)
        if place is not None:
            break
    else:
        return None
    sizes = (*x.sizes[:axis], *x.sizes[axis + 1 :])
    kept = [build.axis(k if k < axis else k - 1) for k in range(x.rank)]
    kept[axis] = Affine.of(build.zero)
    place = build.view(place, sizes, kept)
    first, last = build.number(0, "int64"), build.number(x.sizes[axis], "int64")
    inside = build.apply("bitand", build.apply("ge", place, first), build.apply("lt", place, last))
    indices: GatherIndices = (*kept[:axis], place, *kept[axis + 1 :])
    where = inside
    for other in conditions:
        if other is not condition:
            where = build.apply("bitand", where, gather(build, other, sizes, indices, inside))
    zero = build.cast(build.number(0, "int64"), x.dtype)
    made = build.apply("select", where, gather(build, value, sizes, indices, inside), zero)
    if is_float(x.dtype):
        # the sum of -0 and zeros is 0
        made = build.apply("add", made, zero)
    left = tuple([each - (each > axis) for each in axes if each != axis])
    return made, left


def _alone(x: Tensor) -> tuple[list[Tensor], Tensor] | None:
    """The conditions without which the elements of x are 0, and what they are with them."""
    match x:
        case Pointwise(operation="select", operands=(condition, value, Number(value=0))):
            return list(_all_of(condition)), value
        case Pointwise(operation="neg" | "cast" as operation, operands=(operand,)) if x.dtype != "bool":
            found = _alone(operand)
            if found is not None:
                return found[0], Pointwise(x.sizes, x.dtype, operation, (found[1],))
    return None


def _all_of(condition: Tensor) -> Iterator[Tensor]:
    """The conditions that are all to hold."""
    if isinstance(condition, Pointwise) and condition.operation == "bitand":
        for operand in condition.operands:
            yield from _all_of(operand)
    else:
        yield condition


def _pinned(condition: Tensor, axes: Sequence[int]) -> tuple[int, Tensor | None]:
    """The axis along which a condition holds at one index at most, and that index."""
    match condition:
        case Pointwise(operation="eq", operands=(first, second)):
            for position, place in ((first, second), (second, first)):
                if isinstance(position, Iota) and position.axis in axes and not _varies(place, position.axis):
                    return position.axis, place
    return 0, None


def _varies(x: Tensor, axis: int) -> bool:
    """Return True if x may differ along an axis."""
    match x:
        case Number():
            return False
        case Memory(offset=offset):
            return axis in offset.axes
        case View(indices=indices):
            return any(axis in place.axes for place in indices)
        case Pointwise(operands=operands):
            return any(operand.rank and _varies(operand, axis) for operand in operands)
        case Iota():
            return x.axis == axis
    return True
