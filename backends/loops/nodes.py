"""The nodes of tensor expressions: memory, numbers, pointwise operations, views, reductions, gathers, concatenations.

    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> n, one = terms.symbol("n"), terms.constant(1)
    >>> place = Iota((n,), "int64", 0)
    >>> twice = Pointwise((n,), "int64", "add", (place, place))
    >>> [type(each).__name__ for each in descend([twice])]
    ['Iota', 'Pointwise']

`backends.loops.tensors` builds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from backends.loops.affine import Affine
from backends.loops.kernels import Buffer
from backends.loops.toposort import toposort
from solver.terms.expr import Expr

Sizes = tuple[Expr, ...]
Indices = tuple[Affine, ...]
GatherIndices: TypeAlias = "tuple[Affine | Tensor, ...]"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Tensor:
    """A tensor expression: not materialized yet."""

    sizes: Sizes
    dtype: str

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def sources(self) -> tuple[Tensor, ...]:
        """The operands."""
        return ()

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.sizes))}]"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Memory(Tensor):
    """Elements of a buffer at an affine offset, whose coefficients are the strides."""

    buffer: Buffer
    offset: Affine


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Number(Tensor):
    """A scalar, broadcast to any sizes; it may be a size."""

    value: int | float | bool | Expr


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Iota(Tensor):
    """The index along an axis (XLA's iota)."""

    axis: int


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Pointwise(Tensor):
    """An elementwise operation; operands that are numbers are broadcast."""

    operation: str
    operands: tuple[Tensor, ...]

    @property
    def sources(self) -> tuple[Tensor, ...]:
        return self.operands


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class OfSource(Tensor):
    """A tensor of the elements of another."""

    source: Tensor

    @property
    def sources(self) -> tuple[Tensor, ...]:
        return (self.source,)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class View(OfSource):
    """For each axis of the source, its index as an affine map of the result's axes."""

    indices: Indices


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class CollapseAxes(OfSource):
    """Runs of consecutive axes of the source, each collapsed to one axis; an empty run is an axis of size 1."""

    runs: tuple[tuple[int, ...], ...]


@dataclass(eq=False, slots=True)
class Rows:
    """Rows of different lengths in one axis (CSR): row b is what lies from `offsets[b]` to `offsets[b + 1]`. What
    offsets would have beyond the axis is in no row, nor is what offsets that decrease would have twice.

    Attributes:
        count: of the rows.
        total: the size of the axis.
        totals: that size, and others that are known to be equal to it.
        limit: the elements that a row has at most; those behind them are in no row.
        is_shifted: whether the first offset is subtracted from all.
        covers: whether each element is in exactly one row, or the run ends with an error.
        is_ordered: whether rows lie one behind the other, or the run ends with an error.
    """

    offsets: Memory
    count: Expr
    total: Expr
    limit: Expr | None = None
    is_shifted: bool = False
    covers: bool = False
    is_ordered: bool = False
    totals: set[Expr] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.totals.add(self.total)

    def __repr__(self) -> str:
        return f"{self.count} rows of {self.offsets.buffer.name}"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class RowOf(Tensor):
    """The row that each element of an axis is in."""

    rows: Rows

    @property
    def sources(self) -> tuple[Tensor, ...]:
        return (self.rows.offsets,)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Padded(OfSource):
    """Rows along the first axis of the source as two axes: the rows, and the elements of each, padded with a tensor
    that has no axes."""

    rows: Rows
    padding: Tensor

    @property
    def sources(self) -> tuple[Tensor, ...]:
        return (self.source, self.rows.offsets, self.padding)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Reduce(OfSource):
    """Some axes of the source reduced to one value; the others are kept in order.

    Attributes:
        rows: where the first axis, one of these, is not reduced as a whole but row by row: the axis of the rows takes
            its place.
    """

    operation: str
    axes: tuple[int, ...]
    rows: Rows | None = None

    @property
    def sources(self) -> tuple[Tensor, ...]:
        return (self.source,) if self.rows is None else (self.source, self.rows.offsets)

    @property
    def kept(self) -> tuple[int, ...]:
        return tuple([axis for axis in range(self.source.rank) if axis not in self.axes])


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Gather(Tensor):
    """A gather; out-of-bounds elements (where `inside` is false) are 0. Without `inside`, the caller guarantees that
    indices are in bounds."""

    source: Tensor
    indices: GatherIndices
    inside: Tensor | None = None

    @property
    def computed(self) -> tuple[Tensor, ...]:
        """The indices that are data, and the mask of those in bounds."""
        indices = [place for place in self.indices if isinstance(place, Tensor)]
        return tuple(indices if self.inside is None else [*indices, self.inside])

    @property
    def sources(self) -> tuple[Tensor, ...]:
        return (self.source, *self.computed)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Concat(Tensor):
    """The concatenation of pieces along an axis; each but the last ends where the next begins, at a bound."""

    pieces: tuple[Tensor, ...]
    axis: int
    bounds: Sizes

    @property
    def sources(self) -> tuple[Tensor, ...]:
        return self.pieces

    def at(self, piece: int, indices: Indices) -> Indices:
        """The indices into one of the pieces."""
        if not self.pieces[piece].rank:
            return ()
        if not piece:
            return indices
        inside = indices[self.axis] + Affine.of(-self.bounds[piece - 1])
        return (*indices[: self.axis], inside, *indices[self.axis + 1 :])


def descend(roots: Sequence[Tensor], into: Callable[[Tensor], bool] = lambda tensor: True) -> Iterator[Tensor]:
    """All tensors below these, themselves included, each once, operands first."""
    return toposort(roots, lambda tensor: tensor.sources if into(tensor) else ())
