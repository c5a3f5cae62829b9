"""The graph of a program as captured by torch, and the text of graphs with fewer operators.

    >>> import torch
    >>> from frontends.pytorch.minifier.programs import Operators
    >>> operators = Operators(lambda x: torch.relu(x @ x).view(x.shape[0] * 2, -1), (torch.ones(2, 2),))
    >>> program = operators.program(operators.module.graph)
    >>> print(program.text)
    def program(arg0_1):
        mm = torch.ops.aten.mm.default(arg0_1, arg0_1)
        relu = torch.ops.aten.relu.default(mm)
        sym_size_int = arg0_1.size(0)
        mul = sym_size_int * 2
        view = torch.ops.aten.view.default(relu, [mul, -1])
        return (view,)
    >>> [str(fact) for fact in program.facts]
    ['mark_maybe_dynamic(arg0_1, 0)', 'mark_maybe_dynamic(arg0_1, 1)']

Torch's own capture is used (`make_fx`), since ours may be what fails. The result of a removed operator becomes an
input. Numbers are never inputs: their computation is kept as long as it is used, so that sizes remain those of tensors.

A script reproduces a failure with only torch and this package. If random elements fail too, it draws them from a seed;
otherwise it has the elements as bytes:

    >>> print(tensor_text(torch.tensor([[1.0, float("nan")]])))
    torch.frombuffer(bytearray(base64.b64decode("AACAPwAAwH8=")), dtype=torch.float32).view(1, 2)
    >>> tensor_text(torch.zeros(2, 3), seeded=True)
    'torch.randn(2, 3, dtype=torch.float32)'
"""

from __future__ import annotations

import base64
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import torch
from torch import fx
from torch.fx.graph_module import _format_import_block
from torch.package import sys_importer
from torch.utils._pytree import tree_flatten, tree_unflatten

from frontends.pytorch.errors import rejected
from frontends.pytorch.minifier.failures import Failure, Settings, observed
from frontends.pytorch.variants.marks import ATTRIBUTE, Mark, marks_of
from shapes.choices import Choice

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
    """A graph as a function.

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
    """Runs a program operator by operator, and keeps copies of the results by name."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.values: dict[str, Any] = {}

    def run_node(self, node: fx.Node) -> Any:
        found = super().run_node(node)
        self.values[node.name] = copied(found) if isinstance(found, torch.Tensor) else found
        return found


class Operators:
    """The operators of a program with their results.

    Attributes:
        module: the graph.
        given: its inputs, the tensors among the arguments and a module's parameters.
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
        self.given = [leaves[place] for place in indices]

        def flat(*tensors: torch.Tensor) -> list[object]:
            values = list(leaves)
            for place, tensor in zip(indices, tensors):
                values[place] = tensor
            positional, named = tree_unflatten(values, structure)
            found, _ = tree_flatten(fn(*positional, **named))
            return [each for each in found if isinstance(each, torch.Tensor)]

        self.module = captured(flat, self.given)
        self._facts = dict(self._facts_of(dynamic))
        self._lift_attributes()
        interpreter = Keeping(self.module)
        interpreter.run(*map(copied, self.given))
        self._values = interpreter.values

    def _lift_attributes(self) -> None:
        """Make a module's parameters inputs of the graph."""
        graph = self.module.graph
        for node in [each for each in graph.nodes if each.op == "get_attr"]:
            self.given.append(getattr(self.module, node.target))
            node.op, node.target = "placeholder", node.name
            graph.find_nodes(op="placeholder")[len(self.given) - 2].append(node)

    def _facts_of(self, dynamic: bool | None) -> Iterator[tuple[str, list[Fact]]]:
        """The symbolic sizes of each tensor: marked ones of arguments, and those derived from them."""
        symbols: set[object] = set()
        given = iter(self.given)
        for node in self.module.graph.nodes:
            found = node.meta.get("val")
            shape = found.shape if isinstance(found, torch.Tensor) else ()
            sizes = {axis: size for axis, size in enumerate(shape) if isinstance(size, torch.SymInt)}
            if node.op == "placeholder":
                tensor = next(given)
                choices = dict.fromkeys(range(tensor.dim()), Choice("dynamic")) if dynamic else {}
                choices |= {axis: mark.choice for axis, mark in marks_of(tensor).items()}
                choices = {axis: choice for axis, choice in choices.items() if choice.kind != "static"}
                symbols.update(*[size.node.expr.free_symbols for axis, size in sizes.items() if axis in choices])
            else:
                axes = [axis for axis, size in sizes.items() if symbols & size.node.expr.free_symbols]
                choices = dict.fromkeys(axes, Choice("dynamic"))
            yield node.name, [Fact(node.name, axis, choice) for axis, choice in choices.items()]

    def program(self, graph: fx.Graph) -> Program:
        """The program of a graph with fewer operators, whose inputs are results of these."""
        code = graph.python_code("self")
        text = FORWARD.sub(r"def program(\1):", FREED.sub("", code.src)).strip()
        scope = dict(code.globals)
        try:
            exec(compile(text, "<program>", "exec"), scope)
        except SyntaxError as error:
            _cannot(str(error.text).strip())
        names = tuple([node.name for node in graph.find_nodes(op="placeholder")])
        return Program(
            text,
            _format_import_block(code.globals, sys_importer),
            names,
            tuple([fact for name in names for fact in self._facts[name]]),
            tuple([self._values[name] for name in names]),
            scope["program"],
        )


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
        if node.target in SIZES:
            node.op, node.target = "call_method", SIZES[node.target]
        elif node.op == "get_attr" and not isinstance(getattr(found, node.target), torch.Tensor):
            _cannot(f"{node.target}, of the class {type(getattr(found, node.target)).__name__}")
        elif node.op == "output":
            node.args = (tuple(node.args[0]),)
    return found


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
    rejected(f"minify(): a script cannot show {what}", fix)


