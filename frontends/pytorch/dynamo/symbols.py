"""Torch's facts about the sizes of a graph's inputs: which are symbols, and their relations.

    >>> import torch
    >>> from frontends.pytorch.dynamo.symbols import GraphSizes
    >>> seen = []
    >>> def look(module, inputs):
    ...     seen.append(GraphSizes(module.graph))
    ...     return module.forward
    >>> f = torch.compile(lambda x: x * 2, backend=look, dynamic=True)
    >>> out = f(torch.randn(3, 3))
    >>> [str(seen[0].expressions["L_x_", axis]) for axis in (0, 1)], str(seen[0].choice("L_x_", 0).kind)
    (['s77', 's77'], 'dynamic')

Dynamo calls a graph only if torch's guards hold. Still, torch's facts are assumptions of the variant, tested by its
compiled check like any stated relation: so a variant's correctness does not depend on torch's guards, and the check
costs nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sympy
import torch
from torch._dynamo.source import TensorProperty, TensorPropertySource

from frontends.pytorch.recording.inputs import STATIC, Choice, Input
from shapes.env import ShapeEnv
from shapes.errors import Contradiction, ShapeError
from shapes.origin import Origin
from solver.errors import NotExpressible
from solver.interop.sympy import from_sympy
from solver.syntax.parser import Parsed
from solver.syntax.printer import text_of
from solver.terms.expr import Expr

NUMBER: Final = -1
"""The axis number that denotes an integer input."""


class GraphSizes:
    """Torch's facts about the sizes and integers among a graph's inputs.

    Attributes:
        expressions: sizes in torch's symbols, by the input's name and the axis.
    """

    def __init__(self, graph: torch.fx.Graph) -> None:
        self.expressions: dict[tuple[str, int], sympy.Expr] = {}
        self._shapes: Any = None
        for node in graph.find_nodes(op="placeholder"):
            value = node.meta.get("example_value")
            sizes = {NUMBER: value} if isinstance(value, torch.SymInt) else {}
            if isinstance(value, torch.Tensor):
                sizes = dict(enumerate(value.shape))
            for axis, size in sizes.items():
                if isinstance(size, torch.SymInt):
                    self._shapes = size.node.shape_env
                    self.expressions[str(node.target), axis] = size.node.expr
                else:
                    self.expressions[str(node.target), axis] = sympy.Integer(size)

    def choice(self, name: str, axis: int) -> Choice | None:
        """How a size is treated; None if torch has no fact about it."""
        expression = self.expressions.get((name, axis))
        if expression is None:
            return None
        if expression.is_number:
            return STATIC
        lo, hi = self._range(expression) if expression.is_Symbol else (None, None)
        return Choice("dynamic", lo=lo, hi=hi)

    def _range(self, symbol: sympy.Expr) -> tuple[int | None, int | None]:
        found = self._shapes.var_to_range.get(symbol)
        if found is None:
            return None, None
        lower, upper = [int(end) if end.is_Integer else None for end in (found.lower, found.upper)]
        return lower, upper

    def check(self, shapes: Mapping[str, Sequence[int]], place: Origin | None) -> None:
        """Nothing is checked here: for sizes that violate torch's facts, the graph has another variant."""

    def assume(self, env: ShapeEnv, inputs: Sequence[Input]) -> None:
        """Assume the facts in a variant."""
        words = {
            (given.name, path[1]): env.names[symbol]
            for given in inputs
            for symbol, path in given.symbols
            if path[0] == ".shape"
        }
        for name, axis in self.expressions:
            if axis == NUMBER and name in env.names:
                words[name, axis] = env.names[name]
        homes: dict[str, Expr] = {}
        rest = []
        # sizes of tensors first, where graphs read them
        for place, expression in sorted(self.expressions.items(), key=lambda each: each[0][1] == NUMBER):
            if place in words and expression.is_Symbol and str(expression) not in homes:
                homes[str(expression)] = words[place]
            elif place in words and not expression.is_number:
                rest.append((words[place], expression))
        facts = [(f"{text_of(word)} == ", expression) for word, expression in rest]
        facts += [("", guard.expr) for guard in (self._shapes.guards if self._shapes is not None else ())]
        for side, expression in facts:
            known = read(expression, env, homes)
            if known is None:
                continue
            try:
                env.assume(side + known)
            except (Contradiction, ShapeError):
                # torch has no facts about this call's sizes
                continue


def read_off_tensors(graph: torch.fx.Graph) -> None:
    """Replace size inputs by sizes read off tensors: then equal sizes are one symbol, and `view(-1, n)` has a symbol as
    size rather than a quotient of products."""
    inputs = graph.find_nodes(op="placeholder")
    sources = [getattr(node.meta.get("grapharg"), "source", None) for node in inputs]
    tensors = {
        source.name: node
        for node, source in zip(inputs, sources)
        if source is not None and isinstance(node.meta.get("example_value"), torch.Tensor)
    }
    for node, source in zip(inputs, sources):
        if not isinstance(source, TensorPropertySource) or source.prop is not TensorProperty.SIZE or not node.users:
            continue
        tensor = tensors.get(source.base.name)
        if tensor is not None:
            with graph.inserting_after(inputs[-1]):
                size = graph.call_method("size", (tensor, source.idx))
            size.meta["example_value"] = node.meta.get("example_value")
            node.replace_all_uses_with(size)


def read(expression: sympy.Basic, env: ShapeEnv, homes: Mapping[str, Expr]) -> str | None:
    """Translate an expression or proposition of torch to text over a variant's sizes; None if there is no exact
    form."""
    try:
        parsed = from_sympy(expression, env.interner, homes)
    except NotExpressible:
        return None
    return text_of(parsed.prop if isinstance(parsed, Parsed) else parsed.expr)
