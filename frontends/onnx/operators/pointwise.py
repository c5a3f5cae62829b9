"""Elementwise operators, unary and broadcasting. Symbolic integers are folded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from frontends.onnx.nodes import Node, NotKnown, operator
from frontends.onnx.values import INTEGERS, Value, computed, few, scalar
from shapes.errors import NotExpressible
from shapes.rules import Shape
from shapes.rules.broadcasting import agree, broadcast, known
from shapes.rules.structure import at_least
from shapes.symbolic.choices import Int, Truth, sym_and, sym_int, sym_ite, sym_max, sym_min, sym_not, sym_or
from shapes.symbolic.numbers import SymBool, SymInt

SAME: Final = (
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Celu", "Cos", "Cosh", "CumSum", "Elu", "Erf",
    "Exp", "Gelu", "HardSigmoid", "HardSwish", "Hardmax", "LeakyRelu", "Log", "LogSoftmax", "LpNormalization",
    "MeanVarianceNormalization", "Mish", "Reciprocal", "Relu", "Selu", "Shrink", "Sigmoid", "Sign", "Sin",
    "Sinh", "Softmax", "Softplus", "Softsign", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Trilu", "LRN",
    "Bernoulli", "CumProd", "RotaryEmbedding", "TensorScatter",
)  # fmt: skip
"""The output has the first input's shape. Their other inputs are not checked."""


@operator(*SAME)
def same(node: Node) -> Shape:
    """The sizes of the first input."""
    return Shape(node.shape(0), dtype=node.shape(0).dtype)


@operator("PRelu")
def prelu(node: Node) -> Shape:
    """The sizes of the first input, to which the slopes broadcast."""
    x = node.shape(0)
    return Shape(broadcast(node.env, x, node.shape(1)), dtype=x.dtype)


@operator("ReverseSequence")
def reverse_sequence(node: Node) -> Shape:
    """The sizes of the first input; a length for each batch."""
    x = node.shape(0)
    agree(node.env, node.shape(1)[0], x[node.axis(len(x), 1, "batch_axis")], "there is not one length for each batch")
    return Shape(x, dtype=x.dtype)


@operator("IsNaN", "IsInf")
def is_special(node: Node) -> Shape:
    """A truth value for each element."""
    return Shape(node.shape(0), dtype="bool")


def _identity(number: object) -> object:
    return number


FLOATS: Final[dict[str, np.ufunc]] = {
    "Abs": np.abs, "Ceil": np.ceil, "Floor": np.floor, "Neg": np.negative, "Round": np.rint, "Sqrt": np.sqrt,
}  # fmt: skip
"""Constant folding of floats."""

NUMBERS: Final[dict[str, Callable[[Int], Int]]] = {
    "Abs": lambda x: sym_max(x, -x), "Ceil": lambda x: x, "Floor": lambda x: x, "Neg": lambda x: -x,
    "Round": lambda x: x,
}  # fmt: skip
"""Folding of symbolic integers."""


@operator("Abs", "Ceil", "Floor", "Neg", "Round", "Sqrt")
def unary(node: Node) -> Value:
    """The sizes of the input, and its folded elements."""
    x, elements = node.shape(0), node.elements(0)
    if elements is None:
        return Value(Shape(x, dtype=x.dtype))
    if elements.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return computed(FLOATS[node.kind](elements), x.dtype)
    if node.kind not in NUMBERS:
        return Value(Shape(x, dtype=x.dtype))
    return computed(_each(NUMBERS[node.kind], elements), x.dtype)


@operator("Identity", "Dropout")
def identity(node: Node) -> list[Value]:
    """The input itself, and for Dropout a mask."""
    value = node.value(0)
    return [value, Value(Shape(node.shape(0), dtype="bool"))][: node.outputs]


@operator("Not")
def negated(node: Node) -> Value:
    x, elements = node.shape(0), node.elements(0)
    return Value(Shape(x, dtype="bool"), None if elements is None else _each(sym_not, elements))


@operator("Cast", "CastLike")
def cast(node: Node) -> Value:
    """The sizes of the input; elements that the new type can represent are kept."""
    x, elements = node.shape(0), node.elements(0)
    if node.kind == "CastLike":
        dtype = node.shape(1).dtype
    else:
        from frontends.onnx.graphs import dtype_name

        dtype = dtype_name(node.integer("to"))
    shape = Shape(x, dtype=dtype)
    if elements is None or dtype is None:
        return Value(shape)
    return Value(shape, _converted(node, elements, dtype))


def _converted(node: Node, elements: np.ndarray, dtype: str) -> np.ndarray | None:
    """Convert elements to another type."""
    if node.value(0).is_constant:
        try:
            found: np.ndarray = elements.astype(np.dtype(dtype))
        except (TypeError, ValueError, OverflowError):
            return None
        return found if found.dtype.kind == "f" else found.astype(object)
    if dtype == "bool":
        return _each(lambda one: one if isinstance(one, bool | SymBool) else _settled(node, one != 0), elements)
    return _each(sym_int, elements) if dtype in INTEGERS else None


# ---------------------------------------------------------------------- several inputs


