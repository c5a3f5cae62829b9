"""Reductions within a pass: several accumulators, and blocked summation for a small error of long sums.

    >>> from itertools import count
    >>> from backends.cpu.emission.text import Text
    >>> from backends.loops.kernels import Constant, Reduction
    >>> total = Reduction("sum", Constant(1.0, "float32"))
    >>> text = Text()
    >>> totals = Totals(text, count(1), {(total, 0): 2}, part=1024)
    >>> with totals.parts("0", "n"):
    ...     text.line("...")
    >>> print(text)
    f32v a1 = splat_f32(0x0.0p+0f);
    f32v a2 = splat_f32(0x0.0p+0f);
    f32v m3[2];
    int64_t parts4 = 0;
    for (int64_t from = 0;;) {
        const int64_t to = n - from < 1024 ? n : from + 1024;
        ...
        if (__builtin_expect(to < n, 0)) {
            if (!parts4++) __builtin_memset(m3, 0, sizeof m3);
            m3[0] = (m3[0] + (a1 + a2));
            a1 = splat_f32(0x0.0p+0f);
            a2 = splat_f32(0x0.0p+0f);
            if (parts4 % 64 == 0) {
                m3[1] = (m3[1] + m3[0]);
                m3[0] = splat_f32(0x0.0p+0f);
            }
            from = to;
            continue;
        }
        break;
    }

A sum of n numbers one after the other loses about log2(n)/2 binary digits. Here no accumulator takes more than a few
hundred before it is added to a sum of parts, and that takes `PARTS` before it is added to the total. What is no more
than one part is the sum of the accumulators, and nothing else is done for it: what is put aside is in memory that only
long sums touch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from backends.cpu.emission.c_operations import CValue, across_lanes, combined, constant, element_of, identity
from backends.cpu.emission.text import Text
from backends.loops.kernels import Reduction
from backends.loops.operations import is_float

PARTS: Final = 64
"""Parts of a long sum that are added up before they are added to the total."""
Slot = tuple[Reduction, int]
"""A result: a reduction, and of which vector."""


class Totals:
    """The accumulators of a pass.

    The least and the greatest of floats are taken of what is no NaN, and whether there was one is known aside, in a
    mask named after the accumulator: that leaves one instruction between an accumulator and its next value.

    They are declared at once, so around all loops that add to them.
    """

    def __init__(
        self, text: Text, serial: Iterator[int], widths: Mapping[Slot, int], *, part: int = 0, is_nested: bool = False
    ) -> None:
        """`widths` says how many accumulators each has; `part` how much they take before it is put aside, 0 for no
        limit; `is_nested` if the loop over parts is within another one that adds to the same."""
        self._text = text
        self._serial = serial
        self._part = part
        self._accumulators = {slot: [self._declare(slot[0], "a") for _ in range(n)] for slot, n in widths.items()}
        self._strange = {slot: [f"{name}nan" for name in names] for slot, names in self._accumulators.items()}
        self._aside: dict[Slot, str] = {}
        """The values kept of each long sum: the partial sum of some parts, and the total."""
        for slot in widths if part else ():
            if is_long_sum(slot[0]):
                self._aside[slot] = name = f"m{next(serial)}"
                text.line(f"{element_of(slot[0].dtype).vector} {name}[2];")
        self._is_nested = is_nested
        number = next(serial)
        self._count, self._room = f"parts{number}", f"room{number}"
        if self._aside:
            text.line(f"int64_t {self._count} = 0{f', {self._room} = {part}' if is_nested else ''};")

    def take(self, slot: Slot, place: int, value: str) -> None:
        """Combine a vector into one of the accumulators."""
        name = self._accumulators[slot][place]
        self._join(slot[0], name, value)
        if is_extreme(slot[0]):
            self._text.line(f"{name}nan |= {value} != {value};")

    def whole(self, slot: Slot, values: Sequence[str]) -> None:
        """Reduce these vectors alone."""
        self._accumulators[slot] = list(values)
        self._strange[slot] = [f"({value} != {value})" for value in values]

    @contextmanager
    def parts(self, first: str, last: str, *, rest: int = 0) -> Iterator[tuple[str, str]]:
        """A loop over the parts of an axis, given with where each begins and ends. What accumulators have taken is put
        aside where a part is full; with loops around this one, `rest` is what one of them may take for each row beside
        its share."""
        line, block = self._text.line, self._text.block
        if not self._aside:
            yield first, last
            return
        if not self._is_nested:
            with block(f"for (int64_t from = {first};;)"):
                line(f"const int64_t to = {last} - from < {self._part} ? {last} : from + {self._part};")
                yield "from", "to"
                with block(f"if (__builtin_expect(to < {last}, 0))"):
                    self._put_aside()
                    line("from = to;")
                    line("continue;")
                line("break;")
            return
        with block(f"for (int64_t from = {first}; from < {last}; from += {self._part})"):
            line(f"const int64_t to = {last} - from < {self._part} ? {last} : from + {self._part};")
            yield "from", "to"
            with block(f"if (__builtin_expect((room -= to - from + {rest}) <= 0, 0))".replace("room", self._room)):
                line(f"{self._room} = {self._part};")
                self._put_aside()

    def _put_aside(self) -> None:
        line = self._text.line
        cleared = " ".join([f"__builtin_memset({name}, 0, sizeof {name});" for name in self._aside.values()])
        line(f"if (!{self._count}++) {f'{{ {cleared} }}' if len(self._aside) > 1 else cleared}")
        zeros = {slot: identity(slot[0].operation, slot[0].dtype) for slot in self._aside}
        for slot, name in self._aside.items():
            self._join(slot[0], f"{name}[0]", self._paired(slot[0], self._accumulators[slot]))
            for accumulator in self._accumulators[slot]:
                line(f"{accumulator} = {zeros[slot]};")
        with self._text.block(f"if ({self._count} % {PARTS} == 0)"):
            for slot, name in self._aside.items():
                self._join(slot[0], f"{name}[1]", f"{name}[0]")
                line(f"{name}[0] = {zeros[slot]};")

    def results(self, *, over_lanes: bool) -> Iterator[tuple[Slot, CValue]]:
        """The results by name, one for each lane or one in all of them."""
        for slot, names in self._accumulators.items():
            yield slot, self._result(slot, names, over_lanes=over_lanes)

    def _result(self, slot: Slot, names: Sequence[str], *, over_lanes: bool) -> CValue:
        reduction = slot[0]
        element = element_of(reduction.dtype)
        total = f"r{next(self._serial)}"
        self._text.line(f"{element.vector} {total} = {self._paired(reduction, names)};")
        if is_extreme(reduction):
            self._text.line(f"{element.mask} {total}nan = {' | '.join(self._strange[slot])};")
        if slot in self._aside:
            with self._text.block(f"if (__builtin_expect({self._count} > 0, 0))"):
                for place in range(2):
                    self._join(reduction, total, f"{self._aside[slot]}[{place}]")
        result = total
        if is_extreme(reduction):
            nan = constant(math.nan, reduction.dtype)
            result = f"select_{element.name}({total}nan, {nan}, {total})"
            if over_lanes:
                every = across_lanes(reduction.operation, total, reduction.dtype)
                result = f"any_m{8 * element.size}({total}nan) ? {nan} : {every}"
        elif over_lanes:
            result = across_lanes(reduction.operation, total, reduction.dtype)
        if result == total:
            return CValue(total, reduction.dtype)
        name = f"r{next(self._serial)}"
        self._text.line(f"const {element.vector} {name} = {result};")
        return CValue(name, reduction.dtype)

    def _declare(self, reduction: Reduction, prefix: str) -> str:
        name = f"{prefix}{next(self._serial)}"
        element = element_of(reduction.dtype)
        self._text.line(f"{element.vector} {name} = {identity(reduction.operation, reduction.dtype)};")
        if is_extreme(reduction):
            self._text.line(f"{element.mask} {name}nan = {{0}};")
        return name

    def _join(self, reduction: Reduction, total: str, value: str) -> None:
        self._text.line(f"{total} = {self._joined(reduction, total, value)};")

    def _joined(self, reduction: Reduction, a: str, b: str) -> str:
        if is_extreme(reduction):
            function = "greater" if reduction.operation == "maximum" else "lesser"
            return f"{function}_{element_of(reduction.dtype).name}({b}, {a})"
        return combined(reduction.operation, a, b, reduction.dtype)

    def _paired(self, reduction: Reduction, parts: Sequence[str]) -> str:
        """All of them combined in pairs, as a tree."""
        while len(parts) > 1:
            left = parts[-1:] if len(parts) % 2 else []
            parts = [*[self._joined(reduction, a, b) for a, b in zip(parts[::2], parts[1::2])], *left]
        return parts[0]


def is_extreme(reduction: Reduction) -> bool:
    """Return True for a minimum or maximum of floats."""
    return reduction.operation in ("minimum", "maximum") and is_float(reduction.dtype)


def is_long_sum(reduction: Reduction) -> bool:
    """Return True if many sequential additions would lose digits."""
    return reduction.operation == "sum" and is_float(reduction.dtype)
