"""Random texts of doubles, and sizes for them: NaNs, infinities and zeros of either sign among the doubles.

    >>> from random import Random
    >>> from tests.properties.float_texts import FloatTexts
    >>> isinstance(FloatTexts(Random(1)).condition(2), str)
    True

A double is given by its bits, an integer symbol `u` or `v`, and `n` and `d` are integers.
"""

from __future__ import annotations

import math
from random import Random
from typing import Final

from solver.floats.ordinals import pattern

FLOAT_NAMES: Final = ("n", "d", "u", "v")
CONSTANTS: Final = (
    "0.0", "-0.0", "1.0", "-1.0", "0.5", "2.5", "0.1", "3.0", "1e999", "-1e999", "(1e999 - 1e999)", "5e-324", "1e308",
    "9007199254740992.0",
)  # fmt: skip
SPECIAL: Final = (
    math.nan, math.nan, math.inf, -math.inf, 0.0, -0.0, 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 3.0, -2.5, 0.1, 5e-324, -5e-324,
    1.7976931348623157e308, -1e308, 2.0**53, 7.0,
)  # fmt: skip
SIGNS: Final = ("<", "<=", "==", "!=", ">=", ">")
BITS: Final = (*map(pattern, SPECIAL), 2**64 - 1, 0x7FF0_0000_0000_0001, -1, 2**64)
"""Patterns of doubles: two more NaNs, and two integers that are no pattern."""
SIZES: Final = (-5, -1, 0, 0, 1, 2, 3, 7, 2**53, 2**53 + 1)


def float_assignments(random: Random, count: int) -> list[dict[str, int]]:
    """Sizes at which doubles are of every kind."""
    kinds = [{"n": 3, "d": 0, "u": pattern(x), "v": pattern(y)} for x in SPECIAL[1:6] for y in SPECIAL[1:4]]
    drawn = [
        {"n": random.choice(SIZES), "d": random.choice(SIZES), "u": random.choice(BITS), "v": random.choice(BITS)}
        for _ in range(count)
    ]
    return random.sample(kinds, 8) + drawn


class FloatTexts:
    """Texts of doubles, integers and conditions, of a given depth."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def leaf(self) -> str:
        pool = ["double(u)", "double(u)", "double(v)", "float(n)", "n / d", self.random.choice(CONSTANTS)]
        return self.random.choice(pool)

    def double(self, depth: int) -> str:
        if depth <= 0:
            return self.leaf()
        inner = lambda: self.double(depth - 1)  # noqa: E731
        match self.random.randrange(13):
            case 0 | 1:
                return f"({inner()} {self.random.choice(['+', '-', '*'])} {self.leaf()})"
            case 2:
                return f"({inner()} {self.random.choice(['/', '//', '%'])} {self.leaf()})"
            case 3 | 4:
                name = self.random.choice(["min", "max"])
                operands = [inner(), self.leaf()]
                self.random.shuffle(operands)
                return f"{name}({', '.join(operands)})"
            case 5:
                return f"sqrt({inner()})"
            case 6:
                return f"abs({inner()})"
            case 7:
                return f"(-{inner()})"
            case 8 | 9:
                return f"({inner()} if {self.condition(depth - 1)} else {self.leaf()})"
            case 10:
                x = self.leaf()
                return f"({self.leaf()} / {x} if {x} != 0.0 else {self.leaf()})"
            case 11:
                x = self.leaf()
                return f"(sqrt({x}) if {x} >= {self.random.choice(['0.0', '-0.0', '1.0'])} else {self.leaf()})"
            case _:
                return f"(({inner()}) ** {self.random.choice(['2', '0.5', '2.0'])})"

    def number(self, depth: int) -> str:
        """An integer."""
        if depth <= 0:
            return self.random.choice(["n", "d", str(self.random.randrange(-2, 4))])
        rounding = self.random.choice(["floor", "ceil", "trunc", "int"])
        match self.random.randrange(6):
            case 0:
                return f"{rounding}({self.double(depth - 1)})"
            case 1:
                x = self.leaf()
                return f"({rounding}({x}) if -1000.0 < {x} < 1000.0 else {self.number(depth - 1)})"
            case 2:
                x = self.leaf()
                return f"({self.number(depth - 1)} if {x} != {x} or abs({x}) > 100.0 else {rounding}({x}))"
            case 3:
                return f"({self.number(depth - 1)} if {self.condition(depth - 1)} else {self.number(depth - 1)})"
            case 4:
                return f"({self.number(depth - 1)} {self.random.choice('+-*')} {self.number(depth - 1)})"
            case _:
                return f"{self.random.choice(['min', 'max'])}({self.number(depth - 1)}, {self.number(0)})"

    def comparison(self, depth: int) -> str:
        sign = self.random.choice(SIGNS)
        match self.random.randrange(6):
            case 0:
                return f"{self.number(depth)} {sign} {self.number(0)}"
            case 1:
                return f"{self.double(depth)} {sign} {self.number(0)}"
            case 2:
                return f"{self.number(0)} {sign} {self.double(depth)}"
            case _:
                return f"{self.double(depth)} {sign} {self.leaf()}"

    def condition(self, depth: int) -> str:
        if depth <= 0:
            return f"{self.leaf()} {self.random.choice(SIGNS)} {self.leaf()}"
        x, sign = self.leaf(), self.random.choice(SIGNS)
        match self.random.randrange(8):
            case 0:
                return f"({x} != 0.0 and {self.leaf()} / {x} {sign} {self.leaf()})"
            case 1:
                return f"({x} < 0.0 or sqrt({x}) {sign} {self.leaf()})"
            case 2:
                return f"({self.condition(depth - 1)} {self.random.choice(['and', 'or'])} {self.condition(depth - 1)})"
            case 3:
                return f"(not {self.comparison(depth - 1)})"
            case 4:
                return f"({self.leaf()} {sign} {x} {self.random.choice(SIGNS)} {self.double(depth - 1)})"
            case 5:
                return f"({self.double(depth - 1)} {self.random.choice(['==', '!='])} {x})"
            case _:
                return f"({self.comparison(depth - 1)})"
