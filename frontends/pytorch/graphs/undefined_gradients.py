"""Undefined gradients: the backward specialized to the outputs that were used, by dead code elimination.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> def program(x):
    ...     return x.sqrt(), x * 2
    >>> compiled = compile(program)
    >>> x = torch.zeros(2, requires_grad=True)
    >>> root, double = compiled(x)
    >>> double.sum().backward()
    >>> x.grad                      # without the root's infinite slope: zero times it would be nan
    tensor([2., 2.])

Autograd runs no operator for an unused output, and an input that only leads there has no gradient. The recorded
backward covers all outputs. Undefined gradients propagate: a backward is linear in the gradients, so an operator on
undefined ones alone is undefined, and a sum with one is its other operand. Where an undefined gradient is combined
otherwise, it is replaced by zeros. The backward of a program's own function of several results need not be linear.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import torch

from frontends.pytorch.graphs.captured import unused_removed
from frontends.pytorch.graphs.partition import sources
from frontends.pytorch.recording.operations import Operation, is_view, replaced, results_of
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten

LINEAR: Final = frozenset(["mul", "mm", "bmm", "neg", "sum", "clone", "_to_copy"])
"""Operators that give zeros for zeros, besides views."""
OF_METADATA: Final = frozenset(["zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"])
"""Operators whose result does not depend on their argument's elements."""


@dataclass(frozen=True, slots=True)
class Left:
    """A specialized backward; it takes the gradients at these indices."""

    operations: list[Operation]
    gradients: list[Result | None]
    given: tuple[int, ...]


def without(
    undefined: Collection[int],
    operations: Sequence[Operation],
    gradients: Sequence[Result | None],
    tangents: Sequence[Result],
) -> Left | None:
    """Specialize a backward to undefined gradients at these indices of `tangents`.

    It may still take some of them, as zeros. None if nothing changes.
    """
    nothing = {tangents[place] for place in undefined}
    following = set(tangents)
    same: dict[Result, Result] = {}
    left: list[Operation] = []
    for operation in operations:
        if operation.target._schema.is_mutable:
            # its mutated tensors have other names
            return None
        args = tuple([replaced(arg, same) for arg in operation.args])
        named = {name: replaced(arg, same) for name, arg in operation.kwargs.items()}
        operation = replace(operation, args=args, kwargs=named)
        made = list(results_of(operation.output))
        given = following.intersection(sources(operation))
        name = operation.target._schema.name.partition("::")[2]
        if given and name not in OF_METADATA:
            following.update(made)
            other = _other(operation, nothing)
            if other is not None:
                same[made[0]] = other
                continue
            if given <= nothing and (not operation.is_of_function or name in LINEAR or is_view(operation.target)):
                nothing.update(made)
        left.append(operation)
    found = [None if each is None or each in nothing else same.get(each, each) for each in gradients]
    left = unused_removed(left, [each for each in found if each is not None])
    read = {*found, *[each for operation in left for each in sources(operation)]}
    kept = tuple([place for place, each in enumerate(tangents) if each in read])
    return Left(left, found, kept) if len(left) < len(operations) or len(kept) < len(tangents) else None


def _other(operation: Operation, nothing: Collection[Result]) -> Result | None:
    """The other operand of a sum with an undefined one, if it has the same metadata."""
    if operation.target is not aten.add.Tensor or operation.kwargs:
        return None
    left = [each for each in operation.args if each not in nothing]
    if len(left) != 1 or not isinstance(left[0], Result) or not isinstance(operation.output, Result):
        return None
    return left[0] if left[0].metadata is operation.output.metadata else None
