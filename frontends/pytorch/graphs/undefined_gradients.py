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
backward covers all outputs. Undefined gradients propagate: a linear operator on them alone is undefined, and a sum with
one is its other operand. Where an undefined gradient is combined otherwise, it is replaced by zeros.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import torch

from frontends.pytorch.graphs.graph import unused_removed
from frontends.pytorch.graphs.partition import sources
from frontends.pytorch.recording.operations import Operation, is_view, replaced, results_of
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten

FACTORS: Final = frozenset(["mul", "mm", "bmm"])
"""Operators that are zero if one argument is."""
FIRST: Final = frozenset(
    ["div", "masked_fill", "index", "index_select", "gather", "_softmax_backward_data", "_log_softmax_backward_data"]
)
"""Operators that are zero if the first argument is; also operators named `*_backward`, if that is their only gradient
argument."""
LINEAR: Final = frozenset(
    """add sub neg sum mean cumsum cat stack clone _to_copy _unsafe_view flip roll tril triu constant_pad_nd index_put
    scatter scatter_add index_add copy slice_scatter select_scatter diagonal_scatter where""".split()  # noqa: SIM905
)
"""Operators that are zero if all tensor arguments are, and all addends and padding values."""
ZEROS: Final = frozenset(["zeros", "zeros_like", "new_zeros"])
FILLED: Final = frozenset(["full", "full_like", "new_full", "scalar_tensor"])


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
    """Specialize a backward to undefined gradients at these indices of `tangents`; it may still take some of them, as
    zeros. None if nothing changes."""
    nothing = {tangents[place] for place in undefined}
    following, zeros = set(tangents), set(nothing)
    same: dict[Result, Result] = {}
    left: list[Operation] = []
    for operation in operations:
        if isinstance(operation.target, torch._ops.OpOverload) and operation.target._schema.is_mutable:
            # its mutated tensors have other names
            return None
        args = tuple([replaced(arg, same) for arg in operation.args])
        named = {name: replaced(arg, same) for name, arg in operation.kwargs.items()}
        operation = replace(operation, args=args, kwargs=named)
        made = list(results_of(operation.output))
        given = following.intersection(sources(operation))
        if given:
            following.update(made)
            other = _other(operation, nothing)
            if other is not None:
                same[made[0]] = other
                continue
        if _is_zero(operation, given, zeros):
            zeros.update(made)
            if not given.isdisjoint(nothing):
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


def _is_zero(operation: Operation, given: set[Result], zeros: set[Result]) -> bool:
    """Return True if the result is certainly zero if these are; `given` are the gradient arguments."""
    target, args = operation.target, operation.args
    if not isinstance(target, torch._ops.OpOverload):
        return False
    name = target._schema.name.partition("::")[2]
    if name in ZEROS:
        return True
    if name in FILLED:
        return _is_nothing(args[0 if name == "scalar_tensor" else 1])
    if name in FACTORS:
        return not zeros.isdisjoint([each for each in args if isinstance(each, Result)])
    if name.endswith("_backward"):
        grads = list(results_of(args[0]))
        return bool(grads) and zeros.issuperset(grads) and given.issubset(zeros)
    if name in FIRST or is_view(target):
        return args[0] in zeros and (name != "masked_fill" or _is_nothing(args[2]) or args[2] in zeros)
    if name not in LINEAR:
        return False
    if name == "where":
        return all(each in zeros or _is_nothing(each) for each in args[1:])
    if name in ("add", "sub"):
        return all(each in zeros or _is_nothing(each) for each in args)
    if name == "constant_pad_nd":
        return args[0] in zeros and all(map(_is_nothing, args[2:]))
    places = [each for each in sources(operation) if each.metadata is None or _is_place(each.metadata.dtype)]
    return zeros.issuperset([each for each in sources(operation) if each not in places])


def _is_nothing(number: object) -> bool:
    return isinstance(number, int | float) and number == 0


def _is_place(dtype: torch.dtype) -> bool:
    """Return True if it is a dtype of indices or masks, not of gradients."""
    return not dtype.is_floating_point and not dtype.is_complex
