"""Another compiler that embeds `ShapeEnv`: graphs of arrays to plain Python, one variant for many sizes.

    >>> graph = Graph()
    >>> x, scale = graph.input("x", "rows", "columns"), graph.input("scale", "columns")
    >>> program = Compiled(graph, relu(x * scale))
    >>> program(x=Array((2, 4), [1, -2, 3, -4, 5, -6, 7, -8]), scale=Array((4,), [1, 1, 2, 2]))
    Array((2, 4), [1, 0, 6, 0, 5, 0, 14, 0])
    >>> program(x=Array((1, 8), range(8)), scale=Array((8,), [1] * 8)).sizes, len(program.variants)
    ((1, 8), 1)
    >>> program(x=Array((3, 3), range(9)), scale=Array((3,), [1, 1, 1])).sizes, len(program.variants)
    ((3, 3), 2)
    >>> for variant in program.variants:
    ...     print([str(guard) for guard in variant.env.guards()], variant.decisions)
    ['columns*rows % 4 == 0'] ['v2: 4 at a time', 'scale: 64-bit offsets', 'v3: 4 at a time']
    [] ['v2: 1 at a time', 'scale: 64-bit offsets', 'v3: 1 at a time']

A compiler needs this from the engine, in the order of this file:

1. shapes: every operator runs the rule of its name on symbols, which also says what the sizes have to satisfy;
2. decisions: `env.ask` whether something always holds. Where it depends, a decision that pays is *guarded*, if it is
   right this time; one that does not pay takes the general form and leaves no guard;
3. dispatch: a variant serves every size that its guards accept, not just those it was compiled for.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from shapes import Always, Never, ShapeEnv
from shapes.environment.layout import contiguous_strides, numel
from shapes.guards.dispatch import Dispatch
from shapes.rules import Shape, rules
from shapes.symbolic.choices import Int

# ---------------------------------------------------------------------- arrays and graphs


class Array:
    """Elements in a row, and sizes."""

    def __init__(self, sizes: Sequence[int], elements: Iterable[float]) -> None:
        self.sizes, self.elements = tuple(sizes), list(elements)
        assert len(self.elements) == prod(self.sizes), "as many elements as the sizes say"

    def __repr__(self) -> str:
        return f"Array({self.sizes}, {self.elements})"


@dataclass(frozen=True, eq=False)
class Node:
    """An operation: the name of its rule, what goes in, and its other arguments."""

    graph: Graph
    name: str
    operator: str
    inputs: tuple[Node, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)

    def __add__(self, other: Node) -> Node:
        return self.graph.call("add", self, other)

    def __mul__(self, other: Node) -> Node:
        return self.graph.call("mul", self, other)

    def __matmul__(self, other: Node) -> Node:
        return self.graph.call("mm", self, other)


class Graph:
    """Nodes in the order in which they are computed."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.dims: dict[str, tuple[int | str, ...]] = {}

    def input(self, name: str, *dims: int | str) -> Node:
        """An array with these sizes, symbols by name."""
        self.dims[name] = dims
        return self._added(Node(self, name, "input"))

    def call(self, operator: str, *inputs: Node, **options: object) -> Node:
        return self._added(Node(self, f"v{len(self.nodes)}", operator, inputs, options))

    def _added(self, node: Node) -> Node:
        self.nodes.append(node)
        return node


def relu(x: Node) -> Node:
    return x.graph.call("relu", x)


def total(x: Node, dim: int) -> Node:
    """The sum over one axis."""
    return x.graph.call("sum", x, dim=dim)


def reshape(x: Node, *shape: int) -> Node:
    return x.graph.call("reshape", x, shape=shape)


# ---------------------------------------------------------------------- one variant


ELEMENTWISE: Mapping[str, str] = {"add": "{} + {}", "mul": "{} * {}", "relu": "max({}, 0)"}
UNROLLED = 4


