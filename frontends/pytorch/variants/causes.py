"""Causes of another variant, the guard of the closest one that a call fails, and of eager fallbacks.

    >>> import torch
    >>> from frontends.pytorch.variants.compiled_graph import CompiledGraph
    >>> graph = CompiledGraph(lambda x: (x * 2 if x.shape[0] == 4 else x,), ["x"], None, backend="eager")
    >>> for size in (4, 5):
    ...     out = graph(torch.randn(size))
    >>> print(graph.variants[1].cause)
    guard `x.shape[0] == 4` fails at x.shape[0]=5 (...)
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from frontends.pytorch.variant import Variant
from shapes.guards.dispatch import Dispatch
from solver.floats.ordinals import double
from solver.terms.prop import Prop

FIRST: Final = "first call"
"""The cause of a capture that is no recompilation."""
log: Final = logging.getLogger("symshape")


def cause_of(dispatch: Dispatch[Any], values: Sequence[object]) -> tuple[str, Prop | None]:
    """The failing test of the variant with the fewest of them, the latest one on ties, and the guard if it is one."""
    given = dict(zip(dispatch.arguments, values))
    failed = [dispatch.failed_tests(entry, given) for entry in dispatch.entries]
    if not failed:
        return "inputs of other kinds", None
    closest = min(range(len(failed)), key=lambda place: (len(failed[place]), -place))
    if failed[closest]:
        changed = [f"{''.join(map(str, path))} is {actual}, was {wanted}" for path, actual, wanted in failed[closest]]
        return "; ".join(changed), None
    plan = dispatch.entries[closest].check.plan
    outcome = plan.explain(given)
    requirement, message = outcome.requirement, outcome.message
    for name, value in outcome.values.items():
        if any(str(path[0]).endswith("_bits") for path in plan.arguments.sources_of(name)):
            message = message.replace(f"{name}={value}", f"{name}={double(value)}")
    return message, None if requirement is None else requirement.prop


def failed_guard(variants: Sequence[Variant], given: Mapping[str, object]) -> str:
    """The first guard of the latest variant that these inputs fail; empty if none is known."""
    for variant in reversed(variants):
        values = {
            symbol: value.shape[path[1]]
            for each in variant.inputs
            if isinstance(value := given.get(each.name), torch.Tensor) and value.dim() == each.rank
            for symbol, path in each.symbols
            if path[0] == ".shape" and isinstance(path[1], int)
        }
        for guard in variant.guards:
            atoms = guard.prop.symbols
            if all(atom.name in values for atom in atoms):
                known = {atom: values[str(atom.name)] for atom in atoms}
                if not guard.prop.evaluate(known):
                    shown = guard.with_places(", ".join([f"{atom.name}={value}" for atom, value in known.items()]))
                    where = "" if guard.origin is None else f" ({guard.origin})"
                    return f"guard `{guard}` fails at {shown}{where}"
    return ""


@dataclass(frozen=True, slots=True)
class Fallback:
    """An eager fallback: the question whose recompile limit is exhausted, or empty, and the reason."""

    question: str
    reason: str


def note(fallbacks: list[Fallback], fallback: Fallback, name: str) -> None:
    """Add a fallback of a function, with a warning, unless one for its question or reason is known."""
    if all((each.question or each.reason) != (fallback.question or fallback.reason) for each in fallbacks):
        fallbacks.append(fallback)
        how = "falls back to eager where no variant fits" if fallback.question else "runs as Python"
        log.warning("%s %s: %s", name, how, fallback.reason)
