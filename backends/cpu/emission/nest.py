"""The loop nest of a kernel: outer loops over any range of iterations, and the passes of each iteration.

Two forms. Lanes along the last inner axis: an outer iteration is one row; its passes traverse the row vector by vector,
unrolled, and reduce over the lanes at the end. Lanes along the last outer axis: an iteration is a block of vectors of
neighbouring results; the passes traverse the inner axes element by element, and each lane has accumulators of its own.

    for (; left > 0; i0++) {                                  the outer loops: from `begin`, `left` iterations
        for (from = 0; from < n1; from += 4096) {             long sums in parts
            for (i1 = from; i1 + 4*N <= to; i1 += 4*N)        four vectors at a time,
            for (; i1 + N <= to; i1 += N)                     one,
            if (i1 < to)                                      and the tail
            if (a part is full) ...
        }
        total = ...;
        ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final

from backends.cpu.emission.c_operations import KINDS, MEMORY, CValue, element_of, identity
from backends.cpu.emission.column_reduction import Sums
from backends.cpu.emission.plan import LoopPlan
from backends.cpu.emission.reducing import Totals
from backends.cpu.emission.split_loops import split_loops
from backends.cpu.emission.text import Text
from backends.cpu.emission.unroll import ONE, Vector, vector_loops, vector_loops_reversed
from backends.cpu.emission.values import Writer
from backends.loops.kernels import Ragged, Reduction, Scalar

STACK: Final = 16384
"""Bytes of kept values on the stack."""


class Nest:
    """Emits the function that runs a range of iterations of the outer loops."""

    def __init__(self, plan: LoopPlan, text: Text, *, is_narrow: bool) -> None:
        self.plan, self.loops, self.kernel = plan, plan.loops, plan.loops.kernel
        self.text = text
        self.writer = Writer(self.loops, text, is_narrow=is_narrow)
        self._extent = self.writer.extent
        self.sums = Sums(self.loops, self.writer, text)
        self._scratch: dict[Scalar, str] = {}
        self._bounds: dict[int, tuple[str, str]] = {}

    def write(self, name: str) -> None:
        """The whole function."""
        line = self.text.line
        parameters = "void *const *pointers, const int64_t *numbers, int64_t begin, int64_t left"
        parameters += self.sums.parameters()
        with self.text.block(f"static void {name}({parameters})"):
            self.writer.prologue()
            self._allocate()
            if self.sums.stores:
                self.sums.measure()
                line("int is_first = 1;")
            values = self._all_values()
            self._define_at(-1, values, ONE)
            self._start()
            self._outer(0, values)
            if self._scratch:
                line("if (memory != fixed) free(memory);")

    def one_pass(self, first: str, last: str) -> None:
        """The pass of a kernel without outer axes, along its first axis from one place to another."""
        self._bounds[0] = (first, last)
        self.writer.prologue()
        self._define_at(-1, self.loops.needed(0), ONE)
        self._along_rows(0, [value for value in self.loops.needed(0) if self.loops.depth[value] >= 0])

    # ------------------------------------------------------------------ outer loops

    @property
    def _plain_outer(self) -> int:
        """The outer axes that lanes do not run along."""
        return self.kernel.outer - (self.loops.lanes is not None and not self.loops.along_inner)

    def _start(self) -> None:
        """Delinearize `begin` into the start of each outer loop."""
        axes = range(self.kernel.outer)
        for axis in axes:
            self.text.line(f"int64_t i{axis} = 0;")
        if not axes:
            return
        with self.text.block("if (begin)"):
            for axis in reversed(axes):
                if axis:
                    self.text.line(f"i{axis} = begin % {self._extent(axis)};")
                    self.text.line(f"begin /= {self._extent(axis)};")
                else:
                    self.text.line("i0 = begin;")

    def _outer(self, axis: int, values: Sequence[Scalar]) -> None:
        """The loop nest from this loop inwards."""
        if axis < self._plain_outer:
            for _ in self._outer_loops(axis):
                self._define_at(axis, values, ONE)
                self._begin_row(axis)
                self._outer(axis + 1, values)
            if axis:
                self.text.line(f"i{axis} = 0;")
        elif self.loops.lanes is not None and not self.loops.along_inner:
            self._blocks(values)
        else:
            self._passes(ONE)

    def _outer_loops(self, axis: int) -> Iterator[Sequence[Vector]]:
        """The loops along an outer axis, one behind the other."""
        is_innermost = axis == self.kernel.outer - 1
        step = ", left--" if is_innermost else ""
        if is_innermost and self.sums.stores:
            step += ", is_first = 0"
        split_points = self.loops.outer_split_points.get(axis, ())

        def loops(end: str) -> Iterator[Sequence[Vector]]:
            within = f"i{axis} < {end} && " if axis or split_points else ""
            with self.text.block(f"for (; {within}left > 0; i{axis}++{step})"), self.writer.scope():
                yield ONE

        yield from split_loops(self.text, self.writer, split_points, loops, f"i{axis}", self._extent(axis), skips=False)

    def _blocks(self, values: Sequence[Scalar]) -> None:
        """Lanes along the last outer axis: blocks of vectors."""
        lanes, line = self.loops.lanes, self.text.line
        assert lanes is not None
        line(f"const int64_t stop = left < {self._extent(lanes)} - i{lanes} ? i{lanes} + left : {self._extent(lanes)};")
        line(f"left -= stop - i{lanes};")
        with self.writer.scope():
            if not self.kernel.inner:
                self.writer.begin_rows(values, self.kernel.stores)
            for vectors in self._lane_loops("stop", self.plan.block):
                self._block(values, vectors)
        line(f"i{lanes} = 0;")

    def _lane_loops(self, stop: str, wide: int, reversed_above: int | None = None) -> Iterator[Sequence[Vector]]:
        """The vectorized loops, from the current index of their axis."""
        place, split_points = f"i{self.loops.lanes}", self.loops.split_points
        has_tail = bool(split_points) or not self.loops.is_divided

        if reversed_above is not None:
            is_back = f"{self._extent(self.kernel.lanes)} > {reversed_above}" if reversed_above else "1"
            yield from vector_loops_reversed(self.text, place, stop, is_back, has_tail=has_tail)
            return

        def loops(end: str) -> Iterator[Sequence[Vector]]:
            return vector_loops(self.text, place, end, wide, has_tail=has_tail)

        yield from split_loops(self.text, self.writer, split_points, loops, place, stop)

    def _block(self, values: Sequence[Scalar], vectors: Sequence[Vector]) -> None:
        with self.writer.scope():
            self._define_at(self.loops.lanes, values, vectors)
            self._passes(vectors)

    # ------------------------------------------------------------------ values outside of the passes

    def _all_values(self) -> list[Scalar]:
        numbers = range(len(self.kernel.passes))
        found = [value for number in numbers for value in self.loops.needed(number)]
        return list(dict.fromkeys([*self.loops.bounds(), *found, *self.loops.after_passes()]))

    def _begin_row(self, axis: int) -> None:
        """The bounds of the ragged axis, where they are known in this loop."""
        ragged = self.kernel.ragged
        if ragged is not None and ragged.row == axis:
            first, last = [self.writer.name(bound, ONE[0]).number for bound in self.kernel.bounds]
            assert first is not None and last is not None
            self._bounds[ragged.axis] = (first, last)

    def _define_at(self, depth: int | None, values: Sequence[Scalar], vectors: Sequence[Vector]) -> None:
        """Define the values that vary in this loop and no deeper one, and depend on no reduction."""
        assert depth is not None
        found = [value for value in values if self.loops.depth[value] == depth and value not in self.loops.late]
        self.writer.define(found, vectors)

    def _define_late(self, values: Sequence[Scalar], vectors: Sequence[Vector]) -> None:
        """Define what is invariant in the inner loops and available by now (hoisted)."""
        found = [value for value in values if self.loops.depth[value] < self.kernel.outer]
        self.writer.define(found, vectors)

    # ------------------------------------------------------------------ passes

    def _passes(self, vectors: Sequence[Vector]) -> None:
        for number in range(len(self.kernel.passes)):
            values = self.loops.needed(number)
            self._define_late(values, vectors)
            inside = [value for value in values if self.loops.depth[value] >= self.kernel.outer]
            if self.loops.along_inner:
                self._along_rows(number, inside)
            else:
                self._along_inner_axes(number, inside, vectors)
        self._define_late(self.loops.after_passes(), vectors)
        for store in self.kernel.once:
            self.writer.store(store, vectors)

    def _iteration(self, number: int, values: Sequence[Scalar], vectors: Sequence[Vector], totals: Totals) -> None:
        """One iteration of the innermost loop."""
        each = self.kernel.passes[number]
        with self.writer.scope():
            self._recall(number, values, vectors)
            self.writer.define(values, vectors)
            self._keep(number, vectors)
            for reduction in each.reductions:
                for vector in vectors:
                    self._accumulate(reduction, vector, totals)
            for store in each.stores:
                if store.accumulates:
                    self.sums.add(store, vectors)
                else:
                    self.writer.store(store, vectors)

    def _accumulate(self, reduction: Reduction, vector: Vector, totals: Totals) -> None:
        if self.loops.along_inner:
            totals.take((reduction, 0), vector.number, self._masked(reduction, vector))
        else:
            totals.take((reduction, vector.number), 0, self.writer.name(reduction.body, vector).vector)

    def _masked(self, reduction: Reduction, vector: Vector) -> str:
        """A vector as operand of a reduction over its lanes: the identity in lanes without an element."""
        value = self.writer.name(reduction.body, vector).vector
        if vector.count == "N":
            return value
        element, name = element_of(reduction.dtype), f"v{next(self.writer.serial)}"
        mask, start = f"first_m{8 * element.size}({vector.count})", identity(reduction.operation, reduction.dtype)
        self.text.line(f"const {element.vector} {name} = select_{element.name}({mask}, {value}, {start});")
        return name

    def _along_rows(self, number: int, values: Sequence[Scalar]) -> None:
        """Lanes along the last inner axis."""
        lanes = self.kernel.lanes
        reductions = self.kernel.passes[number].reductions
        how = self.plan.passes[number]
        collapsed, is_nested = how.collapsed, how.collapsed > self.kernel.outer
        widths = {(reduction, 0): how.unroll for reduction in reductions}
        totals = Totals(self.text, self.writer.serial, widths, part=how.part, is_nested=is_nested)
        with self.text.block(), ExitStack() as nest:
            for axis in range(self.kernel.outer, collapsed):
                nest.enter_context(self._inner_loop(axis, values, ONE))
            for axis in range(collapsed, lanes):
                self.text.line(f"const int64_t i{axis} = 0;")
            first, stop = self._range(lanes)
            if collapsed < lanes:
                first, stop = self._range(collapsed)
                rest = [self._extent(axis) for axis in range(collapsed + 1, lanes + 1)]
                first, stop = [bound if bound == "0" else " * ".join([bound, *rest]) for bound in (first, stop)]
            nest.enter_context(self.writer.scope())
            each = self.kernel.passes[number]
            self.writer.begin_rows(values, [store for store in each.stores if not store.accumulates])
            first, stop = nest.enter_context(totals.parts(first, stop, rest=how.rest))
            self.text.line(f"int64_t i{lanes} = {first};")
            for vectors in self._lane_loops(stop, how.unroll, how.reversed_above):
                self._iteration(number, values, vectors, totals)
        for (reduction, _), name in totals.results(over_lanes=True):
            self.writer.give(reduction, -1, name)

    def _along_inner_axes(self, number: int, values: Sequence[Scalar], vectors: Sequence[Vector]) -> None:
        """Lanes along the last outer axis: each has a result of its own."""
        reductions = self.kernel.passes[number].reductions
        last = len(self.kernel.extents) - 1
        widths = {(reduction, vector.number): 1 for reduction in reductions for vector in vectors}
        is_nested = self.kernel.inner > 1
        part = self.plan.passes[number].part
        totals = Totals(self.text, self.writer.serial, widths, part=part, is_nested=is_nested)
        with ExitStack() as nest:
            for axis in range(self.kernel.outer, last):
                nest.enter_context(self._inner_loop(axis, values, vectors))
            if not self.kernel.inner:
                self._iteration(number, values, vectors, totals)
                return
            first, stop = nest.enter_context(totals.parts(*self._range(last)))
            for _ in self._loops_along(last, first, stop):
                self._iteration(number, values, vectors, totals)
        for (reduction, place), name in totals.results(over_lanes=False):
            self.writer.give(reduction, place, name)

    def _loops_along(self, axis: int, first: str, stop: str) -> Iterator[Sequence[Vector]]:
        """The loops along the last inner axis, one behind the other."""
        split_points = self.loops.outer_split_points.get(axis, ())
        if not split_points:
            with self._along(axis, first, stop):
                yield ONE
            return

        def loops(end: str) -> Iterator[Sequence[Vector]]:
            with self.text.block(f"for (; i{axis} < {end}; i{axis}++)"):
                yield ONE

        with self.text.block():
            self.text.line(f"int64_t i{axis} = {first};")
            yield from split_loops(self.text, self.writer, split_points, loops, f"i{axis}", stop, skips=False)

    def _along(self, axis: int, first: str, stop: str) -> AbstractContextManager[None]:
        return self.text.block(f"for (int64_t i{axis} = {first}; i{axis} < {stop}; i{axis}++)")

    @contextmanager
    def _inner_loop(self, axis: int, values: Sequence[Scalar], vectors: Sequence[Vector]) -> Iterator[None]:
        """An inner loop around the innermost one, and the values that vary in it."""
        with self._along(axis, *self._range(axis)), self.writer.scope():
            self.writer.define([value for value in values if self.loops.depth[value] == axis], vectors)
            yield

    def _range(self, axis: int) -> tuple[str, str]:
        """The bounds of an inner loop."""
        return self._bounds.get(axis, ("0", self._extent(axis)))

    # ------------------------------------------------------------------ kept values

    def _allocate(self) -> None:
        """Allocate scratch memory for the values that later passes reload."""
        if not self.loops.kept:
            return
        line = self.text.line
        kernel = self.kernel
        if kernel.ragged is not None:
            self._find_longest(kernel.ragged)
        inner = range(kernel.outer, len(kernel.extents))
        extents = ["longest" if self._is_ragged(axis) else self._extent(axis) for axis in inner]
        count = " * ".join(extents)
        if self.loops.along_inner:
            line(f"const int64_t kept = {count} + {self.loops.count};")
        else:
            line(f"const int64_t kept = {count} * {self.plan.block * self.loops.count};")
        sizes = [element_of(value.dtype).size for value in self.loops.kept]
        line(f"char fixed[{STACK}] __attribute__((aligned(64)));")
        line(f"char *memory = kept * {sum(sizes)} <= {STACK - 64 * len(sizes)} ? fixed : 0;")
        line(f"if (!memory && !(memory = malloc(kept * {sum(sizes)} + {64 * len(sizes)}))) __builtin_trap();")
        offset = 0
        for place, (value, size) in enumerate(zip(self.loops.kept, sizes)):
            kind = MEMORY[KINDS[value.dtype]]
            start = f"kept * {offset} + {64 * place} & -64" if place else "0"
            line(f"{kind} *kept{place} = ({kind} *)(memory + ({start}));")
            self._scratch[value] = f"kept{place}"
            offset += size

    def _is_ragged(self, axis: int) -> bool:
        return self.kernel.ragged is not None and self.kernel.ragged.axis == axis

    def _find_longest(self, ragged: Ragged) -> None:
        """The length of the longest row."""
        line = self.text.line
        line("int64_t longest = 0;")
        with self._along(ragged.row, "0", self._extent(ragged.row)), self.writer.scope():
            self.writer.define(self.loops.bounds(), ONE)
            first, last = [self.writer.name(bound, ONE[0]).number for bound in self.kernel.bounds]
            line(f"longest = {last} - {first} > longest ? {last} - {first} : longest;")

    def _kept_at(self, value: Scalar, vector: Vector, width: int) -> str:
        """The address of a kept value."""
        kernel = self.kernel
        place = "0"
        for axis in range(kernel.outer, len(kernel.extents)):
            variable = vector.place(f"i{axis}") if axis == self.loops.lanes else f"i{axis}"
            if self._is_ragged(axis):
                variable = f"({variable} - {self._bounds[axis][0]})"
            place = variable if place == "0" else f"({place}) * {self._extent(axis)} + {variable}"
        if not self.loops.along_inner:
            place = f"({place}) * ({width} * N) + {vector.number} * N"
        return f"{self._scratch[value]} + {place}"

    def _recall(self, number: int, values: Sequence[Scalar], vectors: Sequence[Vector]) -> None:
        """Reload what an earlier pass has kept."""
        for value, writer in self.loops.kept.items():
            if writer < number and value in values and self.writer.is_needed(value):
                for vector in vectors:
                    name = f"v{next(self.writer.serial)}"
                    kind = KINDS[value.dtype]
                    address = self._kept_at(value, vector, len(vectors))
                    vector_type = element_of(value.dtype).vector
                    self.text.line(f"const {vector_type} {name} = load_{kind}({address}, N);")
                    self.writer.give(value, vector.number, CValue(name, value.dtype))

    def _keep(self, number: int, vectors: Sequence[Vector]) -> None:
        """Store what later passes reload: whole vectors, as a masked store is not forwarded to the next load. Surplus
        lanes fall where the next row will be, or behind the last."""
        for value, writer in self.loops.kept.items():
            if writer == number and self.writer.is_needed(value):
                for vector in vectors:
                    address = self._kept_at(value, vector, len(vectors))
                    text = self.writer.name(value, vector).vector
                    self.text.line(f"store_{KINDS[value.dtype]}({address}, {text}, N);")
