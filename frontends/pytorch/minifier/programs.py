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
        mul = operator.mul(sym_size_int, 2)
        view = torch.ops.aten.view.default(relu, [mul, -1])
        return (view,)
    >>> [given.shape for given in program.inputs()]
    [torch.Size([2, 2]), torch.Size([2, 2])]

Torch's own capture is used (`make_fx`), since ours may be what fails. The result of a removed operator becomes an
input. Numbers are never inputs: their computation is kept as long as it is used, so that sizes remain those of tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import torch
from torch import fx
from torch.utils._pytree import tree_flatten, tree_unflatten

from frontends.pytorch.errors import rejected
from frontends.pytorch.recording.inputs import Choice
from frontends.pytorch.variants.marks import marks_of

aten: Final = torch.ops.aten
SIZES: Final[Mapping[object, str]] = {
    aten.sym_size.int: "size",
    aten.sym_stride.int: "stride",
    aten.sym_numel.default: "numel",
    aten.sym_storage_offset.default: "storage_offset",
}
"""Operators that read a number of a tensor, with the equivalent method."""
PLAIN: Final = (bool, int, str, type(None), type(Ellipsis), torch.dtype, torch.layout, torch.memory_format)
"""Classes whose values are printed by `repr`."""
MODULES: Final[Mapping[str, str]] = {"_operator": "operator", "builtins": "builtins", "math": "math", "torch": "torch"}
"""The modules of functions that are no operators."""

Choices = dict[int, Choice]


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
        names: the names of its inputs.
        facts: the facts about their sizes.
        inputs: creates the original inputs.
        call: the function.
    """

    text: str
    names: tuple[str, ...]
    facts: tuple[Fact, ...]
    inputs: Callable[[], list[torch.Tensor]]
    call: Callable[..., Sequence[object]] = field(repr=False)


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
        self._values: dict[fx.Node, Any] = {}
        self._run(given)
        self.nodes = [
            node
            for node in self._graph.graph.nodes
            if node.op == "call_function" and (node in self._returned() or is_cut(self._values[node]))
        ]
        self._choices = dict(self._chosen(given, dynamic))

    def _run(self, given: Sequence[torch.Tensor]) -> None:
        """Run the program operator by operator, keeping copies of the results."""
        values = self._values

        class Keeping(fx.Interpreter):
            def run_node(self, node: fx.Node) -> Any:
                found = super().run_node(node)
                values[node] = copied(found) if isinstance(found, torch.Tensor) else found
                return found

        Keeping(self._graph).run(*map(copied, given))

    def _returned(self) -> set[fx.Node]:
        return {node for node in self._graph.graph.output_node().all_input_nodes if node.op == "call_function"}

    def _chosen(self, given: Sequence[torch.Tensor], dynamic: bool | None) -> Iterator[tuple[fx.Node, Choices]]:
        """The symbolic sizes of each tensor: marked ones of arguments, and those derived from them."""
        symbols: set[object] = set()
        every = Choice("dynamic")
        for node, tensor in zip(self._graph.graph.find_nodes(op="placeholder"), given):
            choices = dict.fromkeys(range(tensor.dim()), every) if dynamic else {}
            choices.update({axis: mark.choice for axis, mark in marks_of(tensor).items()})
            choices = {axis: choice for axis, choice in choices.items() if choice.kind != "static"}
            found = node.meta.get("val")
            for axis in choices:
                size = found.shape[axis] if isinstance(found, torch.Tensor) else None
                if isinstance(size, torch.SymInt):
                    symbols |= size.node.expr.free_symbols
            yield node, choices
        for node in self._graph.graph.nodes:
            found = node.meta.get("val")
            if node.op == "call_function" and isinstance(found, torch.Tensor):
                sizes = [(axis, size) for axis, size in enumerate(found.shape) if isinstance(size, torch.SymInt)]
                yield node, {axis: every for axis, size in sizes if not symbols.isdisjoint(size.node.expr.free_symbols)}

    def program(self, left: Collection[fx.Node]) -> Program:
        """A program with these operators."""
        needed = self._needed(left)
        inputs = list(
            dict.fromkeys([used for node in needed for used in node.all_input_nodes if used not in needed])
        )
        used = {each for node in needed for each in node.all_input_nodes}
        returned = [
            node
            for node in needed
            if isinstance(self._values[node], torch.Tensor) and (node not in used or node in self._returned())
        ]
        lines = [f"def program({', '.join([node.name for node in inputs])}):"]
        lines += [f"    {node.name} = {call_text(node)}" for node in needed]
        lines.append(f"    return ({''.join([f'{node.name}, ' for node in returned]).removesuffix(' ')})")
        return self._program("\n".join(lines), inputs)

    def branch(self, condition: str, reads: Mapping[str, tuple[int, int]], line: str) -> Program:
        """A program that only branches on sizes: `reads` are those by name, as (tensor index, axis); `line` is the
        original program's."""
        placeholders = list(self._graph.graph.find_nodes(op="placeholder"))
        nodes = list(dict.fromkeys([placeholders[place] for place, _ in reads.values()]))
        names = [node.name for node in nodes]
        lines = [f"def program({', '.join(names)}):"]
        lines += [f"    {name} = {placeholders[place].name}.size({axis})" for name, (place, axis) in reads.items()]
        returned = f"return ({names[0]} + 1,)"
        lines += [f"    if {condition}:  # {line}", f"        {returned}", f"    {returned}"]
        return self._program("\n".join(lines), nodes)

    def _program(self, text: str, inputs: Sequence[fx.Node]) -> Program:
        names = tuple([node.name for node in inputs])
        chosen = [(node.name, self._choices.get(node, {})) for node in inputs]
        facts = tuple([Fact(name, axis, choice) for name, choices in chosen for axis, choice in choices.items()])
        values = [self._values[node] for node in inputs]
        return Program(text, names, facts, lambda: list(map(copied, values)), defined(text))

    def _needed(self, left: Collection[fx.Node]) -> list[fx.Node]:
        """These operators and those that compute their non-tensor operands: numbers and tuples."""
        needed, waiting = set(left), list(left)
        while waiting:
            for used in waiting.pop().all_input_nodes:
                if used not in needed and used.op == "call_function" and not is_cut(self._values[used]):
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
    for node in found.graph.nodes:
        if node.op == "call_function":
            call_text(node)
        elif node.op == "get_attr" and not isinstance(getattr(found, node.target), torch.Tensor):
            _cannot(f"{node.target}, of the class {type(getattr(found, node.target)).__name__}")
    return found


