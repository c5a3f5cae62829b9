"""Garbage collection around a trace, which freezes what was there before it.

`gc.freeze` begins the collector's counts anew, and `gc.unfreeze` puts everything among the oldest objects, the youngest
too. A process that compiles one function after the other would never come to a collection of those, and compiled
functions, whose parts refer to each other, would stay when they are dropped. So before a trace freezes, what is due is
collected: the young objects, and all of them once the old ones have become more by a part. That part is a quarter, as
it is for the interpreter; where most of what had come was there to stay, it is twice as large the next time.
"""

from __future__ import annotations

import gc
from typing import Final

PART: Final = 0.25
MOST: Final = 1.0

_left = 0
"""How many objects were old after the last collection of all."""
_aged = 0
"""How many have become old since; of some it is not known that they are gone."""
_part = PART


def collect_what_is_due() -> None:
    """Collect garbage, unless the program has told the interpreter not to."""
    global _aged, _left
    if not gc.isenabled():
        return
    newest, collections, _ = gc.get_count()
    young = newest + collections * gc.get_threshold()[0]
    _aged += max(0, young - gc.collect(1))
    if _aged <= _part * _left:
        return
    # what is counted above may be gone since
    old = len(gc.get_objects(2))
    if _left and old - _left > _part * _left:
        old = _all_collected(old)
    else:
        _left = _left or old
    _aged = old - _left


def _all_collected(old: int) -> int:
    """Collect everything; how many objects are left."""
    global _left, _part
    came, _left = old - _left, old - gc.collect()
    _part = PART if 2 * (old - _left) > came else min(2 * _part, MOST)
    return _left


__all__ = ["collect_what_is_due"]
