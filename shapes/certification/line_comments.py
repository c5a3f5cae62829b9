"""The line of a program in the comment behind a guard.

>>> print(place_in("if n <= 8192:  # serve/model.py:41 in forward"))
model.py:41 in forward
"""

from __future__ import annotations

import re
from typing import Final

from shapes.origin import Origin

PLACE: Final = re.compile(r"([^\s#()]+):(\d{1,9})(?: in ([^\s()]+))?")


def place_in(comment: str) -> Origin | None:
    """The first `file:line in function` of a comment."""
    found = PLACE.search(comment)
    return None if found is None else Origin(found[1], int(found[2]), found[3] or "")


__all__ = ["place_in"]
