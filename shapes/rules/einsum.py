"""Einstein sums: an equation names the axes; what the output does not name is summed over.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, t, d = env.sizes("b s t d", lo=2)
    >>> rules["einsum"](env, "...qd, ...kd -> ...qk", (b, 8, s, d), (1, 8, t, d))
    Shape(b, 8, s, t)
    >>> rules["einsum"](env, "ii", (s, t))          # without an arrow: what comes up once, here nothing
    Shape()
    >>> [guard.text for guard in env.guards()]
    ['s == t']
    >>> parse("ab,bc")
    Equation(inputs=('ab', 'bc'), output='ac')

An ellipsis stands for any number of axes; they broadcast, as do axes of one name in different operands. Axes of one
name in one operand are its diagonal, and have to be equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.broadcasting import agree, broadcast, broadcast_size
from shapes.rules.matmul import common_dtype
from shapes.rules.registry import rule
from shapes.rules.shape import Shape, as_shape
from shapes.symbolic.choices import Int

Operand = Shape | Sequence[Shape]

ELLIPSIS: Final = "."
"""How an ellipsis is written in a term that was read."""


@dataclass(frozen=True, slots=True)
class Equation:
    """The names of the axes, a letter each, of every operand and of the output."""

    inputs: tuple[str, ...]
    output: str


@lru_cache(maxsize=1024)
def parse(equation: str) -> Equation:
    """Read an equation.

    Raises:
        ShapeError: it is none.
    """
    left, arrow, right = equation.partition("->")
    inputs = tuple([_term(term) for term in left.split(",")])
    counts = Counter("".join(inputs))
    if not arrow:
        once = sorted([letter for letter, count in counts.items() if count == 1 and letter != ELLIPSIS])
        return Equation(inputs, (ELLIPSIS if ELLIPSIS in counts else "") + "".join(once))
    output = _term(right)
    for letter, count in Counter(output).items():
        if count > 1:
            raise ShapeError(f"equation: {letter} appears twice in the output")
        if letter not in counts and letter != ELLIPSIS:
            raise ShapeError(f"equation: {letter} is in the output alone")
    return Equation(inputs, output)


def _term(text: str) -> str:
    """One operand's names, the ellipsis as one character."""
    term = text.replace(" ", "")
    if ELLIPSIS in term.replace("...", "", 1):
        raise ShapeError(f"equation: expected one ellipsis of three dots in {text.strip()!r}")
    term = term.replace("...", ELLIPSIS)
    for letter in term:
        if letter != ELLIPSIS and not (letter.isascii() and letter.isalpha()):
            raise ShapeError(f"equation: {letter!r} is no letter")
    return term


@rule("einsum")
def einsum(env: ShapeEnv, equation: str, *operands: Operand) -> Shape:
    """The axes that the output names."""
    shapes = _operands(operands)
    parsed = parse(equation)
    if len(parsed.inputs) != len(shapes):
        raise ShapeError(f"equation: it has {len(parsed.inputs)} operands, but {len(shapes)} are given")
    sizes: dict[str, Int] = {}
    spared: Sequence[Int] = ()
    for place, (term, shape) in enumerate(zip(parsed.inputs, shapes)):
        own, covered = _named(env, term, shape, place)
        if covered:
            spared = broadcast(env, spared, covered, message="the axes of the ellipsis do not broadcast")
        for letter, size in own.items():
            if letter in sizes:
                size = broadcast_size(env, sizes[letter], size, f"the sizes of {letter} differ")
            sizes[letter] = size
    result: list[Int] = []
    for letter in parsed.output:
        result += spared if letter == ELLIPSIS else [sizes[letter]]
    return Shape(result, dtype=common_dtype(*shapes))


def _named(env: ShapeEnv, term: str, shape: Shape, place: int) -> tuple[dict[str, Int], Sequence[Int]]:
    """The sizes of an operand by name, and those that its ellipsis covers."""
    before, dots, after = term.partition(ELLIPSIS)
    covered = len(shape) - len(before) - len(after)
    if covered < 0 or (covered and not dots):
        raise ShapeError(f"operand {place} has {len(shape)} axes, the equation names {len(before) + len(after)}")
    stop = len(before) + covered
    own: dict[str, Int] = {}
    for letter, size in zip(before + after, (*shape[: len(before)], *shape[stop:])):
        if letter in own:
            size = agree(env, own[letter], size, f"axes {letter} of operand {place} differ")
        own[letter] = size
    return own, shape[len(before) : stop]


def _operands(given: Sequence[Operand]) -> list[Shape]:
    """The operands, which may come in one list."""
    if len(given) == 1 and given[0] and all(isinstance(one, tuple | list) for one in given[0]):
        return [as_shape(one) for one in given[0]]
    return [as_shape(one) for one in given]
