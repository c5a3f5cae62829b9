"""A Hypothesis strategy of sizes that satisfy the facts of an environment.

    >>> from hypothesis import given, settings
    >>> from shapes import ShapeEnv
    >>> from shapes.testing import sizes_for
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> env.assume("s % 16 == 0")
    >>> env.assume("b <= s")
    >>> @settings(database=None)
    ... @given(sizes_for(env))
    ... def tiles(sizes):
    ...     assert sizes["s"] // 16 * 16 == sizes["s"] >= sizes["b"]
    >>> tiles()
    >>> @settings(database=None)
    ... @given(sizes_for(env, violating="b <= s"))
    ... def overflows(sizes):
    ...     assert sizes["s"] % 16 == 0 and sizes["b"] > sizes["s"]
    >>> overflows()

An example is an edge (see `corners`) and a list of wishes, values for single symbols. Each is granted as far as the
facts allow, so no example is ever rejected, and examples shrink towards few wishes and small sizes.
"""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.testing.corners import Corner, Violating, corners, violations
from solver.terms.expr import Atom

WISHES: Final = 6
FAR: Final = 1 << 40


def sizes_for(env: ShapeEnv, *, violating: Violating | None = None) -> st.SearchStrategy[dict[str, int]]:
    """Sizes by name that satisfy all facts of the environment, at random and at the edges.

    Args:
        violating: a fact, or its text, that is to be violated while all others hold; True for any of them.

    Raises:
        Contradiction: the facts contradict each other.
        ShapeError: no sizes were found, or there is no such fact, or it follows from the others.
    """
    if violating is None or violating is False:
        found = tuple(corners(env))
    else:
        found = tuple(violations(env, violating))
        if not found:
            raise ShapeError(f"violating={violating!r}: no sizes violate it while all other facts hold")
    return _near(env, found)


def _near(env: ShapeEnv, found: tuple[Corner, ...]) -> st.SearchStrategy[dict[str, int]]:
    """The corners, with a few symbols moved. Every example takes as many draws, so none ends in the middle of one."""
    around = found[0].around
    symbols = around.symbols
    if not symbols:
        return st.just({})
    bounds = {atom: around.facts.bounds(atom.expr) for atom in symbols}

    def granted(corner: Corner, wishes: tuple[tuple[Atom | None, int], ...]) -> dict[str, int]:
        values = corner.values
        for atom, offset in wishes:
            if atom is not None:
                values = corner.around.moved(values, atom, _value(offset, *bounds[atom]))
        return corner.around.named(env, values)

    wish = st.tuples(st.sampled_from((None, *symbols)), st.integers(0, FAR))
    return st.builds(granted, st.sampled_from(found), st.tuples(*[wish] * WISHES))


def _value(offset: int, lo: int | None, hi: int | None) -> int:
    """A value of one symbol, so far from its end."""
    if lo is None:
        return hi - offset if hi is not None else -(offset // 2) if offset % 2 else offset // 2
    return lo + (offset if hi is None else offset % (hi - lo + 1))
