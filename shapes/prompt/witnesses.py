"""Small sizes for people: witnesses moved towards 1 as far as they still show what they show.

>>> from shapes import ShapeEnv
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s", hints=(96, 4096))
>>> env.assume("s % 16 == 0")
>>> simplest(env.ask("(b*s) % 64 == 0"))
Depends(true_at={'b': 1, 's': 64}, false_at={'b': 1, 's': 16})
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from solver.expr import Atom
from solver.verdict import Depends
from solver.witness import Witness

TRIED: Final = 2_000
VALUES: Final = 200_000
"""How many assignments are looked at, and how many values in all of them; a witness is true as it stands. With a limit
of time a busy machine would show others."""

PASSES: Final = 4
SMALL: Final = (*range(1, 17), *(1 << k for k in range(5, 13)), 0)


def simplest(verdict: Depends) -> Depends:
    """The same verdict with smaller witnesses: 1 is simpler than 2, every positive number than 0, and 0 than -1."""
    true, false = (Witness.of(_smaller(verdict, values, truth)) for values, truth in _witnesses(verdict))
    return Depends(verdict.prop, verdict.domain, verdict.rung, verdict.facts, true, false)


def _witnesses(verdict: Depends) -> Iterator[tuple[dict[Atom, int], bool]]:
    yield dict(verdict.true_values), True
    yield dict(verdict.false_values), False


def _smaller(verdict: Depends, values: dict[Atom, int], truth: bool) -> dict[Atom, int]:
    """One symbol after the other to the simplest value that keeps the witness a witness."""
    left = min(TRIED, VALUES // max(1, len(values)))
    for _ in range(PASSES):
        before = dict(values)
        for atom in values:
            for candidate in _simpler(values[atom], verdict.facts.bounds(atom.expr)[0]):
                if not left:
                    return values
                left -= 1
                moved = {**values, atom: candidate}
                if _shows(verdict, moved, truth):
                    values = moved
                    break
        if values == before:
            break
    return values


def _simpler(value: int, low: int | None) -> Iterator[int]:
    """Values simpler than this one, the simplest first; from the bound of the symbol, too."""
    near = [] if low is None else [low, low + 1]
    for candidate in [*SMALL, *near, value // 2, value - 1, -1]:
        if _complexity(candidate) < _complexity(value):
            yield candidate


def _complexity(value: int) -> tuple[int, int]:
    return (0, value) if value > 0 else (1, -value)


def _shows(verdict: Depends, values: dict[Atom, int], truth: bool) -> bool:
    facts, prop, domain = verdict.facts, verdict.prop, verdict.domain
    return prop.evaluate(values) is truth and domain.evaluate(values) and facts.holds_at(values)
