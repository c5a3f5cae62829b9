"""Large buffers: pooled between calls, in huge pages, as first-touch page faults cost the most.

    >>> import torch
    >>> place = pooled(LARGE, (LARGE // 4,), (1,), torch.float32).fill_(1.0).data_ptr()    # freed at once
    >>> pooled(LARGE, (LARGE // 4,), (1,), torch.float32).data_ptr() == place
    True

The C library returns large freed blocks to the system at once, so every call of a program pays for first touch again:
32 MiB are 8192 small pages (15 ms measured, 3 ms as huge pages), and a kernel reads and writes them in 5. Temporaries
and tensors saved for the backward are pooled here instead; a block returns when its last tensor dies, whoever holds it.

Of smaller blocks the C library caches twice as much as the largest one of up to 32 MiB that was freed: so one is
allocated and freed untouched at the start.

The pool never exceeds the peak, and the system may reclaim its unused pages (`MADV_FREE`), which costs 0.04 ms for 32
MiB. Outputs come from the C library, in huge pages. So does everything under torch's profiler, which would not see the
pool.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from collections import deque
from collections.abc import Sequence
from threading import RLock
from typing import Final

import torch
from torch._C._autograd import _profiler_enabled

_empty_strided_cpu: Final = torch._C._dynamo.guards._empty_strided_cpu
_reinterpret_tensor: Final = torch._C._dynamo.guards._reinterpret_tensor
LARGE: Final = 4 << 20
"""The number of bytes from which memory is large."""
PAGE: Final = 2 << 20
"""The size that pooled memory is a multiple of: that of a large page."""
WASTED: Final = 5 / 4
"""Pooled memory is reused if it is at most this many times as large as needed."""
_ADVICE: Final[int | None] = getattr(mmap, "MADV_HUGEPAGE", None)
_FREE: Final[int | None] = getattr(mmap, "MADV_FREE", None)
_advise: Final = None if _ADVICE is None else ctypes.CDLL(None).madvise


def in_large_pages(tensor: torch.Tensor) -> None:
    """Advise huge pages for the memory of a fresh tensor, where the system has them."""
    if _advise is None:
        return
    memory = tensor.untyped_storage()
    start = -(-memory.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
    bytes_inside = memory.data_ptr() + memory.nbytes() - start
    _advise(ctypes.c_void_p(start), ctypes.c_size_t(max(bytes_inside, 0)), _ADVICE)


class MemoryPool:
    """Memory that is lent to tensors, and pooled when they die.

    Attributes:
        lent: bytes in use by tensors; returned blocks may be counted until the next `take`.
        most: the peak of `lent`.
        free: pooled blocks, in the order of their return.
    """

    def __init__(self) -> None:
        self.lent = self.most = 0
        self.free: list[mmap.mmap] = []
        self._back: deque[mmap.mmap] = deque()
        """Returned blocks, from any thread and at any time, even during `take`."""
        self._lock = RLock()

    def take(self, count: int) -> memoryview:
        """A block of `count` bytes, which returns when its view dies."""
        with self._lock:
            while self._back:
                block = self._back.popleft()
                self.lent -= len(block)
                self.free.append(block)
            block = self._fitting(count) or self._fresh(-(-count // PAGE) * PAGE)
            self.lent += len(block)
            self.most = max(self.most, self.lent)
        view = memoryview(block)
        weakref.finalize(view, self._give_back, block).atexit = False
        return view

    def _fitting(self, count: int) -> mmap.mmap | None:
        """The smallest pooled block that fits, the most recently returned of these."""
        fitting = [block for block in reversed(self.free) if count <= len(block) <= WASTED * count]
        if not fitting:
            return None
        block = min(fitting, key=len)
        self.free.remove(block)
        return block

    def _fresh(self, count: int) -> mmap.mmap:
        """Fresh memory; the oldest pooled blocks are dropped if the pool would exceed its peak."""
        while self.free and self.lent + count + sum(map(len, self.free)) > self.most:
            del self.free[0]
        block = mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if _ADVICE is not None:
            block.madvise(_ADVICE)
        return block

    def _give_back(self, block: mmap.mmap) -> None:
        assert _FREE is not None
        block.madvise(_FREE)
        self._back.append(block)


_pool: Final = MemoryPool()
_empty_strided_cpu((31 << 20,), (1,), torch.uint8)


def pooled(count: int, sizes: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """A tensor of this many bytes that a program does not return."""
    if _FREE is None or _profiler_enabled():
        tensor = _empty_strided_cpu(sizes, strides, dtype)
        in_large_pages(tensor)
        return tensor
    return _reinterpret_tensor(torch.frombuffer(_pool.take(count), dtype=dtype), sizes, strides, 0)
