"""Sampling of sizes that satisfy the facts of an environment, or violate just one.

    >>> from shapes import ShapeEnv
    >>> from shapes.testing.sampling import assignments
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> env.assume("s % 16 == 0")
    >>> env.assume("b <= s")
    >>> found = list(assignments(env, 1000))
    >>> len(found), all(sizes["s"] % 16 == 0 and sizes["b"] <= sizes["s"] for sizes in found)
    (1000, True)
    >>> {"b": 0, "s": 0} in found, any(sizes["b"] == sizes["s"] > 0 for sizes in found)
    (True, True)
    >>> next(assignments(env, violating="b <= s"))
    {'b': 1, 's': 0}

The edges come first (see `corners`), then what is found from them by moving symbols at random. The solver makes each
assignment, none is made and thrown away; they differ from each other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from shapes.env import ShapeEnv
from shapes.testing.corners import EDGES, UNBOUNDED, Corner, Violating, corners, violations
from shapes.testing.satisfying import Satisfying, Values
from solver.terms.expr import Atom

MOVES: Final = 3
"""As many symbols at most are moved from one assignment to the next."""
IN_VAIN: Final = 400
"""After so many attempts that lead to nothing new there is taken to be nothing new."""
RESTART: Final = 16
BITS: Final = 40


def assignments(
    env: ShapeEnv, count: int = 100, *, seed: int = 0, violating: Violating | None = None
) -> Iterator[dict[str, int]]:
    """Up to `count` different assignments of an environment's symbols by name; fewer only where there are no more.

    Args:
        seed: the same one gives the same assignments.
        violating: a fact, or its text, that is to be violated while all others hold; True for any of them.

    Raises:
        Contradiction: the facts contradict each other.
        ShapeError: no sizes were found, or there is no such fact.
    """
    begin = corners(env) if violating is None or violating is False else violations(env, violating)
    yield from around_corners(env, begin, count, seed=seed)


def around_corners(
    env: ShapeEnv, begin: Iterator[Corner], count: int = 100, *, seed: int = 0
) -> Iterator[dict[str, int]]:
    """Up to `count` different assignments: these corners, then what is found from them."""
    rng = random.Random(seed)
    seen: set[tuple[int, ...]] = set()
    starts: list[Corner] = []
    for corner in begin:
        starts.append(corner)
        key = tuple(corner.values.values())
        if key not in seen:
            if len(seen) == count:
                return
            seen.add(key)
            yield corner.sizes
    if not starts or not starts[0].values:
        return
    corner, values, vain = starts[0], starts[0].values, 0
    while len(seen) < count and vain < IN_VAIN:
        if vain or rng.randrange(RESTART) == 0:
            corner = rng.choice(starts)
            values = corner.values
        values = wandered(corner.around, values, rng)
        key = tuple(values.values())
        if key in seen:
            vain += 1
            continue
        vain = 0
        seen.add(key)
        yield corner.around.named(env, values)


def wandered(around: Satisfying, values: Values, rng: random.Random) -> Values:
    """The assignment with a few symbols moved."""
    for _ in range(rng.randint(1, MOVES)):
        atom = rng.choice(around.symbols)
        values = around.moved(values, atom, wish(around, values, atom, rng))
    return values


def wish(around: Satisfying, values: Values, atom: Atom, rng: random.Random) -> int:
    """A value for a symbol: small, close to the one that it has, large, or an edge."""
    lo, hi = around.facts.bounds(atom.expr)
    low = lo if lo is not None else -(1 << BITS) if hi is None else hi - (1 << BITS)
    high = hi if hi is not None else low + (1 << BITS)
    match rng.randrange(5):
        case 0:
            return rng.randint(max(low, 0), max(low, 0, min(high, max(low, 0) + 20)))
        case 1:
            return values[atom] + rng.randint(-4, 4)
        case 2:
            return max(low, 0) + rng.getrandbits(rng.randint(1, max(1, (high - low).bit_length())))
        case 3:
            return rng.randint(low, high)
        case _:
            return rng.choice((*EDGES, UNBOUNDED if hi is None else hi))
