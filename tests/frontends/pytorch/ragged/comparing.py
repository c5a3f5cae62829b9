"""Results with ragged tensors compared with eager torch's, gradients included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nested._internal.nested_tensor import NestedTensor
from torch.utils._pytree import tree_leaves, tree_map

LENGTHS = ([2, 3], [1, 4, 2], [3, 3, 1, 2], [0, 6])
"""Lengths of rows: other numbers of rows, rows of one length, an empty row."""


def rows(lengths: Sequence[int], width: int = 4, *, gradients: bool = True, seed: int = 0) -> Tensor:
    """A jagged tensor of random rows."""
    generator = torch.Generator().manual_seed(seed)
    parts = [torch.randn(length, width, generator=generator) for length in lengths]
    return torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=gradients)


def parts(lengths: Sequence[int], width: int = 4) -> tuple[Tensor, Tensor]:
    """Values and offsets of such a tensor."""
    whole = rows(lengths, width, gradients=False)
    return whole.values().clone().requires_grad_(), whole.offsets().clone()


def form(value: object) -> object:
    """Everything about a result but its elements."""
    if isinstance(value, NestedTensor):
        has_lengths = value.lengths() is not None
        return "jagged", value.dtype, value._ragged_idx, value.dim(), value.is_contiguous(), has_lengths
    if isinstance(value, Tensor):
        return value.layout, value.dtype, tuple(value.shape)
    return "ragged size" if isinstance(value, torch.SymInt) else value


def elements(value: Tensor) -> list[Tensor]:
    """A tensor's elements: row by row where there are holes between the rows, whose elements mean nothing."""
    if not isinstance(value, NestedTensor):
        return [value]
    if value.lengths() is None:
        return [value._values, value._offsets]
    axis = value._ragged_idx - 1
    begins_and_lengths = zip(value._offsets.tolist(), value._lengths.tolist())
    return [value._values.narrow(axis, begin, length) for begin, length in begins_and_lengths]


def difference(got: object, expected: object) -> str:
    """The first difference of two results; empty if there is none."""
    mine, theirs = tree_leaves(got), tree_leaves(expected)
    if [*map(form, mine)] != [*map(form, theirs)]:
        return f"{[*map(form, mine)]} != {[*map(form, theirs)]}"
    for one, other in zip(mine, theirs):
        if isinstance(one, Tensor):
            try:
                torch.testing.assert_close(elements(one), elements(other), equal_nan=True)
            except AssertionError as error:
                return str(error)
    return ""


def loss(outputs: object) -> Tensor | None:
    """A number that depends on each element of the results in its own way; None without gradients."""
    total = None
    for each in tree_leaves(outputs):
        if isinstance(each, Tensor) and each.requires_grad:
            values = each.values() if each.is_nested else each
            values = torch.view_as_real(values) if values.is_complex() else values
            weights = torch.arange(values.numel(), dtype=values.dtype).reshape(values.shape) % 7 - 2.5
            total = (values * weights).sum() + (0 if total is None else total)
    return total


@dataclass
class Ran:
    """The outcome of a call: results and gradients, or an error."""

    outputs: object = None
    gradients: object = None
    error: Exception | None = field(default=None, compare=False)


def ran(function: Callable[..., Any], given: object, *, gradients: bool = True) -> Ran:
    """Call a function on `(args, kwargs)`, and differentiate a loss of its results."""
    args, kwargs = tree_map(fresh, given)
    torch.manual_seed(2)
    found = Ran()
    try:
        found.outputs = function(*args, **kwargs)
        total = loss(found.outputs) if gradients else None
        inputs = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor) and leaf.requires_grad]
        if total is not None and inputs:
            found.gradients = torch.autograd.grad(total, inputs, allow_unused=True)
    except Exception as error:
        found.error = error
    return found


def fresh(value: object) -> object:
    """A leaf of autograd's with the same elements."""
    if not isinstance(value, Tensor):
        return value
    copied = value.detach() if value.is_nested else value.detach().clone()
    return copied.requires_grad_(value.requires_grad)


def unlike(got: Ran, expected: Ran) -> str:
    """The difference of two runs; empty if there is none."""
    if got.error is not None or expected.error is not None:
        return "" if type(got.error) is type(expected.error) else f"{got.error!r} != {expected.error!r}"
    return difference(got.outputs, expected.outputs) or difference(got.gradients, expected.gradients)
