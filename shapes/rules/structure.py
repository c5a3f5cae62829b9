"""Structural decisions of a result: whether an axis exists, how many pieces there are.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules.structure import counted, holds
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s = env.symbol("s", lo=2, hint=6)
    >>> holds(env, s == 1)                           # follows from the facts
    False
    >>> counted(env, (s + 3) // 4, "pieces")         # the hint decides: every size with two pieces will do
    2
    >>> [guard.text for guard in env.guards()]
    ['ceildiv(s, 4) == 2']
    >>> holds(env, env.symbol("t") == 1)
    Traceback (most recent call last):
    shapes.errors.UndecidedGuard: cannot decide `t == 1`: true at t=1, false at t=0
      known:  t >= 0
      fix:    expect_true(t == 1), or ask(...) and handle both cases

No rule guesses: what neither the facts nor a hint decide is an error that names the check that would.
"""

from __future__ import annotations

from shapes.env import ShapeEnv
from shapes.symbolic.choices import Int, Truth
from shapes.symbolic.numbers import SymInt


def holds(env: ShapeEnv, p: Truth) -> bool:
    """Whether a proposition on which the structure of a result depends is true: by the facts, or by a hint.

    Raises:
        UndecidedGuard: neither tells.
    """
    return p if isinstance(p, bool) else env.guard(p)


def counted(env: ShapeEnv, number: Int, what: str) -> int:
    """A number on which the structure of a result depends: by the facts, or by a hint, and then it is required.

    Raises:
        UndecidedGuard: neither tells.
    """
    if isinstance(number, int):
        return number
    lo, hi = env.bounds(number)
    if lo is not None and lo == hi:
        return lo
    found = env.guarding_hint(number)
    env.require(number == found, f"another number of {what} than {found}")
    return found


def is_positive(size: Int) -> bool:
    """Whether the bounds of a size tell that it is not 0."""
    return at_least(size, 1)


def at_least(size: Int, least: int) -> bool:
    """Whether the bounds of a size tell that it is not below."""
    if isinstance(size, int):
        return size >= least
    lo, _ = size.env.facts.bounds(size.expr)
    return lo is not None and lo >= least


def simplified(size: Int, *parts: Int) -> Int:
    """A size that is defined now because of what was required, if that of which it is made is."""
    if isinstance(size, SymInt):
        true = size.operations.true
        if all(isinstance(part, int) or part.domain is true for part in parts):
            return size.operations.integer(size.expr, true)
    return size
