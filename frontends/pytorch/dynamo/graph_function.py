"""A graph of Dynamo as a Python function whose frames are the lines of the user's program.

    >>> import torch
    >>> from frontends.pytorch.dynamo.graph_function import function_of
    >>> module = torch.fx.symbolic_trace(lambda x: (x * 2).relu())
    >>> function_of(module.graph, module)(torch.tensor([-1.0, 3.0]))
    tensor([0., 6.])

Dynamo records the program's stack for each node. Each node is called by a generated function whose code location is the
innermost of these lines, so guards, errors and reports name the program, and no code that looks up lines needs to know
about graphs. Dynamo's higher-order operators, whose operands are subgraphs, are called as the functions of torch that a
program calls.
"""

from __future__ import annotations

import ast
import linecache
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Final

import torch
from torch._C._functorch import get_dynamic_layer_stack_depth, pop_dynamic_layer_stack_and_undo_to_depth
from torch._functorch.predispatch import _enter_dual_level, _exit_dual_level
from torch.amp.autocast_mode import _enter_autocast, _exit_autocast
from torch.autograd.grad_mode import _enter_inference_mode, _exit_inference_mode
from torch.utils.checkpoint import checkpoint

from frontends.pytorch.recording.randomness import checkpointed
from frontends.pytorch.source_location import is_users, own_name
from shapes.origin import Origin

FRAME: Final = re.compile(r'^ *File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.*)$', re.MULTILINE)
STEP: Final = "def step(function, args, kwargs): return function(*args, **kwargs)"

LEFT_BY: Final[dict[object, Callable[..., object]]] = {
    _enter_autocast: _exit_autocast,
    _enter_inference_mode: _exit_inference_mode,
    _enter_dual_level: _exit_dual_level,
}

Step = Callable[[Callable[..., object], Sequence[object], dict[str, object]], object]
Place = tuple[str, int, str]


def function_of(
    graph: torch.fx.Graph, module: torch.nn.Module, names: Sequence[str] | None = None
) -> Callable[..., Any]:
    """Convert a graph to a function with these parameters; it reads attributes of `module`."""
    nodes = list(graph.nodes)
    last = {used: node for node in nodes for used in node.all_input_nodes}
    dying: dict[torch.fx.Node, list[torch.fx.Node]] = {}
    for used, node in last.items():
        dying.setdefault(node, []).append(used)
    steps = step_by_place(nodes)
    functions = {node: called(node, module) for node in nodes if node.op not in ("placeholder", "output")}

    def run(values: Sequence[object]) -> object:
        entered: list[tuple[Callable[..., object], object]] = []
        with restored(entered):
            return walk(values, entered)

    def walk(values: Sequence[object], entered: list[tuple[Callable[..., object], object]]) -> object:
        known: dict[torch.fx.Node, Any] = {}
        given = iter(values)
        for node in nodes:
            if node.op == "placeholder":
                known[node] = next(given)
                continue
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), known.__getitem__)
            if node.op == "output":
                return args[0]
            step = steps[node]
            function = functions[node]
            known[node] = function(*args, **kwargs) if step is None else step(function, args, kwargs)
            if function in LEFT_BY:
                entered.append((LEFT_BY[function], known[node]))
            elif entered and function is entered[-1][0]:
                entered.pop()
            for each in dying.get(node, ()):
                del known[each]
        raise AssertionError("a graph has no output node")

    # with named parameters, which name the arguments
    if names is None:
        names = [str(node.target) for node in nodes if node.op == "placeholder"]
    given = ", ".join(names)
    scope: dict[str, Any] = {"run": run}
    exec(f"def forward({given}): return run(({given}{',' if names else ''}))", scope)
    return scope["forward"]


def as_captured(module: torch.fx.GraphModule) -> Callable[..., Any]:
    """A graph that runs operator by operator: where operators change modes of torch, an error restores these."""
    calls = [node for node in module.graph.nodes if node.op == "call_function"]
    has_modes = any(node.meta.get("example_value", node.meta.get("val")) is None for node in calls)
    return function_of(module.graph, module) if has_modes else module.forward


