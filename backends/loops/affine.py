"""Affine indices: a linear combination of loop axes plus a constant, with symbolic sizes as coefficients.

    >>> from solver.terms.interner import Interner
    >>> from backends.loops.affine import Affine
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> row, column = Affine.axis(0, terms), Affine.axis(1, terms)
    >>> flat = row * s + column
    >>> flat
    s*i0 + i1
    >>> flat.at([column, row])                                     # axes exchanged
    i0 + s*i1

The coefficients are strides: an affine index is advanced by adding one. An index with a division could not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from backends.decisions.questions import Decisions
from solver.terms.expr import Expr, TermTable


@dataclass(frozen=True, slots=True)
class Affine:
    """`constant` plus the sum of coefficient times axis; axes are numbered, terms in their order, none is zero."""

    terms: tuple[tuple[int, Expr], ...]
    constant: Expr

    @staticmethod
    def axis(number: int, interner: TermTable) -> Affine:
        """The index of one axis."""
        return Affine(((number, interner.constant(1)),), interner.constant(0))

    @staticmethod
    def of(size: Expr) -> Affine:
        """A constant index."""
        return Affine((), size)

    def __add__(self, other: Affine) -> Affine:
        return affine_sum((self, other))

    def __mul__(self, factor: Expr) -> Affine:
        scaled = [(axis, coefficient * factor) for axis, coefficient in self.terms]
        return Affine(tuple([term for term in scaled if not is_zero(term[1])]), self.constant * factor)

    def at(self, places: Sequence[Affine]) -> Affine:
        """The composition with other indices, one for each axis."""
        parts = [places[axis] * coefficient for axis, coefficient in self.terms]
        return affine_sum((Affine.of(self.constant), *parts))

    def coefficient(self, axis: int) -> Expr | None:
        """The stride along an axis; None for 0."""
        return next((coefficient for number, coefficient in self.terms if number == axis), None)

    @property
    def axes(self) -> tuple[int, ...]:
        return tuple([axis for axis, _ in self.terms])

    @property
    def as_axis(self) -> int | None:
        """The number of the axis that this is, and nothing else."""
        if len(self.terms) == 1 and is_zero(self.constant):
            ((axis, coefficient),) = self.terms
            if is_one(coefficient):
                return axis
        return None

    def __repr__(self) -> str:
        parts = []
        for axis, coefficient in self.terms:
            text = str(coefficient)
            factor = "" if is_one(coefficient) else f"({text})*" if " " in text else f"{text}*"
            parts.append(f"{factor}i{axis}")
        if not is_zero(self.constant) or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


def affine_sum(parts: Iterable[Affine]) -> Affine:
    """The sum of several."""
    coefficients: dict[int, Expr] = {}
    constant: Expr | None = None
    for part in parts:
        constant = part.constant if constant is None else constant + part.constant
        for axis, coefficient in part.terms:
            before = coefficients.get(axis)
            coefficients[axis] = coefficient if before is None else before + coefficient
    assert constant is not None
    return Affine(tuple([(axis, c) for axis, c in sorted(coefficients.items()) if not is_zero(c)]), constant)


def same_place(decisions: Decisions, a: Affine, b: Affine, *, iterations: Expr | None = None) -> bool:
    """Return True if two indices are proven equal in every iteration."""
    if a.axes != b.axes:
        return False
    pairs = [(a.constant, b.constant), *[(c, d) for (_, c), (_, d) in zip(a.terms, b.terms)]]
    return all(decisions.equal(c, d, iterations=iterations) for c, d in pairs)


def packed(sizes: Sequence[Expr], order: Sequence[int] | None = None) -> tuple[Expr, ...]:
    """The strides of contiguous memory whose axes are in this order, the last innermost; those that are left out have
    size 1."""
    strides = [size.interner.constant(1) for size in sizes]
    step: Expr | None = None
    for axis in reversed(range(len(sizes)) if order is None else order):
        strides[axis] = strides[axis] if step is None else step
        step = strides[axis] * sizes[axis]
    return tuple(strides)


def is_zero(size: Expr) -> bool:
    return size.is_constant and size.constant == 0


def is_one(size: Expr) -> bool:
    return size.is_constant and size.constant == 1