# ---------------------------------------------------------------------- scripts


def script(program: Program, inputs: str, failure: Failure, settings: Settings, preamble: str) -> str:
    """The script's text: the program, its inputs with facts about their sizes, and the failing check."""
    if failure.kind == "specializes":
        check = """guards = [str(guard) for variant in compiled.variants for guard in variant.guards]
assert not guards, f"specializes: {guards}\""""
    else:
        near = f"rtol={settings.rtol}, atol={settings.atol}, equal_nan=True"
        check = f"torch.testing.assert_close(found, expected, {near})"
    return f'''"""symshape with torch {torch.__version__} {failure}"""

from __future__ import annotations

import base64

import torch
from torch.utils._pytree import tree_leaves
{program.imports.strip()}
from frontends.pytorch import compile, mark_dynamic, mark_maybe_dynamic, mark_unbacked

{preamble.strip()}
torch.set_grad_enabled({torch.is_grad_enabled()})
torch.set_default_dtype({torch.get_default_dtype()})


{program.text}


{inputs}


{inspect.getsource(observed)}

expected = observed(program, inputs())
compiled = compile(program, backend={settings.backend!r}, dynamic=False, fullgraph=True)
found = observed(compiled, inputs())
{check}
'''


def inputs_text(names: Sequence[str], facts: Sequence[Fact], tensors: Sequence[str]) -> str:
    """The text of a function that creates the inputs."""
    lines = ["def inputs():", "    torch.manual_seed(0)"]
    lines += [f"    {name} = {text}" for name, text in zip(names, tensors)]
    lines += [f"    {fact}" for fact in facts]
    return "\n".join([*lines, f"    return [{', '.join(names)}]"])


def inputs_of(text: str) -> Callable[[], list[torch.Tensor]]:
    """The function that creates the inputs."""
    from frontends.pytorch.variants import marks

    scope: dict[str, Any] = {"torch": torch, "base64": base64, **vars(marks)}
    exec(compile(text, "<inputs>", "exec"), scope)
    found: Callable[[], list[torch.Tensor]] = scope["inputs"]
    return found


def tensor_text(x: torch.Tensor, *, seeded: bool = False) -> str:
    """A tensor as Python text: with its elements, or with random ones where most are valid, unlike indices."""
    sizes = ", ".join(map(str, x.shape)) or "()"
    if seeded and (x.is_floating_point() or x.is_complex()):
        text = f"torch.randn({sizes}, dtype={x.dtype})"
    elif seeded and x.dtype is torch.bool:
        text = f"torch.rand({sizes}) < 0.5"
    else:
        elements = x.detach().resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8)
        data = base64.b64encode(bytes(elements.tolist())).decode()
        text = f'torch.frombuffer(bytearray(base64.b64decode("{data}")), dtype={x.dtype}).view({sizes})'
    if not x.is_contiguous():
        text = f"torch.empty_strided({tuple(x.shape)}, {x.stride()}, dtype={x.dtype}).copy_({text})"
    return f"{text}.requires_grad_()" if x.requires_grad else text
