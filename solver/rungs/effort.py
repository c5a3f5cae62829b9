"""The efforts of a question, their budgets, and the rungs that may be tried.

    >>> from solver.rungs.effort import EFFORTS, WORK
    >>> sorted(WORK, key=WORK.__getitem__) == sorted(EFFORTS, key=EFFORTS.__getitem__)
    True
"""

from __future__ import annotations

from typing import Final, Literal

Effort = Literal["fast", "default", "thorough"]

RUNGS: Final = frozenset(
    (
        *("bounds", "shift", "remainder", "differences", "factor", "linear", "box", "residues", "extremes", "isolate"),
        *("split", "refine", "elimination", "search", "sympy", "z3"),
    )
)
EFFORTS: Final = {"fast": 0, "default": 1, "thorough": 2}
"""Efforts by rank, least first. Only a thorough question may ask z3 and sympy."""
FORKS: Final = {"fast": 2, "default": 24, "thorough": 48}
"""The number of hypotheses that one question may make."""
WORK: Final = {"fast": 2_000, "default": 120_000, "thorough": 400_000}
"""Numbers that the linear solver may touch for one question; each takes roughly 0.1 µs."""
