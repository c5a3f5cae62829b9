"""Other sizes at which an operator is tried: those of the sample changed as a whole, and the largest that guards allow.

Sizes of a sample that are equal are changed together, as most operators need it. What eager accepts of these must be
accepted by the guards. The engine proposes sizes besides, at the edges of the guards.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from shapes.errors import ShapeError
from shapes.testing import assignments

if TYPE_CHECKING:
    from frontends.pytorch import Variant
    from shapes.env import ShapeEnv

Sizes = tuple[tuple[int, ...], ...]
"""The sizes of every tensor."""

LARGEST: Final = 60_000
"""Elements of one tensor at most."""
CLASSES: Final = 2
"""The number of distinct sizes that are changed on their own."""
PROPOSED: Final = 2
"""Assignments of the engine."""


def scaled(sizes: Sizes) -> Iterator[Sizes]:
    """The sizes about three times as large and as small, one more, all 1; some distinct ones alone; each
    at random."""
    distinct = sorted({size for each in sizes for size in each if size > 1})
    changes: list[dict[int, int]] = [
        {size: 3 * size for size in distinct},
        {size: max(size // 3, 1) for size in distinct},
        dict.fromkeys(distinct, 1),
        {size: size + 1 for size in distinct},
    ]
    if len(distinct) > 1:
        for size in distinct[-CLASSES:]:
            changes += [{size: 3 * size}, {size: 1}]
    rng = random.Random(str(sizes))
    changes.append({size: rng.randint(1, 3 * size) for size in distinct})
    found = {sizes}
    for change in changes:
        changed = tuple([tuple([change.get(size, size) for size in each]) for each in sizes])
        if changed not in found and fits(changed):
            found.add(changed)
            yield changed


def fits(sizes: Sizes) -> bool:
    return all(product(each) <= LARGEST for each in sizes)


def product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def proposed(variant: Variant, sizes: Sizes) -> Iterator[Sizes]:
    """Sizes at the edges of the guards, none too large to run."""
    env = bounded(variant.env, variant, sizes)
    if env is None:
        return
    try:
        found = list(islice(assignments(env, PROPOSED + 1), PROPOSED + 1))
    except ShapeError:
        return
    for values in found:
        changed = assigned(variant, sizes, values)
        if changed != sizes and fits(changed):
            yield changed


def bounded(env: ShapeEnv, variant: Variant, sizes: Sizes) -> ShapeEnv | None:
    """The environment with sizes at most a little more than three times those of the sample."""
    inner = env.fork()
    try:
        for word, (place, axis) in axes_of(variant).items():
            inner.assume(f"{word} <= {3 * sizes[place][axis] + 2}")
    except ShapeError:
        return None
    return inner


def assigned(variant: Variant, sizes: Sizes, values: Mapping[str, int]) -> Sizes:
    """The sizes of all inputs under an assignment."""
    changed = [list(each) for each in sizes]
    for word, (place, axis) in axes_of(variant).items():
        changed[place][axis] = values[word]
    return tuple([tuple(each) for each in changed])


def axes_of(variant: Variant) -> dict[str, tuple[int, int]]:
    """The symbols that are sizes of inputs: which input, and which axis."""
    found: dict[str, tuple[int, int]] = {}
    for place, described in enumerate(variant.inputs):
        assert described.result.metadata is not None
        for axis, size in enumerate(described.result.metadata.sizes):
            if not isinstance(size, int) and str(size) in variant.env.names:
                found.setdefault(str(size), (place, axis))
    return found
