"""Stretches of operators between two places where a program leaves the graph, found again on later calls.

    >>> import torch
    >>> from frontends.pytorch.breaks.segments import Stretches, one_after_the_other
    >>> stretches = Stretches(one_after_the_other)
    >>> here = stretches.root
    >>> here = here.after((torch.ops.aten.relu.default, (("tensor", 0),), (), (False, True)), [])
    >>> here.after((torch.ops.aten.sin.default, (("tensor", 1),), (), (False, True)), []).depth
    2

All stretches that a program has run form a prefix tree. An edge is an operator with the shape of its arguments: which
earlier value each tensor is, and everything that is no number. Numbers (sizes, starts, factors) are a node's `holes`: a
constant as long as it never differed, then an input of the graph. So a stretch is found whatever the sizes are, and the
graph runs exactly the operators that the program asked for, on the numbers that it asked for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import torch
from torch import fx

from backends import eager
from frontends.pytorch.breaks.pending import Kind

Shape: TypeAlias = tuple[object, ...]
"""An argument: ("tensor", number of the value), ("hole",), ("list", ...), or ("constant", type, value)."""
Edge: TypeAlias = tuple[object, Shape, Shape, Shape]
"""An operator, its positional arguments, its named ones as (name, argument), and which of what it gives is new."""
Run: TypeAlias = Callable[[Sequence[Kind], Sequence[object]], Sequence[torch.Tensor]]
"""From what its tensors are, and the tensors with the numbers that vary behind them, to the values that are needed."""
Compile: TypeAlias = Callable[[fx.GraphModule], Run]

MOST_SEGMENTS: Final = 256


class Varies:
    """A number that was not the same on all calls."""

    def __repr__(self) -> str:
        return "varies"


VARIES: Final = Varies()


@dataclass(slots=True, eq=False)
class Place:
    """A point in the tree: the operators up to here are `path()`."""

    parent: Place | None = None
    edge: Edge | None = None
    holes: list[object] = field(default_factory=list)
    outputs: tuple[int, ...] = ()
    """Where in what the operator gives are new values."""
    inputs: int = 0
    """How many values it takes that are new to the stretch; they are numbered before its own."""
    listed: bool = False
    """Whether it gives them as a list or tuple."""
    depth: int = 0
    children: dict[Edge, Place] = field(default_factory=dict)
    segment: Segment | None = None

    def after(self, edge: Edge, numbers: Sequence[object]) -> Place:
        """Where this operator leads to; a number that differs from all calls so far becomes an input of the graph."""
        found = self.children.get(edge)
        if found is None:
            found = self.children[edge] = Place(self, edge, list(numbers), depth=self.depth + 1)
            return found
        holes = found.holes
        for place, number in enumerate(numbers):
            held = holes[place]
            if held is not VARIES and (held != number or type(held) is not type(number)):
                holes[place] = VARIES
        return found

    def path(self) -> list[Place]:
        """The places on the way here, without the root."""
        found: list[Place] = []
        place = self
        while place.parent is not None:
            found.append(place)
            place = place.parent
        found.reverse()
        return found


@dataclass(frozen=True, slots=True)
class Segment:
    """A captured stretch as a graph: tensors and then the numbers that vary in, the values that are needed out."""

    graph: fx.GraphModule
    run: Run
    holes: tuple[object, ...]
    """What the numbers of all its operators were when it was made, those that vary among them."""
    outputs: tuple[int, ...]


class Stretches:
    """The tree of a program, and how many graphs there are."""

    def __init__(self, compile: Compile) -> None:
        self.root: Final = Place()
        self.segments: list[Segment] = []
        self._compile = compile

    def segment(self, place: Place, needed: Sequence[int]) -> tuple[Segment, list[object], bool] | None:
        """The graph of the operators up to here, the states of its holes, and whether it was there before.

        None where there are too many graphs already.
        """
        path = place.path()
        holes = tuple([hole for each in path for hole in each.holes])
        found = place.segment
        if found is not None and same(found.holes, holes) and set(needed) <= set(found.outputs):
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
    """A graph as it is."""
    run = eager.runner(graph)
    return lambda kinds, values: run(values)


def same(one: Sequence[object], other: Sequence[object]) -> bool:
    """Whether these are the same numbers: 1, 1.0 and True are three."""
    return len(one) == len(other) and all(a is b or (type(a) is type(b) and a == b) for a, b in zip(one, other))


def argument(shape: Shape, values: Sequence[object], number: Callable[[], object]) -> object:
    """An argument by its shape: one of the values, the next number, a list, or a constant."""
    match shape[0]:
        case "tensor":
            return values[shape[1]]
        case "hole":
            return number()
        case "list":
            return [argument(item, values, number) for item in shape[1:]]
    return shape[2]


def arguments(
    edge: Edge, values: Sequence[object], number: Callable[[], object]
) -> tuple[tuple[object, ...], dict[str, object]]:
    """The arguments of an operator, positional and named."""
    _, positional, named, _ = edge
    args = tuple([argument(shape, values, number) for shape in positional])
    return args, {name: argument(shape, values, number) for name, shape in named}


def graph_of(path: Sequence[Place], outputs: Sequence[int]) -> fx.GraphModule:
    """The operators on the way to a place as a graph."""
    graph = fx.Graph()
    values: list[fx.Node | None] = []
    for each in path:
        for _ in range(each.inputs):
            values.append(graph.placeholder(f"input_{len(values)}"))
        values += [None] * len(each.outputs)
    inputs = [place for place, value in enumerate(values) if value is not None]
    holes = [hole for each in path for hole in each.holes]
    # all placeholders come before the first operator
    filled = [graph.placeholder(f"number_{place}") if hole is VARIES else hole for place, hole in enumerate(holes)]
    numbers = iter(filled)
    count = 0
    for each in path:
        count += each.inputs
        assert each.edge is not None
        node = graph.call_function(each.edge[0], *arguments(each.edge, values, numbers.__next__))
        for place in each.outputs:
            values[count] = graph.call_function(operator.getitem, (node, place)) if each.listed else node
            count += 1
    graph.output([values[place] for place in outputs])
    made = fx.GraphModule(torch.nn.Module(), graph)
    made.meta["inputs"] = inputs
    return made


def one_by_one(place: Place, inputs: Sequence[object], numbers: Sequence[object]) -> list[object]:
    """The values on the way to a place, run without a graph of their own."""
    left, given = iter(inputs), iter(numbers)
    values: list[object] = []
    for each in place.path():
        values += [next(left) for _ in range(each.inputs)]
        assert each.edge is not None
        args, named = arguments(each.edge, values, given.__next__)
        output = each.edge[0](*args, **named)
        values += [output[position] if each.listed else output for position in each.outputs]
    return values
