"""Broadcasting, and axes that must agree.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules.broadcasting import broadcast
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, t = env.sizes("b s t")
    >>> broadcast(env, (b, 1, 8), (s, 1))
    (b, s, 8)
    >>> broadcast(env, (s,), (t,))                   # either may be 1: nothing is pinned
    (t if s == 1 else s,)
    >>> [guard.text for guard in env.guards()]
    ['s == t or s == 1 or t == 1']

Two sizes broadcast if they are equal or one of them is 1. Where the facts leave open which, the result is a choice and
the requirement a disjunction, so that one shape stands for every case.
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.symbolic.choices import Int, Truth, sym_ite, sym_or
from solver.decide.verdict import Always, Never


def known(env: ShapeEnv, p: Truth) -> bool | None:
    """The truth of a proposition as far as the facts settle it quickly; None where they leave it open."""
    if isinstance(p, bool):
        return p
    match env.ask(p):
        case Always():
            return True
        case Never():
            return False
        case _:
            return None


def same(a: Int, b: Int) -> bool:
    """Return True if two sizes are the same expression."""
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int) and a == b
    return a.expr is b.expr


def agree(env: ShapeEnv, a: Int, b: Int, message: str) -> Int:
    """A size that two axes share; it is required where it is not known. The plainer of both is the answer."""
    if same(a, b):
        return a
    env.require(a == b, message)
    return a if isinstance(a, int) else b


def agree_all(env: ShapeEnv, sizes: Sequence[Int], others: Sequence[Int], message: str) -> None:
    """Require that sizes are the same one by one, as far as there are both."""
    for one, other in zip(sizes, others):
        agree(env, one, other, message)


def broadcast_size(env: ShapeEnv, a: Int, b: Int, message: str = "sizes do not broadcast") -> Int:
    """The size of an axis in which two sizes meet."""
    if same(a, b):
        return a
    if isinstance(a, int) and isinstance(b, int):
        env.require(a == 1 or b == 1, message)
        return b if a == 1 else a
    for one, other in ((a, b), (b, a)):
        if isinstance(one, int) and one == 1:
            return other
    if known(env, a == b):
        return a
    a_is_one, b_is_one = known(env, a == 1), known(env, b == 1)
    if a_is_one:
        return b
    if b_is_one:
        return a
    if a_is_one is False and b_is_one is False:
        return agree(env, a, b, message)
    if a_is_one is False:
        env.require(sym_or(a == b, b == 1), message)
        return a
    if b_is_one is False:
        env.require(sym_or(a == b, a == 1), message)
        return b
    env.require(sym_or(a == b, a == 1, b == 1), message)
    return sym_ite(a == 1, b, a)


def broadcast(env: ShapeEnv, *shapes: Sequence[Int], message: str = "sizes do not broadcast") -> tuple[Int, ...]:
    """The sizes that shapes broadcast to, aligned at the last axis."""
    result: list[Int] = []
    for shape in shapes:
        sizes = list(shape)
        shorter, longer = (sizes, result) if len(sizes) <= len(result) else (result, sizes)
        offset = len(longer) - len(shorter)
        merged = longer[:offset]
        for one, other in zip(longer[offset:], shorter, strict=True):
            merged.append(broadcast_size(env, one, other, message))
        result = merged
    return tuple(result)


def expandable(env: ShapeEnv, shape: Sequence[Int], target: Sequence[Int], message: str) -> None:
    """Require that a shape broadcasts to another one without changing that."""
    env.require(len(shape) <= len(target), message)
    for size, wanted in zip(reversed(shape), reversed(target)):
        if not same(size, wanted) and not (isinstance(size, int) and size == 1):
            env.require(sym_or(size == wanted, size == 1), message)
