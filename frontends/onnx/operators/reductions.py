"""Reductions over some axes, or over all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from frontends.onnx.nodes import Node, operator
from frontends.onnx.values import Value, computed, objects
from shapes.rules import Shape
from shapes.rules.axes import axes_of, reduced
from shapes.symbolic.choices import Int, sym_max, sym_min

FOLDS: Final[dict[str, Callable[[Int, Int], Int]]] = {
    "ReduceSum": lambda a, b: a + b,
    "ReduceProd": lambda a, b: a * b,
    "ReduceMax": sym_max,
    "ReduceMin": sym_min,
}
"""Folding of reductions over symbolic integers, pairwise."""


@operator(
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip
def reduce(node: Node) -> Value:
    """The input's sizes without the reduced axes, or with size 1 for them."""
    x, elements = node.shape(0), node.elements(0)
    keep = bool(node.integer("keepdims", 1))
    if node.has(1) and node.numbers(1) is None:
        if keep:
            return Value(Shape([size if size == 1 else node.unknown_size() for size in x.sizes], dtype=x.dtype))
        node.plain(1, "axes")
    axes = node.listed(1, "axes", "axes")
    if not axes and node.integer("noop_with_empty_axes"):
        return node.value(0)
    over = axes_of(axes or None, len(x), "axes")
    result = Shape(reduced(x, over, keep), dtype=x.dtype)
    if elements is None or elements.dtype.kind == "f" or node.kind not in FOLDS or len(over) < len(x):
        return Value(result)
    numbers = elements.reshape(-1).tolist()
    if not numbers:
        return Value(result)
    total = numbers[0]
    for number in numbers[1:]:
        total = FOLDS[node.kind](total, number)
    return computed(objects([total], [1] * len(x) if keep else []), x.dtype)


