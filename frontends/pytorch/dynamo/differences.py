"""Known differences of Dynamo from eager: programs for which a graph would compute something else run as Python.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x: (x + 1, format(2.5, ".0f")))
    >>> f(torch.ones(1))
    (tensor([2.]), '2')
    >>> [each.reason.partition(":")[0] for each in f.fallbacks]
    ['format()']

Each record of `DIFFERENCES` recognizes its programs when Dynamo has captured a graph, before anything runs: by the
objects that Dynamo tracks, the operators of the graph, or the code that was traced. Dynamo then skips the frame.
Differences that are not refused are listed in docs/differences.md.
"""

from __future__ import annotations

import collections
import functools
import gc
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Final

import torch
from torch._dynamo import variables

from frontends.bytecode import calls_with, generators_in, has_state, missing_attributes, texts
from frontends.pytorch.dynamo.captured_frame import CapturedFrame, under_way
from frontends.pytorch.dynamo.direct_calls import GRAPH, RESUMED
from frontends.pytorch.dynamo.graph_function import frames_of, place_of
from frontends.pytorch.source_location import is_users
from shapes.origin import Origin

FRAME: Final = {"vars": (1,), "dir": (1,), "eval": (2, 3), "exec": (2, 3), "locals": ()}
"""Builtins by which a program reads its own frame, with the numbers of arguments for which they do not."""
SYMBOL: Final = re.compile(r"\b(s|u|z|zf|zuf)\d+\b")
"""Names of torch's symbols in a text."""
SETTERS: Final = (torch.set_default_dtype, torch.set_default_tensor_type, torch.set_default_device)
AUTOCAST: Final = ("set_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_dtype")
UNSEEN: Final = (BuiltinFunctionType, FunctionType, MethodType, ModuleType, functools.partial, type)
"""Objects whose missing attributes Dynamo does not guard."""
UNCHANGING: Final = (FunctionType, type, ModuleType, BuiltinFunctionType, torch.dtype)


@dataclass(frozen=True, slots=True)
class Difference:
    """A known difference.

    Attributes:
        name: the feature that the program uses.
        effect: the difference of its graph.
        found: the lines that do it, None where no line is known.
        has_warning: True if torch warns of it, so that whoever asks for one graph gets it.
    """

    name: str
    effect: str
    found: Callable[[CapturedFrame], Iterator[Origin | None]]
    has_warning: bool = False


def difference(module: torch.fx.GraphModule, *, fullgraph: bool) -> str:
    """The known difference between a graph of Dynamo and its program, with the line.

    Empty if there is none, or if the program is to be one graph and torch has warned of it.
    """
    captured = CapturedFrame.now(module)
    return reason(captured, [each for each in DIFFERENCES if not (fullgraph and each.has_warning)])


def difference_before(code: CodeType, transformed: CodeType, *, fullgraph: bool) -> str:
    """The same for a frame that begins with a graph break: there is no graph before it, and Dynamo asks no backend."""
    if fullgraph:
        return ""
    begins = any(name.startswith(RESUMED) for name in transformed.co_names)
    if not begins or has_graph(transformed):
        return ""
    return reason(CapturedFrame(torch.fx.GraphModule({}, torch.fx.Graph()), True, [], [code]), DIVIDED)


def has_graph(transformed: CodeType) -> bool:
    """Return True if Dynamo's code calls a graph."""
    return any(name.startswith(GRAPH) for name in transformed.co_names)


def reason(captured: CapturedFrame, differences: Sequence[Difference]) -> str:
    """The first difference that is found."""
    for each in differences:
        for place in each.found(captured):
            where = place or (Origin.of_instruction(captured.codes[0], 0) if captured.codes else None)
            return f"{each.name}: {each.effect}" + (f"    ({where})" if where is not None else "")
    return ""


# ---------------------------------------------------------------------- by objects


def moved_order(captured: CapturedFrame) -> Iterator[Origin | None]:
    """Ordered dictionaries of the caller whose order is not that of insertion, which guards test, or will not be."""
    given = [value for value, _ in captured.tracked if isinstance(value, collections.OrderedDict)]
    if any(list(each) != list(dict.keys(each)) for each in given):
        yield None
    if any(id(each) in captured.changed for each in given):
        yield from captured.attribute_reads("move_to_end")


