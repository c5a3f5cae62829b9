"""The shape of a tensor as rules see it: its sizes, and dtype and strides where they are given.

    >>> from shapes.rules import Shape
    >>> x = Shape((2, 3), dtype="float32")
    >>> x, x[0], len(x), x[1:], x.dtype, x.strides is None
    (Shape(2, 3, dtype=float32), 2, 2, (3,), 'float32', True)

A shape is a tuple of its sizes, so a rule may slice and unpack it; what comes out of that is a plain tuple.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from shapes.environment.layout import Layout, contiguous_strides
from shapes.errors import ShapeError
from shapes.rules.elements import Elements
from shapes.symbolic.choices import Int


class Shape(tuple[Int, ...]):
    """Sizes, outermost first. `dtype` is a name as in "float32"; strides and offset count elements; `elements` are
    facts about these, where some are known."""

    dtype: str | None
    strides: tuple[Int, ...] | None
    storage_offset: Int
    elements: Elements | None
    is_ragged = False
    order: object = None
    """The order of its axes in memory, once it is known (`memory_order` beside this file)."""
    is_packed = False
    """True if it is known to be contiguous, whatever the sizes."""

    def __new__(
        cls,
        sizes: Iterable[Int] = (),
        *,
        dtype: str | None = None,
        strides: Iterable[Int] | None = None,
        storage_offset: Int = 0,
        elements: Elements | None = None,
    ) -> Self:
        self = super().__new__(cls, sizes)
        self.dtype = dtype
        self.strides = None if strides is None else tuple(strides)
        self.storage_offset = storage_offset
        self.elements = elements
        return self

    @property
    def sizes(self) -> tuple[Int, ...]:
        return tuple(self)

    @property
    def rank(self) -> int:
        return len(self)

    def layout(self) -> Layout:
        """The layout: sizes, offset and strides, which are contiguous where none are given."""
        strides = contiguous_strides(self) if self.strides is None else self.strides
        return Layout(tuple(self), strides, self.storage_offset)

    def __repr__(self) -> str:
        parts = [str(size) for size in self]
        if self.dtype is not None:
            parts.append(f"dtype={self.dtype}")
        if self.strides is not None:
            parts.append(f"strides=({', '.join([str(stride) for stride in self.strides])})")
        return f"Shape({', '.join(parts)})"


def as_shape(value: object) -> Shape:
    """A shape from any sequence of sizes.

    Raises:
        ShapeError: it has a ragged axis, which no dense rule knows.
        TypeError: it is no sequence.
    """
    if type(value) is Shape:
        return value
    if isinstance(value, Shape):
        if value.is_ragged:
            raise ShapeError(f"{value!r} is ragged: ask shapes.rules.ragged.ragged(env, name, ...)")
        return value
    if isinstance(value, Layout):
        return Shape(value.sizes, strides=value.strides, storage_offset=value.storage_offset)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Shape(value)
    raise TypeError(f"expected the sizes of a tensor, not {value!r}")


__all__ = ["Int", "Shape", "as_shape"]
