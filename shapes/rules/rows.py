"""Rows of different lengths in one axis: the family of their lengths, and the facts about it.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, t = env.symbol("b", lo=1), env.symbol("t")
    >>> rows = Rows.declare(env, b, t, name="j")
    >>> type(env.ask(rows.length <= t)).__name__, type(env.ask(b * rows.longest >= t)).__name__
    ('Always', 'Always')
    >>> Ragged((b, rows.length, 8), rows).values
    Shape(t, 8)

The size of a ragged axis is a symbol for the length of *any* row. What is proven of it holds for every row, and what is
assumed of it is assumed of every row: `j == k` says that two divisions have the same offsets. A condition on it is
therefore never a branch, only a check. Where there is no row, nothing is said: bounds of the length hold if there is
one, so that a check of all rows does not tell that there are some.

A sum over the rows is linear: lengths of `2*j + 3` are `2*t + 3*b` elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.axes import replaced
from shapes.rules.broadcasting import agree, same
from shapes.rules.elements import Elements
from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int, Truth, sym_or, sym_sum
from shapes.symbolic.numbers import SymInt


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """The division of an axis into rows, one after another.

    Attributes:
        count: the number of rows.
        total: the number of elements, which is the last offset and the sum of the lengths.
        length: the length of any row.
        shortest, longest: bounds of every length.
        families: the divisions whose lengths this one's is made of: itself, if it is declared.
    """

    env: ShapeEnv
    count: Int
    total: Int
    length: SymInt
    shortest: Int
    longest: Int
    families: tuple[Rows, ...] = ()
    _offsets: list[tuple[Int, Int]] = field(default_factory=list)
    _parts: list[tuple[Rows, ...]] = field(default_factory=list)

    @classmethod
    def declare(
        cls,
        env: ShapeEnv,
        count: Int,
        total: Int,
        *,
        shortest: Int = 0,
        longest: Int | None = None,
        name: str | None = None,
    ) -> Rows:
        """The rows that offsets from 0 to `total` divide an axis into; their facts become the environment's.

        Raises:
            Contradiction: there are no such rows.
        """
        length = env.unbacked(name, lo=0)
        if longest is None:
            longest = env.unbacked(None if name is None else f"{name}_longest", lo=0)
            _of_rows(env, count, longest <= total)
        made = cls(env, count, total, length, shortest, longest)
        _of_rows(env, count, length <= longest, length <= total, length >= shortest)
        for fact in (total >= count * shortest, total <= count * longest):
            env.postulate(fact)
        env.attach(made._kept)
        return made

    @property
    def bases(self) -> tuple[Rows, ...]:
        """The declared divisions whose lengths this one's is made of."""
        return self.families or (self,)

    @property
    def offsets(self) -> Shape:
        """The places at which rows begin, and at last the one at which they end: they never decrease."""
        known = Elements(lo=0, hi=self.total, ordered=True, first=0, last=self.total)
        return Shape((self.count + 1,), dtype="int64", elements=known)

    @property
    def lengths(self) -> Shape:
        """The lengths of the rows, which sum to the number of elements."""
        known = Elements(lo=self.shortest, hi=self.longest, total=self.total)
        return Shape((self.count,), dtype="int64", elements=known)

    def offset(self, row: Int) -> Int:
        """The element with which a row begins, related to the offsets that were asked for before."""
        if not self._offsets:
            self._offsets.extend([(0, 0), (self.count, self.total)])
        for known, element in self._offsets:
            if same(known, row):
                return element
        self.env.require(row >= 0, "there is no row before the first")
        self.env.require(row <= self.count, "there are not as many rows")
        made = self.env.unbacked(lo=0)
        for known, element in self._offsets:
            steps = row - known
            # lengths between the bounds, so offsets in their order
            if steps >= 0 if isinstance(steps, int) else self.env.proves(steps >= 0):
                between = made - element
            elif steps < 0 if isinstance(steps, int) else self.env.proves(steps <= 0):
                steps, between = -steps, element - made
            else:
                continue
            self.env.postulate(between >= steps * self.shortest)
            self.env.postulate(between <= steps * self.longest)
        self._offsets.append((row, made))
        return made

    def length_of(self, row: Int) -> Int:
        """The length of a row by its number, counted from the end if that is a negative constant."""
        row = row + self.count if isinstance(row, int) and row < 0 else row
        self.env.require(row >= 0, "there is no row before the first")
        self.env.require(row < self.count, "there are not as many rows")
        return self.offset(row + 1) - self.offset(row)

    def parts(self, counts: Sequence[Int]) -> tuple[Rows, ...]:
        """Parts with so many rows each, whose elements add up to all."""
        for parts in self._parts:
            if len(parts) == len(counts) and all(same(part.count, count) for part, count in zip(parts, counts)):
                return parts
        begin: Int = 0
        made = []
        for count in counts:
            total = self.offset(begin + count) - self.offset(begin)
            made.append(Rows.declare(self.env, count, total, shortest=self.shortest, longest=self.longest))
            begin = begin + count
        self._parts.append(tuple(made))
        return self._parts[-1]

    def with_length(self, length: Int, bases: Iterable[Rows]) -> Rows | None:
        """A division into as many rows, of a length made of those of `bases`; None if their sum is unknown."""
        total = summed(length, self.count, bases)
        if total is None or isinstance(length, int):
            return None
        longest = self.env.unbacked(lo=0)
        _of_rows(self.env, self.count, longest >= length, longest <= total)
        self.env.postulate(total <= self.count * longest)
        return Rows(self.env, self.count, total, length, 0, longest, tuple(bases))

    def is_in(self, size: Int) -> bool:
        """Return True if a size depends on the row."""
        return isinstance(size, SymInt) and not self.length.expr.symbols.isdisjoint(size.expr.symbols)

    def _kept(self) -> Callable[[], None]:
        """A function that restores the offsets known now."""
        offsets, parts = len(self._offsets), len(self._parts)

        def restore() -> None:
            del self._offsets[offsets:]
            del self._parts[parts:]

        return restore


