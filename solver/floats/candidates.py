"""Candidate doubles for local search, as patterns of 64 bits.

    >>> from solver.floats.ordinals import double, ordinal, pattern
    >>> from solver.floats.candidates import places
    >>> [double(bits) for bits in places(pattern(3.0), [(ordinal(3.0), ordinal(-2.5))])][:4]
    [-2.5, -3.0, -2.0, -2.5000000000000004]

Integers near a pattern are obscure doubles of one sign. Candidates are instead the double asked for, nearby integers,
its neighbours, and doubles that move a sum or a product to the target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from solver.floats.order import ORDINAL_OF_PATTERN
from solver.floats.ordinals import LARGEST, SMALLEST, double, from_ordinal, ordinal, pattern
from solver.terms.expr import Atom

COMMON: Final = (1.0, -1.0, 0.0, 0.5, 1e16, -1e16, 5e-324, -5e-324, math.inf, -math.inf, math.nan)
LONG: Final = 6
"""Length of a decimal from which on a nearby integer is tried first."""
MOST: Final = 28


def is_pattern_in(atom: Atom, atoms: Sequence[Atom]) -> bool:
    """Return True if the symbol stands for the bits of a double in one of these atoms."""
    return any(inner.name == ORDINAL_OF_PATTERN and inner.args[0] is atom.expr for inner in atoms)


def places(current: int, wanted: Sequence[tuple[int, int]]) -> list[int]:
    """Candidate patterns that replace the current one; `wanted` pairs an ordinal with its target."""
    x = double(current) if 0 <= current < 1 << 64 else 0.0
    found: list[float] = []
    for now, then in wanted:
        y, target = from_ordinal(now), from_ordinal(min(max(then, SMALLEST - 1), LARGEST))
        if len(repr(target)) > LONG and abs(target) < 2.0**50:
            found += [math.floor(target) + 1.0, math.ceil(target) - 1.0]
        found.append(target)
        if math.isfinite(target):
            found += [float(math.floor(target)), float(math.ceil(target))]
            if target.is_integer() and abs(target) < 2.0**53:
                found[-2:] = [target - 0.5, target + 0.5]
        if target == target:
            k = ordinal(target)
            found += [from_ordinal(max(k - 1, SMALLEST)), from_ordinal(min(k + 1, LARGEST))]
        if math.isfinite(target) and math.isfinite(y) and math.isfinite(x):
            found += [x + (target - y), x - (target - y), target - x, x * target / y if y else target]
    found += [-x, *COMMON, x + 1.0, x - 1.0, 2.0 * x]
    return list(dict.fromkeys([pattern(value) for value in found]))[:MOST]
