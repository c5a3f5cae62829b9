"""Memory that is read many times across the way it lies: it is laid out once as it is read.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> program = Program(Decisions(ShapeEnv(origin=lambda: None)))
    >>> build = program.build
    >>> sizes = tuple(map(build.lift, (8, 4, 16, 32)))
    >>> scores = program.input("scores", "float32", sizes, tuple(map(build.lift, (2048, 512, 32, 1))))
    >>> table = tuple(map(build.lift, (16, 32, 4)))
    >>> bias = program.input("bias", "float32", table, (build.lift(128), build.lift(4), build.one))
    >>> seen = build.expand(build.permute(bias, (2, 0, 1)), sizes)
    >>> found = lying_across([build.apply("add", scores, seen)], set(), unchanged(program), build)
    >>> found == {seen: (1, 2, 3)}
    True
    >>> copied(program, seen, found[seen], {})[0].offset
    512*i1 + 32*i2 + i3

The position bias of T5 is such memory: a kernel whose lanes run along the keys would gather it, one head of many at a
time, for every row of every batch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from backends.loops.affine import Affine, is_one, packed, summed
from backends.loops.kernels import Buffer
from backends.loops.nodes import Memory, Places, Pointwise, Reduce, Tensor, View
from backends.loops.program import Assign, Call, Program
from backends.loops.tensors import Expressions


def lying_across(
    values: Sequence[Tensor], needed: Collection[Tensor], buffers: Collection[Buffer], build: Expressions
) -> dict[Memory, tuple[int, ...]]:
    """What is read so of these buffers, below values and what is `needed` in memory; and its axes in the order in which
    they are gone through. It is shown to an axis that it does not have, beside memory that lies along the last axis and
    has all of them."""
    found: dict[Memory, tuple[int, ...]] = {}
    for value in dict.fromkeys((*values, *needed)):
        root = value.source if isinstance(value, Reduce) else value
        axes = [axis for axis, size in enumerate(root.sizes) if not is_one(size)]
        if len(axes) < 3:
            continue
        leaves = list(_leaves(root, needed))
        offsets = [leaf.offset.at(places) for leaf, places in leaves]
        if not any(_is_along(offset, axes[-1]) and set(axes) <= set(offset.axes) for offset in offsets):
            continue
        for (leaf, places), offset in zip(leaves, offsets):
            if leaf.buffer in buffers and axes[-1] in offset.axes and not _is_along(offset, axes[-1]):
                inside = {places[axis].as_axis: axis for axis in leaf.offset.axes}
                lies_along = any(map(is_one, [coefficient for _, coefficient in offset.terms]))
                others = [axis for axis in axes if axis not in offset.axes]
                if lies_along and others and set(inside) == set(offset.axes) and _pays(build, root, others):
                    found.setdefault(leaf, tuple([inside[axis] for axis in axes if axis in inside]))
    return found


def _pays(build: Expressions, root: Tensor, others: Sequence[int]) -> bool:
    """Whether it is read more than once: as often as there are places along the axes that it does not have."""
    times = build.product([root.sizes[axis] for axis in others])
    question, put = build.interner.ge(times, 2), (times, ">=", 2)
    yes, never = "laid out as it is read", "read across"
    return build.decisions.holds("across", question, yes, yes, never=never, put=put) is not False


def _is_along(offset: Affine, axis: int) -> bool:
    step = offset.coefficient(axis)
    return step is not None and is_one(step)


def _leaves(root: Tensor, needed: Collection[Tensor]) -> Iterator[tuple[Memory, Places]]:
    """The memory that is read for each element, and where in it, by the axes of that."""
    interner = root.sizes[0].interner
    stack: list[tuple[Tensor, Places]] = [(root, tuple([Affine.axis(axis, interner) for axis in range(root.rank)]))]
    seen: set[tuple[Tensor, Places]] = set()
    while stack:
        tensor, places = stack.pop()
        if (tensor, places) in seen or tensor is not root and tensor in needed or not tensor.rank:
            continue
        seen.add((tensor, places))
        match tensor:
            case Memory():
                yield tensor, places
            case Pointwise(operands=operands):
                stack += [(operand, places) for operand in operands]
            case View(source=source, places=inside):
                stack.append((source, tuple([place.at(places) for place in inside])))


def copied(
    program: Program, leaf: Memory, order: Sequence[int], known: dict[object, Buffer]
) -> tuple[Memory, Assign | None]:
    """The same elements without gaps, the axes in this order; the step that puts them there unless it is `known`."""
    build = program.build
    sizes = tuple([leaf.sizes[axis] for axis in order])
    strides = packed(sizes)
    steps = [(axis, leaf.offset.coefficient(axis) or build.zero) for axis in order]
    key = (leaf.buffer, sizes, tuple([step for _, step in steps]), leaf.offset.constant)
    step = None
    if key not in known:
        known[key] = program.buffer(leaf.dtype, sizes, strides)
        lying = summed([Affine.of(leaf.offset.constant), *[build.axis(k) * each for k, (_, each) in enumerate(steps)]])
        source = Memory(sizes, leaf.dtype, leaf.buffer, lying)
        step = Assign(known[key], sizes, build.memory(known[key]).offset, source)
    offset = summed([Affine.of(build.zero), *[build.axis(axis) * stride for axis, stride in zip(order, strides)]])
    return Memory(leaf.sizes, leaf.dtype, known[key], offset), step


def unchanged(program: Program) -> set[Buffer]:
    """What is read only, as far as the steps tell: what is given, and what operators make."""
    calls = [step for step in program.steps if isinstance(step, Call)]
    if any(call.writes for call in calls):
        return set()
    given = [*program.inputs, *[buffer for buffer, _ in program.constants]]
    made = [each for call in calls if call.is_laid_out for each in call.results if isinstance(each, Buffer)]
    return {*given, *made}.difference([step.buffer for step in program.steps if isinstance(step, Assign)])


__all__ = ["copied", "lying_across", "unchanged"]