def _truncated(node: Node) -> Callable[[Int, Int], Int]:
    """Division of integers towards zero."""

    def divided(a: Int, b: Int) -> Int:
        if at_least(a, 0) and at_least(b, 0):
            return a // b
        if not at_least(b, 0):
            a, b = -a, -b
        if not at_least(b, 1):
            raise NotKnown("the sign of a divisor is known only when the model runs")
        return sym_ite(a >= 0, a // b, -(-a // b))

    return divided


def _remainder(node: Node) -> Callable[[Int, Int], Int]:
    """The remainder with the divisor's sign, or with fmod=1 with the dividend's."""

    def rest(a: Int, b: Int) -> Int:
        if node.integer("fmod") and not (at_least(a, 0) and at_least(b, 0)):
            raise NotKnown("the signs of numbers are known only when the model runs")
        return a % b

    return rest


def _power(node: Node) -> Callable[[Int, Int], Int]:
    def power(a: Int, b: Int) -> Int:
        if isinstance(b, SymInt) or b < 0:
            raise NotKnown("an exponent is known only when the model runs")
        if b > 64 and not (isinstance(a, int) and a in (-1, 0, 1)):
            raise NotKnown("a power beyond 64 bits")
        return a**b

    return power


def _compared(test: Callable[[Int, Int], Truth]) -> Callable[[Node], Callable[[Int, Int], Truth]]:
    """A comparison; a constant if the facts decide it."""
    return lambda node: lambda a, b: _settled(node, test(a, b))


def _plainly(function: Callable[..., object]) -> Callable[[Node], Callable[..., object]]:
    return lambda node: function


BINARY: Final[dict[str, Callable[[Node], Callable[..., object]]]] = {
    "Add": _plainly(lambda a, b: a + b),
    "Sub": _plainly(lambda a, b: a - b),
    "Mul": _plainly(lambda a, b: a * b),
    "Div": _truncated,
    "Mod": _remainder,
    "Pow": _power,
    "Max": _plainly(sym_max),
    "Min": _plainly(sym_min),
    "Sum": _plainly(lambda a, b: a + b),
    "And": _plainly(sym_and),
    "Or": _plainly(sym_or),
    "Xor": _compared(lambda a, b: a != b),
    "Equal": _compared(lambda a, b: a == b),
    "Less": _compared(lambda a, b: a < b),
    "LessOrEqual": _compared(lambda a, b: a <= b),
    "Greater": _compared(lambda a, b: a > b),
    "GreaterOrEqual": _compared(lambda a, b: a >= b),
}
"""Folding of binary operators on symbolic integers or truth values."""

OPAQUE: Final = ("Mean", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
TRUTHS: Final = ("And", "Or", "Xor", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")

PLAIN: Final[dict[str, np.ufunc]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power, "Max": np.maximum,
    "Min": np.minimum, "Sum": np.add, "Equal": np.equal, "Less": np.less, "LessOrEqual": np.less_equal,
    "Greater": np.greater, "GreaterOrEqual": np.greater_equal,
}  # fmt: skip
"""Constant folding of binary operators on floats."""


@operator(*BINARY, *OPAQUE)
def broadcasting(node: Node) -> Value:
    """The sizes to which all inputs broadcast."""
    inputs = [node.shape(index) for index in range(len(node.inputs))]
    dtype = "bool" if node.kind in TRUTHS else inputs[0].dtype
    shape = Shape(broadcast(node.env, *inputs), dtype=dtype)
    elements = [node.elements(index) for index in range(len(node.inputs))]
    known = [one for one in elements if one is not None]
    if len(known) < len(elements) or node.kind in OPAQUE or not few(shape):
        return Value(shape)
    result = _folded(node, known)
    return Value(shape) if result is None else computed(result, dtype)


def _folded(node: Node, elements: list[np.ndarray]) -> object:
    """The folded elements of the output, or None."""
    if any(one.dtype.kind == "f" for one in elements):
        if node.kind not in PLAIN or not all(one.dtype.kind == "f" for one in elements):
            return None
        with np.errstate(all="ignore"):
            found = _reduced(PLAIN[node.kind], elements)
        return np.asarray(found).astype(object) if node.kind in TRUTHS else found
    try:
        return _reduced(np.frompyfunc(BINARY[node.kind](node), 2, 1), elements)
    except (NotKnown, NotExpressible, ZeroDivisionError):
        return None


def _reduced(function: np.ufunc, elements: list[np.ndarray]) -> object:
    result: object = elements[0]
    for other in elements[1:]:
        result = function(result, other)
    return result


@operator("Where")
def where(node: Node) -> Value:
    """The sizes to which the condition and both choices broadcast."""
    shape = Shape(broadcast(node.env, *[node.shape(index) for index in range(3)]), dtype=node.shape(1).dtype)
    elements = [node.elements(index) for index in range(3)]
    if any(one is None or one.dtype.kind == "f" for one in elements) or not few(shape):
        return Value(shape)
    return computed(np.frompyfunc(sym_ite, 3, 1)(*elements), shape.dtype)


@operator("Clip")
def clip(node: Node) -> Value:
    """The sizes of the input; integers are clamped."""
    x, elements = node.shape(0), node.elements(0)
    bounds = [node.numbers(index) if node.has(index) else [] for index in (1, 2)]
    if elements is None or elements.dtype.kind == "f" or None in bounds:
        return Value(Shape(x, dtype=x.dtype))
    low, high = bounds
    for number in low or ():
        elements = _each(lambda one, least=number: sym_max(one, least), elements)
    for number in high or ():
        elements = _each(lambda one, most=number: sym_min(one, most), elements)
    return computed(elements, x.dtype)


def _each(function: Callable[..., object], elements: np.ndarray) -> np.ndarray:
    """A function of every element."""
    found = np.frompyfunc(function, 1, 1)(elements)
    return found if isinstance(found, np.ndarray) else scalar(found)


def _settled(node: Node, p: Truth) -> Truth:
    """A truth value; a constant if the facts decide it."""
    found = known(node.env, p)
    return p if found is None else found


