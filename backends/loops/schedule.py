"""Scheduling: expressions are materialized, fused to kernels, and put in an order that respects dependences.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
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

Every tensor that is materialized (`backends.loops.materialize`) is first a kernel of its own. Then kernels are fused
(`backends.loops.fusion`), dead stores are eliminated, and loops get their final order (`backends.loops.loop_order`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeAlias

from backends.decisions.questions import Decisions
from backends.loops.affine import Affine, affine_sum, packed, same_place
from backends.loops.fusion import Fusion, Item, buffers_of
from backends.loops.interchange import row_major_sums
from backends.loops.interleaving import mark_interleaved
from backends.loops.kernels import Buffer, Kernel
from backends.loops.loop_body import LoopBuilder
from backends.loops.loop_nest import LoopNest
from backends.loops.loop_order import loaded, locality_order, order_loops
from backends.loops.materialize import tensors_to_materialize
from backends.loops.nodes import CollapseAxes, Memory, Tensor, descend
from backends.loops.program import Assign, Bind, Call, Check, Program
from backends.loops.repack import read_only_buffers, repack, strided_inputs
from backends.loops.tensors import Expressions
from solver.terms.expr import Atom

Scheduled: TypeAlias = Kernel | Call | Check | Bind


def schedule(program: Program, *, prefix: str = "k", interchanges: bool = False) -> list[Scheduled]:
    """The steps of a program, expressions fused to kernels that are named `prefix` and a number. With `interchanges`,
    column reductions may be fused into row-major kernels, and kernels interleaved."""
    values = [step.value for step in program.steps if isinstance(step, Assign)]
    needed = tensors_to_materialize(values)
    memory: dict[Tensor, Memory] = {}
    builder = LoopBuilder(program.build, memory)
    fusion = Fusion(program.build, builder.bodies, interchanges=interchanges)
    homes = _homes(program)
    in_order = {tensor.source for tensor in descend(values) if isinstance(tensor, CollapseAxes)}
    strided = strided_inputs(values, needed, read_only_buffers(program), program.build)
    copies: dict[object, Buffer] = {}
    for step in program.steps:
        if isinstance(step, Assign):
            for tensor in descend([step.value], lambda tensor: tensor not in memory):
                if tensor in needed and tensor not in memory:
                    home = homes.get(tensor)
                    with program.decisions.at("", step.origin):
                        if home is None:
                            nest = _fresh(program, builder, tensor, step.origin, in_order=tensor in in_order)
                        else:
                            nest = builder.nest(home)
                    fusion.add_nest(nest)
                    memory[tensor] = program.build.memory(nest.stores[0].buffer)
                elif isinstance(tensor, Memory) and tensor in strided and tensor not in memory and tensor not in homes:
                    memory[tensor], copy = repack(program, tensor, strided[tensor], copies)
                    if copy is not None:
                        with program.decisions.at("", step.origin):
                            fusion.add_nest(builder.nest(replace(copy, origin=step.origin)))
            if homes.get(step.value) is not step or step.value not in memory:
                with program.decisions.at("", step.origin):
                    fusion.add_nest(builder.nest(step))
        else:
            reads, writes = _touched(step)
            is_ordered, guards = isinstance(step, Call | Check), step.guards if isinstance(step, Call) else ()
            fusion.add_step(step, reads, writes, in_order=is_ordered, tells=_told(step), guards=guards)
    fusion.settle()
    items = fusion.in_order()
    _remove_unread(program, items)
    if interchanges:
        for item in items:
            if item.nest is not None:
                item.nest = row_major_sums(program.build, builder.bodies, item.nest)
    steps = list(_finished(program.build, builder, items, prefix))
    return list(_interleaved(steps, program.decisions)) if interchanges else steps


def _interleaved(steps: Sequence[Scheduled], decisions: Decisions) -> Iterator[Scheduled]:
    """The steps, with those kernels marked that are interleaved, in each run of consecutive ones."""
    there: set[Buffer] = set()
    for _, run in groupby(steps, lambda step: isinstance(step, Kernel)):
        following = list(run)
        kernels = [step for step in following if isinstance(step, Kernel)]
        yield from mark_interleaved(kernels, there, decisions) if kernels else following
        for step in following:
            there.update(step.buffers if isinstance(step, Kernel) else set().union(*_touched(step)))


def _homes(program: Program) -> dict[Tensor, Assign]:
    """For tensors that the program assigns to a whole buffer, the first such step: they are read from there."""
    written: Counter[Buffer] = Counter([step.buffer for step in program.steps if isinstance(step, Assign)])
    homes: dict[Tensor, Assign] = {}
    for step in program.steps:
        if isinstance(step, Assign) and step.buffer.role == "made" and written[step.buffer] == 1:
            whole = program.build.memory(step.buffer)
            is_all = all(map(program.decisions.equal, step.sizes, whole.sizes))
            if is_all and step.sizes == step.value.sizes and same_place(program.decisions, step.offset, whole.offset):
                homes.setdefault(step.value, step)
    return homes


def _fresh(program: Program, builder: LoopBuilder, tensor: Tensor, origin: str, *, in_order: bool) -> LoopNest:
    """A tensor assigned to fresh memory, with the layout of its operands, unless its elements must be in order."""
    build = program.build
    axes = [axis for axis, size in enumerate(tensor.sizes) if not build.decisions.is_one(size)]
    buffer = program.buffer(tensor.dtype, tensor.sizes, packed(tensor.sizes, axes))
    nest = builder.nest(Assign(buffer, tensor.sizes, build.memory(buffer).offset, tensor, origin))
    loops = list(range(len(nest.outer)))
    order = loops if in_order else locality_order(build, loaded(nest), loops)
    if order == loops or len(axes) != len(loops):
        return nest
    strides = packed(tensor.sizes, [axes[loop] for loop in order])
    buffer = replace(buffer, strides=strides)
    offset = affine_sum([Affine.of(build.zero), *[build.axis(loop) * strides[axes[loop]] for loop in loops]])
    return replace(nest, stores=(replace(nest.stores[0], buffer=buffer, offset=offset),))


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
    """The symbols that a step binds."""
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
    """Dead store elimination: stores to memory that nothing reads any more, and kernels that store nothing."""
    kept = {output.buffer for output in program.outputs if isinstance(output, Memory)}
    kept.update(program.inputs)
    kept.update(buffer for buffer, _ in program.constants)
    for item in reversed(items):
        if item.nest is None:
            kept |= item.reads | item.writes
            continue
        stores = [store for store in item.nest.stores if store.buffer in kept]
        item.nest = replace(item.nest, stores=tuple(stores))
        item.reads, item.writes = buffers_of(item.nest)
        kept |= item.reads


def _finished(build: Expressions, builder: LoopBuilder, items: Sequence[Item], prefix: str) -> Iterator[Scheduled]:
    number = 0
    for item in items:
        if item.nest is None:
            if isinstance(item.step, Call | Check | Bind):
                yield item.step
        elif item.nest.stores:
            yield order_loops(builder.bodies, build, item.nest, f"{prefix}{number}")
            number += 1
