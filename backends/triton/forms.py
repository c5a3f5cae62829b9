"""The variants of a kernel: which code is launched for which sizes.

    >>> from backends.triton.forms import Form, choose
    >>> from backends.triton.facts import Facts
    >>> from backends.triton.tiles import Tile
    >>> facts = Facts(Tile("reduction", (0,), (1,), False), None, None, 1, frozenset(), ())
    >>> form = choose(facts, rows=4096, columns=1000, narrow=True, aligned=False)
    >>> form.columns, form.is_looped, form.masks_columns, form.warps
    (1024, False, True, 4)
    >>> choose(facts, rows=4096, columns=100_000, narrow=True, aligned=True).is_looped
    True

Proven facts leave fewer forms to choose from; what is open is tested at launch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from backends.triton.facts import LARGEST, Facts
from solver.terms.expr import Expr

Stage = Literal["whole", "part", "rest"]

FEW: Final = 256
"""Programs that occupy a device, about: with fewer, tiles are made smaller."""
BLOCK: Final = 1024
"""Elements of a tile, where nothing speaks for another number."""
RAGGED_BLOCK: Final = 128
"""Columns of one iteration, where rows have different lengths."""
LONG_BLOCK: Final = 2048
"""Columns of one iteration, where rows do not stay in registers."""
LONGEST_BLOCK: Final = 8192
"""The same where there are too few rows to keep a device busy, and they cannot be cut."""
MOST_PARTS: Final = 512
LEAST_BLOCKS: Final = 8
"""Rows of fewer are not cut in parts."""


@dataclass(frozen=True, slots=True)
class Form:
    """One variant.

    Attributes:
        rows, columns: of a tile, powers of two.
        is_looped: whether a program walks over the columns tile by tile.
        bits: of an index.
        is_aligned: whether addresses, strides and the ends of rows are multiples of 16.
        units: strides that are 1.
        stage: whether it does all, or reduces parts of rows, or what the parts have become.
    """

    rows: int
    columns: int
    is_looped: bool
    bits: int
    masks_rows: bool
    masks_columns: bool
    is_aligned: bool
    warps: int
    units: frozenset[Expr] = frozenset()
    stage: Stage = "whole"


def choose(
    facts: Facts,
    *,
    rows: int,
    columns: int,
    narrow: bool,
    aligned: bool,
    units: frozenset[Expr] = frozenset(),
) -> Form:
    """The form for so many rows and columns."""
    match facts.tile.kind:
        case "flat":
            high, wide = 1, BLOCK if columns > BLOCK * FEW else 128
            if facts.step >= 128:
                wide = min(facts.step, wide)
        case "grid":
            wide = min(power_of_two(columns), 32 if facts.tile.is_along_rows else BLOCK)
            high = min(power_of_two(rows), 64 if facts.tile.is_along_rows else BLOCK // wide)
        case "reduction":
            high, wide = reduction_block(facts, rows, columns)
    return Form(
        rows=high,
        columns=wide,
        is_looped=facts.is_ragged or facts.tile.kind == "reduction" and columns > wide,
        bits=32 if narrow else 64,
        masks_rows=rows % high != 0,
        masks_columns=facts.is_ragged or columns % wide != 0 or not columns,
        is_aligned=aligned,
        warps=warps(high * wide),
        units=units,
    )


def warps(elements: int) -> int:
    """The number of warps with which each lane has about eight elements."""
    return max(1, min(elements // 256, 16))


def reduction_block(facts: Facts, rows: int, columns: int) -> tuple[int, int]:
    """The tile of a reduction: rows, and columns at a time."""
    if facts.tile.is_along_rows:
        high = min(power_of_two(rows), 32)
        return high, min(power_of_two(columns), 4 * BLOCK // high)
    if facts.is_ragged:
        return 1, RAGGED_BLOCK
    if columns > facts.longest:
        return 1, min(facts.step, LONG_BLOCK) if facts.step >= BLOCK else LONG_BLOCK
    wide = power_of_two(columns)
    high = max(1, min(BLOCK // wide, power_of_two(rows // FEW)))
    return high, wide


@dataclass(frozen=True, slots=True)
class Parts:
    """Few rows that are long, in two launches: `count` parts of each row, then what these have become."""

    count: int
    chunk: int
    part: Form
    rest: Form


def longer(form: Form, rows: int, columns: int) -> Form:
    """The same with larger tiles along the row, if there are too few rows to occupy a device, unless that needs a
    mask."""
    if not form.is_looped or form.rows > 1 or rows > FEW // 2:
        return form
    wide = form.columns
    while wide < LONGEST_BLOCK and 4 * wide <= columns and (form.masks_columns or not columns % (2 * wide)):
        wide *= 2
    return replace(form, columns=wide, warps=warps(wide))


def divided(form: Form, rows: int, columns: int) -> Parts | None:
    """Split rows in parts (split-K), if there are too few to occupy a device."""
    tiles = -(-rows // form.rows)
    blocks = -(-columns // form.columns)
    if not 0 < tiles <= FEW // 2 or blocks < LEAST_BLOCKS:
        return None
    wanted = min(blocks // 2, 2 * FEW // tiles, MOST_PARTS)
    chunk = -(-blocks // wanted) * form.columns
    if columns + chunk > LARGEST:
        form = replace(form, bits=64)  # the end of the last part is computed before it is cut off
    count = -(-columns // chunk)
    high, wide = min(power_of_two(rows), 32), power_of_two(count)
    rest = replace(
        form,
        rows=high,
        columns=wide,
        is_looped=False,
        masks_rows=rows % high != 0,
        masks_columns=count != wide,
        is_aligned=False,
        warps=warps(high * wide),
        stage="rest",
    )
    return Parts(count, chunk, replace(form, stage="part"), rest)


def power_of_two(size: int) -> int:
    """The least power of two that is no smaller."""
    return 1 << max(size - 1, 0).bit_length()
