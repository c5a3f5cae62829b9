"""From a tensor expression to a loop nest: every element as loads, scalars and operations (inlining).

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> turned = program.build.permute(program.build.apply("exp", x), (1, 0))
    >>> _ = program.stored(turned, (b, program.build.one))
    >>> print(LoopBuilder(program.build, {}).nest(program.steps[0]).kernel("k0"))
    k0: for i0 < s, i1 < b, lanes i1
        made0[b*i0 + i1] = exp(x[i0 + s*i1])

Axes of size 1 are no loops. A tensor that has been materialized is loaded from memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from backends.loops.affine import Affine, affine_sum
from backends.loops.kernels import (
    Apply,
    Bodies,
    Buffer,
    Constant,
    IndexValue,
    Ragged,
    Scalar,
    SizeValue,
    Store,
)
from backends.loops.loop_nest import LoopNest
from backends.loops.nodes import (
    CollapseAxes,
    Concat,
    Gather,
    Indices,
    Iota,
    Memory,
    Number,
    Padded,
    Pointwise,
    Reduce,
    RowOf,
    Rows,
    Tensor,
    View,
)
from backends.loops.operations import computed_as
from backends.loops.program import Assign
from backends.loops.ragged import bounds_of, rows_along
from backends.loops.tensors import Expressions
from solver.terms.expr import Expr

Wanted: TypeAlias = tuple[Tensor, Indices, Scalar | None]
"""An element: of which tensor, at which indices, and the mask under which it is used."""


class LoopBuilder:
    """Builds loop nests.

    Attributes:
        memory: where the tensors are that have been materialized.
    """

    def __init__(self, build: Expressions, memory: Mapping[Tensor, Memory]) -> None:
        self.build = build
        self.memory = memory
        self.bodies = Bodies()
        self._ragged: Ragged | None = None
        """The ragged axis of the nest that is being built."""

    def nest(self, step: Assign) -> LoopNest:
        """The loops of a step."""
        return self.made(step.buffer, step.sizes, step.offset, step.value, step.origin)

    def made(self, buffer: Buffer, sizes: Sequence[Expr], offset: Affine, value: Tensor, origin: str = "") -> LoopNest:
        """The loops that store a tensor at these offsets, one axis for each of its sizes."""
        if isinstance(value, Reduce) and value not in self.memory:
            return self._reducing(buffer, offset, value, origin)
        found = rows_along(value, sizes, self.memory)
        if found is not None:
            return self._by_rows(buffer, sizes, offset, value, *found, origin)
        indices, extents = self._loops(sizes, range(len(sizes)), 0)
        stored = Store(buffer, offset.at(indices), self.element(value, indices))
        return LoopNest(extents, (), tuple(range(len(extents))), (stored,), _origins(origin))

    def _by_rows(
        self, buffer: Buffer, sizes: Sequence[Expr], offset: Affine, value: Tensor, rows: Rows, axis: int, origin: str
    ) -> LoopNest:
        """The loops that store a tensor, along one of its axes row by row."""
        before, outer = self._loops(sizes, range(axis), 1)
        place = 1 + len(outer)
        behind, rest = self._loops(sizes, range(axis + 1, len(sizes)), place + 1)
        indices = (*before, self.build.axis(place), *behind)
        with self._along_rows(rows, place) as ragged:
            stored = Store(buffer, offset.at(indices), self.element(value, indices))
        extents = (rows.count, *outer, rows.total, *rest)
        return LoopNest(extents, (), tuple(range(len(extents))), (stored,), _origins(origin), ragged)

    @contextmanager
    def _along_rows(self, rows: Rows, axis: int) -> Iterator[Ragged]:
        """Elements are taken in a nest whose first axis are these rows, and another one is ragged."""
        self._ragged = Ragged(rows, 0, axis, *bounds_of(self.bodies, rows, self.build.axis(0)))
        yield self._ragged
        self._ragged = None

    def _reducing_rows(self, buffer: Buffer, offset: Affine, value: Reduce, rows: Rows, origin: str) -> LoopNest:
        source = value.source
        kept, outer = self._loops(source.sizes, value.kept, 1)
        place = 1 + len(outer)
        reduced, inner = self._loops(source.sizes, value.axes[1:], place + 1)
        by_axis = dict(zip(value.kept, kept)) | dict(zip(value.axes, (self.build.axis(place), *reduced)))
        indices = tuple([by_axis[axis] for axis in range(source.rank)])
        natural = [0, *[axis for index in indices for axis in index.axes]]
        with self._along_rows(rows, place) as ragged:
            result = self.bodies.reduced(value.operation, self.element(source, indices))
        stored = Store(buffer, offset.at((self.build.axis(0), *kept)), result)
        outer, inner = (rows.count, *outer), (rows.total, *inner)
        return LoopNest(outer, inner, tuple(natural), (stored,), _origins(origin), ragged)

    def _reducing(self, buffer: Buffer, offset: Affine, value: Reduce, origin: str) -> LoopNest:
        if value.rows is not None:
            return self._reducing_rows(buffer, offset, value, value.rows, origin)
        source = value.source
        kept, outer = self._loops(source.sizes, value.kept, 0)
        reduced, inner = self._loops(source.sizes, value.axes, len(outer))
        by_axis = dict(zip(value.kept, kept)) | dict(zip(value.axes, reduced))
        indices = tuple([by_axis[axis] for axis in range(source.rank)])
        natural = [axis for place in indices for axis in place.axes]
        body = self.element(source, indices)
        result = self.bodies.reduced(value.operation, body) if inner else body
        stored = Store(buffer, offset.at(kept), result)
        return LoopNest(outer, inner, tuple(natural), (stored,), _origins(origin))

    def _loops(self, sizes: Sequence[Expr], axes: Sequence[int], first: int) -> tuple[Indices, tuple[Expr, ...]]:
        """A loop for each of these axes, none where the size is 1."""
        indices: list[Affine] = []
        extents: list[Expr] = []
        for axis in axes:
            if self.build.decisions.is_one(sizes[axis], iterations=self.build.product(sizes[:axis])):
                indices.append(Affine.of(self.build.zero))
            else:
                indices.append(self.build.axis(first + len(extents)))
                extents.append(sizes[axis])
        return tuple(indices), tuple(extents)

    def element(self, tensor: Tensor, indices: Indices) -> Scalar:
        """The scalar expression of an element; an explicit stack, as expressions may be deeper than Python's."""
        known: dict[Wanted, Scalar] = {}
        stack: list[Wanted] = [(tensor, indices, None)]
        while stack:
            key = stack[-1]
            if key in known:
                stack.pop()
                continue
            needed = self._needed(*key)
            missing = [each for each in needed if each not in known]
            if missing:
                stack.extend(reversed(missing))
            else:
                known[key] = self._element(*key, [known[each] for each in needed])
                stack.pop()
        return known[tensor, indices, None]

    def _needed(self, tensor: Tensor, indices: Indices, condition: Scalar | None) -> list[Wanted]:
        """The elements of operands that an element is computed from."""
        if tensor in self.memory:
            return []
        match tensor:
            case Pointwise(operands=operands):
                return [(operand, indices if operand.rank else (), condition) for operand in operands]
            case View(source=source, indices=inside):
                return [(source, tuple([place.at(indices) for place in inside]), condition)]
            case Gather():
                computed = [each for each in tensor.computed if each is not None]
                return [(each, indices if each.rank else (), condition) for each in computed]
            case Concat():
                first = _first_piece(tensor, indices)
                wheres = self._wheres(tensor.bounds[first:], indices[tensor.axis], condition)
                return [(tensor.pieces[k], tensor.at(k, indices), where) for k, where in enumerate(wheres, first)]
            case Padded(padding=padding):
                return [(padding, (), condition)]
        return []

    def _element(self, tensor: Tensor, indices: Indices, condition: Scalar | None, parts: list[Scalar]) -> Scalar:
        bodies = self.bodies
        if isinstance(tensor, RowOf) and self._is_ragged(tensor.rows, indices[0]):
            return bodies.place(self.build.axis(0))
        at = self.memory.get(tensor)
        if at is not None:
            return bodies.load(at.buffer, at.offset.at(indices), (), condition)
        match tensor:
            case Memory(buffer=buffer, offset=offset):
                return bodies.load(buffer, offset.at(indices), (), condition)
            case Number(value=value, dtype=dtype):
                dtype = computed_as(dtype)
                return bodies.size(value, dtype) if isinstance(value, Expr) else bodies.constant(value, dtype)
            case Iota(axis=axis):
                return bodies.place(indices[axis])
            case Pointwise(operation=operation, dtype=dtype):
                dtype = computed_as(dtype)
                if operation == "cast" and parts[0].dtype == dtype:
                    return parts[0]
                return bodies.apply(operation, parts, dtype)
            case View():
                return parts[0]
            case CollapseAxes(source=source, runs=runs) if source in self.memory:
                at = self.memory[source]
                return bodies.load(at.buffer, _merged(at, runs).at(indices), (), condition)
            case Gather():
                return self._gather(tensor, indices, condition, parts)
            case Padded():
                return self._padded(tensor, indices, condition, parts[0])
            case Concat():
                made = parts[-1]
                bounds = tensor.bounds[_first_piece(tensor, indices) :]
                for bound, part in zip(reversed(bounds), reversed(parts[:-1])):
                    before = self._is_before(indices[tensor.axis], bound)
                    made = bodies.apply("select", (before, part, made), part.dtype)
                return made
        raise TypeError(f"{type(tensor).__name__} has no element of its own: it must be in memory")

    def _is_before(self, place: Affine, bound: Expr) -> Scalar:
        return self.bodies.apply("lt", (self.bodies.place(place), self.bodies.size(bound, "int64")), "bool")

    def _wheres(self, bounds: Sequence[Expr], place: Affine, condition: Scalar | None) -> list[Scalar | None]:
        """For each of the pieces that meet at these bounds, the mask under which its elements are used."""
        before = [self._is_before(place, bound) for bound in bounds]
        sizes = [self.bodies.size(bound, "int64") for bound in bounds]
        behind = [self.bodies.apply("ge", (self.bodies.place(place), size), "bool") for size in sizes]
        firsts, lasts = [None, *behind], [*before, None]
        return [self._both(condition, self._both(first, last)) for first, last in zip(firsts, lasts)]

    def _both(self, first: Scalar | None, second: Scalar | None) -> Scalar | None:
        if first is None or second is None:
            return first if second is None else second
        return self.bodies.apply("bitand", (first, second), "bool")

    def _is_ragged(self, rows: Rows, index: Affine) -> bool:
        """Return True if this is the index along the ragged axis, whose rows these are."""
        ragged = self._ragged
        return ragged is not None and ragged.source is rows and index.as_axis == ragged.axis

    def _padded(self, tensor: Padded, indices: Indices, condition: Scalar | None, padding: Scalar) -> Scalar:
        row, place, *rest = indices
        bodies = self.bodies
        source = tensor.source if isinstance(tensor.source, Memory) else self.memory[tensor.source]
        first, last = bounds_of(bodies, tensor.rows, row)
        count = bodies.apply("sub", (last, first), "int64")
        inside = bodies.apply("lt", (bodies.place(place), count), "bool")
        stride = source.offset.coefficient(0)
        indirect = [] if stride is None else [(first, stride)]
        offset = source.offset.at((place, *rest))
        loaded = bodies.load(source.buffer, offset, indirect, self._both(condition, inside))
        return bodies.apply("select", (inside, loaded, padding), loaded.dtype)

    def _gather(self, tensor: Gather, indices: Indices, condition: Scalar | None, parts: list[Scalar]) -> Scalar:
        source = tensor.source if isinstance(tensor.source, Memory) else self.memory[tensor.source]
        numbers = iter(parts)
        direct: list[Affine] = [Affine.of(source.offset.constant)]
        indirect: list[tuple[Scalar, Expr]] = []
        for axis, place in enumerate(tensor.indices):
            stride = source.offset.coefficient(axis)
            if isinstance(place, Affine):
                direct += [place.at(indices) * stride] if stride is not None else []
            else:
                number = next(numbers)
                if stride is not None:
                    moved, left = _split_index(number, stride)
                    direct += moved
                    indirect += left
        inside = None if tensor.inside is None else parts[-1]
        return self.bodies.load(source.buffer, affine_sum(direct), indirect, self._both(condition, inside))


