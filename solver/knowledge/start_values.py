"""Start values of the samples of a new symbol: deterministic, spread over magnitudes.

    >>> from solver.knowledge.start_values import start_column
    >>> start_column(1, 2, None, 48)[:6]
    (48, 2, 3, 4, 3, 4)
"""

from __future__ import annotations

from typing import Final

SPREADS: Final = (None, 0, 1, 2, 4, 8, 16, 64, 256, 4096, 1 << 20, 1 << 64, -8, -64)
"""Offset of a symbol above its lower bound in each row: its hint, fixed offsets, ranges to draw from, and (negative)
one value for all symbols."""
ROWS: Final = len(SPREADS)
SEEDS_KEPT: Final = 512
SCATTERED: Final[dict[int, tuple[int, ...]]] = {}


def scattered(seed: int) -> tuple[int, ...]:
    """A number of 64 bits for each row; those of small seeds, which nearly all are, are kept."""
    found = SCATTERED.get(seed)
    if found is None:
        numbers = []
        for row in range(ROWS):
            mixed = (seed * 0x9E3779B97F4A7C15 + row * 0xC2B2AE3D27D4EB4F) & 0xFFFFFFFFFFFFFFFF
            numbers.append(mixed ^ mixed >> 29)
        found = tuple(numbers)
        if 0 <= seed < SEEDS_KEPT:
            SCATTERED[seed] = found
    return found


def start_column(seed: int, lo: int | None, hi: int | None, hint: int | None) -> tuple[int, ...]:
    """The values of a new symbol: deterministic, spread over magnitudes."""
    numbers = scattered(seed)
    return tuple([_start_value(row, numbers[row], lo, hi, hint) for row in range(ROWS)])


def _start_value(row: int, mixed: int, lo: int | None, hi: int | None, hint: int | None) -> int:
    spread = SPREADS[row]
    low = lo if lo is not None else (hi - 9 if hi is not None else 0)
    if spread is None:
        value = hint if hint is not None else low + 2 if lo is not None else low
    elif spread < 0:
        value = -spread
    elif spread <= 2:
        value = low + spread
    else:
        value = low + mixed % spread
    if lo is None and hi is None and spread is not None and row % 3 == 1:
        value = -value - 1
    if hi is not None and value > hi:
        value = hi - (mixed % min(spread or 1, hi - low + 1) if spread and spread > 2 and hi > low else 0)
    if lo is not None and value < lo:
        value = lo
    return value