def is_cut(value: object) -> bool:
    """Return True if an operator's result can be an input."""
    return isinstance(value, torch.Tensor)


def copied(x: torch.Tensor) -> torch.Tensor:
    """A copy with the same layout, if it does not overlap itself, and with its marks."""
    with torch.no_grad():
        if x.layout is not torch.strided or any(stride == 0 and size > 1 for size, stride in zip(x.shape, x.stride())):
            made = x.detach().clone()
        else:
            made = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(x)
    return made.requires_grad_(x.requires_grad)


def defined(text: str) -> Callable[..., Sequence[object]]:
    """The function of a program's text."""
    import builtins
    import operator

    scope: dict[str, Any] = {"torch": torch, "operator": operator, "math": math, "builtins": builtins}
    exec(compile(text, "<program>", "exec"), scope)
    found: Callable[..., Sequence[object]] = scope["program"]
    return found


# ---------------------------------------------------------------------- text


def call_text(node: fx.Node) -> str:
    """A node as Python text."""
    target = node.target
    if target in SIZES:
        tensor, *axes = node.args
        return f"{value_text(tensor)}.{SIZES[target]}({', '.join(map(value_text, axes))})"
    if isinstance(target, torch._ops.OpOverload):
        packet = target._overloadpacket
        namespace, _, name = packet._qualified_op_name.partition("::")
        called = f"torch.ops.{namespace}.{name}.{target._overloadname}"
    else:
        module = MODULES.get(str(getattr(target, "__module__", "")))
        if module is None:
            _cannot(f"{target}")
        called = f"{module}.{target.__name__}"
    given = [value_text(each) for each in node.args]
    given += [f"{name}={value_text(each)}" for name, each in node.kwargs.items()]
    return f"{called}({', '.join(given)})"


def value_text(value: object) -> str:
    """An argument as Python text."""
    if isinstance(value, fx.Node):
        return value.name
    if type(value) in PLAIN:
        return "..." if value is ... else repr(value)
    if type(value) is float:
        return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
    if type(value) is complex:
        return f"complex({value_text(value.real)}, {value_text(value.imag)})"
    if isinstance(value, torch.device):
        return f"torch.device({str(value)!r})"
    if isinstance(value, list):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, tuple):
        return f"({''.join([f'{value_text(each)}, ' for each in value])})"
    if isinstance(value, slice):
        return f"slice({value_text(value.start)}, {value_text(value.stop)}, {value_text(value.step)})"
    _cannot(f"an argument of the class {type(value).__qualname__}")


def _cannot(what: str) -> NoReturn:
    fix = "a program of operators, tensors and plain values"
    rejected(f"minify(): a script can not show {what}", fix)
