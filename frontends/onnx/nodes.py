"""Nodes of a graph, and the registry of operators by type.

An operator is a function from a node to its output, or to a tuple of them; an output is a `Value`, or just a shape:

    @operator("Relu", "Sigmoid")
    def pointwise(node):
        return node.shape(0)

It runs only if the rank of every input is known, unless it is registered with `partial=True`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from frontends.onnx.values import MOST_AXES, UNKNOWN, Value, computed, few
from shapes.errors import ShapeError
from shapes.rules import Shape, rules
from shapes.symbolic.choices import Int
from shapes.symbolic.numbers import SymInt

if TYPE_CHECKING:
    import numpy as np

    from shapes.env import ShapeEnv

Result = Value | Shape | Sequence[Value | Shape | None]
Operator = Callable[["Node"], Result]
T = TypeVar("T")


class NotKnown(ShapeError):
    """An operator's outputs are unknown because something about its inputs is."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation of a graph, with the inferred values of its inputs."""

    env: ShapeEnv
    kind: str
    inputs: Sequence[Value | None]
    outputs: int
    attributes: Mapping[str, object]
    version: int
    """The operator set's version."""

    def has(self, index: int) -> bool:
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int) -> Value:
        """An input.

        Raises:
            ShapeError: it is missing.
        """
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is None:
            raise ShapeError(f"input {index} is missing")
        return value

    def shape(self, index: int) -> Shape:
        """The sizes of an input.

        Raises:
            NotKnown: its rank is unknown.
        """
        shape = self.value(index).shape
        if shape is None:
            raise NotKnown(f"input {index} has an unknown number of axes")
        return shape

    def optional_shape(self, index: int) -> Shape | None:
        return self.shape(index) if self.has(index) else None

    def elements(self, index: int) -> np.ndarray | None:
        """The known elements of an input; None if they are unknown or the input is missing."""
        return self.value(index).elements if self.has(index) else None

    def numbers(self, index: int) -> list[Int] | None:
        """The known elements of an input as a list."""
        elements = self.elements(index)
        return None if elements is None else list(elements.reshape(-1).tolist())

    def needed(self, index: int, what: str) -> list[Int]:
        """The elements of an input.

        Raises:
            NotKnown: they are unknown.
        """
        numbers = self.numbers(index)
        if numbers is None:
            raise NotKnown(f"{what} are known only when the model runs")
        return numbers

    def plain(self, index: int, what: str) -> list[int]:
        """The elements of an input, which must be constants.

        Raises:
            NotKnown: they are not.
        """
        numbers = self.needed(index, what)
        if any(isinstance(number, SymInt) for number in numbers):
            raise NotKnown(f"{what} are known only when the model runs")
        if not all(isinstance(number, int) for number in numbers):
            raise ShapeError(f"{what} are not integers")
        return [int(number) for number in numbers]

    def count(self, index: int) -> int:
        """The number of elements of an input that lists sizes.

        Raises:
            NotKnown: the value is unknown.
        """
        shape = self.shape(index)
        if len(shape) != 1:
            raise ShapeError(f"input {index} has {len(shape)} axes: expected a vector")
        if not isinstance(shape[0], int):
            raise NotKnown("how many axes there are is known only when the model runs")
        if shape[0] > MOST_AXES:
            raise NotKnown(f"an array of {shape[0]} axes")
        return shape[0]

    def listed(self, index: int, attribute: str, what: str) -> list[int] | None:
        """Constants that are an attribute in older operator sets and an input in newer ones; None for neither."""
        if self.has(index):
            return self.plain(index, what)
        return self.integers(attribute)

    def integer(self, name: str, default: int = 0) -> int:
        """An attribute that is an integer.

        Raises:
            ShapeError: it is something else.
        """
        found = self.attributes.get(name, default)
        if not isinstance(found, int):
            raise ShapeError(f"{name}={_shown(found)}: expected an integer")
        return found

    def integers(self, name: str) -> list[int] | None:
        """An attribute that is a list of integers, or None."""
        found = self.attributes.get(name)
        if found is None:
            return None
        if not isinstance(found, Iterable) or not all(isinstance(number, int) for number in found):
            raise ShapeError(f"{name}={_shown(found)}: expected a list of integers")
        return list(found)

    def text(self, name: str, default: str = "") -> str:
        """An attribute that is text."""
        found = self.attributes.get(name, default)
        if not isinstance(found, bytes | str):
            raise ShapeError(f"{name}={_shown(found)}: expected text")
        return found.decode(errors="replace") if isinstance(found, bytes) else found

    def axis(self, rank: int, default: int = 0, name: str = "axis") -> int:
        """An axis counted from the front."""
        axis = self.integer(name, default)
        if not -rank <= axis < rank:
            raise ShapeError(f"{name}={axis}: expected one of {-rank} to {rank - 1}")
        return axis % rank

    def one(self, name: str, *args: object, **kwargs: object) -> Shape:
        """The only output of a rule."""
        found = rules[name](self.env, *args, **kwargs)
        if not isinstance(found, Shape):
            raise ShapeError(f"{name} gives several outputs")
        return found

    def unknown_size(self, at_most: Int | None = None) -> SymInt:
        """A new unbacked size."""
        size = self.env.unbacked(lo=0)
        if at_most is not None:
            self.env.postulate(size <= at_most)
        return size

    def moved(self, shape: Shape, move: Callable[[np.ndarray], np.ndarray]) -> Value:
        """A value of this shape; with the first input's elements moved, if they are known and few."""
        elements = self.elements(0)
        return Value(shape) if elements is None or not few(shape) else computed(move(elements), shape.dtype)


class Operators:
    """Operators by domain and type."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Operator, bool]] = {}

    def __call__(self, *kinds: str, partial: bool = False) -> Callable[[Operator], Operator]:
        """Register a function for these types. A `partial` one accepts inputs of unknown rank."""

        def register(function: Operator) -> Operator:
            for kind in kinds:
                if kind in self._found:
                    raise ValueError(f"{kind} is registered already")
                self._found[kind] = function, partial
            return function

        return register

    def __contains__(self, kind: object) -> bool:
        return kind in self._found

    def names(self) -> list[str]:
        return sorted(self._found)

    def run(self, node: Node) -> list[Value]:
        """The outputs of a node.

        Raises:
            NotKnown: too little is known of its inputs.
            ShapeError: the operator rejects them.
        """
        function, partial = self._found[node.kind]
        if not partial and any(value is not None and value.shape is None for value in node.inputs):
            raise NotKnown("an input has an unknown number of axes")
        result = function(node)
        outputs = [result] if isinstance(result, Value | Shape) else list(result)
        values = [
            UNKNOWN if output is None else output if isinstance(output, Value) else Value(output) for output in outputs
        ]
        for size in [size for value in values if value.shape is not None for size in value.shape]:
            if not isinstance(size, SymInt) and (not isinstance(size, int) or size < 0):
                raise ShapeError(f"{size} is not a size")
        return values


operator: Final = Operators()


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
