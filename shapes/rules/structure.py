"""Structural decisions of a result: whether an axis exists, how many pieces or elements there are.

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

Emptiness, and numbers of elements that are known only at run time:

    >>> from shapes.rules.structure import count, empty
    >>> b, n = env.symbol("b", lo=1), env.symbol("n")
    >>> empty((b, s)), empty((b, n)), empty((b, 0))
    (False, n == 0, True)
    >>> u = count(env, b * n)
    >>> env.bounds(u), bool(env.ask(u <= b * n).core)
    ((0, None), True)
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.environment.layout import is_positive, numel
from shapes.errors import ShapeError
from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int, Truth, sym_and, sym_or
from shapes.symbolic.numbers import SymInt


def empty(sizes: Sequence[Int]) -> Truth:
    """The condition that a tensor has no elements: one of its sizes is 0."""
    return sym_or(*[size == 0 for size in sizes if not is_positive(size)])


def filled(sizes: Sequence[Int]) -> Truth:
    """The condition that a tensor has elements: none of its sizes is 0."""
    return sym_and(*[size != 0 for size in sizes if not is_positive(size)])


def count(env: ShapeEnv, most: Int) -> Int:
    """A number known only at run time, at most the number of these things."""
    if isinstance(most, int):
        return env.unbacked(lo=0, hi=most) if most > 0 else 0
    number = env.unbacked(lo=0)
    env.postulate(number <= most)
    return number


def trues(env: ShapeEnv, tensor: Shape) -> Int:
    """The number of elements of a tensor that are not 0: of a mask whose total is known, that."""
    known = tensor.elements
    if known is not None and known.total is not None and tensor.dtype == "bool":
        return known.total
    return count(env, numel(tensor))


def pickable(env: ShapeEnv, size: Int, indices: Sequence[Int], *exceptions: Truth) -> None:
    """Require of an axis that is picked from that it has elements, unless nothing is picked."""
    if not is_positive(size):
        env.require(sym_or(size != 0, empty(indices), *exceptions), "no index fits an axis without elements")


def typed(tensor: Shape, dtypes: Sequence[str], name: str) -> None:
    """Refuse a tensor whose dtype is known to be none of these."""
    if tensor.dtype is not None and tensor.dtype not in dtypes:
        raise ShapeError(f"{name}: expected {' or '.join(dtypes)}, not {tensor.dtype}")


def alike(tensor: Shape, other: Shape, name: str, other_name: str) -> None:
    """Refuse tensors that are known to differ in their dtypes."""
    if tensor.dtype is not None and other.dtype is not None and tensor.dtype != other.dtype:
        raise ShapeError(f"{other_name}: expected {tensor.dtype} as {name} has it, not {other.dtype}")


def holds(env: ShapeEnv, p: Truth) -> bool:
    """Return the truth of a proposition on which the structure of a result depends: by the facts, or by a hint.

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


def at_least(size: Int, least: int) -> bool:
    """Return True if the bounds of a size prove that it is not below."""
    if isinstance(size, int):
        return size >= least
    lo, _ = size.env.known.bounds(size.expr)
    return lo is not None and lo >= least


def simplified(size: Int, *parts: Int) -> Int:
    """A size that is defined now because of what was required, if that of which it is made is."""
    if isinstance(size, SymInt):
        true = size.operations.true
        if all(isinstance(part, int) or part.domain is true for part in parts):
            return size.operations.integer(size.expr, true)
    return size
