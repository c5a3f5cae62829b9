"""Layout assignment: the sizes and strides of buffers that serve most of their consumers without a view.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> is_whole(x, program.decisions), is_whole(program.build.permute(x, (1, 0)), program.decisions)
    (True, False)

Kernels ignore the sizes and strides of tensors. So a buffer is allocated with those that an operator takes, or with
which it is returned, and no view of it is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from backends.decisions.questions import Decisions
from backends.loops.affine import is_one, is_zero
from backends.loops.kernels import Buffer
from backends.loops.nodes import Memory
from backends.loops.program import Call, Program
from backends.loops.schedule import Scheduled, memories
from backends.program.memory import span
from solver.terms.expr import Expr

Layout: TypeAlias = tuple[tuple[Expr, ...], tuple[Expr, ...]]
"""Sizes and strides."""


def is_whole(memory: Memory, decisions: Decisions) -> bool:
    """True if this is all of a buffer, with its layout."""
    return has_layout(memory, memory.buffer.sizes, memory.buffer.strides, decisions)


def has_layout(memory: Memory, sizes: Sequence[Expr], strides: Sequence[Expr], decisions: Decisions) -> bool:
    """Return True if this is all of a tensor of these sizes and strides; along an axis of size 1 any stride will do."""
    if len(memory.sizes) != len(sizes) or not is_zero(memory.offset.constant):
        return False
    if not all(map(decisions.equal, memory.sizes, sizes)):
        return False
    return all(is_one(size) or decisions.equal(a, b) for a, b, size in zip(strides_of(memory), strides, sizes))


def strides_of(memory: Memory) -> tuple[Expr, ...]:
    """The distance between its elements along each axis."""
    zero = memory.offset.constant.interner.zero
    strides = [memory.offset.coefficient(axis) for axis in range(memory.rank)]
    return tuple([zero if stride is None else stride for stride in strides])


def layouts_of(program: Program, steps: Sequence[Scheduled], places: Mapping[Buffer, Buffer]) -> dict[Buffer, Layout]:
    """The best layout of each slot: as it is returned, else as most operators take it."""
    wanted: dict[Buffer, Counter[Layout]] = {}
    one = program.build.one

    def note(memory: Memory, weight: int) -> None:
        buffer = memory.buffer
        owner = places.get(buffer, buffer)
        seen = Buffer(buffer.name, buffer.dtype, memory.sizes, strides_of(memory))
        count = program.build.product
        is_all = is_zero(memory.offset.constant) and count(seen.sizes) is count(owner.sizes)
        if is_all and span(seen, one) is span(owner, one):
            wanted.setdefault(owner, Counter())[seen.sizes, seen.strides] += weight

    for step in steps:
        if isinstance(step, Call):
            found = [*memories((*step.arguments, *step.named.values()))]
            found += [program.build.memory(made) for made in step.results if step.into and isinstance(made, Buffer)]
            for memory in found:
                note(memory, 1)
    for output in program.outputs:
        if isinstance(output, Memory):
            note(output, len(steps))
    return {owner: layouts.most_common(1)[0][0] for owner, layouts in wanted.items()}
