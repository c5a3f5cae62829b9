"""Segments of operators between two graph breaks, recognized on later calls by a prefix tree.

    >>> import torch
    >>> from frontends.pytorch.breaks.segments import TENSOR, Step, Stretches, one_after_the_other
    >>> stretches = Stretches(one_after_the_other)
    >>> relu, sin = [Step(each.default, (TENSOR,)) for each in (torch.ops.aten.relu, torch.ops.aten.sin)]
    >>> stretches.root.after(relu, (0,), [], inputs=1).after(sin, (1,), []).depth
    2

All segments that a program has run form a prefix tree. An edge is an operator with its arguments except numbers, and
with the operand index of each tensor. Numbers (sizes, offsets, factors) are a node's `holes`: constants until they
differ, then inputs of the graph. So a segment is found for any sizes, and its graph runs exactly the program's
operators on the program's numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import torch
from torch import fx

from backends import eager
from frontends.pytorch.breaks.kinds import Kind

Shape: TypeAlias = tuple[Any, ...]
"""An argument: `TENSOR`, ("hole", type), ("list", ...), or ("constant", type, text, value)."""
Run: TypeAlias = Callable[[Sequence[Kind], Sequence[object]], Sequence[torch.Tensor]]
"""Maps the tensors' metadata, and the tensors followed by the varying numbers, to the live values."""
Compile: TypeAlias = Callable[[fx.GraphModule], Run]

MOST_SEGMENTS: Final = 256


class Varies:
    """A number that differed between calls."""

    def __repr__(self) -> str:
        return "varies"


VARIES: Final = Varies()
TENSOR: Final[Shape] = ("tensor",)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """An operator with its arguments' shape.

    Attributes:
        named: keyword arguments.
        outputs: the indices of new values in its result.
        listed: whether the result is a list or tuple.
    """

    target: Callable[..., object]
    positional: tuple[Shape, ...]
    named: tuple[tuple[str, Shape], ...] = ()
    outputs: tuple[int, ...] = (0,)
    listed: bool = False

    def arguments(
        self, tensors: Iterable[object], numbers: Iterator[object]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """Its positional and keyword arguments, filled with the next tensors and numbers."""
        given = iter(tensors)
        args = tuple([argument(shape, given, numbers) for shape in self.positional])
        return args, {name: argument(shape, given, numbers) for name, shape in self.named}


@dataclass(slots=True, eq=False)
class TreeNode:
    """A node of the tree: `path()` has the operators up to here."""

    parent: TreeNode | None = None
    step: Step | None = None
    operands: tuple[int, ...] = ()
    """The value indices of its tensor operands."""
    inputs: int = 0
    """The number of new inputs among them; they are numbered before its results."""
    holes: list[object] = field(default_factory=list)
    depth: int = 0
    children: dict[tuple[Step, tuple[int, ...]], TreeNode] = field(default_factory=dict)
    segment: Segment | None = None

    def after(self, step: Step, operands: tuple[int, ...], numbers: Sequence[object], inputs: int = 0) -> TreeNode:
        """The child for an operator; a number that differs from earlier calls becomes an input of the graph."""
        found = self.children.get((step, operands))
        if found is None:
            found = TreeNode(self, step, operands, inputs, list(numbers), self.depth + 1)
            self.children[step, operands] = found
            return found
        holes = found.holes
        for place, number in enumerate(numbers):
            if holes[place] is not number and not is_same(holes[place], number):
                holes[place] = VARIES
        return found

    def path(self) -> list[TreeNode]:
        """The nodes from the root, exclusive, to here."""
        found: list[TreeNode] = []
        place = self
        while place.parent is not None:
            found.append(place)
            place = place.parent
        found.reverse()
        return found


@dataclass(frozen=True, slots=True)
class Segment:
    """A captured segment as a graph: from tensors and varying numbers to the live values."""

    graph: fx.GraphModule
    run: Run
    holes: tuple[object, ...]
    """The state of all holes when the graph was built."""
    outputs: tuple[int, ...]


class Stretches:
    """The prefix tree of a program, and its number of graphs."""

    def __init__(self, compile: Compile) -> None:
        self.root: Final = TreeNode()
        self.segments: list[Segment] = []
        self._compile = compile

    def segment(self, place: TreeNode, needed: Sequence[int]) -> tuple[Segment, list[object], bool] | None:
        """The graph of the operators up to here, the states of its holes, and whether it existed before.

        None if there are too many graphs.
        """
        path = place.path()
        holes = tuple([hole for each in path for hole in each.holes])
        found = place.segment
        if found is not None and all(map(is_same, found.holes, holes)) and set(needed) <= set(found.outputs):
            return found, list(holes), True
        if len(self.segments) >= MOST_SEGMENTS:
            return None
        outputs = tuple(sorted({*needed, *(found.outputs if found is not None else ())}))
        graph = graph_of(path, outputs)
        made = Segment(graph, self._compile(graph), holes, outputs)
        if found is not None:
            self.segments.remove(found)
        self.segments.append(made)
        place.segment = made
        return made, list(holes), False


def one_after_the_other(graph: fx.GraphModule) -> Run:
    """A graph without compilation."""
    run = eager.runner(graph)
    return lambda kinds, values: run(values)


def is_same(one: object, other: object) -> bool:
    """Whether two numbers are identical: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    return one is other or (type(one) is type(other) and one == other and (bool(one) or str(one) == str(other)))


def argument(shape: Shape, tensors: Iterator[object], numbers: Iterator[object]) -> object:
    """An argument by its shape: the next tensor, the next number, a list, or a constant."""
    match shape[0]:
        case "tensor":
            return next(tensors)
        case "hole":
            return next(numbers)
        case "list":
            return [argument(item, tensors, numbers) for item in shape[1:]]
    return shape[-1]


def graph_of(path: Sequence[TreeNode], outputs: Sequence[int]) -> fx.GraphModule:
    """The operators on a path as a graph."""
    graph = fx.Graph()
    values: list[fx.Node | None] = []
    for each in path:
        assert each.step is not None
        for _ in range(each.inputs):
            values.append(graph.placeholder(f"input_{len(values)}"))
        values += [None] * len(each.step.outputs)
    holes = [hole for each in path for hole in each.holes]
    # placeholders precede all operators
    filled = [graph.placeholder(f"number_{place}") if hole is VARIES else hole for place, hole in enumerate(holes)]
    numbers = iter(filled)
    count = 0
    for each in path:
        count += each.inputs
        step = each.step
        assert step is not None
        node = graph.call_function(step.target, *step.arguments([values[n] for n in each.operands], numbers))
        for place in step.outputs:
            values[count] = graph.call_function(operator.getitem, (node, place)) if step.listed else node
            count += 1
    graph.output([values[place] for place in outputs])
    return fx.GraphModule(torch.nn.Module(), graph)


def one_by_one(place: TreeNode, inputs: Sequence[object], numbers: Sequence[object]) -> list[object]:
    """The values on the path to a node, computed operator by operator."""
    left, given = iter(inputs), iter(numbers)
    values: list[object] = []
    for each in place.path():
        values += [next(left) for _ in range(each.inputs)]
        step = each.step
        assert step is not None
        args, named = step.arguments([values[number] for number in each.operands], given)
        output: Any = step.target(*args, **named)
        values += [output[position] if step.listed else output for position in step.outputs]
    return values
