"""The guards of `torch.compile`: for each entry of Dynamo's cache, from the ShapeEnv of its graph.

    >>> import torch
    >>> @torch.compile(dynamic=True, backend="eager")
    ... def f(x):
    ...     return x * 2 if x.shape[0] % 4 == 0 else x
    >>> out = f(torch.ones(8, 3))
    >>> (read,), alternatives = of_compiled(f)
    >>> [each.text for each in read.conditions if "%" in each.text]
    ['(x.shape[0] % 4) == 0']
    >>> torch._dynamo.reset()

The ShapeEnv has all generated guards, including those dropped by a `guard_filter_fn` and Inductor's assumptions. It is
reached from the compiled graph, which an entry's code calls.
"""

from __future__ import annotations

import gc
import operator
import re
from collections.abc import Iterator
from dataclasses import replace
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import torch
from torch._dynamo.eval_frame import OptimizedModule, _debug_get_cache_entry_list

from frontends.pytorch.certificates.shape_envs import first_use, of_environment
from frontends.pytorch.dynamo.compiled import context_of
from frontends.pytorch.dynamo.direct_calls import GRAPH, RESUMED
from frontends.pytorch.dynamo.graph_sizes import environment_of
from frontends.pytorch.errors import rejected
from shapes.certification.certificates import Condition, Conditions
from shapes.origin import Origin

MOST_LOOKED_AT: Final = 100_000
"""The limit of objects searched for the graph of a compiled function."""
PART: Final = re.compile(r"\._(?:modules|parameters|buffers)\['([^']*)'\]")
WEIGHT: Final = re.compile(
    r"^\w+(?P<path>(?:\._modules\['[^']*'\])*\._(?:parameters|buffers)\['[^']*'\])"
    r"\.shape\[(?P<axis>\d+)\] == (?P<size>\d+)$"
)
GONE: Final = "its graph is not kept, and with it what its guards are about"


def is_compiled(compiled: object) -> bool:
    """Return True for a result of `torch.compile`."""
    if isinstance(compiled, torch.nn.Module):
        return isinstance(compiled, OptimizedModule) or compiled._compiled_call_impl is not None
    return callable(getattr(compiled, "_torchdynamo_orig_callable", None))


def of_compiled(compiled: Any) -> tuple[list[Conditions], bool]:
    """The guards of each entry, and whether entries are alternatives, which they are unless guards are dropped."""
    context, original = context_of(compiled), compiled
    if isinstance(compiled, OptimizedModule):
        original = compiled._orig_mod
    elif not isinstance(compiled, torch.nn.Module):
        original = compiled._torchdynamo_orig_callable
    function = function_of(original)
    entries = entries_of(function, context) if function is not None else []
    if not entries:
        what = "certify() of a function without compiled code: it was never called, or is not compiled"
        rejected(what, "call it once with typical arguments")
    assert function is not None
    found = [of_entry(entry, function) for entry in entries]
    if isinstance(original, torch.nn.Module):
        # modules of one class share compiled code
        found = [each for each in found if is_for(each, original)]
    hooks = getattr(getattr(context, "callback", None), "hooks", None)
    return found, getattr(hooks, "guard_filter_fn", None) is None


def is_for(read: Conditions, module: torch.nn.Module) -> bool:
    """Return True if the weights of a module have the guarded sizes."""
    for each in read.conditions:
        weight = WEIGHT.search(each.text) if each.static else None
        if weight is not None:
            path = ".".join(PART.findall(weight["path"]))
            try:
                tensor = operator.attrgetter(path)(module)
            except AttributeError:
                continue
            if isinstance(tensor, torch.Tensor) and [*tensor.shape][int(weight["axis"]) :][:1] != [int(weight["size"])]:
                return False
    return True


def function_of(original: Any) -> FunctionType | None:
    """The function whose code Dynamo compiled."""
    if isinstance(original, torch.nn.Module):
        original = original.forward
    original = getattr(original, "__func__", original)
    return original if isinstance(original, FunctionType) else None


def entries_of(function: FunctionType, context: Any) -> list[Any]:
    """Dynamo's cache entries for a function's code with this backend."""
    backend = getattr(context, "callback", None)
    while backend is not None and hasattr(backend, "_torchdynamo_orig_backend"):
        backend = backend._torchdynamo_orig_backend
    entries = _debug_get_cache_entry_list(function.__code__)
    return [entry for entry in entries if backend is None or entry.backend is backend or entry.backend == backend]


def of_entry(entry: Any, function: FunctionType) -> Conditions:
    """The guards of one entry, and of its resume functions after graph breaks."""
    conditions: list[Condition] = []
    read = Conditions(())
    names = [name for name in entry.code.co_names if name.startswith(GRAPH)]
    for name in names:
        graph = graph_behind(function.__globals__.get(name), name)
        found = None if graph is None else of_graph(graph)
        if found is None:
            conditions.append(Condition("the guards of a graph", fault=GONE))
        else:
            read = found
            conditions += found.conditions
    conditions += after_breaks(entry.code, function)
    return replace(read, conditions=conditions)


def after_breaks(code: CodeType, function: FunctionType) -> Iterator[Condition]:
    """Conditions without an answer: resume functions are compiled for sizes that are no inputs."""
    for name in code.co_names:
        resumed = function.__globals__.get(name) if name.startswith(RESUMED) else None
        if isinstance(resumed, FunctionType):
            place = Origin(code.co_filename, resumed.__code__.co_firstlineno, code.co_name)
            yield Condition("what runs behind a graph break", place, fault="its sizes are no sizes of the arguments")


def graph_behind(compiled: object, name: str) -> torch.fx.GraphModule | None:
    """Dynamo's graph of a compiled function, found among the objects that it references.

    There may be other graphs; torch records the function's name in each.
    """
    seen, pending = {id(compiled)}, [compiled]
    for each in pending:
        if isinstance(each, torch.fx.GraphModule) and each.meta.get("backend_id") == name and is_captured(each):
            return each
        if len(seen) > MOST_LOOKED_AT:
            return None
        for found in gc.get_referents(each):
            if id(found) not in seen and not isinstance(found, type | ModuleType | str | int | CodeType):
                seen.add(id(found))
                if not (isinstance(found, dict) and "__builtins__" in found):
                    pending.append(found)
    return None


def is_captured(module: torch.fx.GraphModule) -> bool:
    """Return True for Dynamo's original graph, which has its example inputs."""
    return any("example_value" in node.meta for node in module.graph.find_nodes(op="placeholder"))


def of_graph(module: torch.fx.GraphModule) -> Conditions | None:
    """The guards of a graph's ShapeEnv, and the sizes of its inputs that are constants."""
    shapes: Any = environment_of(module.graph)
    if shapes is None:
        return None
    uses = {id(node.meta.get("example_value")): first_use(node) for node in module.graph.find_nodes(op="placeholder")}
    return of_environment(shapes, first_uses=uses)
