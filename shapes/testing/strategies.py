"""Hypothesis strategies: shapes, symbols and facts, expressions and propositions over an environment.

    >>> from hypothesis import given, settings
    >>> from shapes.testing import environments, propositions, shapes_that_broadcast
    >>> @settings(database=None)
    ... @given(shapes_that_broadcast(2))
    ... def broadcasts(pair):
    ...     for a, b in zip(reversed(pair[0]), reversed(pair[1])):
    ...         assert a == b or 1 in (a, b)
    >>> broadcasts()
    >>> @settings(database=None, max_examples=20)
    ... @given(environments().flatmap(lambda env: propositions(env).map(lambda p: (env, p))))
    ... def asking_changes_nothing(drawn):
    ...     env, p = drawn
    ...     before = env.events
    ...     env.ask(p)
    ...     assert env.events == before
    >>> asking_changes_nothing()

Expressions and propositions are text, as a person writes them: `env.ask`, `env.assume` and Python's own `eval` read
them, so that Python can be the oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from hypothesis import strategies as st

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.testing.calls import Input

LARGEST: Final = 6
NAMES: Final = ("b", "s", "t", "h", "w", "c")
COMPARISONS: Final = ("==", "!=", "<", "<=", ">", ">=")


def sizes(least: int = 0, most: int = LARGEST) -> st.SearchStrategy[int]:
    """The size of one axis."""
    return st.integers(least, most)


def shapes(
    *, rank: int | tuple[int, int] = (0, 4), size: int | tuple[int, int] = (0, LARGEST), dtype: str | None = None
) -> st.SearchStrategy[Input]:
    """Shapes of concrete sizes; `rank` and `size` are a number, or the least and the greatest."""
    least, most = (rank, rank) if isinstance(rank, int) else rank
    low, high = (size, size) if isinstance(size, int) else size
    return st.lists(sizes(low, high), min_size=least, max_size=most).map(lambda drawn: Input(drawn, dtype=dtype))


def shapes_that_broadcast(
    count: int = 2, *, rank: int | tuple[int, int] = (0, 4), size: int | tuple[int, int] = (0, LARGEST)
) -> st.SearchStrategy[tuple[Input, ...]]:
    """A number of shapes that broadcast together, aligned at the last axis; some shorter, some with sizes of 1."""

    @st.composite
    def drawn(draw: st.DrawFn) -> tuple[Input, ...]:
        whole = draw(shapes(rank=rank, size=size))
        return tuple([draw(_part_of(whole)) for _ in range(count)])

    return drawn()


@st.composite
def _part_of(draw: st.DrawFn, whole: Input) -> Input:
    """A shape that broadcasts to another one."""
    left_out = draw(st.integers(0, len(whole)))
    return Input([1 if draw(st.booleans()) else size for size in whole[left_out:]], dtype=whole.dtype)


# ---------------------------------------------------------------------- environments


@st.composite
def environments(
    draw: st.DrawFn,
    *,
    symbols: int | tuple[int, int] = (1, 4),
    facts: int | tuple[int, int] = (0, 4),
    bounded: bool = False,
) -> ShapeEnv:
    """Environments with symbols and facts that do not contradict each other.

    Args:
        bounded: every symbol has small bounds, so that all sizes can be listed.
    """
    env = ShapeEnv(origin=lambda: None)
    for name in NAMES[: draw(_count(symbols))]:
        low = draw(st.integers(0, 2))
        env.symbol(name, lo=low, hi=low + draw(st.integers(0, 6)) if bounded else draw(st.sampled_from((None, 4096))))
    for _ in range(draw(_count(facts))):
        fact = draw(propositions(env, depth=1))
        try:
            env.assume(fact)
        except ShapeError:
            continue  # it contradicts what is known, or divides by zero
    return env


def symbols(env: ShapeEnv) -> st.SearchStrategy[str]:
    """The names of an environment's symbols."""
    return st.sampled_from(list(env.names))


def facts(env: ShapeEnv) -> st.SearchStrategy[str]:
    """Propositions of the kinds that programs assume: divisibility, bounds, order, products."""
    name, number = symbols(env), st.integers(1, 64).map(str)
    return st.one_of(
        _joined("{} >= {}", name, number),
        _joined("{} % {} == 0", name, st.sampled_from(("2", "3", "8", "16"))),
        _joined("{} <= {}", name, name),
        _joined("{} * {} <= {}", name, name, st.sampled_from(("4096", "2**31 - 1"))),
        _joined("{} == {} or {} == 1", name, name, name),
    )


def expressions(env: ShapeEnv, *, depth: int = 2) -> st.SearchStrategy[str]:
    """Integer expressions over the symbols of an environment."""
    number = st.integers(-4, 16).map(lambda n: str(n) if n >= 0 else f"({n})")
    names = symbols(env) if env.names else number
    if not depth:
        return st.one_of(names, number)
    inner = expressions(env, depth=depth - 1)
    divisor = st.one_of(st.integers(2, 8).map(str), names)
    return st.one_of(
        names,
        _joined("({} {} {})", inner, st.sampled_from(("+", "-", "*")), inner),
        _joined("({} {} {})", inner, st.sampled_from(("//", "%")), divisor),
        _joined("{}({}, {})", st.sampled_from(("max", "min")), inner, inner),
        _joined("({} if {} >= 2 else {})", inner, inner, inner),
    )


def propositions(env: ShapeEnv, *, depth: int = 2) -> st.SearchStrategy[str]:
    """Propositions over the symbols of an environment."""
    inner = expressions(env, depth=depth)
    single = _joined("{} {} {}", inner, st.sampled_from(COMPARISONS), inner)
    if not depth:
        return single
    return st.one_of(
        single,
        single,
        _joined("{} {} {}", single, st.sampled_from(("and", "or")), single),
        _joined("not ({})", single),
        *([facts(env)] if env.names else []),
    )


def _joined(pattern: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    fill: Callable[[Sequence[str]], str] = lambda drawn: pattern.format(*drawn)  # noqa: E731
    return st.tuples(*parts).map(fill)


def _count(wanted: int | tuple[int, int]) -> st.SearchStrategy[int]:
    return st.just(wanted) if isinstance(wanted, int) else st.integers(*wanted)
