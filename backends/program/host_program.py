"""The host side of a program around kernels and operators, as a value: reads, allocations, launches, frees and returns.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> program.outputs.append(program.stored(program.build.apply("exp", x), (s, program.build.one)))
    >>> host = host_program(program, schedule(program), None)
    >>> [(str(each.symbol), each.what, each.axis) for each in host.symbols]
    [('b', 'size', 0), ('s', 'size', 1)]
    >>> (step,) = host.steps
    >>> (allocation,) = step.allocations
    >>> allocation.buffer, allocation.layout, host.is_whole(program.outputs[0])
    (made0: float32[b, s], ((<b>, <s>), (<s>, <1>)), True)

Two printers make code of it: `backends.program.host` a Python function, `backends.cpu.launcher.whole_graph` a
description for the launcher in C. Everything that depends on sizes is decided before either prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from backends.backend import Backend
from backends.decisions.questions import Choice, at_least
from backends.loops.kernels import Buffer, Kernel
from backends.loops.nodes import Memory
from backends.loops.program import Bind, Call, Check, Program
from backends.loops.schedule import Scheduled, memories
from backends.program.launch_groups import MOST, runs
from backends.program.layouts import Layout, has_layout, layouts_of
from backends.program.memory import Plan, plan, returned_by
from backends.program.sizes import symbol_of
from solver.terms.expr import Atom, Expr


@dataclass(frozen=True, slots=True)
class SymbolSource:
    """The place from which the value of a symbol is read: a size or stride of a tensor."""

    symbol: Atom
    buffer: Buffer
    what: str
    axis: int


@dataclass(frozen=True, slots=True)
class Allocation:
    """Fresh memory for a slot: for its first buffer, and for those that share it later.

    Attributes:
        layout: sizes and strides of the tensor that it is.
        bytes: how many it has.
        is_large: whether it is large enough to be pooled or prepared; None if only the run tells.
        is_pooled: whether it may be pooled, as the caller never sees it.
    """

    buffer: Buffer
    layout: Layout
    bytes: Expr
    is_large: bool | None
    is_pooled: bool


LaunchGroup: TypeAlias = tuple[Kernel, ...]
"""Consecutive kernels that are launched by one call."""


@dataclass(frozen=True, slots=True)
class HostStep:
    """One step of the host.

    Attributes:
        work: an operator, a check, a symbol that gets its value, or kernels.
        allocations: what is allocated before.
        out: the result of an operator that is given memory for it.
        freed: the slots that no later step needs, by their first buffers.
    """

    work: LaunchGroup | Call | Check | Bind
    allocations: tuple[Allocation, ...]
    out: Memory | None
    freed: tuple[Buffer, ...]


@dataclass(frozen=True, slots=True)
class HostProgram:
    """A program as the host runs it.

    Attributes:
        program: its inputs, constants and outputs.
        memory: the memory plan, with the slots that buffers share.
        layouts: sizes and strides of what is allocated, by slot.
        symbols: where the symbols of its inputs are read, but for those that are scalar arguments.
        steps: what is done, in order.
        whole: arguments of operators and outputs that are all of a tensor as it is, so that no view is needed.
        is_consuming: whether it empties the list of its inputs.
    """

    program: Program
    memory: Plan
    layouts: Mapping[Buffer, Layout]
    symbols: tuple[SymbolSource, ...]
    steps: tuple[HostStep, ...]
    whole: frozenset[Memory]
    is_consuming: bool

    def slot(self, buffer: Buffer) -> Buffer:
        """The first buffer in the slot of a buffer."""
        return self.memory.slots.get(buffer, buffer)

    def is_whole(self, memory: Memory) -> bool:
        """Return True if this argument or output is all of a tensor, with its sizes and strides."""
        return memory in self.whole


def host_program(
    program: Program,
    steps: Sequence[Scheduled],
    backend: Backend | None,
    *,
    returned: int | None = None,
    consuming: bool = False,
) -> HostProgram:
    """Decide how the host runs these steps for a backend; without one no memory is large, and each kernel is launched
    by itself. The caller is `returned` the first so many outputs; a program that is `consuming` drops each input after
    its last use."""
    decisions = program.decisions
    large = None if backend is None else backend.large
    pools = backend is not None and backend.pooled is not None
    combines = backend is not None and backend.combine is not None
    memory = plan(program, steps, consuming=consuming)
    slots, layouts = memory.slots, layouts_of(program, steps, memory.slots)
    seen = {slots.get(buffer, buffer) for buffer in returned_by(program, steps, program.outputs[:returned])}
    results = {result for step in steps if isinstance(step, Call) and step.into is None for result in step.results}
    there: set[object] = {*program.inputs, *[buffer for buffer, _ in program.constants], *results}
    allocated: dict[Buffer, Layout] = {}
    whole: set[Memory] = set()
    freed = _freed(memory)

    def allocations(buffers: Iterable[Buffer]) -> Iterator[Allocation]:
        for buffer in buffers:
            if buffer not in there and buffer not in slots:
                there.add(buffer)
                allocated[buffer] = layouts.get(buffer, (buffer.sizes, buffer.strides))
                needed, is_pooled = memory.size[buffer], pools and buffer not in seen
                is_large = False if large is None else _is_large(program, needed, large[0], is_pooled=is_pooled)
                yield Allocation(buffer, allocated[buffer], needed, is_large, is_pooled)

    def look_at(values: Iterable[object]) -> None:
        for each in memories(values):
            slot = slots.get(each.buffer, each.buffer)
            if has_layout(each, *allocated.get(slot, (slot.sizes, slot.strides)), decisions):
                whole.add(each)

    def planned(inside: range) -> HostStep:
        kernels = tuple([step for step in steps[inside.start : inside.stop] if isinstance(step, Kernel)])
        gone = tuple([buffer for place in inside for buffer in freed.get(place, ())])
        made = tuple(allocations([store.buffer for kernel in kernels for store in kernel.stores]))
        step = steps[inside.start]
        if isinstance(step, Kernel):
            return HostStep(kernels, made, None, gone)
        out = None
        if isinstance(step, Call):
            look_at((*step.arguments, *step.named.values()))
            if step.into is not None and isinstance(result := step.results[0], Buffer):
                made, out = tuple(allocations([result])), program.build.memory(result)
                look_at([out])
        return HostStep(step, made, out, gone)

    groups = runs(steps, memory, decisions.hints, most=MOST if combines else 1)
    done = tuple([planned(inside) for inside in groups])
    look_at(program.outputs)
    read: dict[Atom, SymbolSource] = {}
    for source in symbols_of(program.inputs):
        if source.symbol not in program.numbers:
            read.setdefault(source.symbol, source)
    return HostProgram(program, memory, allocated, tuple(read.values()), done, frozenset(whole), consuming)


def symbols_of(buffers: Sequence[Buffer]) -> Iterator[SymbolSource]:
    """Symbols that are sizes or strides of tensors: sizes first, as a stride along an axis of size 1 is any number."""
    for what in ("size", "stride"):
        for buffer in buffers:
            for axis, value in enumerate(buffer.sizes if what == "size" else buffer.strides):
                if (symbol := symbol_of(value)) is not None:
                    yield SymbolSource(symbol, buffer, what, axis)


def _is_large(program: Program, needed: Expr, least: int, *, is_pooled: bool) -> bool | None:
    """Return True if memory is large enough to be prepared or pooled."""
    yes = "kept from call to call" if is_pooled else "paged"
    choice = Choice(yes, f"{yes} where it is large", "fresh", "branch")
    return program.decisions.holds("large", at_least(needed, least), choice)


def _freed(memory: Plan) -> dict[int, list[Buffer]]:
    """The slots that no step after each one needs."""
    last: dict[Buffer, int] = {}
    for life in (*memory.lives, *memory.given):
        slot = memory.slots.get(life.buffer, life.buffer)
        last[slot] = max(last.get(slot, 0), life.last)
    freed: dict[int, list[Buffer]] = {}
    for buffer, place in last.items():
        freed.setdefault(place, []).append(buffer)
    return freed
