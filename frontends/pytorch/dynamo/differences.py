"""Known differences of Dynamo from eager: programs for which a graph would compute something else run as Python.

    >>> import collections, torch
    >>> from frontends.pytorch import compile
    >>> last = collections.deque(maxlen=2)
    >>> @compile
    ... def f(x):
    ...     last.append(x.shape[0])
    ...     return x * sum(last)
    >>> [f(torch.ones(size)).tolist() for size in (1, 2, 3)]
    [[1.0], [3.0, 3.0], [5.0, 5.0, 5.0]]
    >>> [each.reason.partition(":")[0] for each in f.fallbacks]
    ['a deque with maxlen']

Each record of `DIFFERENCES` recognizes its programs when Dynamo has captured a graph, before anything runs: by the
objects that Dynamo tracks, the operators of the graph, or the code that was traced. Dynamo then skips the frame.
Differences that are not refused are listed in docs/differences.md.
"""

from __future__ import annotations

import collections
import gc
import inspect
import itertools
import operator
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final

import torch
from torch._dynamo import polyfills, utils, variables
from torch._dynamo.source import AttrSource
from torch._dynamo.symbolic_convert import InstructionTranslator
from torch._dynamo.variables.base import AttributeMutationNew, ValueMutationNew
from torch._guards import TracingContext

from frontends.pytorch.dynamo import code_facts
from frontends.pytorch.dynamo.capturing import under_way
from frontends.pytorch.dynamo.direct_calls import GRAPH, RESUMED
from frontends.pytorch.dynamo.graph_function import frames_of
from frontends.pytorch.source_location import is_users
from shapes.origin import Origin

FRAME: Final = {"vars": (1,), "dir": (1,), "eval": (2, 3), "exec": (2, 3), "locals": ()}
"""Builtins by which a program reads its own frame, with the numbers of arguments for which they do not."""
SYMBOL: Final = re.compile(r"\b(s|u|z|zf|zuf)\d+\b")
"""Names of torch's symbols in a text."""
SETTERS: Final = (torch.set_default_dtype, torch.set_default_tensor_type, torch.set_default_device)
AUTOCAST: Final = ("set_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_dtype")
UNCHANGING: Final = (FunctionType, type, ModuleType, BuiltinFunctionType, torch.dtype)


@dataclass(frozen=True, slots=True)
class Difference:
    """A known difference.

    Attributes:
        name: the feature that the program uses.
        effect: the difference of its graph.
        found: the lines that do it, None where no line is known.
    """

    name: str
    effect: str
    found: Callable[[Captured], Iterator[Origin | None]]


@dataclass(frozen=True, slots=True)
class Captured:
    """A frame as Dynamo has captured it.

    Attributes:
        module: the graph.
        breaks: True if a graph break ends it.
        tracked: the objects of the program that the frame reads or changes, with Dynamo's variables for them.
            codes: the program's code that was traced, the frame's first.
        changed: the ids of the caller's objects that the frame changes.
        met: the objects that the frame reads, changes or makes, also those of which nothing is left.
        live: the variables that the code after the graph reads.
        memoized: the code of functions that have a cache.
        line: of the frame, at which a graph break ends the graph.
    """

    module: torch.fx.GraphModule
    breaks: bool
    tracked: list[tuple[object, Any]]
    codes: list[CodeType]
    changed: set[int] = field(default_factory=set)
    met: list[object] = field(default_factory=list)
    live: list[Any] = field(default_factory=list)
    memoized: list[CodeType] = field(default_factory=list)
    line: int | None = None

    @classmethod
    def now(cls, module: torch.fx.GraphModule) -> Captured:
        """The frame that Dynamo is about to compile."""
        translator: Any = InstructionTranslator.current_tx()
        effects = translator.output.side_effects
        known = effects.id_to_variable
        tracked = [(each, known[id(each)]) for each in effects.keepalive if id(each) in known]
        made = AttributeMutationNew, ValueMutationNew
        given = [each for each in tracked if not isinstance(each[1].mutation_type, made)]
        changed = {id(value) for value, variable in given if effects.is_modified(variable)}
        context = TracingContext.get()
        traced = list(context.traced_code)
        ended = getattr(module, "compile_subgraph_reason", None)
        breaks = bool(ended is not None and ended.graph_break)
        live = [*translator.stack, *(translator.symbolic_locals.values() if breaks else ())]
        live += [variable for value, variable in tracked if id(value) in changed]
        live += [each for stored in effects.store_attr_mutations.values() for each in stored.values()]
        sources = [each.originating_source for each in context.guards_context.dynamo_guards]
        has_cache = any(isinstance(each, AttrSource) and each.member == "__wrapped__" for each in sources)
        wrapper = polyfills.getattr_and_trace.__code__
        # what a wrapper calls is noted before it, unless Dynamo needs no trace of it
        before = [code for code, after in itertools.pairwise(traced) if after is wrapper and has_cache]
        memoized = [code for code in before if code.co_name not in code_facts.COMPREHENSIONS]
        codes = list(dict.fromkeys([code for code in traced if is_users(code.co_filename)]))
        line = translator.output.root_tx.lineno if breaks else None
        return cls(module, breaks, tracked, codes, changed, list(effects.keepalive), live, memoized, line)

    @property
    def nodes(self) -> Iterator[torch.fx.Node]:
        """The operators, also of subgraphs."""
        for each in self.module.modules():
            if isinstance(each, torch.fx.GraphModule):
                yield from each.graph.nodes

    def lines_of(self, name: str) -> Iterator[Origin]:
        """The lines that read a global or a builtin of a name."""
        for code in self.codes:
            yield from code_facts.global_reads(code, name)


