"""The common arguments of operators with windows: numbers that come once or for each axis, and spoiling.

>>> from hypothesis import find, strategies as st
>>> from shapes.testing.arguments.windows import once_or_each
>>> find(once_or_each(st.just(2), 3), lambda value: isinstance(value, tuple) and len(value) == 3)
(2, 2, 2)
"""

from __future__ import annotations

from hypothesis import strategies as st

Draw = st.DrawFn


def seldom(one_in: int = 10) -> st.SearchStrategy[bool]:
    """Booleans that are True in one of so many cases."""
    return st.sampled_from((False,) * (one_in - 1) + (True,))


def mostly(usual: tuple[int, ...], unusual: tuple[int, ...], one_in: int = 40) -> st.SearchStrategy[int]:
    """One of the usual numbers, and now and then one of the others."""
    return st.sampled_from(usual * (one_in * len(unusual) // len(usual) + 1) + unusual)


@st.composite
def once_or_each(draw: Draw, numbers: st.SearchStrategy[int], axes: int) -> int | tuple[int, ...]:
    """One number, a tuple of one, or one for each axis; now and then one too many."""
    match draw(st.sampled_from((0, 0, 0, 1, 2, 2, 2) * 3 + (3,))):
        case 0:
            return draw(numbers)
        case 1:
            return (draw(numbers),)
        case 2:
            return tuple([draw(numbers) for _ in range(axes)])
        case _:
            return tuple([draw(numbers) for _ in range(axes + 1)])


@st.composite
def spoiled(draw: Draw, sizes: tuple[int, ...], one_in: int = 12, *, largest: int = 5) -> tuple[int, ...]:
    """The same sizes, or now and then others: one of them changed, one axis too many, one too few."""
    if not draw(seldom(one_in)):
        return sizes
    axis = draw(st.integers(0, max(len(sizes) - 1, 0)))
    match draw(st.sampled_from(("change", "change", "change", "drop", "add", "add"))):
        case "change":
            return (*sizes[:axis], draw(st.integers(0, largest)), *sizes[axis + 1 :])
        case "drop":
            return sizes[:axis] + sizes[axis + 1 :]
        case _:
            place = draw(st.sampled_from((axis, len(sizes))))
            return (*sizes[:place], draw(st.integers(0, 2)), *sizes[place:])


def each(value: int | tuple[int, ...], axes: int) -> tuple[int, ...]:
    """One number for each axis, however many were given."""
    given = (value,) if isinstance(value, int) else value
    return (given * axes if len(given) == 1 else given + (1,) * axes)[:axes]
