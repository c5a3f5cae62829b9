"""The abstract value of a graph's value: its sizes, and its elements where they may determine sizes.

    >>> import numpy as np
    >>> from frontends.onnx.values import constant
    >>> constant(np.array([2, -1]))
    Value(shape=Shape(2, dtype=int64), elements=[2, -1])

Elements are an array of Python objects, so NumPy's indexing, concatenation and transposition work on symbolic integers.
Floats are kept only if all of them are constants.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shapes.rules import Shape
from shapes.symbolic.numbers import SymBool, SymInt

if TYPE_CHECKING:
    Elements = np.ndarray

MOST_ELEMENTS: Final = 4096
"""Arrays with more elements are treated as weights, whose elements determine no sizes."""

MOST_AXES: Final = 64
"""The largest rank of an array with known elements (NumPy's limit), or with known rank alone."""

WORD: Final = 2**63
"""ONNX's integers are below it; a larger result would have overflowed."""

INTEGERS: Final = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A value of a graph.

    Attributes:
        shape: its sizes and dtype; None if the rank is unknown.
        elements: its elements as an array of objects (or of floats); None if they are unknown.
    """

    shape: Shape | None
    elements: Elements | None = None

    @property
    def dtype(self) -> str | None:
        return None if self.shape is None else self.shape.dtype

    @property
    def is_constant(self) -> bool:
        """True if every element is a plain number."""
        if self.elements is None:
            return False
        numbers: list[object] = self.elements.reshape(-1).tolist()
        return self.elements.dtype != object or not any(isinstance(number, SymInt | SymBool) for number in numbers)

    def __repr__(self) -> str:
        elements = "" if self.elements is None else f", elements={self.elements.tolist()}"
        return f"Value(shape={self.shape}{elements})"


UNKNOWN: Final = Value(None)


def few(sizes: Sequence[object]) -> bool:
    """Return True if an array of these sizes is small enough to keep its elements; asked before it is allocated."""
    known = [size for size in sizes if isinstance(size, int)]
    return len(known) == len(sizes) and len(known) <= MOST_AXES and math.prod(known) <= MOST_ELEMENTS


def constant(array: np.ndarray) -> Value:
    """A constant; the elements of large ones are dropped."""
    shape = Shape(array.shape, dtype=array.dtype.name)
    if array.size > MOST_ELEMENTS or array.dtype.kind not in "biuf":
        return Value(shape)
    return Value(shape, array if array.dtype.kind == "f" else array.astype(object))


def computed(elements: object, dtype: str | None) -> Value:
    """A value with these elements, as objects unless they are floats. NumPy returns a scalar instead of an array
    without axes."""
    found = elements if isinstance(elements, np.ndarray) else scalar(elements)
    kept = found.size <= MOST_ELEMENTS and not any(_wraps(number) for number in found.reshape(-1).tolist())
    return Value(Shape(found.shape, dtype=dtype), found if kept else None)


def _wraps(number: object) -> bool:
    return isinstance(number, int) and not -WORD <= number < 2 * WORD


def scalar(number: object) -> Elements:
    """An array without axes."""
    found: Elements = np.array(number) if isinstance(number, np.floating) else objects([number], ())
    return found


def vector(numbers: Sequence[object], dtype: str = "int64") -> Value:
    """A value with one axis of these numbers."""
    return computed(objects(numbers, (len(numbers),)), dtype)


def objects(numbers: Iterable[object], sizes: Sequence[int]) -> Elements:
    """An array of Python objects."""
    listed = list(numbers)
    flat: Elements = np.empty(len(listed), dtype=object)
    for index, number in enumerate(listed):
        flat[index] = number
    return flat.reshape(tuple(sizes))
