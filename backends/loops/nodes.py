"""The nodes of tensor expressions: memory, numbers, operations, views, reductions, elements elsewhere, joins.

    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> n, one = terms.symbol("n"), terms.constant(1)
    >>> place = Position((n,), "int64", 0)
    >>> twice = Pointwise((n,), "int64", "add", (place, place))
    >>> [type(each).__name__ for each in descend([twice])]
    ['Position', 'Pointwise']

`backends.loops.tensors` builds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from backends.loops.affine import Affine
from backends.loops.kernels import Buffer
from backends.loops.toposort import parts_first
from solver.terms.expr import Expr

Sizes = tuple[Expr, ...]
Places = tuple[Affine, ...]
Anywhere: TypeAlias = "tuple[Affine | Tensor, ...]"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Tensor:
    """A tensor that is not there yet."""

    sizes: Sizes
    dtype: str

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def sources(self) -> tuple[Tensor, ...]:
        """What it is made from."""
        return ()

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.sizes))}]"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Memory(Tensor):
    """Elements of a buffer: the offset for a place, strides as its coefficients."""

    buffer: Buffer
    offset: Affine


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Number(Tensor):
    """One number, everywhere; a size may be one."""

    value: int | float | bool | Expr


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Position(Tensor):
    """The place along an axis."""

    axis: int


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Pointwise(Tensor):
    """An operation on the elements at the same place; operands that are numbers are everywhere."""

    operation: str
    operands: tuple[Tensor, ...]

    @property
    def sources(self) -> tuple[Tensor, ...]:
        return self.operands


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class View(Tensor):
    """For each axis of the source, where to look."""

    source: Tensor
    places: Places

    @property
    def sources(self) -> tuple[Tensor, ...]:
        return (self.source,)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Merge(Tensor):
    """Runs of axes of the source, each seen as one axis; one of no axes has size 1."""

    source: Tensor
    runs: tuple[tuple[int, ...], ...]

    @property
    def sources(self) -> tuple[Tensor, ...]:
        return (self.source,)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Reduce(Tensor):
    """Some axes of the source reduced to one value; the others are kept in order."""

    operation: str
    source: Tensor
    axes: tuple[int, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        return tuple([axis for axis in range(self.source.rank) if axis not in self.axes])

    @property
    def sources(self) -> tuple[Tensor, ...]:
        return (self.source,)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Taken(Tensor):
    """Elements at places that are computed; where these are not `inside` the element is 0. Who builds it without has
    seen to it that they are."""

    source: Tensor
    places: Anywhere
    inside: Tensor | None = None

    @property
    def computed(self) -> tuple[Tensor, ...]:
        """The places that are, and whether they are inside."""
        places = [place for place in self.places if isinstance(place, Tensor)]
        return tuple(places if self.inside is None else [*places, self.inside])

    @property
    def sources(self) -> tuple[Tensor, ...]:
        return (self.source, *self.computed)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Joined(Tensor):
    """Pieces one behind the other along an axis; each but the last ends where the next begins, at a bound."""

    pieces: tuple[Tensor, ...]
    axis: int
    bounds: Sizes

    @property
    def sources(self) -> tuple[Tensor, ...]:
        return self.pieces

    def at(self, piece: int, places: Places) -> Places:
        """Where to look in one of the pieces."""
        if not self.pieces[piece].rank:
            return ()
        if not piece:
            return places
        inside = places[self.axis] + Affine.of(-self.bounds[piece - 1])
        return (*places[: self.axis], inside, *places[self.axis + 1 :])


def descend(roots: Sequence[Tensor], into: Callable[[Tensor], bool] = lambda tensor: True) -> Iterator[Tensor]:
    """All tensors that these are made from, themselves included, each once, sources first."""
    return parts_first(roots, lambda tensor: tensor.sources if into(tensor) else ())


__all__ = [
    "Anywhere",
    "Joined",
    "Memory",
    "Merge",
    "Number",
    "Places",
    "Pointwise",
    "Position",
    "Reduce",
    "Sizes",
    "Taken",
    "Tensor",
    "View",
    "descend",
]
