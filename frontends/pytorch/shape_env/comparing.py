"""Shadow mode: torch answers, our answers are compared with its.

    >>> from frontends.pytorch.shape_env.comparing import Comparison
    >>> import sympy
    >>> seen = Comparison()
    >>> seen.add("s0 >= 2", sympy.true, sympy.true), seen.add("u0 == 4*(u0//4)", None, sympy.true)
    (None, None)
    >>> print(seen)
    both decide 1, only ours 1, only torch 0, neither 0; 0 conflicts
"""

from __future__ import annotations

import logging

import sympy

logger = logging.getLogger("symshape")


class Comparison:
    """Counts of answers.

    Attributes:
        both: the number of questions that both decide, alike.
        neither: the number of those that neither decides.
        only_ours: texts of questions that only ours decides.
        only_torch: texts of questions that only torch decides.
        conflicts: a line for each question that both decide and in different ways.
    """

    def __init__(self) -> None:
        self.both = self.neither = 0
        self.only_ours: list[str] = []
        self.only_torch: list[str] = []
        self.conflicts: list[str] = []

    def add(self, question: str, torchs: sympy.Basic | None, ours: sympy.Basic | None) -> None:
        """Compare two answers; None for none."""
        if torchs is None and ours is None:
            self.neither += 1
        elif torchs is None:
            self.only_ours.append(question)
        elif ours is None:
            self.only_torch.append(question)
        elif torchs == ours:
            self.both += 1
        else:
            line = f"{question}: torch gives {torchs}, ours is {ours}"
            self.conflicts.append(line)
            logger.error("reasoner: %s", line)

    def __str__(self) -> str:
        return (
            f"both decide {self.both}, only ours {len(self.only_ours)}, only torch {len(self.only_torch)}, neither "
            f"{self.neither}; {len(self.conflicts)} conflicts"
        )
