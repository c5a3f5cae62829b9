"""Containers among the arguments that a program returns: the caller's own, where it did not change them.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda values, x: {"values": values, "y": x * 2})
    >>> values = [torch.ones(2)]
    >>> f(values, torch.ones(3))["values"] is values
    True

A trace runs on containers of its own, that hold tensors of the trace. The nodes of the arguments are numbered as
`calls/opening.py` takes them apart: each before what is in it, those by position first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch.utils._pytree import SUPPORTED_NODES, TreeSpec

from frontends.pytorch.python.fields import Fields, held_by
from frontends.pytorch.python.wrappers import Lengths, Opened


@dataclass(frozen=True, slots=True)
class GivenBack:
    """What stands among the results for a container that was given, by its number."""

    number: int


def containers_given(
    structure: TreeSpec, arguments: tuple[Sequence[object], Mapping[str, object]]
) -> dict[int, GivenBack]:
    """By identity, the containers in the arguments of a trace, which are the positional and the named ones."""
    found: dict[int, GivenBack] = {}
    count = 0

    def visit(spec: TreeSpec, items: Sequence[Any] | None) -> None:  # of classes that torch's registry knows
        nonlocal count
        for place, child in enumerate(spec.children()):
            if child.is_leaf():
                continue
            inside = None
            if items is not None:
                found[id(items[place])] = GivenBack(count)
                if child.type is Fields:
                    inside = held_by(items[place])[0]
                elif child.type is Lengths:
                    inside = list(items[place])
                elif child.type is not Opened:
                    inside = SUPPORTED_NODES[child.type].flatten_fn(items[place])[0]
            count += 1
            visit(child, inside)

    positional, named = structure.children()
    visit(positional, list(arguments[0]))
    visit(named, list(arguments[1].values()))
    return found


__all__ = ["GivenBack", "containers_given"]
