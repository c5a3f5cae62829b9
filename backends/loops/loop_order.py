"""Loop order: which axis is vectorized, the order of the others, and which are collapsed.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.loop_body import LoopBuilder
    >>> from backends.loops.program import Program
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> _ = program.stored(program.build.apply("exp", x), (s, program.build.one))
    >>> builder = LoopBuilder(program.build, {})
    >>> print(order_loops(builder.bodies, program.build, builder.nest(program.steps[0]), "k0"))
    k0: for i0 < b*s, lanes i0
        made0[i0] = exp(x[i0])

The vector axis is the one that most stores, then most accesses are contiguous along. Neighbouring axes are collapsed to
one where the stride of the outer is that of the inner times its extent, for every access.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cmp_to_key, reduce

from backends.decisions.questions import Choice, at_least
from backends.loops.affine import Affine, is_one, is_zero
from backends.loops.kernels import Apply, Bodies, IndexValue, Kernel, Load, Reduced, Scalar
from backends.loops.loop_nest import LoopNest, below, renumbered, with_axes
from backends.loops.operations import OPERATIONS
from backends.loops.tensors import Expressions
from solver.terms.expr import Expr


def order_loops(bodies: Bodies, build: Expressions, nest: LoopNest, name: str, *, collapses: bool = True) -> Kernel:
    """Choose the loop order by locality; merge contiguous loops when `collapses`."""
    if nest.ragged is not None and not nest.inner:
        # a loop over the rows, and within it one over what is in each
        nest = replace(nest, outer=nest.outer[:1], inner=nest.outer[1:])
    nest = _ordered(bodies, build, nest)
    along_outer = _is_along_outer(nest) and not any(store.accumulates for store in nest.stores)
    nest = _collapsed(bodies, build, nest) if collapses else nest
    kernel = nest.kernel(name, lanes=max(len(nest.outer if along_outer else nest.extents) - 1, 0))
    found = tuple(kept(kernel))
    return replace(kernel, kept=found) if found else kernel


# ---------------------------------------------------------------------- order


def accesses(nest: LoopNest) -> list[Affine]:
    """The offset of every load and store."""
    return [*loaded(nest), *[store.offset for store in nest.stores]]


def loaded(nest: LoopNest) -> list[Affine]:
    """The offset of every load."""
    return [value.offset for value in below(nest.roots) if isinstance(value, Load)]


def _contiguous(offsets: Sequence[Affine], axis: int) -> int:
    """The number of accesses that are unit-stride along an axis."""
    found = [offset.coefficient(axis) for offset in offsets]
    return sum([coefficient is not None and is_one(coefficient) for coefficient in found])


def _strided(offsets: Sequence[Affine], axis: int) -> int:
    """The number of accesses that have another stride than 1 along an axis."""
    found = [offset.coefficient(axis) for offset in offsets]
    return sum([coefficient is not None and not is_one(coefficient) for coefficient in found])


def _ranked(offsets: Sequence[Affine]) -> list[list[Affine]]:
    """Grouped by how many axes they vary along, most first: the others are invariant in some loop, and cost little."""
    ranks = sorted({len(offset.terms) for offset in offsets}, reverse=True)
    return [[offset for offset in offsets if len(offset.terms) == rank] for rank in ranks]


def _ordered(bodies: Bodies, build: Expressions, nest: LoopNest) -> LoopNest:
    """Among the outer and among the inner loops, the axis that most accesses are contiguous along is innermost: stores
    count first, as strided stores take several times as long as loads. Around it comes the axis that most of the rest
    are contiguous along: their cache lines are still there in the next iteration. The others go by stride."""
    offsets, stored = accesses(nest), [store.offset for store in nest.stores]
    ranked = [(offsets, [offset for offset in offsets if offset in stored]) for offsets in _ranked(offsets)]

    def weight(axis: int) -> list[int]:
        """The unit-stride stores and accesses: of those that vary along most axes, then of others."""
        return [_contiguous(each, axis) for offsets, stored in ranked for each in (stored, offsets)]

    order: list[int] = [] if nest.ragged is None else [nest.ragged.row]
    outer = list(range(len(order), len(nest.outer)))
    inner = list(range(len(nest.outer), len(nest.extents)))
    for axes in (outer, inner):
        last = sorted(axes, key=lambda axis: (weight(axis), axis))[-1:]
        rest = [axis for axis in locality_order(build, offsets, axes) if axis not in last]
        near = max(rest, key=lambda axis: weight(axis)[:2], default=None)
        if near is not None and any(weight(near)[:2]):
            rest.remove(near)
            last = [near, *last]
        order += [*rest, *last]
    if order == list(range(len(order))):
        return nest
    return _moved(bodies, build, nest, order)


def locality_order(build: Expressions, offsets: Sequence[Affine], axes: Sequence[int]) -> list[int]:
    """Axes by decreasing stride, as most of the accesses have it that vary along the most axes; unchanged if as many
    accesses have that order as any other."""
    top = _ranked(offsets)[:1]
    found = Counter([_by_steps(build, offset, axes) for each in top for offset in each])
    found[tuple(axes)] += 0
    unchanged = tuple(axes)
    return list(max(found.items(), key=lambda each: (each[1], each[0] == unchanged))[0])


def _by_steps(build: Expressions, offset: Affine, axes: Sequence[int]) -> tuple[int, ...]:
    """The axis with the largest stride first. Where that is not decided, by degree and coefficient of the product: a
    wrong guess costs only time."""

    def compare(axis: int, other: int) -> int:
        first, second = offset.coefficient(axis), offset.coefficient(other)
        if first is second:
            return 0
        if first is None or second is None:
            return 1 if first is None else -1
        if first.is_constant and second.is_constant:
            return second.constant - first.constant
        farther, nearer = sorted((first, second), key=_weight, reverse=True)
        question, yes, never = at_least(farther, nearer), "larger stride outside", "larger stride inside"
        if _weight(first) == _weight(second):
            found = build.decisions.holds("order", question, Choice(yes, "as the axes come", never))
            return 0 if found is None else -1 if found else 1
        is_farther = build.decisions.sooner("order", question, Choice(yes, never), likely=True)
        return -1 if is_farther == (farther is first) else 1

    return tuple(sorted(axes, key=cmp_to_key(compare)))


def _weight(step: Expr) -> tuple[int, int]:
    return step.degree, abs(step.content())


def _moved(bodies: Bodies, build: Expressions, nest: LoopNest, order: Sequence[int]) -> LoopNest:
    places = tuple([build.axis(order.index(axis)) for axis in range(len(order))])
    extents = [nest.extents[axis] for axis in order]
    count = len(nest.outer)
    natural = tuple([order.index(axis) for axis in nest.natural])
    stores, ragged = renumbered(bodies, nest, places), with_axes(bodies, nest.ragged, places)
    return LoopNest(tuple(extents[:count]), tuple(extents[count:]), natural, stores, nest.origins, ragged)


def is_along_inner(bodies: Bodies, build: Expressions, nest: LoopNest) -> bool:
    """Return True if lanes run along the inner axes once the loops are ordered."""
    return not _is_along_outer(_ordered(bodies, build, nest))


def _is_along_outer(nest: LoopNest) -> bool:
    """Return True if lanes run along the last outer axis, each with an accumulator of its own: where the accesses that
    vary along most axes have better strides along it.
    """
    if not nest.inner:
        return True
    if not nest.outer or nest.ragged is not None and len(nest.outer) == 1:
        return False
    for offsets in _ranked(accesses(nest)):
        last, beside = len(nest.extents) - 1, len(nest.outer) - 1
        inner, outer = _strided(offsets, last), _strided(offsets, beside)
        if inner != outer:
            return inner > 2 * outer or bool(not _contiguous(offsets, last) and _contiguous(offsets, beside))
    return False


def is_transpose(nest: LoopNest) -> bool:
    """Return True if this is a transpose: no access is unit-stride along an inner axis; loads and stores are, along
    different outer axes. The store would better be a kernel of its own, whose loops can be tiled.
    """
    first = len(nest.outer)

    def contiguous(offset: Affine) -> set[int]:
        """The axes along which it is unit-stride; none where it is invariant in the inner loops."""
        is_inside = any(axis >= first for axis in offset.axes)
        return {axis for axis, step in offset.terms if is_one(step)} if is_inside else set()

    read = {axis for offset in loaded(nest) for axis in contiguous(offset)}
    stored = [contiguous(store.offset) for store in nest.stores]
    if any(axis >= first for axes in (read, *stored) for axis in axes):
        return False
    return bool(read) and any(axes and not axes & read for axes in stored)


# ---------------------------------------------------------------------- collapsing


def _collapsed(bodies: Bodies, build: Expressions, nest: LoopNest) -> LoopNest:
    """Neighbouring loops collapsed to one, where every access allows it."""
    axis = len(nest.extents) - 2
    while axis >= 0:
        if axis != len(nest.outer) - 1 and _is_one_loop(build, nest, axis):
            nest = _merged_axes(bodies, build, nest, axis)
        axis -= 1
    return nest


def _is_one_loop(build: Expressions, nest: LoopNest, axis: int) -> bool:
    extent = nest.extents[axis + 1]
    if nest.ragged is not None and not {nest.ragged.row, nest.ragged.axis}.isdisjoint((axis, axis + 1)):
        return False
    indices = [*accesses(nest), *[value.index for value in below(nest.roots) if isinstance(value, IndexValue)]]
    for index in indices:
        outer = index.coefficient(axis) or build.zero
        inner = index.coefficient(axis + 1) or build.zero
        if is_zero(outer) and is_zero(inner):
            continue
        if is_zero(outer) or is_zero(inner):
            return False
        iterations = reduce(Expr.__mul__, nest.extents[: axis + 1])
        choice = Choice("one loop", "two loops")
        if not build.decisions.same("collapse", outer, inner * extent, choice, iterations=iterations, length=extent):
            return False
    return True


def _merged_axes(bodies: Bodies, build: Expressions, nest: LoopNest, axis: int) -> LoopNest:
    """The loops of an axis and the next one as one: the index of the first is 0 in it."""
    count = len(nest.extents)
    places = [build.axis(k if k <= axis else k - 1) for k in range(count)]
    places[axis] = Affine.of(build.zero)
    extents = list(nest.extents)
    extents[axis : axis + 2] = [extents[axis] * extents[axis + 1]]
    outer = len(nest.outer) - (axis < len(nest.outer) - 1)
    return LoopNest(
        tuple(extents[:outer]),
        tuple(extents[outer:]),
        (),
        renumbered(bodies, nest, tuple(places)),
        nest.origins,
        with_axes(bodies, nest.ragged, tuple(places)),
    )


# ---------------------------------------------------------------------- values that passes share


def kept(kernel: Kernel) -> Iterator[Scalar]:
    """The costly values that more than one pass needs, and are better stored than recomputed: the outermost of them."""
    if len(kernel.passes) < 2:
        return
    needed: dict[Scalar, set[int]] = {}
    for number, each in enumerate(kernel.passes):
        for root in each.roots:
            needed.setdefault(root, set()).add(number)
    order = below(list(needed))
    cost = costly(order)
    for value in reversed(order):
        passes = needed.get(value, set())
        if value not in kernel.varying or not passes:
            continue
        if len(passes) > 1 and value in cost:
            yield value
            passes = {min(passes)}
        for operand in () if isinstance(value, Reduced) else value.operands:
            needed.setdefault(operand, set()).update(passes)


def costly(order: Sequence[Scalar]) -> set[Scalar]:
    """The values whose computation is costly enough to be stored; `order` has operands first."""
    found: set[Scalar] = set()
    for value in order:
        if isinstance(value, Apply):
            if OPERATIONS[value.operation].is_costly or any(operand in found for operand in value.operands):
                found.add(value)
    return found
