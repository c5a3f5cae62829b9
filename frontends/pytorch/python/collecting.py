"""Garbage collection around a trace, which freezes earlier objects.

`gc.freeze` resets the collector's counts, and `gc.unfreeze` moves all objects to the oldest generation. A process that
compiles many functions would never collect that generation, and dropped compiled functions, which are cyclic, would
leak. So a trace collects before it freezes: the young objects, and everything once the old generation has grown by a
quarter, as in the interpreter. If most of the growth survives, the threshold doubles.
"""

from __future__ import annotations

import gc
from typing import Final

PART: Final = 0.25
MOST: Final = 1.0

_left = 0
"""The number of old objects after the last full collection."""
_aged = 0
"""The number of objects that have become old since, some of them possibly dead."""
_part = PART


def collect_what_is_due() -> None:
    """Collect garbage, unless the program has disabled collection."""
    global _aged, _left
    if not gc.isenabled():
        return
    newest, collections, _ = gc.get_count()
    young = newest + collections * gc.get_threshold()[0]
    _aged += max(0, young - gc.collect(1))
    if _aged <= _part * _left:
        return
    # counted objects may be dead
    old = len(gc.get_objects(2))
    if _left and old - _left > _part * _left:
        old = _all_collected(old)
    else:
        _left = _left or old
    _aged = old - _left


def _all_collected(old: int) -> int:
    """Run a full collection; returns the number of remaining objects."""
    global _left, _part
    came, _left = old - _left, old - gc.collect()
    _part = PART if 2 * (old - _left) > came else min(2 * _part, MOST)
    return _left
