"""Causes of recompilation: the guard of the closest variant that a call fails.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x: x * 2 if x.shape[0] == 4 else x, dynamic=True)
    >>> for size in (4, 5):
    ...     out = f(torch.randn(size))
    >>> f.recompilations[1].question.key
    'x_size0 == # (...)'

Questions about other values of the same source have the same key, so that they are counted together.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType, MethodType
from typing import Any, Final

import torch

from frontends.pytorch.calls.argument_unpacking import READ, Leaf
from frontends.pytorch.calls.captured_state import CapturedState
from frontends.pytorch.calls.signatures import AMBIENT, Signature
from frontends.pytorch.variant import Variant
from shapes.guards.arguments import Path
from shapes.guards.codegen import where_of
from shapes.guards.dispatch import MISSING
from shapes.guards.variants import Entry
from solver.floats.ordinals import double
from solver.terms.prop import Prop

log: Final = logging.getLogger("symshape")
FINITE: Final = frozenset((*AMBIENT, *READ, ".__class__", "repeated"))
"""Guard sources with finitely many values, by the last step of their path; exempt from the recompile limit."""


@dataclass(frozen=True, slots=True)
class Question:
    """Why no variant accepts a call.

    Attributes:
        key: equal for other values of the same source.
        text: the description.
        counted: whether it counts towards the recompile limit.
        test: the path of a source that is no size.
        is_size: whether it is a static size without a guard.
        guard: the failing guard on sizes.
        is_data: whether only elements of captured tensors differ.
    """

    key: str
    text: str
    counted: bool
    test: Path | None = None
    is_size: bool = False
    guard: Prop | None = None
    is_data: bool = False


@dataclass(frozen=True, slots=True)
class Recompilation:
    """One trace: its number and its cause."""

    number: int
    cause: str
    question: Question | None


@dataclass(frozen=True, slots=True)
class Fallback:
    """An eager fallback with its reason."""

    question: str
    reason: str


def question_of(
    signature: Signature, arguments: Sequence[object], captured_state: CapturedState | None
) -> Question | None:
    """Why the closest variant rejects a call: the variant with the fewest failing tests, the latest one on ties; None
    if there is no variant."""
    dispatch = signature.dispatch
    values = dict(zip(dispatch.arguments, arguments))
    failed = [dispatch.failed_tests(entry, values) for entry in dispatch.entries]
    if not failed:
        return None
    closest = min(range(len(failed)), key=lambda place: (len(failed[place]), -place))
    if not failed[closest]:
        return size_question(signature, dispatch.entries[closest], values)
    first, *more = [value_question(signature, *test, captured_state) for test in failed[closest]]
    return replace(first, text="; ".join([first.text, *[each.text for each in more]]))


def form_question(signature: Signature, others: Sequence[Signature]) -> Question:
    """Why no variant has arguments of this form: the difference from the closest form."""
    differences: list[list[str]] = []
    for other in reversed(others):
        if other is not signature and other.structure == signature.structure:
            pairs = zip(signature.leaves, other.leaves, strict=True)
            differences.append([text for leaf, was in pairs if (text := _difference(leaf, was))])
    if not differences:
        return Question("form", "different pytree structure", False)
    closest = min(differences, key=len)
    return Question("form", "; ".join(closest), False)


def _difference(leaf: Leaf, was: Leaf) -> str:
    if leaf.type is not was.type:
        return f"{leaf.shown} is of the class {leaf.type.__qualname__}, was {was.type.__qualname__}"
    return f"{leaf.shown} has rank {leaf.rank}, was {was.rank}" if leaf.rank != was.rank else ""


def size_question(signature: Signature, entry: Entry[object], values: Mapping[str, object]) -> Question:
    """The size or integer that a variant does not accept."""
    plan = entry.check.plan
    outcome = plan.explain(values)
    requirement = outcome.requirement
    if requirement is None:
        return Question(outcome.message, outcome.message, False)
    where = f" ({where_of(requirement)})" if where_of(requirement) else ""
    paths = [path for name in outcome.values for path in plan.arguments.sources_of(name)]
    key = re.sub(r"(?<!\w)\d+", "#", requirement.text) + where
    if requirement.kind == "range" and len(paths) == 1 and str(paths[0][0]).endswith("_bits"):
        name, (bits,) = str(paths[0][0]).removesuffix("_bits"), outcome.values.values()
        shown = signature.shown((name,))
        return Question(shown, f"{shown} is {double(bits)}, another one than before", True)
    # a static size without a guard becomes a symbol when it differs
    is_size = requirement.kind == "range" and all(len(path) == 1 or path[1] == ".shape" for path in paths)
    message = outcome.message
    for name, value in outcome.values.items():
        if any(str(path[0]).endswith("_bits") for path in plan.arguments.sources_of(name)):
            message = message.replace(f"{name}={value}", f"{name}={double(value)}")
    return Question(key, message, not is_size, is_size=is_size, guard=requirement.prop)


def value_question(
    signature: Signature, path: Path, actual: Any, wanted: Any, captured_state: CapturedState | None
) -> Question:
    """The question for a value that is no size."""
    name = signature.shown(path)
    if path == ("captured_state",) and not (isinstance(actual, int) and isinstance(wanted, int)):
        return Question("code", "the function has other code", True, path)
    if path == ("captured_state",) and captured_state is not None:
        texts = captured_state.different_places(wanted, actual)
        text = "; ".join(captured_state.difference(wanted, actual))
        finite = all(place.endswith(".training") for place in texts) or captured_state.is_about_filling(wanted, actual)
        is_data = captured_state.is_about_elements(wanted, actual)
        return Question(f"captured_state: {', '.join(texts)}", text, not finite, path, is_data=is_data)
    if str(path[0]).endswith("_identity"):
        return Question(f"{name}_identity", f"{name} is another object", True, path)
    finite = path[-1] in FINITE or isinstance(wanted, str | bool)
    return Question(name, _value_text(signature, path, actual, wanted), not finite, path)


def _value_text(signature: Signature, path: Path, actual: object, wanted: object) -> str:
    """Describe a changed value with the program's names."""
    name = signature.shown(path)
    match path:
        case ("repeated",):
            return f"{_repeated(signature, actual)}, before {_repeated(signature, wanted)}"
        case (_, ".__class__") if isinstance(actual, type) and isinstance(wanted, type):
            return f"{signature.shown(path[:-1])} is of the class {actual.__qualname__}, was {wanted.__qualname__}"
        case (_, ".__repr__()"):
            pass
        case _:
            return f"there is no {name}" if actual is MISSING else f"{name} is {actual}, was {wanted}"
    return f"{signature.shown(path[:-1])} is {actual}, was {wanted}"


def _repeated(signature: Signature, pattern: object) -> str:
    """Describe which tensors are the same object."""
    if not isinstance(pattern, tuple):
        return "no tensor is given twice"
    names = [signature.leaves[place].shown for place in signature.tensors]
    groups = [[name for name, first in zip(names, pattern) if first == place] for place in range(len(names))]
    return " and ".join([f"{' and '.join(group)} are the same tensor" for group in groups if len(group) > 1])


def is_bought(question: Question, variants: Sequence[Variant]) -> bool:
    """Whether its guard was added only for faster kernels."""
    return any(question.guard in variant.running.bought for variant in variants if variant.running is not None)


def never_settles(question: Question, variants: Sequence[Variant]) -> bool:
    """Whether the variants' own side effects change the guarded state at each call."""
    return question.test == ("captured_state",) and any(effect.places for v in variants for effect in v.effects)


def warn_of(fn: object, fallback: Fallback, how: str) -> None:
    """Log a fallback with its reason."""
    fn = fn.forward if isinstance(fn, torch.nn.Module) else fn
    name = fn.__name__ if isinstance(fn, FunctionType | MethodType) else type(fn).__name__
    log.warning("%s %s: %s", name, how, fallback.reason)


