"""The operators of a program as captured by torch, and the text of programs with a subset of them.

    >>> import torch
    >>> from frontends.pytorch.minifier.programs import Operators
    >>> operators = Operators(lambda x: torch.relu(x @ x).view(x.shape[0] * 2, -1), (torch.ones(2, 2),))
    >>> [node.name for node in operators.nodes]
    ['mm', 'relu', 'view']
    >>> program = operators.program([operators.nodes[2]])
    >>> print(program.text)
    def program(arg0_1, relu):
        sym_size_int = arg0_1.size(0)
        mul = sym_size_int * 2
        view = torch.ops.aten.view.default(relu, [mul, -1])
        return (view,)
    >>> [given.shape for given in program.inputs()]
    [torch.Size([2, 2]), torch.Size([2, 2])]

Torch's own capture is used (`make_fx`), since ours may be what fails. The result of a removed operator becomes an
input. Numbers are never inputs: their computation is kept as long as it is used, so that sizes remain those of tensors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import torch
from torch import fx
from torch.fx.graph_module import _format_import_block
from torch.package import sys_importer
from torch.utils._pytree import tree_flatten, tree_unflatten

from frontends.pytorch.errors import rejected
from frontends.pytorch.recording.inputs import Choice
from frontends.pytorch.variants.marks import ATTRIBUTE, Mark, marks_of

aten: Final = torch.ops.aten
SIZES: Final[Mapping[object, str]] = {
    aten.sym_size.int: "size",
    aten.sym_stride.int: "stride",
    aten.sym_numel.default: "numel",
    aten.sym_storage_offset.default: "storage_offset",
}
"""Operators that read a number of a tensor, with the equivalent method."""
FORWARD: Final = re.compile(r"^\s*def forward\(self(?:, )?(.*)\)\s*:")
FREED: Final = re.compile(r";  (?:\w+ = )+None")


@dataclass(frozen=True, slots=True)
class Fact:
    """A symbolic size of an input, with its bounds."""

    name: str
    axis: int
    choice: Choice

    def __str__(self) -> str:
        choice = self.choice
        bounds = [f"{label}={bound}" for label, bound in (("lo", choice.lo), ("hi", choice.hi)) if bound is not None]
        if choice.kind != "unbacked" and bounds and not choice.strict:
            bounds.append("strict=False")
        kind = "dynamic" if choice.strict or bounds else "maybe_dynamic"
        kind = "unbacked" if choice.kind == "unbacked" else kind
        return f"mark_{kind}({', '.join([self.name, str(self.axis), *bounds])})"


@dataclass(frozen=True, slots=True)
class Program:
    """A program with a subset of the operators.

    Attributes:
        text: a Python function called `program`.
        imports: the statements that it needs.
        names: the names of its inputs.
        facts: the facts about their sizes.
        values: the original inputs.
        call: the function.
    """

    text: str
    imports: str
    names: tuple[str, ...]
    facts: tuple[Fact, ...]
    values: tuple[torch.Tensor, ...]
    call: Callable[..., object]

    def inputs(self, facts: Sequence[Fact] | None = None) -> list[torch.Tensor]:
        """Copies of the inputs, marked by these facts, or all."""
        tensors = list(map(copied, self.values))
        for fact in self.facts if facts is None else facts:
            tensor = tensors[self.names.index(fact.name)]
            setattr(tensor, ATTRIBUTE, marks_of(tensor) | {fact.axis: Mark(fact.choice, str(fact), None)})
        return tensors


class Keeping(fx.Interpreter):
    """Runs a program operator by operator, and keeps copies of the results."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.values: dict[fx.Node, Any] = {}

    def run_node(self, node: fx.Node) -> Any:
        found = super().run_node(node)
        self.values[node] = copied(found) if isinstance(found, torch.Tensor) else found
        return found


