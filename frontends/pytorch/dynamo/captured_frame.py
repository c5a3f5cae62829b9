"""A frame as Dynamo has captured it: its graph, code and objects, before anything runs.

    >>> import torch
    >>> from frontends.pytorch.dynamo.captured_frame import CapturedFrame
    >>> frame = CapturedFrame(torch.fx.symbolic_trace(lambda x: torch.relu(x)), breaks=False, tracked=[], codes=[])
    >>> [node.op for node in frame.nodes]
    ['placeholder', 'call_function', 'output']
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import torch
from torch._dynamo import polyfills, variables
from torch._dynamo.source import AttrSource
from torch._dynamo.symbolic_convert import InstructionTranslator, tls
from torch._dynamo.variables.base import AttributeMutationNew, ValueMutationNew
from torch._guards import TracingContext

from frontends.pytorch.dynamo import code_facts
from frontends.pytorch.source_location import is_users
from shapes.origin import Origin


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
    end: code_facts.Start | None = None

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
        memoized = [code for code in before if code.co_name not in code_facts.COMPREHENSIONS]
        codes = list(dict.fromkeys([code for code in traced if is_users(code.co_filename)]))
        end = ended_at(translator.output.root_tx) if breaks else None
        return cls(module, breaks, tracked, codes, changed, list(effects.keepalive), live, memoized, end)

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


def ended_at(translator: Any) -> code_facts.Start:
    """The line and column of the instruction that Dynamo reads; the start of the line where torch has no column."""
    place = translator.current_instruction.positions
    column = None if place is None or place.lineno != translator.lineno else place.col_offset
    return translator.lineno, column or 0


def without_trial() -> None:
    """Make Dynamo keep the frame that it captures now without a trial of its guards.

    Before it, torch writes much memory to empty the caches and time it: 16 ms, a sixth of a small function's first
    call. Guards that fail at once cost a recompilation at each call, up to the limit.
    """
    translator: Any = getattr(tls, "current_tx", None)
    if translator is not None:
        translator.output.skip_guards_check = True
