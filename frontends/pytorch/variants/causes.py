"""Causes of another variant: the guard of the closest one that a call fails.

    >>> import torch
    >>> from frontends.pytorch.variants.compiled_graph import CompiledGraph
    >>> graph = CompiledGraph(lambda x: (x * 2 if x.shape[0] == 4 else x,), ["x"], None, backend="eager")
    >>> for size in (4, 5):
    ...     out = graph(torch.randn(size))
    >>> print(graph.variants[1].cause)
    guard `x_size0 == 4` fails at x_size0=5 (...)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from frontends.pytorch.variant import Variant
from frontends.pytorch.variants.arguments import GraphArguments
from shapes.guards.arguments import Path
from shapes.guards.dispatch import MISSING, Dispatch
from solver.floats.ordinals import double
from solver.terms.prop import Prop


def cause_of(
    arguments: GraphArguments, dispatch: Dispatch[Any], values: Sequence[object]
) -> tuple[str, Prop | None]:
    """The failing test of the variant with the fewest of them, the latest one on ties, and the guard if it is one."""
    given = dict(zip(dispatch.arguments, values))
    failed = [dispatch.failed_tests(entry, given) for entry in dispatch.entries]
    if not failed:
        return "inputs of other kinds", None
    closest = min(range(len(failed)), key=lambda place: (len(failed[place]), -place))
    if failed[closest]:
        return "; ".join([_text(arguments, *test) for test in failed[closest]]), None
    plan = dispatch.entries[closest].check.plan
    outcome = plan.explain(given)
    requirement, message = outcome.requirement, outcome.message
    for name, value in outcome.values.items():
        if any(str(path[0]).endswith("_bits") for path in plan.arguments.sources_of(name)):
            message = message.replace(f"{name}={value}", f"{name}={double(value)}")
    return message, None if requirement is None else requirement.prop


def failed_guard(variants: Sequence[Variant], given: Mapping[str, object]) -> str:
    """The first guard of the latest variant that fails for the sizes of these inputs; empty if none is known to."""
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
                    shown = ", ".join([f"{atom.name}={value}" for atom, value in known.items()])
                    where = "" if guard.origin is None else f" ({guard.origin})"
                    return f"guard `{guard}` fails at {shown}{where}"
    return ""


def _text(arguments: GraphArguments, path: Path, actual: object, wanted: object) -> str:
    """Describe a changed value that is no size."""
    head = path[0]
    name = "".join(map(str, path))
    match path:
        case ("repeated",):
            return f"{_repeated(arguments, actual)}, before {_repeated(arguments, wanted)}"
        case (_, ".__class__") if isinstance(actual, type) and isinstance(wanted, type):
            return f"{head} is of the class {actual.__qualname__}, was {wanted.__qualname__}"
        case (_, ".__repr__()"):
            return f"{head} is {actual}, was {wanted}"
    if str(head).endswith("_identity"):
        return f"{str(head).removesuffix('_identity')} is another object"
    return f"there is no {name}" if actual is MISSING else f"{name} is {actual}, was {wanted}"


def _repeated(arguments: GraphArguments, pattern: object) -> str:
    """Describe which tensors are the same object."""
    if not isinstance(pattern, tuple):
        return "no tensor is given twice"
    names = [arguments.leaves[place].name for place in arguments.tensors]
    groups = [[name for name, first in zip(names, pattern) if first == place] for place in range(len(names))]
    return " and ".join([f"{' and '.join(group)} are the same tensor" for group in groups if len(group) > 1])


def is_bought(guard: Prop | None, variants: Sequence[Variant]) -> bool:
    """Whether a guard was added only for faster kernels."""
    return any(guard in variant.running.bought for variant in variants if variant.running is not None)
