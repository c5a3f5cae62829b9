"""The policy of a trace for undecided questions: the program's branches follow the hint, torch's optional ones the
general path.

Torch's operators ask with `guard_or_false` where one answer is more general: whether a size is 1, whether a tensor is
contiguous. If the hints take the general path too, no guard is added, decided or not. If they do not (an axis of size 1
that is broadcast), it is an ordinary branch. Whether two sizes differ is asked only to skip an expansion, which is the
identity for equal sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shapes.policies import Answer, Dynamic, InputChoice, InputSize, OpenChoice, OpenQuestion, follow_hint


@dataclass(frozen=True, slots=True)
class GeneralPath:
    """Every size is dynamic; a query with a fallback takes it without a guard."""

    name: str = "general path"

    def on_input(self, size: InputSize) -> InputChoice:
        return Dynamic()

    def on_open(self, question: OpenQuestion) -> OpenChoice:
        fallback = question.fallback
        saves_an_expansion = fallback is False and question.prop.kind == "ne"
        if fallback is not None and (question.at_hint in (None, fallback) or saves_an_expansion):
            return Answer(fallback, "the general path of an operator")
        return follow_hint(question)


general_path: Final = GeneralPath()
