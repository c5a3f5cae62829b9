"""Torch's facts about the sizes of a graph's inputs: which are symbols, and their relations.

    >>> import torch
    >>> from frontends.pytorch.dynamo.graph_sizes import GraphSizes
    >>> seen = []
    >>> def look(module, inputs):
    ...     seen.append(GraphSizes(module.graph))
    ...     return module.forward
    >>> f = torch.compile(lambda x: x * 2, backend=look, dynamic=True)
    >>> out = f(torch.randn(3, 3))
    >>> [str(seen[0].expressions["x", axis]) for axis in (0, 1)], seen[0].choose("x", 0, 3).kind
    (['s77', 's77'], 'dynamic')

Dynamo calls a graph only if torch's guards hold. Still, torch's facts are assumptions of the variant, tested by its
compiled check like any stated relation: so a variant's correctness does not depend on torch's guards, and the check
costs nanoseconds.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import sympy
import torch
from torch._dynamo.source import TensorProperty, TensorPropertySource

from frontends.pytorch.recording.inputs import Dynamism, Input
from frontends.pytorch.shape_env import EngineShapeEnv
from frontends.pytorch.shape_env.translation import word
from shapes.choices import DYNAMIC, STATIC, Choice
from shapes.env import ShapeEnv
from shapes.environment.symbols import RESERVED, free_name
from shapes.errors import ShapeError
from solver.syntax.printer import text_of

NAME: Final = re.compile(r"[A-Za-z_]\w*")
READS: Final = {
    TensorProperty.SIZE: "size",
    TensorProperty.STRIDE: "stride",
    TensorProperty.STORAGE_OFFSET: "storage_offset",
}
NUMBER: Final = -1
"""The axis number that denotes an integer input."""


class GraphSizes(Dynamism):
    """Torch's facts about the sizes and integers among a graph's inputs: symbols where torch has made them so.

    Attributes:
        expressions: sizes in torch's symbols, by the input's name and the axis.
        names: of the inputs, in order: those of the program where it has them.
        is_complete: True if the last variant tests all facts about sizes that Dynamo's guards test.
    """

    def __init__(self, graph: torch.fx.Graph) -> None:
        self.names = names_of(graph)
        self.expressions: dict[tuple[str, int], sympy.Expr] = {}
        self._shapes: Any = None
        self.is_complete = False
        self._places: dict[str, tuple[str, int]] = {}
        """Inputs and axes by torch's name of the source."""
        for name, node in zip(self.names, graph.find_nodes(op="placeholder")):
            value = node.meta.get("example_value", node.meta.get("val"))
            source = getattr(node.meta.get("grapharg"), "source", None)
            sizes = {NUMBER: value} if isinstance(value, torch.SymInt) else {}
            if isinstance(value, torch.Tensor):
                sizes = dict(enumerate(value.shape))
            for axis, size in sizes.items():
                if source is not None:
                    self._places[source.name if axis == NUMBER else f"{source.name}.size()[{axis}]"] = name, axis
                if isinstance(size, torch.SymInt):
                    self._shapes = size.node.shape_env
                    self.expressions[name, axis] = size.node.expr
                else:
                    self.expressions[name, axis] = sympy.Integer(size)

    def choose(self, name: str, axis: int, size: int) -> Choice:
        expression = self.expressions.get((name, axis))
        if expression is None or expression.is_number:
            return STATIC
        if not isinstance(self._shapes, EngineShapeEnv):
            return DYNAMIC
        symbols, known = self._shapes.symbols, self._shapes.engine.symbols
        marked = [source for source, choice in symbols.choices.items() if choice.strict]
        ours = symbols.ours.get(expression)
        declared = [known[atom] for atom in ours.symbols if atom in known] if ours is not None else []
        # a lower bound of 0 for sizes is none, as empty tensors have variants
        lo, hi = (declared[0].lo or None, declared[0].hi) if declared else (None, None)
        # no variant makes a size with a strict mark a constant
        return Choice("dynamic", lo, hi, strict=(name, axis) in map(self._places.get, marked))

    def is_varying(self, name: str, value: float) -> bool:
        return math.isfinite(value)

    def settle(self, env: ShapeEnv, inputs: Sequence[Input]) -> None:
        """Commit to the guards under which Dynamo has read the program, with the lines that asked.

        Of an environment that is not ours nothing is known, so the variant asks for itself.
        """
        shapes = self._shapes
        self.is_complete = isinstance(shapes, EngineShapeEnv | None)
        if not isinstance(shapes, EngineShapeEnv):
            return
        sizes = {
            (given.name, int(path[1])): symbol
            for given in inputs
            for symbol, path in given.symbols
            if path[0] == ".shape"
        }
        sizes.update({(name, NUMBER): name for name, axis in self.expressions if axis == NUMBER and name in env.names})
        words: dict[str, str] = {}
        for symbol, ours in shapes.symbols.ours.items():
            places = [self._places.get(source.name) for source in shapes.var_to_sources.get(symbol, ())]
            known = [sizes[place] for place in places if place in sizes]
            if ours is not None and known:
                words[text_of(ours)] = known[0]
        equal = []
        # sizes of tensors first, where graphs read them
        for place, expression in sorted(self.expressions.items(), key=lambda each: each[0][1] == NUMBER):
            if place in sizes and not expression.is_number:
                ours = shapes.expression(expression)
                text = "" if ours is None else text_of(ours)
                if text and expression.is_Symbol:
                    words.setdefault(text, sizes[place])
                equal.append((sizes[place], text))

        def learn(how: Callable[[str], object], text: str, begin: str = "") -> None:
            if text and set(NAME.findall(text)) - RESERVED <= words.keys():
                # torch has no facts about the sizes of this call, for which it may be false
                with contextlib.suppress(ShapeError):
                    how(begin + NAME.sub(lambda found: words.get(found[0], found[0]), text))
            else:
                self.is_complete = False

        for guard in (*shapes.engine.preconditions(), *shapes.engine.guards()):
            with env.at(guard.origin):
                learn(env.guard, guard.fact.text)
        for size, text in equal:
            if words.get(text) != size:
                learn(lambda fact: env.proves(fact) or env.assume(fact), text, f"{size} == ")


