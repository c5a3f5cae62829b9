"""Numbers of elements: emptiness, and counts that are known only at run time.

>>> from shapes import ShapeEnv
>>> from shapes.rules.elements import count, empty
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s", lo=1)
>>> t = env.symbol("t")
>>> empty((b, s)), empty((b, t)), empty((b, 0))
(False, t == 0, True)
>>> u = count(env, b * t)
>>> env.bounds(u), bool(env.ask(u <= b * t).core)
((0, None), True)
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.environment.layout import is_positive
from shapes.errors import ShapeError
from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int, Truth, sym_and, sym_or


def empty(sizes: Sequence[Int]) -> Truth:
    """Whether a tensor has no elements: one of its sizes is 0."""
    return sym_or(*[size == 0 for size in sizes if not is_positive(size)])


def filled(sizes: Sequence[Int]) -> Truth:
    """Whether a tensor has elements: none of its sizes is 0."""
    return sym_and(*[size != 0 for size in sizes if not is_positive(size)])


def count(env: ShapeEnv, most: Int) -> Int:
    """A number that only a run can tell: how many of so many things."""
    if isinstance(most, int):
        return env.unbacked(lo=0, hi=most) if most > 0 else 0
    number = env.unbacked(lo=0)
    env.postulate(number <= most)
    return number


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
