"""How a trace treats what is open: the program's branches follow the hint, torch's own optional ones the general path.

Torch's operators ask with `guard_or_false` where one answer is more general: whether a size is 1, whether a tensor is
contiguous. Where the sizes at hand take that path too, the answer costs no guard, whether it follows or not. Where they
do not (an axis of size 1 that is broadcast), it is a branch of the program like any other. Whether two sizes differ is
asked only to save an expansion that changes nothing where they do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shapes.policies import Answer, Dynamic, InputChoice, InputSize, OpenChoice, OpenQuestion, follow_hint


@dataclass(frozen=True, slots=True)
class GeneralPath:
    """Every size is dynamic; where the asker names a fallback, it is taken without a guard."""

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
