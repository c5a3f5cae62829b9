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

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from backends.cpu.emission.spelling import element_of, identity, joined
from backends.cpu.emission.text import Text
from backends.loops.kernels import Reduction

PARTS: Final = 64
"""Parts of a long sum that are added up before they are added to the total."""
Slot = tuple[Reduction, int]
"""A result: a reduction, and of which vector."""


class Totals:
    """The results of a pass while they come to be.

    Attributes:
        names: the total of each.
        accumulators: of the part at hand: what a vector of a turn is added to.
    """

    def __init__(self, text: Text, serial: Iterator[int], slots: Sequence[Slot], *, in_parts: bool) -> None:
        self._text = text
        self._serial = serial
        self.names = {slot: self._declare(slot[0], "t") for slot in slots}
        self._sums = {slot: self._declare(slot[0], "m") for slot in slots if in_parts and is_long_sum(slot[0])}
        self.accumulators: dict[Slot, list[str]] = {slot: [name] for slot, name in self.names.items()}

    def begin(self, widths: Mapping[Slot, int]) -> None:
        """Accumulators of their own for what follows, so many for each result."""
        self.accumulators = {slot: [self._declare(slot[0], "a") for _ in range(n)] for slot, n in widths.items()}

    def end(self, place: str = "", part: int = 0) -> None:
        """What they have goes to the totals; `place` is where this part begins, each is so long."""
        for slot, parts in self.accumulators.items():
            self._add(slot[0], self._sums.get(slot, self.names[slot]), parts)
        if self._sums:
            mask = part * PARTS - part
            with self._text.block(f"if (({place} & {mask}) == {mask})"):
                self.flush()
                for (reduction, _), name in self._sums.items():
                    self._text.line(f"{name} = {identity(reduction.operation, reduction.dtype)};")

    def flush(self) -> None:
        """Sums of parts go to the totals."""
        for slot, name in self._sums.items():
            self._add(slot[0], self.names[slot], [name])

    def _declare(self, reduction: Reduction, prefix: str) -> str:
        name = f"{prefix}{next(self._serial)}"
        start = identity(reduction.operation, reduction.dtype)
        self._text.line(f"{element_of(reduction.dtype).vector} {name} = {start};")
        return name

    def _add(self, reduction: Reduction, total: str, parts: Sequence[str]) -> None:
        """In pairs."""
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2])
            parts = [joined(reduction.operation, a, b, reduction.dtype) for a, b in pairs]
        self._text.line(f"{total} = {joined(reduction.operation, total, parts[0], reduction.dtype)};")


def is_long_sum(reduction: Reduction) -> bool:
    """Whether many additions one after the other would lose digits."""
    return reduction.operation == "sum" and reduction.dtype.startswith("float")


__all__ = ["Slot", "Totals", "is_long_sum"]
