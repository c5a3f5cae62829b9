"""Kernels that go by rows and add up over rows: every block of rows has sums of its own, which are added up afterwards.

    for each block of rows (in parallel):         k0_unit
        sums[block] = 0
        for its rows: for columns: ...; sums[block][column] += value
    for columns:                                  k0_sums
        store the sum over all blocks

How many blocks there are depends on the sizes only, and they are added up in order, so a result does not depend on how
many threads there are. A block is no longer than what one accumulator takes (`backends.cpu.emission.reducing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from backends.cpu.emission.loops import Loops
from backends.cpu.emission.reducing import PARTS, Totals
from backends.cpu.emission.spelling import KINDS, MEMORY, element_of, joined
from backends.cpu.emission.text import Text
from backends.cpu.emission.values import Copy, Writer, vector_loops
from backends.loops.kernels import Reduction, Store

LONGEST: Final = 256
"""Rows of a block at most: the additions that one accumulator takes."""
SHORTEST: Final = 32
"""Rows of a block at least: beside so many, adding up the blocks is little."""
BLOCKS: Final = 64
"""Blocks that are enough for all threads."""
SIDE_BY_SIDE: Final = 4
"""Vectors of sums that are added up in one turn: an addition waits for the one before."""
STACK: Final = 1 << 16
"""Bytes of sums that lie on the stack."""
ALIGNED: Final = 64
"""The sums begin at multiples of so many bytes, those of a cache line."""


class Sums:
    """The sums of a block: for each store its columns, in rows that are as long as whole vectors."""

    def __init__(self, loops: Loops, writer: Writer, text: Text) -> None:
        self._kernel = loops.kernel
        self._writer = writer
        self._text = text
        self.stores = loops.kernel.summed

    def measure(self) -> None:
        """Declare how many columns there are for each store, and how many bytes a block has."""
        *around, last = [self._extent(axis) for axis in self._axes]
        size = sum([element_of(store.value.dtype).size for store in self.stores])
        self._text.line(f"const int64_t length = ({last} + N - 1) / N * N;")
        self._text.line(f"const int64_t columns = {' * '.join([*around, 'length'])};")
        self._text.line(f"const int64_t size = columns * {size};")

    def begin(self) -> None:
        """Nothing has been added yet to the block that is at `sums`."""
        self.measure()
        self._text.line("__builtin_memset(sums, 0, size);")
        self._places("sums")

    def add(self, store: Store, vectors: Sequence[Copy]) -> None:
        """Add what is in registers: whole vectors, as a masked store makes the next load wait."""
        for vector in vectors:
            value = self._writer.name(store.value, vector).vector
            kind, sums = KINDS[store.value.dtype], self._at(store, vector)
            total = joined("sum", f"load_{kind}({sums}, N)", value, store.value.dtype)
            self._text.line(f"store_{kind}({sums}, {total}, N);")

    def write_totals(self, name: str) -> None:
        """The function that adds up the blocks and stores."""
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

    def _total(self, vectors: Sequence[Copy]) -> None:
        line, block = self._text.line, self._text.block
        stores = {Reduction("sum", store.value): store for store in self.stores}
        slots = [(reduction, vector.number) for reduction in stores for vector in vectors]
        totals = Totals(self._text, self._writer.serial, slots, in_parts=True)
        with block(f"for (int64_t from = 0; from < blocks; from += {PARTS})"):
            line(f"const int64_t to = blocks - from < {PARTS} ? blocks : from + {PARTS};")
            totals.begin(dict.fromkeys(slots, 1))
            with block("for (int64_t block = from; block < to; block++)"):
                self._places("sums + block * size")
                for reduction, store in stores.items():
                    for vector in vectors:
                        part = f"load_{KINDS[store.value.dtype]}({self._at(store, vector)}, N)"
                        totals.take((reduction, vector.number), 0, part)
            totals.end("from", PARTS)
        for (reduction, number), total in totals.results(over_lanes=False):
            self._writer.put(stores[reduction], total, vectors[number])

    # ------------------------------------------------------------------ places

    @property
    def _axes(self) -> range:
        return range(self._kernel.outer, len(self._kernel.extents))

    def _extent(self, axis: int) -> str:
        return self._writer.size(self._kernel.extents[axis])

    def _places(self, start: str) -> None:
        """Declare where the sums of each store are in a block that starts here."""
        offset = 0
        for place, store in enumerate(self.stores):
            kind = MEMORY[KINDS[store.value.dtype]]
            self._text.line(f"{kind} *c{place} = ({kind} *)({start} + columns * {offset});")
            offset += element_of(store.value.dtype).size

    def _at(self, store: Store, vector: Copy) -> str:
        """The address of a vector of sums."""
        *around, last = self._axes
        place = ""
        for axis in around:
            place = f"({place}) * {self._extent(axis)} + i{axis}" if place else f"i{axis}"
        row = f"({place}) * length + " if place else ""
        return f"c{self.stores.index(store)} + {row}{vector.place(f'i{last}')}"


def write_summing(loops: Loops, text: Text, name: str, run: str, *, turns: str, threads: str, grain: int) -> None:
    """What the entry does: all blocks, and then what is stored of their sums."""
    line = text.line
    writer = Writer(loops, text, is_narrow=False)
    writer.prologue()
    Sums(loops, writer, text).measure()
    line(f"const int64_t turns = {turns};")
    line(f"int64_t step = turns / {BLOCKS} + 1;")
    line(f"step = step < {SHORTEST} ? {SHORTEST} : step > {LONGEST} ? {LONGEST} : step;")
    line(f"if (turns <= {LONGEST} && turns * columns < {2 * grain}) step = {LONGEST};")
    line("const int64_t blocks = (turns + step - 1) / step;")
    line(f"char fixed[{STACK}] __attribute__((aligned({ALIGNED})));")
    line(f"char *memory = blocks * size <= {STACK} ? fixed : malloc(blocks * size + {ALIGNED});")
    line("if (!memory) __builtin_trap();")
    line(f"char *const sums = (char *)(((__UINTPTR_TYPE__)memory + {ALIGNED - 1}) & -{ALIGNED});")
    call = f"{run}(pointers, numbers, block * step, turns - block * step < step ? turns - block * step : step, "
    call += "sums + block * size);"
    line("#ifdef _OPENMP")
    line(f"int64_t parts = turns * columns / {grain};")
    line("parts = parts < blocks ? parts : blocks;")
    line(f"parts = parts < {threads} ? parts : {threads};")
    with text.block("if (parts > 1)"):
        line("#pragma omp parallel for num_threads(parts) schedule(static)")
        line(f"for (int64_t block = 0; block < blocks; block++) {call}")
    line("else")
    line("#endif")
    line(f"for (int64_t block = 0; block < blocks; block++) {call}")
    line(f"{name}(pointers, numbers, sums, blocks);")
    line("if (memory != fixed) free(memory);")


__all__ = ["Sums", "write_summing"]
