"""A program as kernels and calls, in the order in which they run.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions import Decisions
    >>> from backends.loops.program import Program
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> program = Program(Decisions(env))
    >>> build = program.build
    >>> x = program.input("x", "float32", (b, s), (s, build.one))
    >>> shifted = build.apply("sub", x, build.expand(build.reduce("maximum", x, (1,), keepdim=True), (b, s)))
    >>> exponential = build.apply("exp", shifted)
    >>> total = build.expand(build.reduce("sum", exponential, (1,), keepdim=True), (b, s))
    >>> program.outputs.append(program.stored(build.apply("div", exponential, total), (s, build.one)))
    >>> for step in schedule(program):
    ...     print(step)
    k0: for i0 < b | i1 < s, lanes i1
      pass 0:
        maximum0 += x[s*i0 + i1]
      pass 1:
        sum1 += exp((x[s*i0 + i1] - maximum0))
      pass 2:
        made0[s*i0 + i1] = (exp((x[s*i0 + i1] - maximum0)) / sum1)

Every tensor that becomes memory (`backends.loops.roots`) is first a kernel of its own; kernels are put together
(`backends.loops.fusion`), what nobody reads afterwards is not stored, and the loops get their final order
(`backends.loops.axes`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from backends.loops.axes import arranged
from backends.loops.binding import Binding
from backends.loops.crossing import by_rows
from backends.loops.fusion import Fusion, Item, buffers_of
from backends.loops.kernels import Buffer, Kernel
from backends.loops.nodes import Memory, Sizes, Tensor, descend
from backends.loops.program import Assign, Bind, Call, Check, Program
from backends.loops.roots import materialized
from backends.loops.tensors import Expressions
from solver.expr import Atom

Scheduled: TypeAlias = Kernel | Call | Check | Bind


def schedule(program: Program, *, prefix: str = "k", crosses: bool = False) -> list[Scheduled]:
    """The steps of a program, expressions fused to kernels that are named `prefix` and a number; `crosses` if kernels
    that go by rows may sum over rows as well."""
    values = [step.value for step in program.steps if isinstance(step, Assign)]
    needed = materialized(values)
    memory: dict[Tensor, Memory] = {}
    binding = Binding(program.build, memory)
    fusion = Fusion(program.build, binding.bodies, crosses=crosses)
    homes = _homes(program)
    for step in program.steps:
        if isinstance(step, Assign):
            for tensor in descend([step.value], lambda tensor: tensor not in memory):
                if tensor in needed and tensor not in memory:
                    home = homes.get(tensor)
                    if home is None:
                        home = _fresh(program, tensor, step.origin)
                    with program.decisions.at("", step.origin):
                        fusion.add_draft(binding.assigned(home))
                    memory[tensor] = program.build.memory(home.buffer)
            if homes.get(step.value) is not step or step.value not in memory:
                with program.decisions.at("", step.origin):
                    fusion.add_draft(binding.assigned(step))
        else:
            reads, writes = _touched(step)
            fusion.add_step(step, reads, writes, in_order=isinstance(step, Call | Check), tells=_told(step))
    fusion.settle()
    items = fusion.in_order()
    _remove_unread(program, items)
    if crosses:
        for item in items:
            if item.draft is not None:
                item.draft = by_rows(program.build, binding.bodies, item.draft)
    return list(_finished(program.build, binding, items, prefix))


def _homes(program: Program) -> dict[Tensor, Assign]:
    """For tensors that the program assigns to memory of their own, the first such step: they are read from there."""
    written: Counter[Buffer] = Counter([step.buffer for step in program.steps if isinstance(step, Assign)])
    homes: dict[Tensor, Assign] = {}
    for step in program.steps:
        if isinstance(step, Assign) and step.buffer.role == "made" and written[step.buffer] == 1:
            whole = program.build.memory(step.buffer)
            is_all = all(map(program.decisions.equal, step.sizes, whole.sizes))
            if is_all and step.sizes == step.value.sizes and program.decisions.same_place(step.offset, whole.offset):
                homes.setdefault(step.value, step)
    return homes


def _fresh(program: Program, tensor: Tensor, origin: str) -> Assign:
    """A tensor assigned to fresh memory."""
    buffer = program.buffer(tensor.dtype, tensor.sizes, contiguous(program.build, tensor.sizes))
    return Assign(buffer, tensor.sizes, program.build.memory(buffer).offset, tensor, origin)


def contiguous(build: Expressions, sizes: Sizes) -> Sizes:
    """The strides of fresh memory."""
    strides = [build.one]
    for size in reversed(sizes[1:]):
        strides.append(strides[-1] * size)
    return tuple(reversed(strides[: len(sizes)]))


def _touched(step: Call | Check | Bind) -> tuple[set[Buffer], set[Buffer]]:
    """The buffers that a step reads, and those that it makes or changes."""
    match step:
        case Call():
            reads = {each.buffer for each in memories((*step.arguments, *step.named.values()))}
            writes = {each for each in step.results if isinstance(each, Buffer)}
            return reads, writes | set(step.writes)
        case Bind(buffer=buffer):
            return {buffer}, set()
        case Check():
            return set(), set()


def _told(step: Call | Check | Bind) -> list[Atom]:
    """The symbols that are known after a step."""
    match step:
        case Bind(symbol=symbol):
            return [symbol]
        case Call(results=results):
            return [each for each in results if isinstance(each, Atom)]
        case Check():
            return []


def memories(arguments: Iterable[object]) -> Iterator[Memory]:
    """The memory among nested arguments."""
    for argument in arguments:
        if isinstance(argument, Memory):
            yield argument
        elif isinstance(argument, list | tuple):
            yield from memories(argument)


def _remove_unread(program: Program, items: Sequence[Item]) -> None:
    """Stores to memory that nothing reads any more are left out, and kernels that store nothing."""
    kept = {output.buffer for output in program.outputs if isinstance(output, Memory)}
    kept.update(program.inputs)
    kept.update(buffer for buffer, _ in program.constants)
    for item in reversed(items):
        if item.draft is None:
            kept |= item.reads | item.writes
            continue
        stores = [store for store in item.draft.stores if store.buffer in kept]
        item.draft = replace(item.draft, stores=tuple(stores))
        item.reads, item.writes = buffers_of(item.draft)
        kept |= item.reads


def _finished(build: Expressions, binding: Binding, items: Sequence[Item], prefix: str) -> Iterator[Scheduled]:
    number = 0
    for item in items:
        if item.draft is None:
            yield item.step
        elif item.draft.stores:
            yield arranged(binding.bodies, build, item.draft, f"{prefix}{number}")
            number += 1
