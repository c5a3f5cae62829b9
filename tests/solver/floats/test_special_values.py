"""Where operations on NaNs, infinities and signed zeros are defined, and their values: as Python has them."""

from __future__ import annotations

import math
import struct

import pytest

from shapes import Always, ShapeEnv

DOUBLES = (math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1.5, -2.0, 4.0, 1.7e308, -1.7e308)
QUESTIONS = (
    "sqrt(double(u)) >= 0.0",
    "-sqrt(double(u)) <= sqrt(double(u))",
    "not (sqrt(double(u)) > 3.0)",
    "sqrt(double(u) - 1.0) == sqrt(double(u) - 1.0)",
    "double(u)**0.5 >= 0.0",
    "double(u)**2.0 < 1e999",
    "double(u)**3.0 == double(u)**3.0",
    "round(double(u), 2) <= 1e308",
    "round(double(u), -308) >= -1e308",
    "1.0/double(u) > 0.0",
    "double(u)//2.0 == double(u)//2.0",
    "double(u)%2.0 >= 0.0",
    "abs(double(u)) >= 0.0",
    "floor(double(u)) >= 1",
)


def bits_of(x: float) -> int:
    (bits,) = struct.unpack("<Q", struct.pack("<d", x))
    return int(bits)


def double(bits: int) -> float:
    (x,) = struct.unpack("<d", struct.pack("<Q", bits))
    return float(x)


@pytest.mark.parametrize("text", QUESTIONS)
def test_special_values_as_in_python(text: str) -> None:
    """A domain without a NaN at which Python raises nothing makes a false Always."""
    env = ShapeEnv(origin=lambda: None)
    env.unbacked("u", kind="float")
    prop, domain = env.parse(text)
    functions = {"double": double, "sqrt": math.sqrt, "floor": math.floor}
    answers = set()
    for x in DOUBLES:
        bits = bits_of(x)
        values = dict.fromkeys(prop.symbols | domain.symbols, bits)
        try:
            expected = eval(text, dict(functions), {"u": bits})
        except (ArithmeticError, ValueError, TypeError):  # TypeError: `<` of complex numbers
            assert not domain.evaluate(values), x
            continue
        assert domain.evaluate(values), x
        assert prop.evaluate(values) == expected, x
        answers.add(expected)
    assert len(answers) == 1 or not isinstance(env.ask(text), Always)