@contextmanager
def restored(entered: Sequence[tuple[Callable[..., object], object]]) -> Iterator[None]:
    """Restore torch's modes if a graph raises: its nodes enter and leave modes.

    `entered` are the active ones, each with its exit function.
    """
    gradients, levels = torch.is_grad_enabled(), get_dynamic_layer_stack_depth()
    forward = torch._C._is_fwd_grad_enabled()
    hooks = torch._C._autograd._saved_tensors_hooks_get_disabled_error_message()
    try:
        yield
    except BaseException:
        for leave, mode in reversed(entered):
            if leave is _exit_dual_level:
                leave(level=mode)
            else:
                leave(mode)
        pop_dynamic_layer_stack_and_undo_to_depth(levels)
        torch._C._set_grad_enabled(gradients)
        torch._C._set_fwd_grad_enabled(forward)
        if hooks is None:
            torch._C._autograd._saved_tensors_hooks_enable()
        raise


def called(node: torch.fx.Node, module: torch.nn.Module) -> Callable[..., object]:
    """The callable of a node."""
    match node.op:
        case "call_function":
            assert callable(node.target)
            return plain(node.target)
        case "call_method":
            return lambda receiver, *args, **kwargs: getattr(receiver, node.target)(*args, **kwargs)
        case "call_module":
            return operator.attrgetter(node.target)(module)
    found = operator.attrgetter(node.target)(module)
    if isinstance(found, torch.fx.GraphModule):
        # the operands of a higher-order operator
        inner = function_of(found.graph, found)
        return lambda: inner
    return lambda: operator.attrgetter(node.target)(module)


def step_by_place(nodes: Sequence[torch.fx.Node]) -> dict[torch.fx.Node, Step | None]:
    """The calling function of each node, for its line of the program, shared by line.

    None if torch has no line.
    """
    made: dict[tuple[Place, ...], Step | None] = {(): None}
    steps = {}
    for node in nodes:
        lines = places_of(node)
        if lines not in made:
            made[lines] = step_at(*lines)
        steps[node] = made[lines]
    return steps


def places_of(node: torch.fx.Node) -> tuple[Place, ...]:
    """The innermost line of the program in a node's stack, and the line of torch that it called."""
    frames = list(frames_of(node))
    users = [frame for frame in frames if is_users(frame[0])]
    return tuple(dict.fromkeys([*users[-1:], *frames[-1:]]))


def place_of(node: torch.fx.Node) -> Origin | None:
    """The line of the program that an operator of a graph stands on: the innermost of its stack."""
    frames = [frame for frame in frames_of(node) if is_users(frame[0])]
    return Origin(*frames[-1]) if frames else None


def frames_of(node: torch.fx.Node) -> Iterator[Place]:
    """The stack of a node, outermost first."""
    for match in FRAME.finditer(node.stack_trace or ""):
        yield match["file"], int(match["line"]), own_name(match["function"])


def step_at(place: Place, *within: Place) -> Step:
    """A function that calls its argument, with this source location; nested for several."""
    file, line, name = place
    tree = ast.parse(STEP)
    text = linecache.getline(file, line).rstrip()
    for each in ast.walk(tree):
        if isinstance(each, ast.expr | ast.stmt | ast.arg):
            each.lineno = each.end_lineno = line
            each.col_offset, each.end_col_offset = len(text) - len(text.lstrip()), len(text.encode())
    scope: dict[str, Any] = {}
    exec(compile(tree, file, "exec"), scope)
    code = scope["step"].__code__.replace(co_name=name.rpartition(".")[2] or name, co_qualname=name)
    step = FunctionType(code, scope)
    if not within:
        return step
    inner = step_at(*within)
    return lambda function, args, kwargs: step(inner, (function, args, kwargs), {})


