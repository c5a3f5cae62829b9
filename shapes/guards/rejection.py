"""Witnesses of irredundant guards: sizes that one guard rejects and all others accept, found near the hints.

    >>> from shapes.guards.rejection import rejected_alone
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> (left,), (right,) = b.symbols, s.symbols
    >>> found = rejected_alone({left: 4, right: 128}, [terms.ge(s, 65), terms.ge(s, 4), terms.eq(b, 4)], [])
    >>> [None if values is None else (values[left], values[right]) for values in found]
    [(4, 64), None, (5, 128)]

Such sizes show that a guard is irredundant, without a proof. None found shows nothing: that `s >= 4` follows from
`s >= 65` takes a proof.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import gcd, lcm
from typing import Final, NamedTuple, TypeVar

from shapes.environment.shrink_assignment import shrink_assignment
from shapes.guards.congruences import lcm_of_others
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

Key = TypeVar("Key", bound=Hashable)
FAR: Final = 1 << 16
STEPS: Final = 9
"""Multiples of the period of the other remainders that are tried, on either side of the hint."""
ALONE: Final = 2
"""Conditions that reject a size are sought up to this number: a second one shows that none is alone."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Changed(Mapping[Key, int]):
    """An assignment that differs from another, which is shared, in few symbols."""

    others: Mapping[Key, int]
    changed: Mapping[Key, int]

    def __getitem__(self, key: Key) -> int:
        value = self.changed.get(key)
        return self.others[key] if value is None else value

    def __iter__(self) -> Iterator[Key]:
        return iter(self.others)

    def __len__(self) -> int:
        return len(self.others)

    def __repr__(self) -> str:
        return repr(dict(self))


def rejected_alone(
    hints: Mapping[Atom, int], guards: Sequence[Prop], known: Sequence[Prop]
) -> list[Changed[Atom] | None]:
    """For each guard, sizes that it rejects while all others and what is `known` accept them, as far as changing one
    hint finds some."""
    try:
        conditions = Conditions(hints, [*guards, *known])
        if not conditions.accept_hints():
            return [None] * len(guards)
        return [_alone(conditions, place) for place in range(len(guards))]
    except (KeyError, OverflowError):  # a symbol without a hint, or a power too large to evaluate
        return [None] * len(guards)


def _alone(conditions: Conditions, place: int) -> Changed[Atom] | None:
    """Sizes that only this condition rejects: when one symbol changes, only conditions about it can change."""
    guard, hints = conditions.props[place], conditions.hints
    for atom in sorted(guard.symbols, key=lambda atom: (len(conditions.about[atom]), atom.serial)):

        def accepted(values: Mapping[Atom, int], atom: Atom = atom) -> bool:
            return conditions.rejecting(atom, values[atom]) == [place]

        edges = (*conditions.edge(place, atom), *_beside(guard, conditions, atom))
        for value in chain(edges, conditions.beyond(place, atom)):
            if accepted({atom: value}):
                return Changed(hints, shrink_assignment({atom: value}, {atom: hints[atom]}, accepted))
    return None


