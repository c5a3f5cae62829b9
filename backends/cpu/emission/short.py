"""Short rows: everything in registers, no loop along the row, masks where a vector may not be full.

    for (; left > 0; i0++) {
        x0 = load(row, c0); x1 = load(row + N, c1);          each row is loaded once
        total = sum of x0 and x1;
        store(row, x0 - total, c0); store(row + N, x1 - total, c1);
    }

Loops over so few vectors cost more than what they do. How many elements of each vector there are is known before the
first row, and with it the masks; what is the same for all rows is loaded there as well. A kernel has such functions
beside the one for any length, and chooses when it runs.

A row whose length is a number has only the function that it needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from backends.cpu.emission.loops import Loops
from backends.cpu.emission.nest import Nest
from backends.cpu.emission.plan import LoopPlan
from backends.cpu.emission.reducing import Totals
from backends.cpu.emission.text import Text
from backends.cpu.emission.unroll import Vector
from backends.loops.kernels import IndexValue, Load, Reduced, Scalar


def chosen(plan: LoopPlan, extent: str, name: str, otherwise: str) -> str:
    """The function for the length at run time. Where something costly is computed, an empty vector would cost more than
    the loops do."""
    if plan.is_only_short:
        return f"{name}_short{plan.short[0]}"
    text = otherwise
    for count in reversed(plan.short):
        longer = f"{extent} > {_full(plan.loops, count)} * N"
        text = f"{longer} && {extent} <= {count} * N ? {name}_short{count} : {text}"
    return text


def _full(loops: Loops, count: int) -> int:
    """The number of vectors that are full in every row passed to such a function."""
    extent = loops.kernel.extents[-1]
    if extent.is_constant:
        return extent.constant // loops.count
    return count - 1 if loops.costly(loops.values()) else count // 2


class Short(Nest):
    """Prints the function for rows of at most so many vectors."""

    def __init__(self, plan: LoopPlan, text: Text, count: int) -> None:
        super().__init__(plan, text, is_narrow=True)
        full = _full(plan.loops, count)
        self._vectors = tuple([Vector(place, place, "N" if place < full else f"c{place}") for place in range(count)])

    def _allocate(self) -> None:
        """Declare how many elements each vector has."""
        extent = self._extent(self.kernel.lanes)
        self.text.line(f"const int64_t i{self.kernel.lanes} = 0;")
        for place, vector in enumerate(self._vectors):
            if vector.count == "N":
                continue
            start = f"{place} * N"
            left = f"{extent} < {start} + N ? {extent} - {start} : N"
            self.text.line(f"const int64_t {vector.count} = {extent} < {start} ? 0 : {left};")

    def _define_at(self, depth: int | None, values: Sequence[Scalar], vectors: Sequence[Vector]) -> None:
        super()._define_at(depth, values, vectors)
        if depth == -1:
            self.writer.define(self._of_columns(self._everything()), self._vectors)

    def _everything(self) -> list[Scalar]:
        """All values; nothing is kept in memory between passes."""
        return list(dict.fromkeys([value for each in self.kernel.passes for value in self.loops.below(each)]))

    def _of_columns(self, values: Sequence[Scalar]) -> list[Scalar]:
        """The values that are invariant in the rows, operands first."""
        found: dict[Scalar, bool] = {}
        for value in values:
            # the place in a comparison by lanes is no value of its own
            match self.loops.by_lane[value].place if value in self.loops.by_lane else value:
                case Load(offset=index) | IndexValue(index=index):
                    own = set(index.axes) <= {self.kernel.lanes}
                case _:
                    own = not isinstance(value, Reduced)
            found[value] = own and all(found[operand] for operand in self.loops.operands(value))
        return [value for value, is_fixed in found.items() if is_fixed]

    def _passes(self, vectors: Sequence[Vector]) -> None:
        for each in self.kernel.passes:
            values = self.loops.below(each)
            self._define_late(values, vectors)
            self.writer.define(values, self._vectors)
            totals = Totals(self.text, self.writer.serial, {})
            for reduction in each.reductions:
                totals.whole((reduction, 0), [self._masked(reduction, vector) for vector in self._vectors])
            for (reduction, _), name in totals.results(over_lanes=True):
                self.writer.give(reduction, -1, name)
            for store in each.stores:
                self.writer.store(store, self._vectors)
        self._define_late(self.loops.after_passes(), vectors)
        for store in self.kernel.once:
            self.writer.store(store, vectors)
