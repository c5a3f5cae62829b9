"""Sums of rows by computed indices, as the gradients of embeddings and of their bags are.

    >>> import torch
    >>> added_rows(torch.eye(3), torch.tensor([1, 0, 1]), 2)
    tensor([[0., 1., 0.],
            [1., 0., 1.]])
    >>> added_rows(torch.eye(2), torch.tensor([1, 0, 1]), 2, offsets=torch.tensor([0, 2, 3]))     # bags of 2 and of 1
    tensor([[1., 0.],
            [1., 1.]])

Torch sorts the indices of bags, and goes through all of them once for each row of a table. Here each row is added where
it belongs, the rows of a bag without a copy for each of its elements.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import torch

from backends.cpu.compiler import compile_source, load
from backends.cpu.vector import lanes_for, source
from shapes.guards.toolchain import Unavailable

Run = Callable[[ctypes.Array[ctypes.c_void_p], ctypes.Array[ctypes.c_int64]], None]
NOTHING: Final = -1
"""An index that is no row's."""


def added_rows(
    rows: torch.Tensor, indices: torch.Tensor, count: int, ignored: int = NOTHING, offsets: torch.Tensor | None = None
) -> torch.Tensor:
    """A table of so many rows, each the sum of those with its index; a row of a bag counts for each of its elements.
    `offsets` are where the bags begin, and where the last one ends; the row `ignored` stays 0."""
    made = rows.new_empty(count, rows.shape[-1])
    rows = rows.unsqueeze(0).flatten(0, -2).contiguous()
    indices = indices.reshape(-1).to(torch.int64).contiguous()
    offsets = None if offsets is None else offsets.to(torch.int64).contiguous()
    bags = len(rows) if offsets is None else min(len(rows), len(offsets) - 1)
    run = _run() if rows.dtype is torch.float32 else None
    if run is None:
        return _by_torch(made, rows, indices, ignored, offsets)
    pointers = [None if each is None else each.data_ptr() for each in (made, rows, indices, offsets)]
    numbers = [*made.shape, len(indices), bags, ignored, torch.get_num_threads()]
    run((ctypes.c_void_p * 4)(*pointers), (ctypes.c_int64 * 6)(*numbers))
    return made


def _by_torch(
    made: torch.Tensor, rows: torch.Tensor, indices: torch.Tensor, ignored: int, offsets: torch.Tensor | None
) -> torch.Tensor:
    if offsets is not None:
        rows = rows[: len(offsets) - 1].repeat_interleave(offsets.diff(), 0)
        indices = indices[offsets[0] : offsets[-1]]
    kept = (indices != ignored) & (indices >= 0) & (indices < len(made))
    return made.zero_().index_add_(0, indices[kept], rows[kept])


@cache
def _run() -> Run | None:
    text = (Path(__file__).parent / "scatter.c").read_text()
    path = compile_source(source([(lanes_for(4), text)]), openmp=True)
    if isinstance(path, Unavailable):
        return None
    run = load(path).add_rows
    run.restype = None
    run.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    found: Run = run
    return found
