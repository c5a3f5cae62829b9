"""Edges of symshape to frameworks: what they say about sizes, in this engine's terms, and back.

One module or folder each.
"""

from __future__ import annotations

import os
from importlib.machinery import SourceFileLoader
from types import ModuleType


def _require_own_packages() -> None:
    """As `shapes.siblings` has it, which is loaded as a file: whose `shapes` the path gives is part of the question."""
    root, siblings = os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ModuleType("symshape siblings")
    SourceFileLoader(siblings.__name__, os.path.join(root, "shapes", "siblings.py")).exec_module(siblings)
    siblings.require_own_packages(root)


_require_own_packages()