def difference(module: torch.fx.GraphModule) -> str:
    """Why a graph of Dynamo would not do what its program does, with the line; empty if no difference is known."""
    captured = Captured.now(module)
    return reason(captured, DIFFERENCES)


def difference_before(code: CodeType, transformed: CodeType) -> str:
    """The same for a frame that begins with a graph break: there is no graph before it, and Dynamo asks no backend."""
    begins = any(name.startswith(RESUMED) for name in transformed.co_names)
    if not begins or has_graph(transformed):
        return ""
    return reason(Captured(torch.fx.GraphModule({}, torch.fx.Graph()), True, [], [code]), DIVIDED)


def has_graph(transformed: CodeType) -> bool:
    """Return True if Dynamo's code calls a graph."""
    return any(name.startswith(GRAPH) for name in transformed.co_names)


def reason(captured: Captured, differences: Sequence[Difference]) -> str:
    """The first difference that is found."""
    for each in differences:
        for place in each.found(captured):
            where = place or (Origin.of_instruction(captured.codes[0], 0) if captured.codes else None)
            return f"{each.name}: {each.effect}" + (f"    ({where})" if where is not None else "")
    return ""


# ---------------------------------------------------------------------- by objects


def tracks(kind: type, test: Callable[[Any], bool] = lambda value: True) -> Callable[[Captured], Iterator[None]]:
    """Objects of a class that the frame reads or changes."""

    def found(captured: Captured) -> Iterator[None]:
        return (None for value, _ in captured.tracked if isinstance(value, kind) and test(value))

    return found


def moved_order(captured: Captured) -> Iterator[Origin | None]:
    """Ordered dictionaries of the caller whose order is not that of insertion, which guards test, or will not be."""
    given = [value for value, _ in captured.tracked if isinstance(value, collections.OrderedDict)]
    if any(list(each) != list(dict.keys(each)) for each in given):
        yield None
    if any(id(each) in captured.changed for each in given):
        for code in captured.codes:
            yield from code_facts.attribute_reads(code, "move_to_end")


def changed_class(captured: Captured) -> Iterator[None]:
    """Classes of which the frame sets attributes, and has objects or subclasses that it may ask for them."""
    for changed, _ in captured.tracked:
        if isinstance(changed, type) and id(changed) in captured.changed:
            classes = [each if isinstance(each, type) else type(each) for each in captured.met if each is not changed]
            if any(issubclass(each, changed) for each in classes):
                yield None


def closure_without_source(captured: Captured) -> Iterator[Origin | None]:
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
    """Return True if a function of the program may have made or may change what a cell holds. Those of named tuples and
    dataclasses hold the cells of the standard library's own functions."""
    closures = [each for each in gc.get_referrers(cell) if isinstance(each, tuple)]
    holders = [each for closure in closures for each in gc.get_referrers(closure) if isinstance(each, FunctionType)]
    return not holders or any(is_users(each.__code__.co_filename) for each in holders)