def environment_of(graph: torch.fx.Graph) -> object | None:
    """The ShapeEnv of a graph's inputs; None if none has symbols."""
    for node in graph.find_nodes(op="placeholder"):
        value = node.meta.get("example_value", node.meta.get("val"))
        if isinstance(value, torch.SymInt):
            return value.node.shape_env
        mode = getattr(value, "fake_mode", None)
        if mode is not None:
            return mode.shape_env
    return None


def names_of(graph: torch.fx.Graph) -> list[str]:
    """A name for each input of a graph: by its source, or the node's name."""
    names: list[str] = []
    for node in graph.find_nodes(op="placeholder"):
        source = getattr(node.meta.get("grapharg"), "source", None)
        names.append(free_name(word(str(node.target) if source is None else source.name), names, "arg_"))
    return names


def read_off_tensors(graph: torch.fx.Graph) -> None:
    """Replace inputs that are sizes, strides or offsets of tensors by reads of these: then equal sizes are one symbol,
    and `view(-1, n)` has a symbol as size rather than a quotient of products."""
    inputs = graph.find_nodes(op="placeholder")
    sources = [getattr(node.meta.get("grapharg"), "source", None) for node in inputs]
    tensors = {
        source.name: node
        for node, source in zip(inputs, sources)
        if source is not None and isinstance(node.meta.get("example_value"), torch.Tensor)
    }
    for node, source in zip(inputs, sources):
        tensor = tensors.get(source.base.name) if isinstance(source, TensorPropertySource) else None
        if tensor is None or source is None:
            continue
        if node.users:
            with graph.inserting_after(inputs[-1]):
                number = graph.call_method(READS[source.prop], (tensor, *([] if source.idx is None else [source.idx])))
            number.meta["example_value"] = node.meta.get("example_value")
            node.replace_all_uses_with(number)
        # the calling code, which is generated later, does not pass it
        graph.erase_node(node)