# ---------------------------------------------------------------------- higher-order operators


def taken(
    predicate: Any, then: Callable[..., Any], otherwise: Callable[..., Any], operands: Sequence[Any] = ()
) -> Any:
    """The branch of a conditional that is taken."""
    return (then if predicate else otherwise)(*operands)


def invoked(graph: Callable[..., Any], name: str, *operands: Any) -> Any:
    """A region that is compiled once and called several times."""
    return graph(*operands)


def applied(
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    *given: Any,
    non_differentiable_idx: Sequence[int] = (),
    saved_for_backward_idx: Sequence[int] = (),
    dirty_idx: Sequence[int] = (),
) -> Any:
    """A custom `autograd.Function`, whose forward returns the results and the saved values."""

    class Applied(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            returned, saved = forward(*args)
            outputs = returned if isinstance(returned, tuple | list) else (returned,)
            watched = [value if place in saved_for_backward_idx else None for place, value in enumerate(saved)]
            ctx.save_for_backward(*watched)
            ctx.others = [None if place in saved_for_backward_idx else value for place, value in enumerate(saved)]
            ctx.mark_dirty(*[outputs[place] for place in dirty_idx])
            ctx.mark_non_differentiable(*[outputs[place] for place in non_differentiable_idx])
            return returned

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            watched = ctx.saved_tensors
            saved = [
                watched[place] if place in saved_for_backward_idx else value for place, value in enumerate(ctx.others)
            ]
            return backward(*gradients, *saved)

    return Applied.apply(*given)


def mapped(body: Callable[..., Any], rows: Sequence[Any], others: Sequence[Any]) -> Any:
    """A function of each row, at once; one that draws random numbers is refused."""
    axes = (*[0] * len(rows), *[None] * len(others))
    results = torch.vmap(body, axes)(*rows, *others)
    return tuple([result.contiguous() for result in results])


def effected(token: Any, call: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """An operator with a side effect, such as an error, and its token."""
    results = call(*args, **kwargs)
    return (token, *results) if isinstance(results, tuple) else (token, results)


PLAIN: Final[dict[str, Callable[..., Any]]] = {
    "autograd_function_apply": applied,
    "cond": taken,
    "invoke_subgraph": invoked,
    "map_impl": mapped,
    "with_effects": effected,
}


def with_checkpoints(module: torch.fx.GraphModule) -> None:
    """Call torch's checkpoint function in a graph: Dynamo's operator draws other random numbers during recomputation,
    unless a compiler decomposes it."""
    for each in graphs_in(module):
        for node in each.graph.find_nodes(op="call_function", target=torch.ops.higher_order.tag_activation_checkpoint):
            node.target = checkpoint
            node.kwargs = {**node.kwargs, "use_reentrant": False}


def graphs_in(module: torch.fx.GraphModule) -> list[torch.fx.GraphModule]:
    """A graph and its subgraphs."""
    return [each for each in module.modules() if isinstance(each, torch.fx.GraphModule)]


def given_to(
    module: torch.fx.GraphModule, user: torch.fx.Node, node: torch.fx.Node
) -> tuple[torch.fx.GraphModule, list[torch.fx.Node]] | None:
    """The subgraph of a checkpoint or region with a node as operand, and the node's placeholder in it.

    None for other users.
    """
    if user.target is checkpoint:
        graph, *operands = user.args
    elif user.target is torch.ops.higher_order.invoke_subgraph:
        graph, _, *operands = user.args
    else:
        return None
    inner = module.get_submodule(str(graph.target))
    given = inner.graph.find_nodes(op="placeholder")
    return inner, [place for place, value in zip(given, operands) if value is node]


def plain(target: Callable[..., Any]) -> Callable[..., Any]:
    """The public function for Dynamo's `target`."""
    if isinstance(target, torch._ops.HigherOrderOperator):
        return PLAIN.get(target.name(), target)
    return checkpointed if target is checkpoint else target