def _first_piece(joined: Concat, indices: Indices) -> int:
    """The first piece that can have an element at these indices, by the constant that they begin with."""
    place = indices[joined.axis]
    first = 0
    if all(step.is_constant and step.constant >= 0 for _, step in place.terms):
        for number, bound in enumerate(joined.bounds):
            ahead = place.constant - bound
            if ahead.is_constant and ahead.constant >= 0:
                first = number + 1
    return first


def _split_index(place: Scalar, stride: Expr) -> tuple[list[Affine], list[tuple[Scalar, Expr]]]:
    """A scalar index times a stride, split into affine indices and what is left: other scalars with strides of their
    own. Distributing is exact, as sums and products wrap around as addresses do."""
    direct: list[Affine] = []
    left: list[tuple[Scalar, Expr]] = []
    stack = [(place, stride)]
    while stack:
        value, step = stack.pop()
        match value:
            case IndexValue(index=index):
                direct.append(index * step)
            case SizeValue(size=size, dtype="int64"):
                direct.append(Affine.of(size * step))
            case Constant(value=number, dtype="int64"):
                direct.append(Affine.of(step * step.interner.constant(int(number))))
            case Apply(operation="add", operands=operands, dtype="int64"):
                stack += [(operand, step) for operand in reversed(operands)]
            case Apply(operation="mul", operands=(other, SizeValue(size=size)), dtype="int64"):
                stack.append((other, step * size))
            case Apply(operation="mul", operands=(other, Constant(value=number)), dtype="int64"):
                stack.append((other, step * step.interner.constant(int(number))))
            case _:
                left.append((value, step))
    return direct, left


def _merged(memory: Memory, runs: Sequence[Sequence[int]]) -> Affine:
    """The offset in contiguous memory whose runs of axes are collapsed."""
    terms = [(axis, memory.offset.coefficient(run[-1])) for axis, run in enumerate(runs) if run]
    return Affine(tuple([(axis, stride) for axis, stride in terms if stride is not None]), memory.offset.constant)


def _origins(origin: str) -> tuple[str, ...]:
    return (origin,) if origin else ()
