"""Processes of one group on this machine, for tests: gloo, joined by a file, ended with the test.

    run(2, program)

calls `program(rank)` in two new processes and returns the results by rank. No process outlives the call.
"""

from __future__ import annotations

import os
import queue
import tempfile
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
import torch.multiprocessing

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

T = TypeVar("T")
Sent = tuple[int, T | None, str | None]
"""A rank, its result, its error."""

POLLED = 1
"""Seconds between two looks at whether the processes are alive."""
LIMIT = 400
"""Seconds until the processes are ended: far more than any test needs."""


def run(world: int, program: Callable[[int], T], *, limit: float = LIMIT) -> list[T | None]:
    """The results of a program by rank, None for one that died; fails on an error in one, or when time is over."""
    context = torch.multiprocessing.get_context("spawn")
    results: Queue[Sent[T]] = context.Queue()
    found: dict[int, tuple[T | None, str | None]] = {}
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store")
        processes = [
            context.Process(target=work, args=(rank, world, store, program, results), daemon=True)
            for rank in range(world)
        ]
        try:
            for process in processes:
                process.start()
            end = time.monotonic() + limit
            while len(found) < world and time.monotonic() < end:
                ended = all(process.exitcode is not None for process in processes)
                try:
                    rank, result, error = results.get(timeout=POLLED)
                    found[rank] = result, error
                except queue.Empty:
                    if ended:
                        break
            late = [rank for rank, process in enumerate(processes) if rank not in found and process.is_alive()]
        finally:
            for process in processes:
                process.kill()
            for process in processes:
                process.join()
            results.close()
    errors = [f"rank {rank}: {error}" for rank, (_, error) in sorted(found.items()) if error]
    if errors or late:
        pytest.fail("\n".join([*errors, f"without a result: ranks {late}"] if late else errors), pytrace=False)
    return [found.get(rank, (None, None))[0] for rank in range(world)]


def work(rank: int, world: int, path: str, program: Callable[[int], T], results: Queue[Sent[T]]) -> None:
    """Run one process."""
    import torch
    import torch.distributed as dist

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    result: T | None = None
    error: str | None = None
    try:
        store = dist.FileStore(path, world)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=timedelta(seconds=LIMIT))
        result = program(rank)
    except BaseException:
        error = traceback.format_exc()
    results.put((rank, result, error))
    results.close()
    results.join_thread()
    # without the teardown of the group, which waits for the others
    os._exit(0)
