"""Bernoulli samples for dropout by the Mersenne Twister MT19937, as torch's `bernoulli_` draws them, many at a time.

    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> expected = torch.empty(5000, dtype=torch.bool).bernoulli_(0.9), torch.rand(2)
    >>> _ = torch.manual_seed(0)
    >>> found = bernoulli(torch.empty(5000, dtype=torch.bool), 0.9), torch.rand(2)
    >>> all(map(torch.equal, found, expected))
    True

On processors for which it has no library, torch draws one element after another, whatever the number of threads: 4.8 ns
each, more than the rest of a kernel takes. Here the next 624 numbers of its generator are made at once, 0.3 ns for each
element, from the generator's state, which is put back as torch would leave it. Torch itself draws where its numbers
are others (tried once, with a generator of its own), where there is no compiler, and few elements. Where another thread
has drawn in the meantime, it is done again.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import torch

from backends.cpu.compiler import compile_source, load
from shapes.guards.toolchain import Unavailable

LEAST: Final = 2048
"""The number of elements from which drawing takes longer than to read and write the generator's state."""
WORDS: Final = 624
LEFT: Final = 8
NEXT: Final = 16
STATE: Final = 24
"""Offsets in the bytes of a generator's state: the number of words left, plus one; the index of the next; the words."""
DIGITS: Final = 53

Draw = Callable[[int, int, int, int, int], int]


def bernoulli(kept: torch.Tensor, share: float) -> torch.Tensor:
    """A fresh tensor of truths, each true with this probability, by torch's default generator."""
    if kept.numel() < LEAST or type(kept) is not torch.Tensor or not kept.is_contiguous() or not _is_known():
        return kept.bernoulli_(share)
    return _bernoulli(kept, share, torch.default_generator)


@dataclass(frozen=True, slots=True)
class Kept:
    """Draw a dropout mask with given sizes and strides: the share of elements that are kept."""

    share: float
    rank: int
    device: torch.device

    def __call__(self, *layout: int) -> torch.Tensor:
        sizes, strides = layout[: self.rank], layout[self.rank :]
        return bernoulli(torch.empty_strided(sizes, strides, dtype=torch.bool, device=self.device), self.share)


def _bernoulli(kept: torch.Tensor, share: float, generator: torch.Generator) -> torch.Tensor:
    draw = _draw()
    assert draw is not None
    while True:
        before = generator.get_state()
        after = before.clone()
        state = after.data_ptr()
        left, place = ctypes.c_int32.from_address(state + LEFT), ctypes.c_uint64.from_address(state + NEXT)
        first = place.value if left.value > 1 else WORDS
        limit = math.ceil(share * 2**DIGITS)
        place.value = draw(state + STATE, first, limit, kept.data_ptr(), kept.numel())
        left.value = WORDS + 1 - place.value
        if torch.equal(generator.get_state(), before):
            generator.set_state(after)
            return kept


def library() -> Path | None:
    """The compiled library for it, if there is one yet."""
    return _compiled() if _compiled.cache_info().currsize else None


@cache
def _compiled() -> Path | None:
    path = compile_source((Path(__file__).parent / "mersenne.c").read_text())
    return None if isinstance(path, Unavailable) else path


@cache
def _draw() -> Draw | None:
    path = _compiled()
    if path is None:
        return None
    draw = load(path).draw
    draw.restype = ctypes.c_int64
    draw.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int64]
    return draw


@cache
def _is_known() -> bool:
    """Return True if torch draws the same numbers here, from a state of this form, and is left in the same state."""
    if _draw() is None:
        return False
    ours, theirs = (torch.Generator().manual_seed(1) for _ in range(2))
    if ours.get_state().numel() < STATE + 8 * WORDS:
        return False
    for count in (WORDS, 5):
        expected = torch.empty(count, dtype=torch.bool).bernoulli_(0.7, generator=theirs)
        found = _bernoulli(torch.empty(count, dtype=torch.bool), 0.7, ours)
        if not torch.equal(found, expected) or not torch.equal(ours.get_state(), theirs.get_state()):
            return False
    return True
