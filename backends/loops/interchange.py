"""Fuse column reductions into row-major kernels by loop interchange; the store becomes an accumulation.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.loop_body import LoopBuilder
    >>> from backends.loops.program import Program
    >>> env = ShapeEnv(origin=lambda: None)
    >>> r, c = [size.expr for size in env.sizes("r c")]
    >>> program = Program(Decisions(env))
    >>> build = program.build
    >>> x = program.input("x", "float32", (r, c), (c, build.one))
    >>> columns = program.stored(build.reduce("sum", build.apply("exp", x), (0,)), (build.one,))
    >>> builder = LoopBuilder(build, {})
    >>> nest = builder.nest(program.steps[0])
    >>> print(nest.kernel("k0"))
    k0: for i0 < c | i1 < r, lanes i1
      pass 0:
        sum0 += exp(x[i0 + c*i1])
      once:
        made0[i0] = sum0
    >>> print(interchanged(build, builder.bodies, nest).kernel("k0"))
    k0: for i0 < r | i1 < c, lanes i1
      pass 0:
        made0[i1] += exp(x[c*i0 + i1])

The gradient of a weight that is shared by all rows is such a reduction, and its operand is in the registers of the
kernel that computes the gradient of the rows. A single column reduction is unchanged, unless something expensive is
computed for elements that are stored as well. Interchange is legal: floating-point sums may be reassociated here, and
every other store is of one iteration of all loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from backends.loops.affine import Affine
from backends.loops.kernels import Bodies, Buffer, Load, Reduced, Scalar, Store
from backends.loops.loop_nest import LoopNest, below, renumbered
from backends.loops.loop_order import costly, is_along_inner
from backends.loops.tensors import Expressions


def is_interchangeable(nest: LoopNest) -> bool:
    """Return True if every store is of one iteration of all loops, or of a sum over the inner ones; at least one is a
    sum.
    """
    if not nest.outer or not nest.inner or nest.ragged is not None:
        return False
    sums = [_is_sum(nest, store) for store in nest.stores]
    return any(sums) and all(each or _is_elementwise(nest, store) for each, store in zip(sums, nest.stores))


def _is_sum(nest: LoopNest, store: Store) -> bool:
    value = store.value
    if not isinstance(value, Reduced) or value.reduction.operation != "sum" or value.dtype == "bool":
        return False
    return {*store.offset.axes} == {*range(len(nest.outer))} and not _reduces(value.reduction.body)


def _is_elementwise(nest: LoopNest, store: Store) -> bool:
    return len(store.offset.terms) == len(nest.extents) and not _reduces(store.value)


def _reduces(value: Scalar) -> bool:
    return any(isinstance(each, Reduced) for each in below([value]))


def interchanged(build: Expressions, bodies: Bodies, nest: LoopNest) -> LoopNest:
    """The same nest with outer and inner loops interchanged."""
    outer, inner = len(nest.outer), len(nest.inner)
    order = [*range(inner, inner + outer), *range(inner)]
    stores = [
        replace(store, value=store.value.reduction.body, accumulates=True)
        if isinstance(store.value, Reduced)
        else store
        for store in nest.stores
    ]
    natural = tuple([order[axis] for axis in nest.natural])
    moved = renumbered(bodies, replace(nest, stores=tuple(stores)), tuple([build.axis(place) for place in order]))
    return replace(nest, outer=nest.inner, inner=nest.outer, natural=natural, stores=moved)


def is_profitable(build: Expressions, bodies: Bodies, sums: LoopNest, rows: LoopNest) -> bool:
    """Return True if interchanged sums load what a row-major kernel has loaded, and both are contiguous along rows."""
    has = {*_elements(sums)} & {*_elements(rows)}
    return bool(has) and is_along_inner(bodies, build, sums) and is_along_inner(bodies, build, rows)


def row_major_sums(build: Expressions, bodies: Bodies, nest: LoopNest) -> LoopNest:
    """Column sums beside stores of all elements, row-major if memory is contiguous along rows and each element is
    costly enough to hide that a row waits for the accumulators that the row before has written."""
    if is_interchangeable(nest) and any(_is_elementwise(nest, store) for store in nest.stores):
        sums = interchanged(build, bodies, nest)
        if costly(below(sums.roots)) and is_along_inner(bodies, build, sums):
            return sums
    return nest


def absorb_copies(build: Expressions, sums: LoopNest, copies: LoopNest) -> LoopNest | None:
    """A nest with sums that stores them also where another nest copies them to; None if that nest does more."""
    by_place = {(store.buffer, store.offset): store.value for store in sums.stores if store.accumulates}
    if not by_place or copies.inner or len(copies.outer) != len(sums.inner):
        return None
    if not all(map(build.decisions.equal, copies.outer, sums.inner)):
        return None
    indices = tuple([build.axis(len(sums.outer) + axis) for axis in range(len(copies.outer))])
    stores = list(sums.stores)
    for store in copies.stores:
        load, offset = store.value, store.offset.at(indices)
        if not isinstance(load, Load) or load.indirect:
            return None
        value = by_place.get((load.buffer, load.offset.at(indices)))
        if value is None or any(store.buffer is other.buffer for other in stores):
            return None
        stores.append(replace(store, offset=offset, value=value, accumulates=True))
    origins = tuple(dict.fromkeys([*sums.origins, *copies.origins]))
    return replace(sums, stores=tuple(stores), origins=origins)


def _elements(nest: LoopNest) -> Iterator[tuple[Buffer, Affine]]:
    """The accesses that vary along outer and inner axes."""
    loads = [(value.buffer, value.offset) for value in below(nest.roots) if isinstance(value, Load)]
    for buffer, offset in [*loads, *[(store.buffer, store.offset) for store in nest.stores]]:
        if offset.terms and offset.axes[0] < len(nest.outer) <= offset.axes[-1]:
            yield buffer, offset
