"""Repack inputs that are read repeatedly with a large stride: copied once into the order in which they are read.

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
    >>> found = strided_inputs([build.apply("add", scores, seen)], set(), read_only_buffers(program), build)
    >>> found == {seen: (1, 2, 3)}
    True
    >>> repack(program, seen, found[seen], {})[0].offset
    512*i1 + 32*i2 + i3

The position bias of T5 is such an input: a kernel vectorized along the keys would load it with the stride of the heads,
for every row of every batch. Packing of operands is the same idea in matrix products (GotoBLAS).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from backends.decisions.questions import Choice, at_least
from backends.loops.affine import Affine, affine_sum, is_one, packed
from backends.loops.kernels import Buffer
from backends.loops.nodes import Indices, Memory, Pointwise, Reduce, Tensor, View
from backends.loops.program import Assign, Call, Program
from backends.loops.tensors import Expressions


def strided_inputs(
    values: Sequence[Tensor], needed: Collection[Tensor], buffers: Collection[Buffer], build: Expressions
) -> dict[Memory, tuple[int, ...]]:
    """The inputs to repack among these buffers, as they are read by values and by what is `needed` in memory; with each
    the order of its axes in the loops. Such an input is broadcast along some axis, strided along the last, and read
    beside memory that has all axes and is contiguous along the last."""
    found: dict[Memory, tuple[int, ...]] = {}
    for value in dict.fromkeys((*values, *needed)):
        if isinstance(value, Reduce) and value.rows is not None:
            continue
        root = value.source if isinstance(value, Reduce) else value
        axes = [axis for axis, size in enumerate(root.sizes) if not is_one(size)]
        if len(axes) < 3:
            continue
        leaves = list(_leaves(root, needed))
        offsets = [leaf.offset.at(indices) for leaf, indices in leaves]
        if not any(_is_along(offset, axes[-1]) and set(axes) <= set(offset.axes) for offset in offsets):
            continue
        for (leaf, indices), offset in zip(leaves, offsets):
            if leaf.buffer in buffers and axes[-1] in offset.axes and not _is_along(offset, axes[-1]):
                inside = {indices[axis].as_axis: axis for axis in leaf.offset.axes}
                lies_along = any(map(is_one, [coefficient for _, coefficient in offset.terms]))
                others = [axis for axis in axes if axis not in offset.axes]
                if lies_along and others and set(inside) == set(offset.axes) and _pays(build, root, others):
                    found.setdefault(leaf, tuple([inside[axis] for axis in axes if axis in inside]))
    return found


def _pays(build: Expressions, root: Tensor, others: Sequence[int]) -> bool:
    """Return True if a tensor is read more than once: as often as the axes that it is broadcast along have iterations.
    """
    times = build.product([root.sizes[axis] for axis in others])
    choice = Choice("repacked", "repacked", never="strided loads")
    return build.decisions.holds("repack", at_least(times, 2), choice) is not False


def _is_along(offset: Affine, axis: int) -> bool:
    step = offset.coefficient(axis)
    return step is not None and is_one(step)


def _leaves(root: Tensor, needed: Collection[Tensor]) -> Iterator[tuple[Memory, Indices]]:
    """The memory that is read for each element, and the index of each of its axes."""
    interner = root.sizes[0].interner
    stack: list[tuple[Tensor, Indices]] = [(root, tuple([Affine.axis(axis, interner) for axis in range(root.rank)]))]
    seen: set[tuple[Tensor, Indices]] = set()
    while stack:
        tensor, indices = stack.pop()
        if (tensor, indices) in seen or tensor is not root and tensor in needed or not tensor.rank:
            continue
        seen.add((tensor, indices))
        match tensor:
            case Memory():
                yield tensor, indices
            case Pointwise(operands=operands):
                stack += [(operand, indices) for operand in operands]
            case View(source=source, indices=inside):
                stack.append((source, tuple([place.at(indices) for place in inside])))


def repack(
    program: Program, leaf: Memory, order: Sequence[int], known: dict[object, Buffer]
) -> tuple[Memory, Assign | None]:
    """The same elements packed, the axes in this order; and the step that copies them, unless that is `known`."""
    build = program.build
    sizes = tuple([leaf.sizes[axis] for axis in order])
    strides = packed(sizes)
    steps = [(axis, leaf.offset.coefficient(axis) or build.zero) for axis in order]
    key = (leaf.buffer, sizes, tuple([step for _, step in steps]), leaf.offset.constant)
    step = None
    if key not in known:
        known[key] = program.buffer(leaf.dtype, sizes, strides)
        lying = affine_sum(
            [Affine.of(leaf.offset.constant), *[build.axis(k) * each for k, (_, each) in enumerate(steps)]]
        )
        source = Memory(sizes, leaf.dtype, leaf.buffer, lying)
        step = Assign(known[key], sizes, build.memory(known[key]).offset, source)
    offset = affine_sum([Affine.of(build.zero), *[build.axis(axis) * stride for axis, stride in zip(order, strides)]])
    return Memory(leaf.sizes, leaf.dtype, known[key], offset), step


def read_only_buffers(program: Program) -> set[Buffer]:
    """The buffers that no step writes: inputs, constants, and results of operators."""
    calls = [step for step in program.steps if isinstance(step, Call)]
    if any(call.writes for call in calls):
        return set()
    given = [*program.inputs, *[buffer for buffer, _ in program.constants]]
    made = [each for call in calls if call.has_layout for each in call.results if isinstance(each, Buffer)]
    return {*given, *made}.difference([step.buffer for step in program.steps if isinstance(step, Assign)])
