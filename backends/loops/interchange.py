"""Sums over rows as part of a kernel that goes by rows: for loops C | R that sum, the same work as R | C.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.loop_body import Binding
    >>> from backends.loops.program import Program
    >>> env = ShapeEnv(origin=lambda: None)
    >>> r, c = [size.expr for size in env.sizes("r c")]
    >>> program = Program(Decisions(env))
    >>> build = program.build
    >>> x = program.input("x", "float32", (r, c), (c, build.one))
    >>> columns = program.stored(build.reduce("sum", build.apply("exp", x), (0,)), (build.one,))
    >>> binding = Binding(build, {})
    >>> draft = binding.assigned(program.steps[0])
    >>> print(draft.kernel("k0"))
    k0: for i0 < c | i1 < r, lanes i1
      pass 0:
        sum0 += exp(x[i0 + c*i1])
      once:
        made0[i0] = sum0
    >>> print(crossed(build, binding.bodies, draft).kernel("k0"))
    k0: for i0 < r | i1 < c, lanes i1
      pass 0:
        made0[i1] += exp(x[c*i0 + i1])

A gradient of a weight that is the same in all rows is such a sum, and what it sums is in the registers of the kernel
that computes the gradient of the rows. Alone, sums over rows stay what they are, unless something costly is computed
for elements that are stored as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from backends.loops.affine import Affine
from backends.loops.kernels import Bodies, Buffer, Load, Reduced, Scalar, Store
from backends.loops.loop_body import Draft, below, renumbered
from backends.loops.loop_order import costly, is_along_inner
from backends.loops.tensors import Expressions


def is_crossable(draft: Draft) -> bool:
    """Whether every store is of one turn of all axes, or is a sum, as it is; and there is one."""
    if not draft.outer or not draft.inner:
        return False
    sums = [_is_sum(draft, store) for store in draft.stores]
    return any(sums) and all(each or _is_one_turn(draft, store) for each, store in zip(sums, draft.stores))


def _is_sum(draft: Draft, store: Store) -> bool:
    value = store.value
    if not isinstance(value, Reduced) or value.reduction.operation != "sum" or value.dtype == "bool":
        return False
    return {*store.offset.axes} == {*range(len(draft.outer))} and not _reduces(value.reduction.body)


def _is_one_turn(draft: Draft, store: Store) -> bool:
    return len(store.offset.terms) == len(draft.extents) and not _reduces(store.value)


def _reduces(value: Scalar) -> bool:
    return any(isinstance(each, Reduced) for each in below([value]))


def crossed(build: Expressions, bodies: Bodies, draft: Draft) -> Draft:
    """The same with outer and inner axes exchanged."""
    outer, inner = len(draft.outer), len(draft.inner)
    order = [*range(inner, inner + outer), *range(inner)]
    stores = [
        replace(store, value=store.value.reduction.body, summed=True) if isinstance(store.value, Reduced) else store
        for store in draft.stores
    ]
    natural = tuple([order[axis] for axis in draft.natural])
    moved = renumbered(bodies, replace(draft, stores=tuple(stores)), tuple([build.axis(place) for place in order]))
    return replace(draft, outer=draft.inner, inner=draft.outer, natural=natural, stores=moved)


def pays(build: Expressions, bodies: Bodies, sums: Draft, rows: Draft) -> bool:
    """Whether sums that go by rows read what a kernel by rows has at hand, and both go through memory along rows."""
    has = {*_elements(sums)} & {*_elements(rows)}
    return bool(has) and is_along_inner(bodies, build, sums) and is_along_inner(bodies, build, rows)


def by_rows(build: Expressions, bodies: Bodies, draft: Draft) -> Draft:
    """Sums over rows beside stores of all elements: by rows, if that is how memory lies and something costly is done
    for each, so that it does not matter that a row waits for the sums that the one before has written."""
    if is_crossable(draft) and any(_is_one_turn(draft, store) for store in draft.stores):
        sums = crossed(build, bodies, draft)
        if costly(below(sums.roots)) and is_along_inner(bodies, build, sums):
            return sums
    return draft


def with_copies(build: Expressions, sums: Draft, copies: Draft) -> Draft | None:
    """A draft with sums that stores them also where another one only copies them to; None if that does more."""
    by_place = {(store.buffer, store.offset): store.value for store in sums.stores if store.summed}
    if not by_place or copies.inner or len(copies.outer) != len(sums.inner):
        return None
    if not all(map(build.decisions.equal, copies.outer, sums.inner)):
        return None
    places = tuple([build.axis(len(sums.outer) + axis) for axis in range(len(copies.outer))])
    stores = list(sums.stores)
    for store in copies.stores:
        load, offset = store.value, store.offset.at(places)
        is_copy = isinstance(load, Load) and not load.indirect
        value = by_place.get((load.buffer, load.offset.at(places))) if is_copy else None
        if value is None or any(store.buffer is other.buffer for other in stores):
            return None
        stores.append(replace(store, offset=offset, value=value, summed=True))
    origins = tuple(dict.fromkeys([*sums.origins, *copies.origins]))
    return replace(sums, stores=tuple(stores), origins=origins)


def _elements(draft: Draft) -> Iterator[tuple[Buffer, Affine]]:
    """What is loaded and stored that is different for each row and along it."""
    loads = [(value.buffer, value.offset) for value in below(draft.roots) if isinstance(value, Load)]
    for buffer, offset in [*loads, *[(store.buffer, store.offset) for store in draft.stores]]:
        if offset.terms and offset.axes[0] < len(draft.outer) <= offset.axes[-1]:
            yield buffer, offset


__all__ = ["by_rows", "crossed", "is_crossable", "pays", "with_copies"]
