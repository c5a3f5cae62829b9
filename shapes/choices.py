"""The treatment of the numbers among a program's arguments: constants, symbols, or unbacked symbols.

    >>> from shapes import ShapeEnv
    >>> from shapes.choices import STATIC, Choice, declared
    >>> env = ShapeEnv()
    >>> declared(env, "x_size0", Choice("dynamic", hi=64), 8, "x.shape[0]", 1)
    x.shape[0]
    >>> env.bounds("x_size0"), declared(env, "x_size1", STATIC, 5, "x.shape[1]", 1)
    ((1, 64), 5)

They are those of torch's `DimDynamic` and of JAX's symbolic dimensions; a policy may decide them for each number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from shapes.env import ShapeEnv
from shapes.symbolic.numbers import SymInt

LARGEST: Final = 2**63 - 1
"""The largest number that a size, a stride or an integer argument may be."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The treatment of one number of the arguments: a constant, a symbol, or an unbacked symbol.

    Attributes:
        lo: the lower bound; by default 1 for a size.
        hi: the upper bound.
        strict: specializing it is an error.
        word: the symbol's name, if it was given one.
    """

    kind: Literal["static", "dynamic", "unbacked"]
    lo: int | None = None
    hi: int | None = None
    strict: bool = False
    word: str | None = None


STATIC: Final = Choice("static")
DYNAMIC: Final = Choice("dynamic")


def declared(env: ShapeEnv, word: str, choice: Choice, value: int, source: str, least: int | None) -> SymInt | int:
    """Declare the symbol of an argument's number, or return the constant if it has only one value."""
    if choice.kind == "static":
        env.symbol(word, lo=value, hi=value, hint=value, source=source)
        return value
    lo = least if choice.lo is None else choice.lo
    hi = LARGEST if choice.hi is None and least is not None else choice.hi
    if choice.kind == "dynamic":
        return env.symbol(word, lo=lo, hi=hi, hint=value, source=source, strict=choice.strict)
    # bounds without guards are checked by the program itself
    symbol = env.unbacked(word, lo=0, hi=LARGEST, source=source)
    if choice.lo:
        env.expect_true(symbol >= choice.lo, f"{source} is stated to be at least {choice.lo}")
    if choice.hi is not None:
        env.expect_true(symbol <= choice.hi, f"{source} is stated to be at most {choice.hi}")
    return symbol