def changed_class(captured: CapturedFrame) -> Iterator[None]:
    """Classes of which the frame sets attributes, and has objects or subclasses that it may ask for them."""
    for changed, _ in captured.tracked:
        if isinstance(changed, type) and id(changed) in captured.changed:
            classes = [each if isinstance(each, type) else type(each) for each in captured.met if each is not changed]
            if any(issubclass(each, changed) for each in classes):
                yield None


def closure_without_source(captured: CapturedFrame) -> Iterator[Origin | None]:
    """Cells of functions that Dynamo reached by an object made in the frame."""
    for value, variable in captured.tracked:
        if isinstance(value, CellType) and getattr(variable, "source", None) is None:
            try:
                content = value.cell_contents
            except ValueError:
                continue
            is_constant = isinstance(content, UNCHANGING) or type(content).__module__ == "dataclasses"
            if not is_constant and is_of_users(value):
                yield None


def is_of_users(cell: CellType) -> bool:
    """Return True if a function of the program may have made or may change what a cell holds.

    Those of named tuples and dataclasses hold the cells of the standard library's own functions.
    """
    closures = [each for each in gc.get_referrers(cell) if isinstance(each, tuple)]
    holders = [each for closure in closures for each in gc.get_referrers(closure) if isinstance(each, FunctionType)]
    return not holders or any(is_users(each.__code__.co_filename) for each in holders)


def live_generator(captured: CapturedFrame) -> Iterator[None]:
    """Generators that are alive where the graph ends. Dynamo has replaced a generator that is returned."""
    if any(code.co_flags & inspect.CO_GENERATOR for code in captured.codes):
        returned = () if captured.breaks else (variables.lists.ListIteratorVariable,)
        yield from [None for _ in captured.alive((variables.functions.LocalGeneratorObjectVariable, *returned))]


def live_attributes(captured: CapturedFrame) -> Iterator[None]:
    """Dictionaries of attributes that are alive where the graph ends."""
    return (None for _ in captured.alive(variables.dicts.DunderDictVariable))


def live_symbol(captured: CapturedFrame) -> Iterator[None]:
    """Texts that Dynamo has made, with a symbol's name in them."""
    values = [each.value for each in captured.alive(variables.ConstantVariable)]
    written = {text for code in captured.codes for text in texts(code)}
    return (None for each in values if isinstance(each, str) and each not in written and SYMBOL.search(each))


def cached_state(captured: CapturedFrame) -> Iterator[Origin]:
    """A memoized function that has state: Python runs it once."""
    return (Origin.of_instruction(code, 0) for code in captured.memoized if has_state(code))


def cached_tensors(captured: CapturedFrame) -> Iterator[Origin]:
    """A memoized function that computes tensors: Python returns the same ones again."""
    for code in captured.memoized:
        lines = {(code.co_filename, line) for *_, line in code.co_lines()}
        if any(frame[:2] in lines for node in captured.nodes for frame in frames_of(node)):
            yield Origin.of_instruction(code, 0)


# ---------------------------------------------------------------------- by operators


def maximum_of_tensors(captured: CapturedFrame) -> Iterator[Origin]:
    """Python's `max` and `min`, given a tensor."""
    lines = {(each.file, each.line) for name in ("max", "min") for each in captured.global_reads(name)}
    for node in captured.nodes:
        if lines and node.target in (torch.maximum, torch.minimum, torch.clamp, max, min):
            place = place_of(node)
            if place is not None and (place.file, place.line) in lines:
                yield place


# ---------------------------------------------------------------------- by code


def dropped_backward(captured: CapturedFrame) -> Iterator[Origin]:
    """Calls of `backward` that the graph lacks: their leaves come from an earlier graph."""
    if not any(node.target is torch.autograd.grad for node in captured.nodes):
        yield from captured.attribute_reads("backward", captured.end)


def hooked_leaf(captured: CapturedFrame) -> Iterator[Origin]:
    """Calls of `backward` in a graph with an argument that has a hook for its gradient."""
    nodes = captured.module.graph.find_nodes(op="placeholder")
    given = [getattr(node.meta.get("grapharg"), "example", None) for node in nodes]
    hooks = "_backward_hooks", "_post_accumulate_grad_hooks"
    if any(getattr(each, name, None) for each in given for name in hooks):
        yield from captured.attribute_reads("backward")


