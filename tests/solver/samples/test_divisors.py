"""Witnesses for products: one factor is a divisor of the value, and the facts about the others are repaired last."""

from __future__ import annotations

from shapes import ShapeEnv
from solver.decide.verdict import Depends


def grid() -> ShapeEnv:
    """An image of `n` by `m`, of which `h` by `w` are cut into patches of `p`."""
    env = ShapeEnv()
    env.symbol("p", lo=None, hint=4)
    env.assume("p >= 2")
    env.assume("p <= 16")
    for name, hint in (("n", 24), ("m", 30)):
        env.symbol(name, lo=2, hint=hint)
    for name in "hw":
        env.unbacked(name, lo=None)
    for fact in ("p <= h", "p <= w", "h <= n", "w <= m"):
        env.assume(fact)
    return env


def test_a_size_rounded_to_patches_may_be_the_largest_integer() -> None:
    """If this fails, a divisor moves a size that the cofactor needs, and no witness is found."""
    verdict = grid().ask("h//p*p == 2**63 - 1")
    assert isinstance(verdict, Depends)
    assert verdict.check()
