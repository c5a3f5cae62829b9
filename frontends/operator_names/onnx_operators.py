"""ONNX's operators by type: `onnx["Conv"](env, x, weight, strides=[2, 2])`. Needs the package `onnx`.

Inputs are shapes, or plain lists of numbers for inputs that hold numbers (the target of Reshape); attributes are
keyword arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from frontends.onnx import Node, Refused, Value, operator
from frontends.onnx.values import vector
from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules import Shape

OPSET: Final = 21


class Operator:
    """The rule of one type of node."""

    def __init__(self, kind: str) -> None:
        self.name = kind

    def __call__(
        self, env: ShapeEnv, *inputs: object, outputs: int = 1, opset: int = OPSET, **attributes: object
    ) -> Shape | tuple[Shape | None, ...] | None:
        """The shapes of the outputs, a single one bare.

        Raises:
            Refused: the operator does not accept the inputs.
        """
        values = [_value(one) for one in inputs]
        try:
            found = operator.run(Node(env, self.name, values, outputs, attributes, opset))
        except ShapeError as refusal:
            shown = ", ".join([str(one) for one in inputs] + [f"{key}={value}" for key, value in attributes.items()])
            raise Refused(f"onnx.{self.name}({shown}): {refusal}") from refusal
        shapes = tuple([value.shape for value in found])
        return shapes[0] if len(shapes) == 1 else shapes


class Operators(Mapping[str, Operator]):
    """Operators by type."""

    def __getitem__(self, kind: str) -> Operator:
        if kind not in operator:
            raise KeyError(kind)
        return Operator(kind)

    def __iter__(self) -> Iterator[str]:
        return iter(operator.names())

    def __len__(self) -> int:
        return len(operator.names())


def _value(given: object) -> Value | None:
    """An input: sizes in a tuple, numbers in a list."""
    if given is None or isinstance(given, Value):
        return given
    if isinstance(given, list):
        return vector(given)
    return Value(given if isinstance(given, Shape) else Shape(given if isinstance(given, Sequence) else ()))


onnx: Final = Operators()