def not_materialized(captured: CapturedFrame) -> Iterator[Origin]:
    """Functions of autograd that may ask for None in place of zeros."""
    return (place for each in captured.codes for place in calls_with(each, "set_materialize_grads", True))


def own_frame(captured: CapturedFrame) -> Iterator[Origin]:
    """A frame that reads its variables, and that a graph break divides."""
    if captured.breaks and captured.codes:
        own = replace(captured, codes=captured.codes[:1])
        for name, harmless in FRAME.items():
            yield from own.global_reads(name, harmless)
        for name in ("_getframe", "currentframe", *(FRAME if "builtins" in own.codes[0].co_names else ())):
            yield from own.global_reads(name)
            yield from own.attribute_reads(name)


def makes_generator(captured: CapturedFrame) -> Iterator[Origin]:
    """A generator that may be alive at the graph break with which a frame begins."""
    if not captured.live:
        known = under_way().get("globals", {})
        yield from [place for code in captured.codes for place in generators_in(code, known)]


def changed_settings(captured: CapturedFrame) -> Iterator[Origin | None]:
    """Changes of torch's settings, which a graph would not repeat."""
    yield from (place_of(node) for node in captured.nodes if node.target in SETTERS)
    for name in AUTOCAST:
        yield from captured.attribute_reads(name)


def missing_attribute(captured: CapturedFrame) -> Iterator[Origin]:
    """An attribute is set by a frame that asks whether there is one, and that a graph break divides: Dynamo ends a
    graph where an attribute of a function is set."""
    if captured.breaks and captured.codes:
        frame = under_way()
        known = {**frame.get("globals", {}), **frame.get("locals", {})}
        yield from missing_attributes(captured.codes[0], known, UNSEEN)


DIVIDED: Final = (
    Difference("a frame that reads its variables and has a graph break", "Dynamo adds variables of its own", own_frame),
    Difference("an attribute that may be missing is set on a function", "Dynamo does not see it", missing_attribute),
    Difference("a generator in a frame with a graph break", "Dynamo may run it to its end", makes_generator),
)
"""Differences of frames with graph breaks."""


def unpreserved_checkpoint(captured: CapturedFrame) -> Iterator[Origin | None]:
    """Checkpoints that draw new random numbers at recomputation, or ask whether gradients are recorded."""
    asks = any(captured.attribute_reads("is_grad_enabled"))
    for node in captured.nodes:
        if node.target is torch.ops.higher_order.tag_activation_checkpoint:
            if asks or node.kwargs.get("preserve_rng_state") is False:
                yield place_of(node)


DIFFERENCES: Final = (
    Difference("a checkpoint that is computed anew", "a graph computes it as it did", unpreserved_checkpoint),
    *DIVIDED[:2],
    Difference("a generator is returned, or live at a graph break", "Dynamo runs it to its end", live_generator),
    Difference("an object's __dict__ is returned, or live at a graph break", "Dynamo copies it", live_attributes),
    Difference("a memoized function has state", "Dynamo runs it each time", cached_state),
    Difference("a memoized function computes tensors", "Dynamo computes new ones", cached_tensors, has_warning=True),
    Difference("a torch setting is changed", "a graph would not do it again", changed_settings),
    Difference("a closure of a method of a new object", "Dynamo loses its changes", closure_without_source),
    Difference("Python's max or min of tensors", "Dynamo gives a new tensor", maximum_of_tensors),
    Difference("an error message that contains a size", "Dynamo writes its symbol", live_symbol),
    Difference("format()", "Dynamo ignores the format", lambda frame: frame.global_reads("format", (1,))),
    Difference("an OrderedDict whose order is changed", "Dynamo does not guard it", moved_order),
    Difference("backward() of a tensor with a hook", "Dynamo does not call it", hooked_leaf),
    Difference("backward() after a graph break", "Dynamo drops it", dropped_backward),
    Difference("an autograd.Function without materialized gradients", "Dynamo gives it zeros", not_materialized),
    Difference("an attribute of a class is set", "Dynamo reads the old one", changed_class),
)
"""All refused differences."""
