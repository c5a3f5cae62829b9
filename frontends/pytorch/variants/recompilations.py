"""Eager fallbacks of a program, each with its cause.

    >>> from frontends.pytorch.variants.recompilations import Fallback
    >>> print(Fallback("x.shape[0]", "2 recompilations for the same question: x.shape[0] is 5, was 3").reason)
    2 recompilations for the same question: x.shape[0] is 5, was 3
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Final

import torch

FIRST: Final = "first call"
"""The cause of a capture that is no recompilation."""
log: Final = logging.getLogger("symshape")


@dataclass(frozen=True, slots=True)
class Fallback:
    """An eager fallback: the question whose recompile limit is exhausted, or empty, and the reason."""

    question: str
    reason: str


def warn_of(fn: object, fallback: Fallback, how: str) -> None:
    """Log a fallback with its reason."""
    fn = fn.forward if isinstance(fn, torch.nn.Module) else fn
    name = fn.__name__ if isinstance(fn, FunctionType | MethodType) else type(fn).__name__
    log.warning("%s %s: %s", name, how, fallback.reason)
