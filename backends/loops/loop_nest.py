"""A loop nest, and the same stores and scalars with other indices for its axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from backends.loops.affine import Affine
from backends.loops.kernels import (
    Apply,
    Bodies,
    Buffer,
    Constant,
    IndexValue,
    Kernel,
    Load,
    Ragged,
    Reduced,
    Reduction,
    Scalar,
    SizeValue,
    Store,
)
from backends.loops.nodes import Indices
from backends.loops.toposort import toposort
from solver.terms.expr import Expr


@dataclass(frozen=True, eq=False)
class LoopNest:
    """Loops and their stores: a kernel before it is fused and its loops are ordered.

    Attributes:
        outer: extents of the outer axes, which are numbered first.
        inner: extents of the inner ones.
        natural: the loops in the order of the axes of the tensor that is reduced.
        ragged: which axis is ragged, if any; the axis of its rows is the first one.
    """

    outer: tuple[Expr, ...]
    inner: tuple[Expr, ...]
    natural: tuple[int, ...]
    stores: tuple[Store, ...]
    origins: tuple[str, ...] = ()
    ragged: Ragged | None = None

    @property
    def extents(self) -> tuple[Expr, ...]:
        return (*self.outer, *self.inner)

    @property
    def bounds(self) -> list[Scalar]:
        """The bounds of the ragged axis."""
        return [] if self.ragged is None else [self.ragged.first, self.ragged.last]

    @property
    def roots(self) -> list[Scalar]:
        """The values that it stores, then the bounds of the ragged axis."""
        return [*[store.value for store in self.stores], *self.bounds]

    def kernel(self, name: str, *, lanes: int | None = None) -> Kernel:
        """The kernel with these loops in this order, vectorized along the last one by default."""
        reductions = [value.reduction for value in below(self.roots) if isinstance(value, Reduced)]
        lanes = max(len(self.extents) - 1, 0) if lanes is None else lanes
        made = Kernel(name, self.extents, len(self.outer), tuple(reductions), self.stores, (), lanes, self.origins)
        return replace(made, ragged=self.ragged) if self.ragged is not None else made


def below(roots: Sequence[Scalar]) -> list[Scalar]:
    """All scalars below these, bodies of reductions included, each once, operands first."""
    return list(
        toposort(roots, lambda value: (value.reduction.body,) if isinstance(value, Reduced) else value.operands)
    )


def rewritten(
    bodies: Bodies,
    roots: Sequence[Scalar],
    indices: Indices,
    stored: Mapping[tuple[Buffer, Affine], Scalar],
) -> list[Scalar]:
    """The same scalars with other indices for the axes, and stored values forwarded to their loads."""
    new: dict[Scalar, Scalar] = {}
    for value in below(roots):
        match value:
            case Load(buffer=buffer, offset=offset, indirect=indirect, condition=condition):
                moved = offset.at(indices)
                found = None if indirect else stored.get((buffer, moved))
                more = [(new[part], stride) for part, stride in indirect]
                where = None if condition is None else new[condition]
                new[value] = bodies.load(buffer, moved, more, where) if found is None else found
            case IndexValue(index=index):
                new[value] = bodies.place(index.at(indices))
            case Reduced(reduction=Reduction(operation=operation, body=body)):
                new[value] = bodies.reduced(operation, new[body])
            case Apply(operation=operation, operands=operands, dtype=dtype):
                new[value] = bodies.apply(operation, [new[operand] for operand in operands], dtype)
            case Constant() | SizeValue():
                new[value] = value
    return [new[root] for root in roots]


def with_axes(bodies: Bodies, ragged: Ragged | None, indices: Indices) -> Ragged | None:
    """A ragged axis with other indices for the axes, each of which is one."""
    if ragged is None:
        return None
    row, axis = indices[ragged.row].as_axis, indices[ragged.axis].as_axis
    assert row is not None and axis is not None
    first, last = rewritten(bodies, [ragged.first, ragged.last], indices, {})
    return Ragged(ragged.source, row, axis, first, last)


def renumbered(bodies: Bodies, nest: LoopNest, indices: Indices) -> tuple[Store, ...]:
    """The stores of a nest with other indices for its axes."""
    values = rewritten(bodies, nest.roots, indices, {})
    return tuple(
        [replace(store, offset=store.offset.at(indices), value=value) for store, value in zip(nest.stores, values)]
    )
