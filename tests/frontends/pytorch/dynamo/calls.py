"""Calls of a function with tensors of several sizes, as its caller sees them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch

Made = tuple[Callable[..., object], object]
"""A function, and the state that it keeps."""


def plain(function: Callable[..., object]) -> Callable[[], Made]:
    """A function without state, for each use anew."""
    return lambda: (function, None)


def did(function: Callable[..., object], state: object) -> list[str]:
    """The results of some calls, each with the state after it, as text."""
    seen = []
    for size in (3, 5, 2, 3):
        result: Any = function(torch.ones(size))
        # its steps would be seen
        if type(result).__name__.endswith(("generator", "iterator")):
            result = type(result).__name__, list(result)
        kept = state.getstate() if isinstance(state, random.Random) else state
        seen.append(f"{result!r} {kept!r}")
    return seen
