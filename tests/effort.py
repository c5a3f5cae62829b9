"""How many examples a search looks at: fewer in a quick run, more in a thorough one.

    @settings(max_examples=examples(150))
"""

from __future__ import annotations

from typing import Final

from hypothesis import settings

QUICK: Final = 10
"""A quick run looks at one example of so many."""
THOROUGH: Final = 5
"""A thorough run looks at so many times the examples."""


def examples(count: int) -> int:
    """What a run of this profile makes of the number that the suite looks at."""
    match settings.get_current_profile_name():
        case "quick":
            return max(2, count // QUICK)
        case "thorough":
            return count * THOROUGH
    return count
