"""Reductions within a pass: several accumulators each, added to a total in parts, so that long sums keep their digits.

    >>> from itertools import count
    >>> from backends.cpu.emission.text import Text
    >>> from backends.loops.kernels import Constant, Reduction
    >>> total = Reduction("sum", Constant(1.0, "float32"))
    >>> text = Text()
    >>> totals = Totals(text, count(1), {(total, 0): 2}, part=1024)
    >>> totals.taken("to - from")
    >>> print(text)
    f32v a1 = splat_f32(0x0.0p+0f);
    f32v a2 = splat_f32(0x0.0p+0f);
    f32v t3 = splat_f32(0x0.0p+0f);
    f32v m4 = splat_f32(0x0.0p+0f);
    int64_t room5 = 1024, parts5 = 0;
    if ((room5 -= to - from) <= 0) {
        room5 = 1024;
        parts5++;
        m4 = (m4 + (a1 + a2));
        a1 = splat_f32(0x0.0p+0f);
        a2 = splat_f32(0x0.0p+0f);
        if (parts5 % 64 == 0) {
            t3 = (t3 + m4);
            m4 = splat_f32(0x0.0p+0f);
        }
    }

A sum of n numbers one after the other loses about log2(n)/2 binary digits. Here no accumulator takes more than a few
hundred before it is added to a sum of parts, and that takes `PARTS` before it is added to the total. What is no more
than one part is the sum of the accumulators, and nothing else is done for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from backends.cpu.emission.spelling import Named, across, constant, element_of, identity, joined
from backends.cpu.emission.text import Text
from backends.loops.kernels import Reduction
from backends.loops.operations import is_float

PARTS: Final = 64
"""Parts of a long sum that are added up before they are added to the total."""
Slot = tuple[Reduction, int]
"""A result: a reduction, and of which vector."""


class Totals:
    """The results of a pass while they come to be.

    The least and the greatest of floats are taken of what is no NaN, and whether there was one is known aside, in a
    mask named after the accumulator: that leaves one instruction between an accumulator and its next value.

    They are declared at once, so around all loops that add to them.
    """

    def __init__(self, text: Text, serial: Iterator[int], widths: Mapping[Slot, int], *, part: int = 0) -> None:
        """`widths` says how many accumulators each has; `part` how much they take before it is put aside, 0 for no
        limit."""
        self._text = text
        self._serial = serial
        self._part = part
        self._accumulators = {slot: [self._declare(slot[0], "a") for _ in range(n)] for slot, n in widths.items()}
        self._strange = {slot: [f"{name}nan" for name in names] for slot, names in self._accumulators.items()}
        self._totals = {slot: self._declare(slot[0], "t") for slot in widths if part}
        self._sums = {slot: self._declare(slot[0], "m") for slot in self._totals if is_long_sum(slot[0])}
        self._parts = ""
        if part:
            number = next(serial)
            self._room, self._parts = f"room{number}", f"parts{number}"
            text.line(f"int64_t {self._room} = {part}, {self._parts} = 0;")

    def take(self, slot: Slot, place: int, value: str) -> None:
        """A vector is added to one of the accumulators."""
        name = self._accumulators[slot][place]
        self._join(slot[0], name, value)
        if is_extreme(slot[0]):
            self._text.line(f"{name}nan |= {value} != {value};")

    def whole(self, slot: Slot, values: Sequence[str]) -> None:
        """What is reduced is these vectors, and nothing else."""
        self._accumulators[slot] = list(values)
        self._strange[slot] = [f"({value} != {value})" for value in values]

    def taken(self, count: str) -> None:
        """So much has been taken: a part that is full is put aside."""
        if not self._part:
            return
        with self._text.block(f"if (({self._room} -= {count}) <= 0)"):
            self._text.line(f"{self._room} = {self._part};")
            self._text.line(f"{self._parts}++;")
            for slot, names in self._accumulators.items():
                aside = self._sums.get(slot, self._totals[slot])
                self._join(slot[0], aside, self._paired(slot[0], names))
                if is_extreme(slot[0]):
                    self._text.line(f"{aside}nan |= {' | '.join(self._strange[slot])};")
                for name in names:
                    self._text.line(f"{name} = {identity(slot[0].operation, slot[0].dtype)};")
            if self._sums:
                with self._text.block(f"if ({self._parts} % {PARTS} == 0)"):
                    for slot, name in self._sums.items():
                        self._join(slot[0], self._totals[slot], name)
                        self._text.line(f"{name} = {identity(slot[0].operation, slot[0].dtype)};")

    def results(self, *, over_lanes: bool) -> Iterator[tuple[Slot, Named]]:
        """The results by name, one of each lane or one in all of them."""
        for slot, names in self._accumulators.items():
            yield slot, self._result(slot, names, over_lanes=over_lanes)

    def _result(self, slot: Slot, names: Sequence[str], *, over_lanes: bool) -> Named:
        reduction = slot[0]
        element = element_of(reduction.dtype)
        total = f"r{next(self._serial)}"
        self._text.line(f"{element.vector} {total} = {self._paired(reduction, names)};")
        if is_extreme(reduction):
            self._text.line(f"{element.mask} {total}nan = {' | '.join(self._strange[slot])};")
        if self._part:
            with self._text.block(f"if ({self._parts})"):
                for aside in (self._sums.get(slot), self._totals[slot]):
                    if aside is not None:
                        self._join(reduction, total, aside)
                if is_extreme(reduction):
                    self._text.line(f"{total}nan |= {self._totals[slot]}nan;")
        result = total
        if is_extreme(reduction):
            nan = constant(math.nan, reduction.dtype)
            result = f"select_{element.name}({total}nan, {nan}, {total})"
            if over_lanes:
                every = across(reduction.operation, total, reduction.dtype)
                result = f"any_m{8 * element.size}({total}nan) ? {nan} : {every}"
        elif over_lanes:
            result = across(reduction.operation, total, reduction.dtype)
        if result == total:
            return Named(total, reduction.dtype)
        name = f"r{next(self._serial)}"
        self._text.line(f"const {element.vector} {name} = {result};")
        return Named(name, reduction.dtype)

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
        return joined(reduction.operation, a, b, reduction.dtype)

    def _paired(self, reduction: Reduction, parts: Sequence[str]) -> str:
        """All of them joined, in pairs."""
        while len(parts) > 1:
            left = parts[-1:] if len(parts) % 2 else []
            parts = [*[self._joined(reduction, a, b) for a, b in zip(parts[::2], parts[1::2])], *left]
        return parts[0]


def is_extreme(reduction: Reduction) -> bool:
    """Whether it is the least or the greatest of floats."""
    return reduction.operation in ("minimum", "maximum") and is_float(reduction.dtype)


def is_long_sum(reduction: Reduction) -> bool:
    """Whether many additions one after the other would lose digits."""
    return reduction.operation == "sum" and is_float(reduction.dtype)


__all__ = ["Slot", "Totals", "is_extreme", "is_long_sum"]
