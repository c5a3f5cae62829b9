"""Dimensions in JAX's words and scripts of SMT-LIB, made to do harm: an error of ours, at once."""

import pytest

from frontends.jax import read_constraint, read_dimension
from shapes import ShapeEnv, ShapeError
from solver.interop import smtlib
from solver.terms.interner import Interner
from tests.effort import processor_seconds

DIMENSIONS = [
    "(" * 100_000, "b*" * 5000 + "b", "b - " * 10_000 + "1", "b^1000000000", "2**(10**9)", "9**9**9", "²",
    "b" * 100_000, "mod(b, 0)", "floordiv(b, 0)", "max(" * 3000 + "b", "", "\0", "b +", None, 3,
]  # fmt: skip

SCRIPTS = [
    "(define-fun f ((x Int)) Int (f x))(assert (> (f 1) 0))",
    "(declare-const s Int)(assert (distinct " + " ".join(["s"] * 3000) + "))",
    "(" * 100_000,
    ")",
    "(assert (> s 0))",
    "(declare-const s Int)(assert (> s " + "9" * 500_000 + "))",
    "\0",
]


@pytest.mark.parametrize("text", DIMENSIONS, ids=range(len(DIMENSIONS)))
@processor_seconds(100)
def test_dimensions(text: object) -> None:
    """A dimension of a few characters is refused quickly, with our error and not Python's."""
    for read in (read_dimension, read_constraint):
        with pytest.raises(ShapeError):
            read(ShapeEnv(), text)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", SCRIPTS, ids=range(len(SCRIPTS)))
@processor_seconds(100)
def test_scripts(text: str) -> None:
    """A hostile script is refused at bounded cost, with our error and not Python's."""
    with pytest.raises(ShapeError):
        smtlib.read(text, Interner())
