"""Vectorized loops, unrolled, with a masked tail.

>>> Vector(2, 2).place("i1"), Vector(0, 0, "n").count
('(i1 + 2 * N)', 'n')
>>> text = Text()
>>> for vectors in vector_loops(text, "i0", "n0", 1):
...     text.line(f"... {vectors[0].count}")
>>> print(text)
for (; i0 + N <= n0; i0 += N) {
    ... N
}
if (i0 < n0) {
    const int64_t n = n0 - i0;
    ... n
}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backends.cpu.emission.text import Text


@dataclass(frozen=True, slots=True)
class Vector:
    """One of the vectors of an unrolled iteration.

    Attributes:
        shift: its distance from the loop's variable, in vectors.
        count: how many of its lanes are elements.
    """

    number: int
    shift: int
    count: str = "N"

    def place(self, variable: str) -> str:
        return f"({variable} + {self.shift} * N)" if self.shift else variable


def unroll(count: int) -> tuple[Vector, ...]:
    """A number of whole vectors."""
    return tuple([Vector(number, number) for number in range(count)])


ONE = unroll(1)
TAIL = (Vector(0, 0, "n"),)
"""The last vector, of n elements."""


def vector_loops(text: Text, place: str, stop: str, wide: int, *, has_tail: bool = True) -> Iterator[Sequence[Vector]]:
    """Loops along the lanes; each is given with the vectors of one iteration. (One loop for whole vectors
    and the tail would be shorter, but masks cost a tenth of the time even of erf.)"""
    for count in (wide, 1) if wide > 1 else (1,):
        step = f"{count} * N" if count > 1 else "N"
        with text.block(f"for (; {place} + {step} <= {stop}; {place} += {step})"):
            yield unroll(count)
    if has_tail:
        yield from _tail(text, place, stop)


def vector_loops_reversed(
    text: Text, place: str, stop: str, is_back: str, *, has_tail: bool = True
) -> Iterator[Sequence[Vector]]:
    """Vector by vector, from the end to 0 where a condition holds, otherwise from 0; what is no whole vector comes
    last. The place begins wherever it is."""
    text.line(f"const int64_t step = {is_back} ? -N : N;")
    text.line(f"{place} = {is_back} ? ({stop} / N - 1) * N : 0;")
    with text.block(f"for (int64_t rest = {stop} / N; rest > 0; rest--, {place} += step)"):
        yield ONE
    if has_tail:
        text.line(f"{place} = {stop} / N * N;")
        yield from _tail(text, place, stop)


def _tail(text: Text, place: str, stop: str) -> Iterator[Sequence[Vector]]:
    with text.block(f"if ({place} < {stop})"):
        text.line(f"const int64_t n = {stop} - {place};")
        yield TAIL
