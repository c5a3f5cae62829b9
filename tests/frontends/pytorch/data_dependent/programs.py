"""Every program of this folder, by name.

>>> PROGRAMS["ordered_by_two_checks"].reference
'pytorch/pytorch#193092'
"""

from __future__ import annotations

from tests.frontends.pytorch.data_dependent import blocks, order, slices, undecided
from tests.frontends.pytorch.data_dependent.records import PROGRAMS, Program

__all__ = ["PROGRAMS", "Program", "blocks", "order", "slices", "undecided"]
