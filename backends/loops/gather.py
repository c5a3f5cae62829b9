"""Elements at places that are computed, as an algebra: what a tensor is made of is taken in its stead.

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
    >>> found = build.taken(build.apply("exp", x), (b,), (build.axis(0), target), inside)
    >>> found.operation, type(found.operands[0]).__name__
    ('exp', 'Taken')

A sum of what is 0 but at one place of an axis is the element there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backends.loops.affine import Affine, is_one, is_zero, summed
from backends.loops.elementwise import Elementwise
from backends.loops.nodes import Anywhere, Memory, Number, Pointwise, Position, Sizes, Taken, Tensor, View
from backends.loops.operations import is_float
from solver.terms.expr import Expr


def taken(build: Elementwise, x: Tensor, sizes: Sizes, places: Anywhere, inside: Tensor | None) -> Tensor:
    """A tensor of these sizes: for each element, the places along the axes of x, some of them computed; 0 where
    they are not `inside`, if any may not be.

    What x is computed from is taken instead, so that nothing else is computed. Where an element of x may be wanted
    often, x becomes memory.
    """
    if not x.rank:
        return x
    if all(isinstance(place, Affine) for place in places):
        return build.view(x, sizes, [place for place in places if isinstance(place, Affine)])
    match x:
        case Memory(offset=offset):
            if not any(isinstance(places[axis], Tensor) for axis in offset.axes):
                fixed = [place if isinstance(place, Affine) else Affine.of(build.zero) for place in places]
                return build.view(x, sizes, fixed)
            return Taken(sizes, x.dtype, x, tuple(places), inside)
        case Position(axis=axis):
            return _as_tensor(build, places[axis], sizes)
        case Pointwise(operands=operands, operation=operation) if _is_once(places, sizes):
            return Pointwise(
                sizes, x.dtype, operation, tuple([taken(build, each, sizes, places, inside) for each in operands])
            )
        case View(source=source, places=through):
            return taken(build, source, sizes, tuple([_through(build, p, places, sizes) for p in through]), inside)
    return Taken(sizes, x.dtype, x, tuple(places), inside)


def _is_once(places: Anywhere, sizes: Sizes) -> bool:
    """Whether no element is looked at twice: each axis of the result is a place by itself."""
    plain = {place.as_axis for place in places if isinstance(place, Affine)}
    return all(axis in plain or is_one(size) for axis, size in enumerate(sizes))


def _through(build: Elementwise, index: Affine, places: Anywhere, sizes: Sizes) -> Affine | Tensor:
    """An index of axes as one of places."""
    direct = [Affine.of(index.constant)]
    computed: list[tuple[Tensor, Expr]] = []
    for axis, step in index.terms:
        place = places[axis]
        if isinstance(place, Affine):
            direct.append(place * step)
        else:
            computed.append((place, step))
    total = summed(direct)
    if not computed:
        return total
    made: Tensor | None = None
    for place, step in computed:
        part = place if is_one(step) else build.apply("mul", place, build.number(step, "int64"))
        made = part if made is None else build.apply("add", made, part)
    assert made is not None
    if total.axes or not is_zero(total.constant):
        made = build.apply("add", made, _as_tensor(build, total, sizes))
    return made


def _as_tensor(build: Elementwise, place: Affine | Tensor, sizes: Sizes) -> Tensor:
    """A place as a number that is computed with."""
    if isinstance(place, Tensor):
        return place
    made: Tensor = build.number(place.constant, "int64")
    for axis, step in place.terms:
        part: Tensor = build.position(sizes, axis)
        part = part if is_one(step) else build.apply("mul", part, build.number(step, "int64"))
        made = part if isinstance(made, Number) and made.value == 0 else build.apply("add", part, made)
    return made


def single(build: Elementwise, x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, tuple[int, ...]] | None:
    """The sum of what differs from 0 at one place of an axis only: the element there, if x is of this kind, and the
    axes that are left to be summed up."""
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
    places: Anywhere = (*kept[:axis], place, *kept[axis + 1 :])
    where = inside
    for other in conditions:
        if other is not condition:
            where = build.apply("bitand", where, taken(build, other, sizes, places, inside))
    zero = build.cast(build.number(0, "int64"), x.dtype)
    made = build.apply("select", where, taken(build, value, sizes, places, inside), zero)
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
    """The axis along which a condition holds at one place at most, and that place."""
    match condition:
        case Pointwise(operation="eq", operands=(first, second)):
            for position, place in ((first, second), (second, first)):
                if isinstance(position, Position) and position.axis in axes and not _varies(place, position.axis):
                    return position.axis, place
    return 0, None


def _varies(x: Tensor, axis: int) -> bool:
    """Whether x may differ along an axis."""
    match x:
        case Number():
            return False
        case Memory(offset=offset):
            return axis in offset.axes
        case View(places=places):
            return any(axis in place.axes for place in places)
        case Pointwise(operands=operands):
            return any(operand.rank and _varies(operand, axis) for operand in operands)
        case Position():
            return x.axis == axis
    return True


__all__ = ["single", "taken"]
