"""Whole calls in C, for what Dynamo has compiled to one graph of kernels and nothing else.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x, y: {"sum": x + y}, backend="cpu", dynamic=True)
    >>> x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    >>> out = f(x, y)
    >>> f._program.entry((x, y), {}), f._program.entry((x, 3), {})
    ({'sum': tensor([4., 6.])}, NotImplemented)

Such a call needs neither Dynamo's guards nor its transformed code, where the launcher's checks subsume the guards, and
the code only passes parameters to the graph and arranges its results. What the code does is found by running it once
with opaque objects for the parameters and for the graph's results: it can do nothing else to them.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any, Final

from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from backends.cpu.launcher.entry import Call, Form, made_entry
from backends.cpu.launcher.program import make_native
from frontends.pytorch.dynamo.backend import Graph
from frontends.pytorch.dynamo.direct_calls import DIRECT
from frontends.pytorch.variants.compiled_graph import CompiledGraph
from frontends.pytorch.variants.native import leaf_of
from shapes.guards.emit_c import NotNative
from shapes.guards.toolchain import Unavailable

SUBSUMED: Final = frozenset((
    # the launcher compares the grad mode and the default dtype, and takes no call in autocast or in a mode
    *("GLOBAL_STATE", "TORCH_FUNCTION_MODE_STACK", "TorchFunctionModeStackGuard", "DEFAULT_DEVICE"),
    # it compares class, dtype, device, rank, need of a gradient, and which arguments are the same tensor
    *("TENSOR_MATCH", "NO_TENSOR_ALIASING", "OBJECT_ALIASING"),
    # a variant that accepts the sizes is valid whatever the marks
    *("DIMENSION_DYNAMIC_MARKING_GUARD", "DIMENSION_DYNAMIC_MARKING"),
))  # fmt: skip
"""Kinds of Dynamo's guards that the launcher's checks imply."""
OF_GRADIENTS: Final = "top_saved_tensors_hooks"
"""A guard about what autograd saves; calls in C save nothing."""


class Opaque:
    """A parameter or a result of the graph, without further knowledge."""

    __slots__ = ()


def whole_calls(
    entries: Sequence[tuple[Any, FunctionType]], graphs: Sequence[Graph], function: FunctionType
) -> Call | None:
    """A call of a function in C, for those of Dynamo's entries that are whole; None if none is."""
    forms = []
    for guards, call in entries:
        for graph in graphs:
            if graph.call is graph.compiled is not None and graph.name + DIRECT in call.__code__.co_names:
                form = whole_call(guards, call, graph.compiled, graph.name + DIRECT)
                forms += [] if form is None else [form]
    try:
        return made_entry(forms, function=function) if forms else None
    except NotNative:
        return None


def whole_call(guards: Any, call: FunctionType, graph: CompiledGraph, name: str) -> Form | None:
    """The entry's form for the launcher.

    None if a call does more, or depends on more, than the launcher handles.
    """
    native = graph.native
    if native is None or not native.programs or not graph.is_guarded or not is_subsumed(guards.root):
        return None
    parameters = parameters_of(call.__code__)
    if parameters is None or names_in(call.__code__) != {name}:
        return None
    count = len(graph.variants[0].outputs)
    found = arrangement(call.__code__, name, parameters, count)
    if found is None:
        return None
    places, structure = found
    variants, leaves = [], None
    for arguments, program, description in native.programs:
        made = make_native(replace(description, structure=structure))
        if len(places) != len(arguments.leaves) or isinstance(made, Unavailable):
            return None
        of_parameter = sorted(range(len(places)), key=places.__getitem__)
        known = tuple([leaf_of(arguments.leaves[place]) for place in of_parameter])
        if leaves not in (None, known):
            return None
        leaves = known
        variants.append(
            replace(
                program,
                program=made,
                values=tuple([program.values[place] for place in of_parameter]),
                tensors=tuple([places[place] for place in program.tensors]),
                integers=tuple([places[place] for place in program.integers]),
            )
        )
    return None if leaves is None else Form(leaves, variants)


def names_in(code: CodeType) -> set[str]:
    """The global names and attributes that code uses."""
    return {str(each.argval) for each in dis.get_instructions(code) if each.opcode in dis.hasname}


def parameters_of(code: CodeType) -> int | None:
    """The number of parameters of code that has only positional ones, and no free variables; else None."""
    variadic = 0x04 | 0x08
    if code.co_flags & variadic or code.co_kwonlyargcount or code.co_freevars or code.co_cellvars:
        return None
    return code.co_argcount


def arrangement(
    code: CodeType, name: str, parameters: int, count: int
) -> tuple[list[int], Callable[[list[object]], object] | None] | None:
    """The parameters that are passed to the graph, by position, and the structure of what is made of its results."""
    given = [Opaque() for _ in range(parameters)]
    results = [Opaque() for _ in range(count)]
    passed: list[tuple[object, ...]] = []

    def graph(*args: object) -> list[Opaque]:
        passed.append(args)
        return list(results)

    try:
        returned = FunctionType(code, {name: graph, "__builtins__": {}})(*given)
    except Exception:  # it does something else with them
        return None
    number = {id(each): place for place, each in enumerate(given)}
    if len(passed) != 1 or {id(each) for each in passed[0]} != set(number) or len(passed[0]) != parameters:
        return None
    leaves, spec = tree_flatten(returned)
    position = {id(each): place for place, each in enumerate(results)}
    if any(id(leaf) not in position for leaf in leaves):
        return None
    order = [position[id(leaf)] for leaf in leaves]
    return [number[id(each)] for each in passed[0]], structure_of(spec, order, count)


def structure_of(spec: TreeSpec, order: Sequence[int], count: int) -> Callable[[list[object]], object] | None:
    """The launcher's structure: None for the one result, `tuple` or `list`, or a function of the list."""
    if list(order) == list(range(count)):
        if spec.is_leaf():
            return None
        if spec.type in (tuple, list) and all(child.is_leaf() for child in spec.children()):
            return spec.type

    def arranged(values: list[object]) -> object:
        return tree_unflatten([values[place] for place in order], spec)

    return arranged


def is_subsumed(manager: Any) -> bool:
    """Return True if the launcher's checks imply all guards of a tree, but for those about sizes, which variants
    have."""
    return all(
        type(guard).__name__ in SUBSUMED or any(OF_GRADIENTS in part for part in guard.verbose_code_parts())
        for guard in leaf_guards(manager)
    )


def leaf_guards(manager: Any) -> Iterator[Any]:
    yield from manager.get_leaf_guards()
    for child in manager.get_child_managers():
        yield from leaf_guards(child)
