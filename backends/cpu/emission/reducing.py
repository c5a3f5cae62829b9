"""Reductions within a pass: several accumulators each, added to a total in parts, so that long sums keep their digits.

    >>> from itertools import count
    >>> from backends.cpu.emission.text import Text
    >>> from backends.loops.kernels import Constant, Reduction
    >>> total = Reduction("sum", Constant(1.0, "float32"))
    >>> text = Text()
    >>> totals = Totals(text, count(1), [(total, 0)], in_parts=True)
    >>> totals.begin({(total, 0): 2})
    >>> totals.end("from", 1024)
    >>> print(text)
    f32v t1 = splat_f32(0x0.0p+0f);
    f32v m2 = splat_f32(0x0.0p+0f);
    f32v a3 = splat_f32(0x0.0p+0f);
    f32v a4 = splat_f32(0x0.0p+0f);
    m2 = (m2 + (a3 + a4));
    if ((from & 64512) == 64512) {
        t1 = (t1 + m2);
        m2 = splat_f32(0x0.0p+0f);
    }

A sum of n numbers one after the other loses about log2(n)/2 binary digits. Here no accumulator takes more than a few
hundred before it is added to a sum of parts, and that takes `PARTS` before it is added to the total.
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

    Attributes:
        names: the total of each.
    """

    def __init__(self, text: Text, serial: Iterator[int], slots: Sequence[Slot], *, in_parts: bool) -> None:
        self._text = text
        self._serial = serial
        self.names = {slot: self._declare(slot[0], "t") for slot in slots}
        self._sums = {slot: self._declare(slot[0], "m") for slot in slots if in_parts and is_long_sum(slot[0])}
        self._accumulators: dict[Slot, list[str]] = {slot: [name] for slot, name in self.names.items()}

    def begin(self, widths: Mapping[Slot, int]) -> None:
        """Accumulators of their own for what follows, so many for each result."""
        self._accumulators = {slot: [self._declare(slot[0], "a") for _ in range(n)] for slot, n in widths.items()}

    def take(self, slot: Slot, place: int, value: str) -> None:
        """A vector is added to one of the accumulators."""
        name = self._accumulators[slot][place]
        self._join(slot[0], name, value)
        if is_extreme(slot[0]):
            self._text.line(f"{name}nan |= {value} != {value};")

    def end(self, place: str = "", part: int = 0) -> None:
        """What they have goes to the totals; `place` is where this part begins, each is so long."""
        for slot, parts in self._accumulators.items():
            self._add(slot[0], self._sums.get(slot, self.names[slot]), parts)
        if self._sums:
            mask = part * PARTS - part
            with self._text.block(f"if (({place} & {mask}) == {mask})"):
                self._flush()
                for (reduction, _), name in self._sums.items():
                    self._text.line(f"{name} = {identity(reduction.operation, reduction.dtype)};")

    def whole(self, slot: Slot, values: Sequence[str]) -> None:
        """A total of these vectors, and of nothing else."""
        reduction = slot[0]
        name = self.names[slot] = f"t{next(self._serial)}"
        element = element_of(reduction.dtype)
        self._text.line(f"const {element.vector} {name} = {self._paired(reduction, values)};")
        if is_extreme(reduction):
            strange = " | ".join([f"({value} != {value})" for value in values])
            self._text.line(f"const {element.mask} {name}nan = {strange};")

    def results(self, *, over_lanes: bool) -> Iterator[tuple[Slot, Named]]:
        """The results by name, one of each lane or one in all of them."""
        self._flush()
        for slot, total in self.names.items():
            reduction = slot[0]
            element = element_of(reduction.dtype)
            result = total
            if is_extreme(reduction):
                nan = constant(math.nan, reduction.dtype)
                result = f"select_{element.name}({total}nan, {nan}, {total})"
                if over_lanes:
                    every = across(reduction.operation, total, reduction.dtype)
                    result = f"any_m{8 * element.size}({total}nan) ? {nan} : {every}"
            elif over_lanes:
                result = across(reduction.operation, total, reduction.dtype)
            name = f"r{next(self._serial)}"
            self._text.line(f"const {element.vector} {name} = {result};")
            yield slot, Named(name, reduction.dtype)

    def _flush(self) -> None:
        """Sums of parts go to the totals."""
        for slot, name in self._sums.items():
            self._add(slot[0], self.names[slot], [name])

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

    def _add(self, reduction: Reduction, total: str, parts: Sequence[str]) -> None:
        if is_extreme(reduction):
            self._text.line(f"{total}nan |= {' | '.join([f'{part}nan' for part in parts])};")
        self._join(reduction, total, self._paired(reduction, parts))

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
