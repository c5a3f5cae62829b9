"""Why no variant accepts a call: the question whose answer is another one this time.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x: x * 2 if x.shape[0] == 4 else x, dynamic=True)
    >>> for size in (4, 5):
    ...     out = f(torch.randn(size))
    >>> f.recompilations[1].question.key
    'x_size0 == # (...)'

Questions about other values of the same thing have the same key, so that they can be counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from frontends.pytorch.calls.opening import READ
from frontends.pytorch.calls.signatures import AMBIENT, Signature
from shapes.dispatch import MISSING

if TYPE_CHECKING:
    from frontends.pytorch.calls.surroundings import Surroundings
    from shapes.arguments import Path
    from shapes.entries import Entry
    from solver.prop import Prop

FINITE: Final = frozenset((*AMBIENT, *READ, ".__class__", "repeated"))
"""Inputs with few values, by the last step of their path: they are asked about as often as they like."""


@dataclass(frozen=True, slots=True)
class Question:
    """Why no variant accepts a call.

    Attributes:
        key: the same for the same question about other values.
        text: for people.
        counted: whether it may be asked only so often.
        test: what is not a size in it, by its path.
        is_size: whether it is a size that is a number because of no guard.
        guard: what does not hold, where it is a condition on sizes.
    """

    key: str
    text: str
    counted: bool
    test: Path | None = None
    is_size: bool = False
    guard: Prop | None = None


@dataclass(frozen=True, slots=True)
class Recompilation:
    """One trace: its number, and why it was made."""

    number: int
    cause: str
    question: Question | None


@dataclass(frozen=True, slots=True)
class Fallback:
    """Calls that run as they are, and why."""

    question: str
    reason: str


def question_of(
    signature: Signature, arguments: Sequence[object], surroundings: Surroundings | None
) -> Question | None:
    """Why the latest variant that could does not accept a call of this form; None where there is no variant."""
    dispatch = signature.dispatch
    values = dict(zip(dispatch.arguments, arguments))
    failed = [value_question(signature, entry, values, surroundings) for entry in dispatch.entries]
    for entry, test in reversed(list(zip(dispatch.entries, failed))):
        if test is None:
            return size_question(entry, values)
    return failed[-1] if failed else None


def size_question(entry: Entry[object], values: Mapping[str, object]) -> Question:
    """The size or integer that a variant does not accept."""
    plan = entry.check.plan
    outcome = plan.explain(values)
    requirement = outcome.requirement
    if requirement is None:
        return Question(outcome.message, outcome.message, False)
    where = f" ({requirement.where})" if requirement.where else ""
    key = re.sub(r"(?<!\w)\d+", "#", requirement.text) + where
    # a size that is a number because of no guard becomes a symbol when it is seen to differ
    paths = [path for name in outcome.values for path in plan.arguments.sources_of(name)]
    is_size = requirement.kind == "range" and all(len(path) == 1 or path[1] == ".shape" for path in paths)
    return Question(key, outcome.message, not is_size, is_size=is_size, guard=requirement.prop)


def value_question(
    signature: Signature, entry: Entry[object], values: Mapping[str, object], surroundings: Surroundings | None
) -> Question | None:
    """What is no size and another than a variant expects, if anything."""
    failed = signature.dispatch.failed_test(entry, values)
    if failed is None:
        return None
    path, actual, wanted = failed
    name = "".join([str(step) for step in path])
    if path == ("surroundings",) and surroundings is not None:
        places = surroundings.different_places(wanted, actual)
        text = "; ".join(surroundings.difference(wanted, actual))
        finite = all(place.endswith(".training") for place in places)
        return Question(f"surroundings: {', '.join(places)}", text, not finite, path)
    if name.endswith("_identity"):
        return Question(name, f"{name.removesuffix('_identity')} is another object", True, path)
    text = f"there is no {name}" if actual is MISSING else f"{name} is {actual}, was {wanted}"
    finite = path[-1] in FINITE or isinstance(wanted, str | bool)
    return Question(name, text, not finite, path)
