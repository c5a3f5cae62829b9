"""A frame as Dynamo has captured it: its graph, code and objects, before anything runs.

    >>> import torch
    >>> from frontends.pytorch.dynamo.captured_frame import CapturedFrame
    >>> frame = CapturedFrame(torch.fx.symbolic_trace(lambda x: torch.relu(x)), breaks=False, tracked=[], codes=[])
    >>> [node.op for node in frame.nodes]
    ['placeholder', 'call_function', 'output']
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Final

import torch
from torch._dynamo import convert_frame, polyfills, variables
from torch._dynamo.source import AttrSource
from torch._dynamo.symbolic_convert import InstructionTranslator, tls
from torch._dynamo.variables.base import AttributeMutationNew, ValueMutationNew
from torch._guards import TracingContext

from frontends.bytecode import ATTRIBUTES, GLOBALS, Start, reads
from frontends.pytorch.source_location import is_users
from shapes.origin import Origin

COMPILES: Final = getattr(getattr(convert_frame, "_compile", None), "__code__", None)
"""The function of torch's that compiles a frame; None if it is called otherwise in this release."""
COMPREHENSIONS: Final = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
"""Names of code that is no function of the program's."""


@dataclass(frozen=True, slots=True)
class CapturedFrame:
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
        end: the line and column of the frame at which a graph break ends the graph.
    """

    module: torch.fx.GraphModule
    breaks: bool
    tracked: list[tuple[object, Any]]
    codes: list[CodeType]
    changed: set[int] = field(default_factory=set)
    met: list[object] = field(default_factory=list)
    live: list[Any] = field(default_factory=list)
    memoized: list[CodeType] = field(default_factory=list)
    end: Start | None = None

    @classmethod
    def now(cls, module: torch.fx.GraphModule) -> CapturedFrame:
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
        memoized = [code for code in before if code.co_name not in COMPREHENSIONS]
        codes = list(dict.fromkeys([code for code in traced if is_users(code.co_filename)]))
        root = translator.output.root_tx
        place = root.current_instruction.positions
        # the start of the line where torch has no column
        column = None if place is None or place.lineno != root.lineno else place.col_offset
        end = (root.lineno, column or 0) if breaks else None
        return cls(module, breaks, tracked, codes, changed, list(effects.keepalive), live, memoized, end)

    @property
    def nodes(self) -> Iterator[torch.fx.Node]:
        """The operators, also of subgraphs."""
        for each in self.module.modules():
            if isinstance(each, torch.fx.GraphModule):
                yield from each.graph.nodes

    def global_reads(self, name: str, harmless: Collection[int] = ()) -> Iterator[Origin]:
        """The places that read a global or a builtin, but for calls with a harmless number of arguments."""
        return itertools.chain(*[reads(code, GLOBALS, name, harmless) for code in self.codes])

    def attribute_reads(self, name: str, before: Start | None = None) -> Iterator[Origin]:
        """The places that read an attribute; of the frame's own code all, or those before a line and column."""
        ends = [before, *[None] * len(self.codes)]
        return itertools.chain(*[reads(code, ATTRIBUTES, name, before=end) for code, end in zip(self.codes, ends)])

    def alive(self, kinds: type | tuple[type, ...]) -> list[Any]:
        """The variables of some kinds that the code after a graph reads, also those inside of containers."""
        found, seen = [], set()
        waiting = list(self.live)
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


def without_trial() -> None:
    """Make Dynamo keep the frame that it captures now without a trial of its guards.

    Before it, torch writes much memory to empty the caches and time it: 16 ms, a sixth of a small function's first
    call. Guards that fail at once cost a recompilation at each call, up to the limit.
    """
    translator: Any = getattr(tls, "current_tx", None)
    if translator is not None:
        translator.output.skip_guards_check = True


def compiling_frame() -> FrameType | None:
    """The frame of torch's function that compiles a frame; None if none does."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not COMPILES:
        frame = frame.f_back
    return frame


def under_way() -> Mapping[str, Any]:
    """The names in the function of torch's that is compiling a frame; empty if none is."""
    frame = compiling_frame()
    return {} if frame is None else frame.f_locals
