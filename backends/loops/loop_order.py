"""The loops of a kernel once it is fused: which axis lanes run along, in which order the others go, which are one.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.loop_body import Binding
    >>> from backends.loops.program import Program
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> _ = program.stored(program.build.apply("exp", x), (s, program.build.one))
    >>> binding = Binding(program.build, {})
    >>> print(arranged(binding.bodies, program.build, binding.assigned(program.steps[0]), "k0"))
    k0: for i0 < b*s, lanes i0
        made0[i0] = exp(x[i0])

Lanes run along the axis that stores, then most accesses are contiguous along. Neighbouring axes are one where a step
along the outer is as far as all steps along the inner, for everything that is accessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cmp_to_key, reduce

from backends.loops.affine import Affine, is_one, is_zero
from backends.loops.kernels import Apply, Bodies, Kernel, Load, Place, Reduced, Scalar
from backends.loops.loop_body import Draft, below, renumbered
from backends.loops.operations import OPERATIONS
from backends.loops.tensors import Expressions
from solver.terms.expr import Expr


def arranged(bodies: Bodies, build: Expressions, draft: Draft, name: str, *, collapses: bool = True) -> Kernel:
    """The kernel with its loops in the order in which memory is best gone through; those that can be one as one if it
    `collapses`."""
    draft = _ordered(bodies, build, draft)
    along_outer = _is_along_outer(draft) and not any(store.summed for store in draft.stores)
    draft = _collapsed(bodies, build, draft) if collapses else draft
    kernel = draft.kernel(name)
    kernel.lanes = max(len(draft.outer if along_outer else draft.extents) - 1, 0)
    kernel.kept = tuple(kept(kernel))
    return kernel


# ---------------------------------------------------------------------- order


def accesses(draft: Draft) -> list[Affine]:
    """The offset of every load and store."""
    return [*loaded(draft), *[store.offset for store in draft.stores]]


def loaded(draft: Draft) -> list[Affine]:
    """The offset of every load."""
    return [value.offset for value in below(draft.roots) if isinstance(value, Load)]


def _contiguous(offsets: Sequence[Affine], axis: int) -> int:
    """How many accesses go one element on along an axis."""
    found = [offset.coefficient(axis) for offset in offsets]
    return sum([coefficient is not None and is_one(coefficient) for coefficient in found])


def _strided(offsets: Sequence[Affine], axis: int) -> int:
    """How many accesses go on along an axis by more than one element."""
    found = [offset.coefficient(axis) for offset in offsets]
    return sum([coefficient is not None and not is_one(coefficient) for coefficient in found])


def _ranked(offsets: Sequence[Affine]) -> list[list[Affine]]:
    """Those that change along the most axes first: what changes along fewer is loaded anew by few turns."""
    ranks = sorted({len(offset.terms) for offset in offsets}, reverse=True)
    return [[offset for offset in offsets if len(offset.terms) == rank] for rank in ranks]


def _ordered(bodies: Bodies, build: Expressions, draft: Draft) -> Draft:
    """Among the outer and among the inner axes, what most is contiguous along comes last: first of all stores, as
    stores far apart take several times as long as loads. Before it the one that most of the rest is contiguous along:
    the lines that its loads bring are near for its next turn. The others as memory is mostly gone through."""
    offsets, stored = accesses(draft), [store.offset for store in draft.stores]
    ranked = [(offsets, [offset for offset in offsets if offset in stored]) for offsets in _ranked(offsets)]

    def weight(axis: int) -> list[int]:
        """How many stores and how many accesses go one element on: of those that change along most axes, of others."""
        return [_contiguous(each, axis) for offsets, stored in ranked for each in (stored, offsets)]

    outer = list(range(len(draft.outer)))
    inner = list(range(len(outer), len(draft.extents)))
    order: list[int] = []
    for axes in (outer, inner):
        last = sorted(axes, key=lambda axis: (weight(axis), axis))[-1:]
        rest = [axis for axis in usual_order(build, offsets, axes) if axis not in last]
        near = max(rest, key=lambda axis: weight(axis)[:2], default=None)
        if near is not None and any(weight(near)[:2]):
            rest.remove(near)
            last = [near, *last]
        order += [*rest, *last]
    if order == [*outer, *inner]:
        return draft
    return _moved(bodies, build, draft, order)


def usual_order(build: Expressions, offsets: Sequence[Affine], axes: Sequence[int]) -> list[int]:
    """Axes as most of those accesses go through memory, the farthest step first, that change along most of all axes; as
    they are if that is as usual as any other order."""
    top = _ranked(offsets)[:1]
    found = Counter([_by_steps(build, offset, axes) for each in top for offset in each])
    found[tuple(axes)] += 0
    return list(max(found, key=lambda order: (found[order], order == tuple(axes))))


def _by_steps(build: Expressions, offset: Affine, axes: Sequence[int]) -> tuple[int, ...]:
    """The axis with the farthest step first; where it is not known which is, as the sizes tell that each is a product
    of: to be wrong costs but time."""

    def compare(axis: int, other: int) -> int:
        first, second = offset.coefficient(axis), offset.coefficient(other)
        if first is second:
            return 0
        if first is None or second is None:
            return 1 if first is None else -1
        if first.is_constant and second.is_constant:
            return second.constant - first.constant
        farther, nearer = sorted((first, second), key=_weight, reverse=True)
        question, put = build.interner.ge(farther, nearer), (farther, ">=", nearer)
        yes, never = "farther steps outside", "farther steps inside"
        if _weight(first) == _weight(second):
            found = build.decisions.holds("order", question, yes, "as the axes come", never=never, put=put)
            return 0 if found is None else -1 if found else 1
        is_farther = build.decisions.sooner("order", question, yes, never, put=put, likely=True)
        return -1 if is_farther == (farther is first) else 1

    return tuple(sorted(axes, key=cmp_to_key(compare)))


def _weight(step: Expr) -> tuple[int, int]:
    return step.degree, abs(step.content())


def _moved(bodies: Bodies, build: Expressions, draft: Draft, order: Sequence[int]) -> Draft:
    places = tuple([build.axis(order.index(axis)) for axis in range(len(order))])
    extents = [draft.extents[axis] for axis in order]
    count = len(draft.outer)
    natural = tuple([order.index(axis) for axis in draft.natural])
    return Draft(
        tuple(extents[:count]), tuple(extents[count:]), natural, renumbered(bodies, draft, places), draft.origins
    )


def is_along_inner(bodies: Bodies, build: Expressions, draft: Draft) -> bool:
    """Whether memory is gone through along the inner axes."""
    return not _is_along_outer(_ordered(bodies, build, draft))


def _is_along_outer(draft: Draft) -> bool:
    """Whether lanes run along the last outer axis, each with its own reduction: where what changes along most axes, and
    is accessed most often, lies better along it."""
    if not draft.inner:
        return True
    if not draft.outer:
        return False
    for offsets in _ranked(accesses(draft)):
        last, beside = len(draft.extents) - 1, len(draft.outer) - 1
        inner, outer = _strided(offsets, last), _strided(offsets, beside)
        if inner != outer:
            return inner > 2 * outer or bool(not _contiguous(offsets, last) and _contiguous(offsets, beside))
    return False


def is_crosswise(draft: Draft) -> bool:
    """Whether inner axes are gone through along which nothing is contiguous, while loads and stores are so along
    different outer ones: as a kernel of its own, what stores would have both next to each other."""
    first = len(draft.outer)

    def contiguous(offset: Affine) -> set[int]:
        """The axes along which it is so; none where it is the same for all inner turns."""
        is_inside = any(axis >= first for axis in offset.axes)
        return {axis for axis, step in offset.terms if is_one(step)} if is_inside else set()

    read = {axis for offset in loaded(draft) for axis in contiguous(offset)}
    stored = [contiguous(store.offset) for store in draft.stores]
    if any(axis >= first for axes in (read, *stored) for axis in axes):
        return False
    return bool(read) and any(axes and not axes & read for axes in stored)


# ---------------------------------------------------------------------- axes that are one


def _collapsed(bodies: Bodies, build: Expressions, draft: Draft) -> Draft:
    """Neighbouring axes as one, where every access allows it."""
    axis = len(draft.extents) - 2
    while axis >= 0:
        if axis != len(draft.outer) - 1 and _is_one_loop(build, draft, axis):
            draft = _joined(bodies, build, draft, axis)
        axis -= 1
    return draft


def _is_one_loop(build: Expressions, draft: Draft, axis: int) -> bool:
    extent = draft.extents[axis + 1]
    indices = [*accesses(draft), *[value.index for value in below(draft.roots) if isinstance(value, Place)]]
    for index in indices:
        outer = index.coefficient(axis) or build.zero
        inner = index.coefficient(axis + 1) or build.zero
        if is_zero(outer) and is_zero(inner):
            continue
        if is_zero(outer) or is_zero(inner):
            return False
        turns = reduce(Expr.__mul__, draft.extents[: axis + 1])
        yes, otherwise = "one loop", "two loops"
        if not build.decisions.same("collapse", outer, inner * extent, yes, otherwise, turns=turns, length=extent):
            return False
    return True


def _joined(bodies: Bodies, build: Expressions, draft: Draft, axis: int) -> Draft:
    """The axis and the one behind it as one: the first of the two stands still."""
    count = len(draft.extents)
    places = [build.axis(k if k <= axis else k - 1) for k in range(count)]
    places[axis] = Affine.of(build.zero)
    extents = list(draft.extents)
    extents[axis : axis + 2] = [extents[axis] * extents[axis + 1]]
    outer = len(draft.outer) - (axis < len(draft.outer) - 1)
    return Draft(
        tuple(extents[:outer]),
        tuple(extents[outer:]),
        (),
        renumbered(bodies, draft, tuple(places)),
        draft.origins,
    )


# ---------------------------------------------------------------------- what passes share


def kept(kernel: Kernel) -> Iterator[Scalar]:
    """The costly values that more than one pass needs: the outermost of them."""
    if len(kernel.passes) < 2:
        return
    needed: dict[Scalar, set[int]] = {}
    for number, each in enumerate(kernel.passes):
        roots = [*[reduction.body for reduction in each.reductions], *[store.value for store in each.stores]]
        for root in roots:
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
    """Those of the values, given operands first, that are worth memory: something costly is done for them."""
    found: set[Scalar] = set()
    for value in order:
        if isinstance(value, Apply):
            if OPERATIONS[value.operation].is_costly or any(operand in found for operand in value.operands):
                found.add(value)
    return found
