"""Two-stage column reduction: per-block partial sums, combined in block order (deterministic).

    for each block of rows (in parallel):         k0_unit
        for its rows: for columns: ...; sums[block][column] += value, or = in the first row
    for columns:                                  k0_sums
        store the sum over all blocks

How many blocks there are depends on the sizes only, and they are added up in order, so a result does not depend on how
many threads there are. A block is no longer than what one accumulator takes (`backends.cpu.emission.reducing`). Where
there is one block, its sums are the memory that is stored to, if that is as long as whole vectors are.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from backends.cpu.emission.c_operations import KINDS, MEMORY, combined, element_of, identity
from backends.cpu.emission.loops import Loops
from backends.cpu.emission.reducing import PARTS, Totals
from backends.cpu.emission.text import Text
from backends.cpu.emission.unroll import Vector, vector_loops
from backends.cpu.emission.values import Writer
from backends.loops.affine import is_zero
from backends.loops.kernels import Load, Reduction, Store

LONGEST: Final = 256
"""Rows of a block at most: the additions that one accumulator takes."""
SHORTEST: Final = 32
"""Rows of a block at least: that amortizes adding up the blocks."""
BLOCKS: Final = 64
"""Blocks that are enough for all threads."""
SIDE_BY_SIDE: Final = 4
"""Vectors of sums that are added up in one iteration: an addition waits for the one before."""
STACK: Final = 1 << 16
"""Bytes of sums at most on the stack."""
ALIGNED: Final = 64
"""The alignment of the sums in bytes, that of a cache line."""


class Sums:
    """The partial sums of a block: for each store its columns, in rows padded to whole vectors."""

    def __init__(self, loops: Loops, writer: Writer, text: Text) -> None:
        self._loops = loops
        self._kernel = loops.kernel
        self._writer, self._extent = writer, writer.extent
        self._text = text
        self.stores = loops.kernel.accumulating

    def measure(self) -> None:
        """Declare the columns of each store and the bytes of a block."""
        *around, last = [self._extent(axis) for axis in self._axes]
        size = sum([element_of(store.value.dtype).size for store in self.stores])
        self._text.line(f"const int64_t length = ({last} + N - 1) / N * N;")
        self._text.line(f"const int64_t columns = {' * '.join([*around, 'length'])};")
        self._text.line(f"const int64_t size = columns * {size};")

    def parameters(self) -> str:
        """The parameters of a function over a block: pointers to the sums of each store."""
        return "".join([f", {kind} *c{place}" for place, kind in enumerate(self._kinds())])

    def arguments(self, block: str) -> str:
        """The sums of one block for such a function."""
        found = [f"({kind} *)({block} + columns * {offset})" for kind, offset in zip(self._kinds(), self._offsets())]
        if self.may_be_direct():
            outputs = [self._writer.buffer(store.buffer) for store in self.stores]
            found = [f"direct ? {place} : {sums}" for place, sums in zip(outputs, found)]
        return "".join([f", {each}" for each in found])

    def may_be_direct(self) -> bool:
        """Return True if the outputs have the layout of a block's sums and are not read, so that they can serve as the
        only block.
        """
        loaded = {value.buffer for value in self._loops.values() if isinstance(value, Load)}
        return all(store.buffer not in loaded and self._is_like_sums(store) for store in self.stores)

    def _is_like_sums(self, store: Store) -> bool:
        step = self._kernel.extents[0].interner.constant(1)
        for axis in reversed(self._axes):
            if store.offset.coefficient(axis) is not step:
                return False
            step = step * self._kernel.extents[axis]
        return store.buffer.dtype == store.value.dtype and is_zero(store.offset.constant)

    def add(self, store: Store, vectors: Sequence[Vector]) -> None:
        """Add what is in registers: whole vectors, as a masked store is not forwarded to the next load."""
        for vector in vectors:
            value = self._writer.name(store.value, vector).vector
            kind, sums = KINDS[store.value.dtype], self._at(store, vector)
            before = f"(is_first ? {identity('sum', store.value.dtype)} : load_{kind}({sums}, N))"
            total = combined("sum", before, value, store.value.dtype)
            self._text.line(f"store_{kind}({sums}, {total}, N);")

    def write_totals(self, name: str) -> None:
        """The second stage: the function that adds up the blocks and stores."""
        line, block = self._text.line, self._text.block
        parameters = "void *const *pointers, const int64_t *numbers, const char *sums, int64_t blocks"
        with block(f"static void {name}({parameters})"), ExitStack() as nest:
            self._writer.prologue()
            self.measure()
            *around, last = self._axes
            for axis in around:
                nest.enter_context(block(f"for (int64_t i{axis} = 0; i{axis} < {self._extent(axis)}; i{axis}++)"))
            line(f"int64_t i{last} = 0;")
            for vectors in vector_loops(self._text, f"i{last}", self._extent(last), SIDE_BY_SIDE):
                self._total(vectors)

    def _total(self, vectors: Sequence[Vector]) -> None:
        line, block = self._text.line, self._text.block
        stores = {Reduction("sum", store.value): store for store in self.stores}
        widths = {(reduction, vector.number): 1 for reduction in stores for vector in vectors}
        totals = Totals(self._text, self._writer.serial, widths, part=PARTS)
        with ExitStack() as nest:
            first, stop = nest.enter_context(totals.parts("0", "blocks"))
            nest.enter_context(block(f"for (int64_t block = {first}; block < {stop}; block++)"))
            for place, (kind, offset) in enumerate(zip(self._kinds(), self._offsets())):
                line(f"const {kind} *c{place} = (const {kind} *)(sums + block * size + columns * {offset});")
            for reduction, store in stores.items():
                for vector in vectors:
                    part = f"load_{KINDS[store.value.dtype]}({self._at(store, vector)}, N)"
                    totals.take((reduction, vector.number), 0, part)
        for (reduction, number), total in totals.results(over_lanes=False):
            self._writer.put(stores[reduction], total, vectors[number])

    # ------------------------------------------------------------------ places

    @property
    def _axes(self) -> range:
        return range(self._kernel.outer, len(self._kernel.extents))

    def _kinds(self) -> list[str]:
        """The types of the sums of each store."""
        return [MEMORY[KINDS[store.value.dtype]] for store in self.stores]

    def _offsets(self) -> list[int]:
        """The offset of each store's sums in a block, in bytes for each column."""
        sizes = [element_of(store.value.dtype).size for store in self.stores]
        return [sum(sizes[:place]) for place in range(len(sizes))]

    def _at(self, store: Store, vector: Vector) -> str:
        """The address of a vector of sums."""
        *around, last = self._axes
        place = ""
        for axis in around:
            place = f"({place}) * {self._extent(axis)} + i{axis}" if place else f"i{axis}"
        row = f"({place}) * length + " if place else ""
        return f"c{self.stores.index(store)} + {row}{vector.place(f'i{last}')}"