def live(captured: Captured, kinds: type | tuple[type, ...]) -> list[Any]:
    """The variables of some kinds that the code after a graph reads, also those inside of containers."""
    found, seen = [], set()
    waiting = list(captured.live)
    while waiting:
        variable = waiting.pop()
        if isinstance(variable, variables.LazyVariableTracker) and variable.is_realized():
            variable = variable.realize()
        if id(variable) in seen:
            continue
        seen.add(id(variable))
        if isinstance(variable, kinds):
            found.append(variable)
        elif isinstance(variable, variables.lists.BaseListVariable):
            waiting += variable.items
        elif isinstance(variable, variables.ConstDictVariable):
            waiting += variable.items.values()
    return found


def live_generator(captured: Captured) -> Iterator[None]:
    """Generators that are alive where the graph ends. Dynamo has replaced a generator that is returned."""
    if any(code.co_flags & inspect.CO_GENERATOR for code in captured.codes):
        returned = () if captured.breaks else (variables.lists.ListIteratorVariable,)
        yield from [None for _ in live(captured, (variables.functions.LocalGeneratorObjectVariable, *returned))]


def live_attributes(captured: Captured) -> Iterator[None]:
    """Dictionaries of attributes that are alive where the graph ends."""
    return (None for _ in live(captured, variables.dicts.DunderDictVariable))


def live_symbol(captured: Captured) -> Iterator[None]:
    """Texts that Dynamo has made, with a symbol's name in them."""
    values = [each.value for each in live(captured, variables.ConstantVariable)]
    written = {text for code in captured.codes for text in code_facts.texts(code)}
    return (None for each in values if isinstance(each, str) and each not in written and SYMBOL.search(each))


def cached_function(captured: Captured) -> Iterator[Origin]:
    """A memoized function that has state, or computes tensors: Python runs it once."""
    for code in captured.memoized:
        lines = {(code.co_filename, line) for *_, line in code.co_lines()}
        called = (frame for node in captured.nodes for frame in frames_of(node))
        if code_facts.has_state(code) or any(frame[:2] in lines for frame in called):
            yield Origin.of_instruction(code, 0)


# ---------------------------------------------------------------------- by operators


def mixed_maximum(captured: Captured) -> Iterator[Origin | None]:
    """The larger or smaller of an integer and a float."""
    for node in captured.nodes:
        if node.target in (torch.sym_max, torch.sym_min):
            kinds = {is_whole(each) for each in node.args}
            if len(kinds) > 1:
                yield code_facts.place_of(node)


def is_whole(value: object) -> bool:
    """Return True if an argument is an integer."""
    given = value.meta.get("example_value") if isinstance(value, torch.fx.Node) else value
    return isinstance(given, int | torch.SymInt)


def maximum_of_tensors(captured: Captured) -> Iterator[Origin]:
    """Python's `max` and `min`, given a tensor."""
    lines = {(each.file, each.line) for name in ("max", "min") for each in captured.lines_of(name)}
    for node in captured.nodes:
        if lines and node.target in (torch.maximum, torch.minimum, torch.clamp, max, min):
            place = code_facts.place_of(node)
            if place is not None and (place.file, place.line) in lines:
                yield place


def numpy_values(captured: Captured) -> Iterator[Origin | None]:
    """NumPy's numbers, which torch's tensors stand for."""
    kinds = utils.numpy_operator_wrapper, utils.numpy_method_wrapper, utils.numpy_to_tensor_wrapper
    return (code_facts.place_of(node) for node in captured.nodes if isinstance(node.target, kinds))


# ---------------------------------------------------------------------- by code


def formats(captured: Captured) -> Iterator[Origin]:
    """Calls of `format` with a format."""
    return (place for code in captured.codes for place in code_facts.global_reads(code, "format", (1,)))


def leaf_in_graph(captured: Captured) -> Iterator[Origin]:
    """Calls of `backward` in a graph that holds a leaf, which is none of its inputs."""
    held = [attribute(captured.module, str(node.target)) for node in captured.module.graph.find_nodes(op="get_attr")]
    if any(isinstance(each, torch.Tensor) and each.requires_grad and each.is_leaf for each in held):
        for code in captured.codes:
            yield from code_facts.attribute_reads(code, "backward")


def dropped_backward(captured: Captured) -> Iterator[Origin]:
    """Calls of `backward` of which the graph has nothing: its leaves come from an earlier graph."""
    if not any(node.target is torch.autograd.grad for node in captured.nodes):
        for code in captured.codes:
            for place in code_facts.attribute_reads(code, "backward"):
                if captured.line is None or code is not captured.codes[0] or place.line < captured.line:
                    yield place


def not_materialized(captured: Captured) -> Iterator[Origin]:
    """Functions of autograd that may ask for None in place of zeros."""
    return (place for each in captured.codes for place in code_facts.calls_with(each, "set_materialize_grads", True))


