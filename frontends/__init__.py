"""Frontends: translate the symbolic shapes of frameworks to sizes and facts of this engine, and back.

One module or folder for each framework.
"""

from __future__ import annotations

import os
from importlib.machinery import SourceFileLoader
from types import ModuleType


def _require_own_packages() -> None:
    """Check with `shapes.siblings` that the packages are ours. It is loaded as a file, since `shapes` itself may be
    another project's."""
    root, siblings = os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ModuleType("symshape siblings")
    SourceFileLoader(siblings.__name__, os.path.join(root, "shapes", "siblings.py")).exec_module(siblings)
    siblings.require_own_packages(root)


_require_own_packages()
