"""The backend of `torch.compile`: graphs that Dynamo captures run by our variants and kernels.

    >>> import torch
    >>> from frontends.pytorch.dynamo.backend import symshape
    >>> f = torch.compile(lambda x: (x * 2).relu(), backend=symshape, dynamic=True)
    >>> f(torch.tensor([-1.0, 3.0])), f(torch.tensor([1.0, -2.0, 4.0]))
    (tensor([0., 6.]), tensor([2., 0., 8.]))

Dynamo guards what a program reads; a graph reads only its inputs. Sizes are symbolic where torch has made them so, with
torch's facts about them. A further decision for kernels is a branch here: another variant of the same graph, never
another graph of Dynamo's. A graph that we cannot capture runs operator by operator.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import FunctionType
from typing import Any, Final, NoReturn

import sympy
import torch
from torch._dynamo.exc import TensorifyScalarRestartAnalysis
from torch._guards import TracingContext
from torch.utils._sympy.symbol import SymT, symbol_is_type

from frontends.pytorch.dynamo.autograd_graphs import by_autograd, has_subclasses
from frontends.pytorch.dynamo.captured_frame import without_trial
from frontends.pytorch.dynamo.capturing import Captured, Captures
from frontends.pytorch.dynamo.changed_arguments import changed_arguments, with_copies, written_back
from frontends.pytorch.dynamo.differences import difference
from frontends.pytorch.dynamo.graph_breaks import break_after, is_bucket
from frontends.pytorch.dynamo.graph_function import (
    as_captured,
    function_of,
    given_to,
    graphs_in,
    place_of,
    with_checkpoints,
)
from frontends.pytorch.dynamo.graph_sizes import GraphSizes, read_off_tensors
from frontends.pytorch.dynamo.parts import between_parts, changes_after_branch, in_parts
from frontends.pytorch.errors import GraphBreak, Unsupported, reason_of, refusal, rejected, unsupported
from frontends.pytorch.shape_env.adapter import EngineShapeEnv
from frontends.pytorch.shape_env.errors import UndecidedBranch
from frontends.pytorch.shape_env.marking import SURVIVING, StatedSizes
from frontends.pytorch.source_location import is_users
from frontends.pytorch.variant import Variant
from frontends.pytorch.variants.compiled_graph import FIRST, Call, CompiledGraph
from frontends.pytorch.variants.policy import Policy, check_settings
from shapes.accepted import did_you_mean
from shapes.errors import ShapeError
from shapes.reports.records import Entry

OPTIONS: Final = ("kernels", "backend", "policy", "dynamic")
"""The kernel backend (cpu, triton, eager) by two names, the recompilation `Policy`, and relations of sizes, or a
function that chooses."""
REFUSED: Final = "compile without fullgraph, which runs it as Python"
log: Final = logging.getLogger("symshape")


def symshape(
    module: torch.fx.GraphModule,
    inputs: Sequence[object],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., object]:
    """Compile a graph of Dynamo: `torch.compile(model, backend="symshape", options={"kernels": "cpu"})`.

    Raises no other errors: after a raising backend torch leaves Dynamo's frame evaluation on, and deep recursion
    overflows the stack from then on. Errors are raised by the first call of the graph.

    Raises:
        SkipFrame: Dynamo is known to run the frame differently from eager torch.
    """
    captured = CAPTURES.now()
    # another compiler may call
    return compiled(given(options, mode), module, inputs) if captured is None else capture(captured, module, inputs)


def given(options: Mapping[str, Any] | None = None, mode: str | None = None) -> Captured:
    """A function with these options of torch.compile; its graphs raise the error of an invalid one."""
    options = dict(options or {})
    dynamic, policy = options.get("dynamic"), options.get("policy")
    try:
        for name in options:
            if name not in OPTIONS:
                wrong(f"options={{{name!r}: ...}}", f"{', '.join(OPTIONS)}{did_you_mean(name, OPTIONS)}")
        if mode not in (None, "default"):
            wrong(f"mode={mode!r}", "no mode: what is fast is measured, not chosen")
        if isinstance(dynamic, bool):
            wrong(f"options={{'dynamic': {dynamic}}}", "relations, or a function; the rest is torch.compile's dynamic=")
        check_settings(dynamic=dynamic, fullgraph=False, policy=policy)
        if policy is not None and policy.ranks_timeout:
            wrong("ranks_timeout", "`compile`; with torch.compile set TORCH_COMPILER_COLLECTIVES=1")
        kernels = options.get("kernels", options.get("backend", "cpu"))
        return Captured(backend=kernels, policy=policy or Policy(), stated=StatedSizes(dynamic))
    except ShapeError as error:
        return Captured(error=error)


def capture(captured: Captured, module: torch.fx.GraphModule, inputs: Sequence[object]) -> Callable[..., object]:
    """The callable of a graph that Dynamo has captured of a function.

    Raises:
        SkipFrame: Dynamo is known to run the frame differently from eager torch.
    """
    reason = difference(module, fullgraph=captured.fullgraph)
    if reason and not captured.fullgraph:
        captured.refuse(reason)
    return refused(GraphBreak(refusal(reason, REFUSED, None))) if reason else compiled(captured, module, inputs)


def compiled(captured: Captured, module: torch.fx.GraphModule, inputs: Sequence[object]) -> Callable[..., object]:
    """The callable of a graph, or of the error for which it is not compiled."""
    if captured.error is not None:
        return refused(captured.error)
    try:
        graph = Graph(module, inputs, backend=captured.backend, policy=captured.policy, cause=captured.cause)
    except ShapeError as error:
        return refused(error)
    captured.add(graph)
    return graph.call


CAPTURES: Final = Captures(symshape, given)


def refused(error: ShapeError) -> Callable[..., NoReturn]:
    """A graph that raises the error for which it is not compiled."""

    def call(*args: object) -> NoReturn:
        # a traceback would keep the arguments
        raise type(error)(*error.args)

    return call


def wrong(what: str, expected: str) -> NoReturn:
    rejected(f"{what}: expected {expected}", 'torch.compile(f, backend="symshape")')


class Graph:
    """A graph of Dynamo.

    Attributes:
        module: as Dynamo captured it.
        name: by which Dynamo's generated code calls it; empty if it is a part that torch calls.
        compiled: its variants; None if it runs as it was captured, goes through AOTAutograd, or is in parts.
        parts: the compiled graphs that it consists of: one, or those of AOTAutograd and between conditionals.
        cause: why it was captured.
        ended: the reason and the line of the graph break after it, if any.
        specialized: the sizes that the program has made constants so far, with the lines.
        call: runs it; Dynamo's generated code calls this.
    """

    def __init__(
        self,
        module: torch.fx.GraphModule,
        inputs: Sequence[object] = (),
        *,
        backend: str,
        policy: Policy | None = None,
        cause: str = FIRST,
    ) -> None:
        self.module = module
        self.backend = backend
        self.policy = policy
        self.name: str = "" if is_bucket(module) else module.meta.get("backend_id", "")
        self.cause = cause
        self.ended = break_after(module)
        self.specialized = specialized()
        self.operators = len([node for node in module.graph.nodes if node.op.startswith("call_")])
        self.compiled: CompiledGraph | None = None
        self._reason = ""
        self._sizes: GraphSizes | None = None
        self.call: Callable[..., Any] = as_captured(module)
        self.parts: list[CompiledGraph] = []
        without_trial()
        try:
            if has_subclasses(module):
                self.call = by_autograd(module, inputs, self._runner, self._left)
            else:
                self._compile()
        except (UndecidedBranch, Unsupported) as error:
            # AOTAutograd needs the values of a ragged tensor's lengths
            self._left(error)
        except (ShapeError, TensorifyScalarRestartAnalysis):
            # with the latter torch reads the function again, with a float for a constant
            raise
        except Exception as error:
            self._left(error)

    def _left(self, error: Exception) -> None:
        """Note why the graph runs operator by operator."""
        self._reason = reason_of(error)
        log.warning("runs operator by operator, as Dynamo captured it: %s", self._reason)

    def _compile(self) -> None:
        module = self.module
        with_checkpoints(module)
        floats = frozenset[int]()
        is_whole = not is_bucket(module)
        if is_whole:
            # its calling code is generated later
            floats = unwrapped(module)
            read_off_tensors(module.graph)
        for each in graphs_in(module):
            each.recompile()
        # as it is now
        self.call = with_floats(as_captured(module), floats)
        refuse_effects(module)
        if any(changes_after_branch(each.graph) for each in graphs_in(module)):
            self.call = with_floats(function_of(module.graph, module), floats)
            raise Unsupported("changes memory that a branch before it may have saved for its backward; change a clone")
        self.call = with_floats(self._runner(module, is_whole=is_whole), floats)

    def _runner(self, module: torch.fx.GraphModule, is_whole: bool = False) -> Callable[..., Any]:
        """The callable of this graph, or of one of its parts."""
        if between_parts(module):
            return in_parts(module, self._runner)
        changed = changed_arguments(module.graph)
        compiles = with_copies(module, changed) if changed else module
        sizes = GraphSizes(compiles.graph)
        kind = CompiledGraph if self.ended is None else BrokenGraph
        part = kind(
            function_of(compiles.graph, compiles, sizes.names),
            sizes.names,
            as_captured(compiles),
            backend=self.backend,
            policy=self.policy,
            dynamism=lambda: sizes,
            # which keeps this one in use
            added=self._added,
            is_guarded=is_whole,
        )
        self.parts.append(part)
        if is_whole:
            self.compiled, self._sizes = part, sizes
        return written_back(part, module, changed) if changed else part

    @property
    def variants(self) -> list[Variant]:
        return [variant for part in self.parts for variant in part.variants]

    @property
    def reason(self) -> str:
        """The reason why the graph runs operator by operator; empty if it does not."""
        return self._reason or next((part.reason for part in self.parts if part.reason), "")

    def _added(self, variant: Variant) -> None:
        if self.compiled is not None and self._sizes is not None and not self._sizes.is_complete:
            self.compiled.is_guarded = False
        if len(self.variants) == 1:
            variant.cause = self.cause
        variant.specialized = self.specialized


def specialized() -> tuple[Entry, ...]:
    """The sizes that Dynamo, capturing for this backend, has made constants."""
    from frontends.pytorch.variants.report import specializations

    env = getattr(getattr(TracingContext.try_get(), "fake_mode", None), "shape_env", None)
    return tuple(specializations(env.engine)) if isinstance(env, EngineShapeEnv) else ()


def with_floats(run: Callable[..., Any], places: AbstractSet[int]) -> Callable[..., Any]:
    """A graph whose callers pass tensors in the places of some floats."""

    def call(*args: Any) -> Any:
        return run(*[value.item() if place in places else value for place, value in enumerate(args)])

    return call if places else run


def refuse_effects(module: torch.fx.GraphModule) -> None:
    """Refuse functions that Dynamo leaves in a graph for their effect: a trace would run them once."""
    for node in [node for each in graphs_in(module) for node in each.graph.nodes if not node.users]:
        if isinstance(node.target, FunctionType) and is_users(node.target.__code__.co_filename):
            what = "a function that is allowed in graphs returns nothing"
            unsupported(what, "call it outside of the compiled function", place_of(node))


class BrokenGraph(CompiledGraph):
    """A graph that ends at a graph break: sizes of its outputs that are symbols stay symbols in the next graph."""

    def _missed(self, args: Sequence[object]) -> Call:
        # the next graph is captured after a call for which this one was traced
        call = super()._missed(args)
        known = len(self.variants)

        def noted(args: Sequence[object]) -> Sequence[object]:
            outputs = call(args)
            for value, output in zip(self.variants[known - 1].outputs if known else (), outputs):
                metadata = getattr(value, "metadata", None)
                if metadata is not None and isinstance(output, torch.Tensor):
                    dynamic = [axis for axis, size in enumerate(metadata.shape) if not isinstance(size, int)]
                    SURVIVING[output] = frozenset(dynamic)
            return outputs

        return noted


def unwrapped(module: torch.fx.GraphModule) -> frozenset[int]:
    """Remove the reads of Python floats from a graph and its subgraphs: Dynamo passes floats as tensors that the graph
    reads by `item`. Here it is made to pass the floats, which saves one torch call for each; returns the indices of
    those that are passed as tensors all the same."""
    found = set()
    for place, node in enumerate(module.graph.find_nodes(op="placeholder")):
        given = node.meta.get("grapharg")
        readers = readers_of(module, node) if getattr(given, "pass_arg_as_tensor", False) else None
        if readers is not None:
            for each, tensor in readers:
                each.replace_all_uses_with(tensor)
                each.graph.erase_node(each)
            if is_float(node):
                # the calling code is generated with the graph
                given.pass_arg_as_tensor = False
            else:
                found.add(place)
    return frozenset(found)


def is_float(node: torch.fx.Node) -> bool:
    """Return True if a tensor input is a float of the program, not for example a NumPy scalar."""
    number = getattr(node.meta.get("example_value"), "item_memo", None)
    symbol = number.node._expr if isinstance(number, torch.SymFloat) else None
    return isinstance(symbol, sympy.Symbol) and symbol_is_type(symbol, SymT.FLOAT)


def readers_of(module: torch.fx.GraphModule, node: torch.fx.Node) -> list[tuple[torch.fx.Node, torch.fx.Node]] | None:
    """The nodes that read a tensor's number, also in subgraphs; None if there is another use."""
    found = []
    for user in node.users:
        if user.target == "item":
            found.append((user, node))
            continue
        inside = given_to(module, user, node)
        if inside is None:
            return None
        graph, operands = inside
        for place in operands:
            more = readers_of(graph, place)
            if more is None:
                return None
            found += more
    return list(dict.fromkeys(found))
