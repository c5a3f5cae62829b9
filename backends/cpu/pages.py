"""Large buffers: pooled between calls, in huge pages, as first-touch page faults cost the most.

    >>> import torch
    >>> place = pooled(LARGE, (LARGE // 4,), (1,), torch.float32).fill_(1.0).data_ptr()    # let go of right away
    >>> pooled(LARGE, (LARGE // 4,), (1,), torch.float32).data_ptr() == place
    True

The C library gives much memory back to the system as soon as it is let go of, so every call of a program touches it for
the first time again: 32 MiB are 8192 small pages (15 ms where it was measured, 3 ms in large ones), and a kernel reads
and writes them in 5. What a program makes for itself, temporaries and what its backward reads, is kept here instead; it
comes back when its last tensor is gone, whoever holds that.

Of smaller pieces the C library keeps twice as much as the largest one of up to 32 MiB that it was given back: it is
given one, never touched, to begin with.

There is never more memory than was needed at once, and while it lies here the system may take its pages
(`MADV_FREE`), which costs 0.04 ms for 32 MiB. What is returned to the caller is the C library's, in large pages. So is
everything while torch's profiler runs, which would not see the rest.
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
"""So many bytes are large."""
PAGE: Final = 2 << 20
"""What kept memory is a multiple of: the size of a large page."""
WASTED: Final = 5 / 4
"""So many times as much as is needed is taken rather than fresh memory."""
_ADVICE: Final[int | None] = getattr(mmap, "MADV_HUGEPAGE", None)
_FREE: Final[int | None] = getattr(mmap, "MADV_FREE", None)
_advise: Final = None if _ADVICE is None else ctypes.CDLL(None).madvise


def in_large_pages(tensor: torch.Tensor) -> None:
    """Asks for large pages for the memory of a fresh tensor; a system that has none goes on as it is."""
    if _advise is None:
        return
    memory = tensor.untyped_storage()
    start = -(-memory.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
    bytes_inside = memory.data_ptr() + memory.nbytes() - start
    _advise(ctypes.c_void_p(start), ctypes.c_size_t(max(bytes_inside, 0)), _ADVICE)


class MemoryPool:
    """Memory that is lent to tensors, and kept when they are gone.

    Attributes:
        lent: the bytes that tensors have, as far as it is known by now.
        most: the most that they have had at once.
        free: what is kept, in the order in which it came back.
    """

    def __init__(self) -> None:
        self.lent = self.most = 0
        self.free: list[mmap.mmap] = []
        self._back: deque[mmap.mmap] = deque()
        """What has come back, from any thread and at any time, in the midst of `take` even."""
        self._lock = RLock()

    def take(self, count: int) -> memoryview:
        """So many bytes; they come back when the view of them is gone."""
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
        """The smallest that is kept and as large, of these the last that came back."""
        fitting = [block for block in reversed(self.free) if count <= len(block) <= WASTED * count]
        if not fitting:
            return None
        block = min(fitting, key=len)
        self.free.remove(block)
        return block

    def _fresh(self, count: int) -> mmap.mmap:
        """Memory that was not there, in the place of what has been kept longest if it would be more than ever."""
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
    """A tensor of so many bytes that is not given to the caller of a program."""
    if _FREE is None or _profiler_enabled():
        tensor = _empty_strided_cpu(sizes, strides, dtype)
        in_large_pages(tensor)
        return tensor
    return _reinterpret_tensor(torch.frombuffer(_pool.take(count), dtype=dtype), sizes, strides, 0)


__all__ = ["LARGE", "MemoryPool", "in_large_pages", "pooled"]