def write_column_reduction(loops: Loops, text: Text, name: str, run: str, *, iterations: str, threads: str) -> None:
    """The body of the entry: the first stage over all blocks, then the second."""
    line, grain = text.line, loops.grain
    writer = Writer(loops, text, is_narrow=False)
    writer.prologue()
    sums = Sums(loops, writer, text)
    sums.measure()
    line(f"const int64_t iterations = {iterations};")
    line(f"int64_t step = iterations / {BLOCKS} + 1;")
    line(f"step = step < {SHORTEST} ? {SHORTEST} : step > {LONGEST} ? {LONGEST} : step;")
    line(f"if (iterations <= {LONGEST} && iterations * columns < {2 * grain}) step = {LONGEST};")
    line("const int64_t blocks = (iterations + step - 1) / step;")
    line(f"char fixed[{STACK}] __attribute__((aligned({ALIGNED})));")
    if sums.may_be_direct():
        line(f"const int direct = blocks == 1 && {writer.size(loops.kernel.extents[-1])} % N == 0;")
    line(f"char *memory = blocks * size <= {STACK} ? fixed : malloc(blocks * size + {ALIGNED});")
    line("if (!memory) __builtin_trap();")
    line(f"char *const sums = (char *)(((__UINTPTR_TYPE__)memory + {ALIGNED - 1}) & -{ALIGNED});")
    call = f"{run}(pointers, numbers, block * step, iterations - block * step < step ? iterations - block * step : step"
    call += f"{sums.arguments('sums + block * size')});"
    text.count_threads(f"iterations * columns / {grain}", "blocks", threads)
    loop = f"for (int64_t block = 0; block < blocks; block++) {call}"
    text.parallel("parts > 1", "num_threads(parts) schedule(static)", loop)
    unless = "if (!direct) " if sums.may_be_direct() else ""
    line(f"{unless}{name}(pointers, numbers, sums, blocks);")
    line("if (memory != fixed) free(memory);")
