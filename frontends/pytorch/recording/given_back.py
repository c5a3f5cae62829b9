"""Argument containers that a program returns: the caller's own objects, if they are not mutated.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda values, x: {"values": values, "y": x * 2})
    >>> values = [torch.ones(2)]
    >>> f(values, torch.ones(3))["values"] is values
    True

A trace runs on copies of containers that hold traced tensors. The arguments' pytree nodes are numbered in the preorder
of `calls/argument_unpacking.py`, positional arguments first.
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
    """A placeholder among the results for an argument container, by its number."""

    number: int


def containers_given(
    structure: TreeSpec, arguments: tuple[Sequence[object], Mapping[str, object]]
) -> dict[int, GivenBack]:
    """By identity, the containers in the positional and keyword arguments of a trace."""
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
