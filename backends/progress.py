"""Waiting for compilers: without a word at first, then with a progress bar.

>>> from concurrent.futures import ThreadPoolExecutor
>>> with ThreadPoolExecutor(2) as pool:
...     futures = [pool.submit(pow, 2, exponent) for exponent in (3, 4)]
...     awaited(futures)
...     [future.result() for future in futures]
[8, 16]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from importlib.util import find_spec
from typing import Final, TypeVar

PATIENCE: Final = 2.0
"""Seconds without a word."""
Result = TypeVar("Result")


def awaited(futures: Sequence[Future[Result]]) -> None:
    """Wait for all of them; from the second second on with a progress bar, on a terminal where rich is installed."""
    _, pending = wait(futures, timeout=PATIENCE)
    if not pending or not sys.stderr.isatty() or find_spec("rich") is None:
        wait(pending)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("compiling kernels", total=len(futures))
        while pending:
            progress.update(task, completed=len(futures) - len(pending))
            _, pending = wait(pending, return_when=FIRST_COMPLETED)