def _beside(guard: Prop, conditions: Conditions, atom: Atom) -> tuple[int, ...]:
    """Values of a symbol at which a guard that holds at the hints may fail."""
    value = conditions.hints[atom]
    match guard.kind:
        case "eq":
            return value + 1, value - 1, FAR
        case "ne":
            remainder = remainder_of(guard, atom, conditions.hints)
            if remainder is not None:
                if remainder.slope not in (1, -1):
                    return ()
                root, off = value - remainder.start * remainder.slope, remainder.off(value)
                return root, root + remainder.modulus, value - off, value - off + remainder.modulus
            here = guard.expr.evaluate(conditions.hints)
            slope = conditions.evaluated_at(guard, atom, value + 1) - here
            return (value - here // slope,) if slope and here % slope == 0 else ()
        case _:
            return value - 1, value + 1, value // 2, 2 * value, 1, 0, FAR, FAR * FAR


class Conditions:
    """Conditions that hold at the hints, and which of them reject other values of one symbol.

    With all other symbols at their hints, most conditions on a symbol are a lower bound, an upper bound, or an excluded
    value. The tightest bounds answer for all of them; other conditions are evaluated, once per value. So n conditions
    on a symbol do not cost n evaluations per value.
    """

    def __init__(self, hints: Mapping[Atom, int], props: Sequence[Prop]) -> None:
        self.hints = hints
        self.props = props
        self.evaluated = 0
        self.about: dict[Atom, list[int]] = {}
        for place, prop in enumerate(props):
            for atom in prop.symbols:
                self.about.setdefault(atom, []).append(place)
        self._values = dict(hints)
        self._lines: dict[Atom, Lines] = {}
        self._rejecting: dict[tuple[Atom, int], list[int]] = {}
        self._periods: dict[Atom, dict[int, int]] = {}

    def accept_hints(self) -> bool:
        return all(prop.evaluate(self.hints) for prop in self.props)

    def evaluated_at(self, prop: Prop, atom: Atom, value: int) -> int:
        """The value of a comparison's expression, one symbol moved."""
        values = self._values
        values[atom] = value
        try:
            return prop.expr.evaluate(values)
        finally:
            values[atom] = self.hints[atom]

    def rejecting(self, atom: Atom, value: int) -> list[int]:
        """The first conditions, at most two, that do not hold where one symbol has this value."""
        lines = self._lines_of(atom)
        if not lines.others and not lines.remainders:
            return lines.rejecting(value)
        key = (atom, value)
        found = self._rejecting.get(key)
        if found is None:
            found = self._rejecting[key] = lines.rejecting(value)
            self._add_others(lines, atom, value, found)
        return found

    def edge(self, place: int, atom: Atom) -> list[int]:
        """The value closest to the hint at which this condition fails, if it is one of the tightest bounds."""
        lines = self._lines_of(atom)
        lows = [low - 1 for low, where in lines.lows if where == place]
        return lows + [high + 1 for high, where in lines.highs if where == place]

    def beyond(self, place: int, atom: Atom) -> Iterator[int]:
        """Values that violate this congruence and keep the remainders that other conditions require: by the Chinese
        remainder theorem, one residue class."""
        lines = self._lines_of(atom)
        remainder = next((r for r, where in lines.remainders if where == place), None)
        if remainder is None:
            return
        hint = self.hints[atom]
        period = self._period(atom, place)
        first, step = hint, period
        if not remainder.zero:
            meeting = remainder.meeting(period)
            if meeting is None:
                return
            first, step = hint + meeting, lcm(period, remainder.reduced)
        for step_number in range(STEPS):
            for value in (first + step_number * step, first - step_number * step):
                if value != hint:
                    yield value

    def _period(self, atom: Atom, place: int) -> int:
        """The common period of the remainders that all other conditions require."""
        found = self._periods.get(atom)
        if found is None:
            asked = [(where, r.reduced) for r, where in self._lines_of(atom).remainders if r.zero]
            others = lcm_of_others([modulus for _, modulus in asked], left_out=False)
            found = self._periods[atom] = {where: step for (where, _), step in zip(asked, others, strict=True)}
            found[-1] = lcm(*[modulus for _, modulus in asked])
        return found.get(place, found[-1])

    def _add_others(self, lines: Lines, atom: Atom, value: int, found: list[int]) -> None:
        for remainder, place in lines.remainders:
            if len(found) >= ALONE:
                return
            if not remainder.accepts(value):
                found.append(place)
        values = self._values
        values[atom] = value
        try:
            for place in lines.others:
                if len(found) >= ALONE:
                    break
                self.evaluated += 1
                if not self.props[place].evaluate(values):
                    found.append(place)
        finally:
            values[atom] = self.hints[atom]

    def _lines_of(self, atom: Atom) -> Lines:
        lines = self._lines.get(atom)
        if lines is None:
            lines = self._lines[atom] = self._lines_about(atom)
        return lines

    def _lines_about(self, atom: Atom) -> Lines:
        lines = Lines(self.hints[atom])
        for place in self.about[atom]:
            prop = self.props[place]
            remainder = remainder_of(prop, atom, self.hints)
            if remainder is not None:
                lines.remainders.append((remainder, place))
            elif prop.parts or prop.schedule or any(_twice(prop, m, atom) for m, _ in prop.terms):
                lines.others.append(place)
            else:
                here = prop.expr.evaluate(self.hints)
                lines.add(place, prop.kind, self.evaluated_at(prop, atom, lines.hint + 1) - here, here)
        lines.tighten()
        return lines


def _twice(prop: Prop, monomial: int, atom: Atom) -> bool:
    return prop.interner.monomials[monomial].count(atom) > 1


class Remainder(NamedTuple):
    """`(slope*(value - hint) + start) % modulus`, and whether it is to be zero, or not to be."""

    slope: int
    start: int
    hint: int
    modulus: int
    zero: bool

    def accepts(self, value: int) -> bool:
        return ((self.slope * (value - self.hint) + self.start) % self.modulus == 0) is self.zero

    @property
    def reduced(self) -> int:
        """The steps of the value in which it is the same."""
        return self.modulus // gcd(self.slope, self.modulus)

    def meeting(self, period: int) -> int | None:
        """The least multiple of a period that leads from the hint to a value at which it is zero."""
        common = gcd(self.slope, self.modulus)
        if self.start % common:
            return None
        size = self.reduced
        away = -(self.start // common) * pow(self.slope // common, -1, size) % size
        shared = gcd(period, size)
        if away % shared:
            return None
        return period * (away // shared * pow(period // shared, -1, size // shared) % (size // shared))

    def off(self, value: int) -> int:
        """The distance to the next lower value at which it is zero, for a slope of one."""
        return (self.slope * (value - self.hint) + self.start) * self.slope % self.modulus


def remainder_of(prop: Prop, atom: Atom, hints: Mapping[Atom, int]) -> Remainder | None:
    """The congruence that a comparison is, as a function of one symbol with the others at their hints."""
    if prop.kind not in ("eq", "ne") or len(prop.schedule) != 1:
        return None
    (quotient,) = prop.schedule
    if quotient.kind != "floordiv":
        return None
    numerator, divisor = quotient.args
    c = next((c for m, c in prop.terms if m == quotient.monomial), 0)
    if not isinstance(numerator, Expr) or not isinstance(divisor, Expr) or divisor.terms or abs(c) != divisor.constant:
        return None
    dividend = prop.expr - prop.interner.scale(quotient.expr, c)
    slope = 0
    for m, k in dividend.terms:
        if m == atom.monomial:
            slope = k
        elif atom in prop.interner.monomials[m]:
            return None
    off = dividend - numerator if c < 0 else dividend + numerator
    # what is added to the remainder leaves it at most one value: zero of the sum is zero modulo the divisor
    if off.terms or not -abs(c) < (off.constant if c < 0 else -off.constant) <= 0:
        return None
    return Remainder(slope, dividend.evaluate(hints), hints[atom], abs(c), prop.kind == "eq")


@dataclass(slots=True)
class Lines:
    """The bounds and excluded values of one symbol, the others at their hints, each with its condition."""

    hint: int
    lows: list[tuple[int, int]] = field(default_factory=list)
    highs: list[tuple[int, int]] = field(default_factory=list)
    excluded: dict[int, list[int]] = field(default_factory=dict)
    exact: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    remainders: list[tuple[Remainder, int]] = field(default_factory=list)

    def add(self, place: int, kind: str, slope: int, here: int) -> None:
        """`here + slope * (value - hint)` compared with zero."""
        if not slope:
            return
        if kind == "eq":
            self.exact.append(place)
        elif kind == "ne":
            if here % slope == 0:
                self.excluded.setdefault(self.hint - here // slope, []).append(place)
        elif slope > 0:
            self.lows.append((self.hint - here // slope, place))
        else:
            self.highs.append((self.hint + here // -slope, place))

    def tighten(self) -> None:
        """Keep the tightest bounds: they decide if one condition is alone."""
        self.lows = sorted(self.lows, reverse=True)[:ALONE]
        self.highs = sorted(self.highs)[:ALONE]
        self.exact = self.exact[:ALONE]

    def rejecting(self, value: int) -> list[int]:
        found = self.excluded.get(value, [])[:ALONE]
        if value != self.hint:
            found += self.exact
        for low, place in self.lows:
            if value < low:
                found.append(place)
        for high, place in self.highs:
            if value > high:
                found.append(place)
        return found