def attribute(module: torch.fx.GraphModule, path: str) -> object:
    """An attribute by its path; None if there is none."""
    return operator.attrgetter(path)(module) if hasattr(module, path.partition(".")[0]) else None


def own_frame(captured: Captured) -> Iterator[Origin]:
    """A frame that reads its variables, and that a graph break divides."""
    if captured.breaks and captured.codes:
        code = captured.codes[0]
        for name, harmless in FRAME.items():
            yield from code_facts.global_reads(code, name, harmless)
        for name in ("_getframe", "currentframe", *(FRAME if "builtins" in code.co_names else ())):
            yield from code_facts.global_reads(code, name)
            yield from code_facts.attribute_reads(code, name)


def makes_generator(captured: Captured) -> Iterator[Origin]:
    """A generator that may be alive at the graph break with which a frame begins."""
    if not captured.live:
        yield from [place for code in captured.codes for place in code_facts.generators_in(code)]


def changed_settings(captured: Captured) -> Iterator[Origin | None]:
    """Torch's settings, which a graph would not change again."""
    yield from (code_facts.place_of(node) for node in captured.nodes if node.target in SETTERS)
    for code in captured.codes:
        for name in AUTOCAST:
            yield from code_facts.attribute_reads(code, name)


def missing_attribute(captured: Captured) -> Iterator[Origin]:
    """An attribute is set by a frame that asks whether there is one, and that a graph break divides: Dynamo ends a
    graph where an attribute of a function is set."""
    if not captured.breaks or not captured.codes:
        return iter(())
    frame = under_way() or {}
    return code_facts.missing_attributes(captured.codes[0], {**frame.get("globals", {}), **frame.get("locals", {})})


LIMITED: Final = tracks(collections.deque, lambda it: it.maxlen is not None)
DIVIDED: Final = (
    Difference("a frame that reads its variables and has a graph break", "Dynamo adds variables of its own", own_frame),
    Difference("an attribute that may be missing is set on a function", "Dynamo does not see it", missing_attribute),
    Difference("a generator in a frame with a graph break", "Dynamo may run it to its end", makes_generator),
)
"""Those of frames with graph breaks."""


def unpreserved_checkpoint(captured: Captured) -> Iterator[Origin | None]:
    """Checkpoints that draw anew when they compute again, or that ask whether gradients are recorded."""
    asks = any(True for code in captured.codes for _ in code_facts.attribute_reads(code, "is_grad_enabled"))
    for node in captured.nodes:
        if node.target is torch.ops.higher_order.tag_activation_checkpoint:
            if asks or node.kwargs.get("preserve_rng_state") is False:
                yield code_facts.place_of(node)


DIFFERENCES: Final = (
    Difference("a checkpoint that is computed anew", "a graph computes it as it did", unpreserved_checkpoint),
    *DIVIDED[:2],
    Difference("a generator is returned, or alive at a graph break", "Dynamo runs it to its end", live_generator),
    Difference("an object's __dict__ is returned, or alive at a graph break", "Dynamo copies it", live_attributes),
    Difference("a memoized function has state", "Dynamo runs it each time", cached_function),
    Difference("a setting of torch is changed", "a graph would not do it again", changed_settings),
    Difference("a deque with maxlen", "Dynamo forgets the limit", LIMITED),
    Difference("an object of random.Random", "Dynamo repeats its numbers", tracks(random.Random)),
    Difference("a closure of a method of a new object", "Dynamo loses its changes", closure_without_source),
    Difference("max or min of an integer and a float", "Dynamo gives a float", mixed_maximum),
    Difference("Python's max or min of tensors", "Dynamo gives a new tensor", maximum_of_tensors),
    Difference("a text of an error with a size", "Dynamo writes its symbol", live_symbol),
    Difference("arithmetic of NumPy's numbers", "Dynamo gives arrays", numpy_values),
    Difference("format()", "Dynamo ignores the format", formats),
    Difference("an OrderedDict whose order is changed", "Dynamo does not guard it", moved_order),
    Difference("backward() of a tensor that an optimizer has", "Dynamo drops it", leaf_in_graph),
    Difference("backward() after a graph break", "Dynamo drops it", dropped_backward),
    Difference("an autograd.Function without materialized gradients", "Dynamo gives it zeros", not_materialized),
    Difference("an attribute of a class is set", "Dynamo reads the old one", changed_class),
)
"""All refused differences."""