def _of_rows(env: ShapeEnv, count: Int, *facts: Truth) -> None:
    """State facts of any row, which say nothing where there is none."""
    is_empty = count == 0
    is_empty = is_empty if isinstance(is_empty, bool) or not env.proves(count > 0) else False
    for fact in facts:
        env.postulate(sym_or(fact, is_empty))


def summed(size: Int, count: Int, bases: Iterable[Rows]) -> Int | None:
    """The sum over all rows of a size, if that is linear in their lengths; else None."""
    assert isinstance(size, SymInt)
    totals = {str(each.length): each for each in bases}
    nothing: dict[str, int | SymInt] = dict.fromkeys(totals, 0)
    constant = size.substitute(nothing)
    parts, wanted = [constant], [constant * count]
    for name, rows in totals.items():
        step = size.substitute({**nothing, name: 1}) - constant
        parts.append(step * rows.length)
        wanted.append(step * rows.total)
    return sym_sum(wanted) if same(sym_sum(parts), size) else None


class Ragged(Shape):
    """The shape of a tensor with a ragged axis: rows first, then dense axes and one whose size depends on the row."""

    is_ragged = True
    rows: Rows
    axis: int

    def __new__(cls, sizes: Iterable[Int], rows: Rows, *, dtype: str | None = None) -> Self:
        made = super().__new__(cls, sizes, dtype=dtype)
        axes = [axis for axis, size in enumerate(made) if any(each.is_in(size) for each in rows.bases)]
        if len(axes) != 1 or axes[0] == 0 or not same(made[axes[0]], rows.length):
            raise ShapeError(f"{Shape(made)}: expected one axis of {rows.length}, behind that of the rows")
        agree(rows.env, made[0], rows.count, "the first axis is not that of the rows")
        made.rows, made.axis = rows, axes[0]
        return made

    @property
    def values(self) -> Shape:
        """All rows in one axis."""
        return Shape(self.with_size(self.rows.total)[1:], dtype=self.dtype)

    def with_size(self, size: Int) -> Shape:
        """The sizes with another one in the ragged axis."""
        return Shape(replaced(self, self.axis, size), dtype=self.dtype)

    def of(self, rows: Rows) -> Shape:
        """The sizes of any row of a division."""
        return Shape((rows.count, *self.with_size(rows.length)[1:]), dtype=self.dtype)

    def __repr__(self) -> str:
        return f"Ragged{super().__repr__()[len('Shape') :]}"