class Operators:
    """The operators of a program with their results.

    Attributes:
        nodes: the removable operators, in order.
    """

    def __init__(
        self,
        fn: Callable[..., object],
        args: Sequence[object],
        kwargs: Mapping[str, object] | None = None,
        *,
        dynamic: bool | None = True,
    ) -> None:
        """With `dynamic`, all sizes of the arguments are symbols; otherwise the marked ones.

        Raises:
            ConstraintViolation: torch cannot capture the program, or it has operators that a script cannot express.
        """
        leaves, structure = tree_flatten((tuple(args), dict(kwargs or {})))
        indices = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        given = [leaves[place] for place in indices]

        def flat(*tensors: torch.Tensor) -> list[object]:
            values = list(leaves)
            for place, tensor in zip(indices, tensors):
                values[place] = tensor
            positional, named = tree_unflatten(values, structure)
            found, _ = tree_flatten(fn(*positional, **named))
            return [each for each in found if isinstance(each, torch.Tensor)]

        self._graph = captured(flat, given)
        """Its inputs are the tensors among the arguments; a module's parameters are attributes of it."""
        interpreter = Keeping(self._graph)
        interpreter.run(*map(copied, given))
        self._values = interpreter.values
        self._returned = set(self._graph.graph.output_node().all_input_nodes)
        operators = self._graph.graph.nodes
        self.nodes = [node for node in operators if node.op == "call_function" and self._is_tensor(node)]
        self._facts = dict(self._facts_of(given, dynamic))

    def _is_tensor(self, node: fx.Node) -> bool:
        """Return True if an operator's result can be an input."""
        return isinstance(self._values[node], torch.Tensor)

    def _facts_of(self, given: Sequence[torch.Tensor], dynamic: bool | None) -> Iterator[tuple[fx.Node, list[Fact]]]:
        """The symbolic sizes of each tensor: marked ones of arguments, and those derived from them."""
        symbols: set[object] = set()
        for node, tensor in zip(self._graph.graph.find_nodes(op="placeholder"), given):
            choices = dict.fromkeys(range(tensor.dim()), Choice("dynamic")) if dynamic else {}
            choices |= {axis: mark.choice for axis, mark in marks_of(tensor).items()}
            facts = [Fact(node.name, axis, choice) for axis, choice in choices.items() if choice.kind != "static"]
            sizes = dict(symbolic_sizes(node))
            symbols.update(*[sizes[fact.axis].node.expr.free_symbols for fact in facts if fact.axis in sizes])
            yield node, facts
        for node in self.nodes:
            axes = [axis for axis, size in symbolic_sizes(node) if symbols & size.node.expr.free_symbols]
            yield node, [Fact(node.name, axis, Choice("dynamic")) for axis in axes]

    def program(self, left: Collection[fx.Node]) -> Program:
        """A program with these operators."""
        needed = self._needed(left)
        used = dict.fromkeys([each for node in needed for each in node.all_input_nodes])
        inputs = [node for node in used if node not in needed]
        returned = [
            node
            for node in needed
            if self._is_tensor(node) and (node not in used or node in self._returned)
        ]
        graph = fx.Graph()
        made = {node: graph.placeholder(node.name) for node in inputs}
        for node in needed:
            made[node] = graph.node_copy(node, made.__getitem__)
            if node.target in SIZES:
                made[node].op, made[node].target = "call_method", SIZES[node.target]
        graph.output(tuple([made[node] for node in returned]))
        code = graph.python_code("self")
        text = FORWARD.sub(r"def program(\1):", FREED.sub("", code.src)).strip()
        scope = dict(code.globals)
        try:
            exec(compile(text, "<program>", "exec"), scope)
        except SyntaxError as error:
            _cannot(str(error.text).strip())
        return Program(
            text,
            _format_import_block(code.globals, sys_importer),
            tuple([node.name for node in inputs]),
            tuple([fact for node in inputs for fact in self._facts.get(node, ())]),
            tuple([self._values[node] for node in inputs]),
            scope["program"],
        )

    def _needed(self, left: Collection[fx.Node]) -> list[fx.Node]:
        """These operators and those that compute their non-tensor operands: numbers and tuples."""
        needed, waiting = set(left), list(left)
        while waiting:
            for used in waiting.pop().all_input_nodes:
                if used not in needed and used.op == "call_function" and not self._is_tensor(used):
                    needed.add(used)
                    waiting.append(used)
        return [node for node in self._graph.graph.nodes if node in needed]


def captured(flat: Callable[..., object], given: Sequence[torch.Tensor]) -> fx.GraphModule:
    """Capture the graph of a function of tensors, with symbolic sizes where torch supports them.

    Raises:
        ConstraintViolation: torch cannot capture it, or a script cannot express it.
    """
    # imports much of torch
    from torch.fx.experimental.proxy_tensor import make_fx

    for mode in ("symbolic", "real"):
        try:
            found = make_fx(flat, tracing_mode=mode, _allow_non_fake_inputs=True)(*map(copied, given))
            break
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    else:
        fix = "what fails before there is a graph is in the line that the error names"
        rejected(f"minify(): torch has no graph of the program: {reason}", fix)
    found.graph.eliminate_dead_code()
    for node in found.graph.find_nodes(op="get_attr"):
        if not isinstance(getattr(found, node.target), torch.Tensor):
            _cannot(f"{node.target}, of the class {type(getattr(found, node.target)).__name__}")
    return found


def symbolic_sizes(node: fx.Node) -> Iterator[tuple[int, torch.SymInt]]:
    """The sizes of an operator's result that are symbolic, by axis."""
    found = node.meta.get("val")
    sizes = found.shape if isinstance(found, torch.Tensor) else ()
    return ((axis, size) for axis, size in enumerate(sizes) if isinstance(size, torch.SymInt))


def copied(x: torch.Tensor) -> torch.Tensor:
    """A copy with the same layout, if it does not overlap itself, and with its marks."""
    with torch.no_grad():
        if x.layout is not torch.strided or any(stride == 0 and size > 1 for size, stride in zip(x.shape, x.stride())):
            made = x.detach().clone()
        else:
            made = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(x)
    return made.requires_grad_(x.requires_grad)


def _cannot(what: str) -> NoReturn:
    fix = "a program of operators, tensors and plain values"
    rejected(f"minify(): a script can not show {what}", fix)
