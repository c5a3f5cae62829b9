"""Text made to do harm: an error or a proposition, at once. What takes long would take minutes or gigabytes."""

import pytest

from solver.errors import ParseError
from solver.syntax.parser import parse
from solver.syntax.tokens import Decimals
from solver.terms.interner import Interner
from tests.effort import processor_seconds

NAMES = ("a", "b", "s", "t")

REFUSED = [
    "2**(10**9) > s",
    "9**9**9 > 0",
    "9**9**9**9**9 > s",
    "s**(10**30) > 0",
    "(-2)**(10**9) > 0",
    "((2**1000)**1000)**1000 > s",
    "2**1000000 * 2**1000000 > s",
    "s > " + "9" * 400_001,
    "²  == s",
    "s == ²",
    "s² > 0",
    "double(2**64) > 1.0",
    "double(-1) > 1.0",
    "s // 1_000 > 0",
    "0x10 > s",
    "s > 0" + " " * (1 << 20),
    "(" * 100_001 + "s",
    "s//" * 5000 + "3 > 0",
    "max(" + ",".join(f"s*{i}" for i in range(5000)) + ") > 0",
    "\0 > 0",
    "s \ud800 > 0",
    "s > 0;",
    "s := 3",
    "__import__('os')",
    "s.real > 0",
    "[s] > 0",
    "",
    " ",
    "factorial(10**9) > s",
    "s" * 1_000_000 + " > 0",
    "min(" * 3000 + "s > 0",
]

TOO_LARGE_FOR_A_DOUBLE = ["float(10**400) > s", "floor(1e400) > s"]

EXACT = ["1e999999999 > s", "floor(1e999999999) > s", "floor(1e-999999999 * s) > 0", "floor(0." + "1" * 5000 + ") > s"]

READ = [
    "1 << 10**9 > 0",
    "s << 10**12 > 0",
    "s >> 10**12 == 0",
    "2**s > 3",
    "(a+b+s+t)**64 == 0",
    "0**(10**12) == 0",
    "(" * 5000 + "s" + ")" * 5000 + " > 0",
    "-" * 90_000 + "s > 0",
    "not " * 90_000 + "s > 0",
    "+".join(["s"] * 200_000) + " > 0",
    " and ".join(["s > 0"] * 100_000),
    " < ".join(["s"] * 100_000),
    "s > " + "9" * 399_000,
    "round(float(s), 10**30) > 1",
    "1e999999999 > s",
    "s & 10**300 == 0",
]


def read(text: str, decimals: Decimals) -> None:
    terms = Interner()
    parse(text, {name: terms.symbol(name) for name in NAMES}, terms, decimals=decimals, sides={})


@pytest.mark.parametrize("decimals", ["ieee", "real"])
@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:12])
@processor_seconds(100)
def test_refused(text: str, decimals: Decimals) -> None:
    """A text of a few characters that would cost hours is refused, without a traceback."""
    with pytest.raises(ParseError) as caught:
        read(text, decimals)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("text", TOO_LARGE_FOR_A_DOUBLE)
def test_doubles_are_bounded(text: str) -> None:
    """An overflow of a double is an error of the parser."""
    with pytest.raises(ParseError):
        read(text, "ieee")


@pytest.mark.parametrize("text", EXACT, ids=lambda text: text[:12])
@processor_seconds(100)
def test_exact_decimals_are_bounded(text: str) -> None:
    """Exact decimals with large exponents are bounded."""
    with pytest.raises(ParseError, match="a decimal of more than"):
        read(text, "real")


@pytest.mark.parametrize("text", READ, ids=lambda text: text[:12])
@processor_seconds(100)
def test_read(text: str) -> None:
    """A long text is read, in time about proportional to its length."""
    read(text, "ieee")