class Variant:
    """The code for all sizes that its guards accept."""

    def __init__(self, graph: Graph, output: Node, sizes: Mapping[str, int]) -> None:
        self.env = ShapeEnv()
        self.decisions: list[str] = []
        self.lines: list[str] = []
        symbols = {name: self.env.symbol(name, lo=1, hi=2**40, hint=size) for name, size in sizes.items()}
        self.shapes: dict[Node, Shape] = {}
        for node in graph.nodes:
            if node.operator == "input":
                dims = [symbols[dim] if isinstance(dim, str) else dim for dim in graph.dims[node.name]]
                self.shapes[node] = Shape(dims)
            else:
                self.shapes[node] = self.inferred(node)
                self.write(node)
        results = ", ".join([str(size) for size in self.shapes[output]])
        self.line(0, f"return Array(({results}{',' * (len(self.shapes[output]) == 1)}), {output.name})")
        parameters = [*graph.dims, *symbols]
        self.source = "\n".join([f"def kernel({', '.join(parameters)}):", *self.lines])
        self.kernel = loaded(self.source)

    def inferred(self, node: Node) -> Shape:
        """The sizes of a node, by the rule of its operator; what that needs becomes a guard."""
        found = rules[node.operator](self.env, *[self.shapes[one] for one in node.inputs], **node.options)
        assert isinstance(found, Shape)
        return found

    # ------------------------------------------------------------------ decisions

    def always(self, question: object) -> bool:
        """Return True if it holds for every size that this variant accepts. Asking leaves no trace."""
        return question is True or isinstance(self.env.ask(question), Always)  # type: ignore[arg-type]

    def worth_a_guard(self, question: object) -> bool:
        """Return True if it holds; where that depends, this time's sizes decide, and a guard keeps others away."""
        if self.always(question):
            return True
        if isinstance(self.env.ask(question), Never) or not self.env.hint(question):  # type: ignore[arg-type]
            return False
        return self.env.guard(question)  # type: ignore[arg-type]

    def step(self, node: Node, count: Int) -> int:
        """Choose the elements that a loop handles per iteration: more than one only without a remainder."""
        step = UNROLLED if self.worth_a_guard(count % UNROLLED == 0) else 1
        self.decisions.append(f"{node.name}: {step} at a time")
        return step

    def place(self, operand: Node, shape: Shape) -> str:
        """The place at which an operand's element for element i of the result is: at i, or in a table of offsets."""
        own = self.shapes[operand]
        if len(own) == len(shape) and all(self.always(a == b) for a, b in zip(own, shape)):
            return "i"
        terms = []
        strides, steps = contiguous_strides(own), contiguous_strides(shape)
        for axis in range(1, len(own) + 1):
            if self.always(own[-axis] == 1):
                continue  # broadcast whatever the size: this axis is always at 0
            index = f"i // ({steps[-axis]}) % ({shape[-axis]}) * ({strides[-axis]})"
            moves = self.always(own[-axis] == shape[-axis])
            terms.append(index if moves else f"({index} if ({own[-axis]}) != 1 else 0)")
        bits = 32 if isinstance(self.env.fits(numel(own), 32), Always) else 64
        self.decisions.append(f"{operand.name}: {bits}-bit offsets")
        table = f"array({'i' if bits == 32 else 'q'!r}, [{' + '.join(terms) or 0} for i in range({numel(shape)})])"
        self.line(0, f"at_{operand.name} = {table}")
        return f"at_{operand.name}[i]"

    # ------------------------------------------------------------------ code

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def write(self, node: Node) -> None:
        """The statements that compute a node."""
        if node.operator in ELEMENTWISE:
            self.write_elementwise(node)
        elif node.operator == "mm":
            a, b = node.inputs
            (rows, inner), columns = self.shapes[a], self.shapes[b][1]
            product = f"{a.name}[r * ({inner}) + k] * {b.name}[k * ({columns}) + c]"
            each = f"for r in range({rows}) for c in range({columns})"
            self.line(0, f"{node.name} = [sum([{product} for k in range({inner})]) {each}]")
        elif node.operator == "sum":
            (x,), shape = node.inputs, self.shapes[node.inputs[0]]
            axis = int(str(node.options["dim"])) % len(shape)
            before, size, behind = numel(shape[:axis]), shape[axis], numel(shape[axis + 1 :])
            element = f"{x.name}[(o * ({size}) + k) * ({behind}) + j]"
            each = f"for o in range({before}) for j in range({behind})"
            self.line(0, f"{node.name} = [sum([{element} for k in range({size})]) {each}]")
        else:
            self.line(0, f"{node.name} = {node.inputs[0].name}")  # reshape: the same elements in a row

    def write_elementwise(self, node: Node) -> None:
        shape = self.shapes[node]
        count, step = numel(shape), self.step(node, numel(shape))
        elements = [f"{one.name}[{self.place(one, shape)}]" for one in node.inputs]
        self.line(0, f"{node.name} = [0] * ({count})")
        self.line(0, f"for first in range(0, {count}, {step}):")
        for offset in range(step):
            self.line(1, f"i = first + {offset}" if offset else "i = first")
            self.line(1, f"{node.name}[i] = {ELEMENTWISE[node.operator].format(*elements)}")


def loaded(source: str) -> Callable[..., Array]:
    """The function that some text defines."""
    scope: dict[str, object] = {"Array": Array, "array": array, "ceildiv": lambda a, b: -(-a // b)}
    exec(source, scope)
    kernel = scope["kernel"]
    assert callable(kernel)
    return kernel


# ---------------------------------------------------------------------- all variants


class Compiled:
    """A graph as a function: sizes that no variant accepts yet get one more."""

    def __init__(self, graph: Graph, output: Node) -> None:
        self.graph, self.output = graph, output
        self.variants: list[Variant] = []
        self.names = list(dict.fromkeys(dim for dims in graph.dims.values() for dim in dims if isinstance(dim, str)))
        self.dispatch: Dispatch[Variant] = Dispatch(self.names)

    def __call__(self, **arrays: Array) -> Array:
        sizes = self.bound(arrays)
        variant = self.dispatch.lookup(*sizes.values())
        if variant is None:
            variant = Variant(self.graph, self.output, sizes)
            self.variants.append(variant)
            self.dispatch.add(variant.env, variant, sources={name: name for name in self.names})
        return variant.kernel(*[arrays[name].elements for name in self.graph.dims], *sizes.values())

    def bound(self, arrays: Mapping[str, Array]) -> dict[str, int]:
        """The sizes that the symbols stand for in this call."""
        sizes: dict[str, int] = {}
        for name, dims in self.graph.dims.items():
            given = arrays[name].sizes
            if len(given) != len(dims):
                raise TypeError(f"{name} has {len(given)} axes: expected {len(dims)}")
            for dim, size in zip(dims, given):
                wanted = sizes.setdefault(dim, size) if isinstance(dim, str) else dim
                if wanted != size:
                    raise TypeError(f"{name} has the size {size} where {dim} is {wanted}")
        return {name: sizes[name] for name in self.names}
