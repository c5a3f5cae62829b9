"""Differential testing of cached answers against torch's.

Torch's answer is used, so a difference changes nothing; it is logged as an error of the logger `symshape`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

logger = logging.getLogger("symshape")
Implementation = Callable[..., Any]


class Comparison:
    """The number of comparisons, and the differences.

    Attributes:
        count: the number of comparisons.
        compared: their numbers by the name of the attribute.
        differences: for each that differs, a line with both.
    """

    def __init__(self) -> None:
        self.count = 0
        self.compared: Counter[str] = Counter()
        self.differences: list[str] = []

    def attributes(self, faster: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
        """Attributes that compute both answers."""
        found: dict[str, Any] = {}
        for name, attribute in faster.items():
            if isinstance(attribute, property):
                assert attribute.fget is not None
                found[name] = property(self.both(name, attribute.fget, before[name].fget))
            else:
                found[name] = self.both(name, attribute, before[name])
        return found

    def both(self, name: str, faster: Implementation, original: Implementation) -> Implementation:
        """An operation that compares both results and returns torch's."""

        def compared(self_: Any, *others: Any, **named: Any) -> Any:
            ours = faster(self_, *others, **named)
            theirs = original(self_, *others, **named)
            operands = ", ".join([str(getattr(each, "_expr", each)) for each in (self_, *others)])
            self.add(name, described(ours), described(theirs), f"({operands})")
            return theirs

        return compared

    def add(self, name: str, ours: object, theirs: object, operands: str = "") -> None:
        """Compare an answer with torch's."""
        self.count += 1
        self.compared[name] += 1
        if ours != theirs:
            line = f"{name}{operands}: torch gives {theirs}, ours is {ours}"
            self.differences.append(line)
            logger.error("reasoner: %s", line)


def described(answer: Any) -> object:
    """The compared parts of an answer: for a node, everything that torch reads."""
    if not hasattr(answer, "_expr"):
        return type(answer), answer
    return (
        answer._expr,
        type(answer._expr),
        answer.pytype,
        answer._optimized_summation,
        (type(answer._hint), answer._hint),
        answer.constant,
        answer.fx_node,
        id(answer.shape_env),
    )


__all__ = ["Comparison"]
