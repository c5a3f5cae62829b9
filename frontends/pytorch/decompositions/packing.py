"""Packed and padded sequences, by operators where C++ loops over lengths.

    >>> import torch
    >>> from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
    >>> from frontends.pytorch import trace
    >>> layer = torch.nn.GRU(4, 5)
    >>> def program(x, lengths):
    ...     y, h = layer(pack_padded_sequence(x, lengths, enforce_sorted=False))
    ...     return pad_packed_sequence(y)[0], h
    >>> variant = trace(program, (torch.randn(3, 2, 4), torch.tensor([1, 3])))
    >>> variant.graph(torch.randn(6, 3, 4), torch.tensor([2, 5, 1]))[0].shape
    torch.Size([5, 3, 5])

A packed sequence is the concatenation of all steps' rows, the longest sequence first in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.symbolic.function_mode import TorchFunctions, handles
from frontends.pytorch.symbolic.tensor import Traced, current_trace

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor
Size: TypeAlias = int | torch.SymInt

POSITIVE: Final = "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
SORTED: Final = (
    "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass"
    " `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not"
    " need ONNX exportability."
)
TOO_LONG: Final = "an element of `lengths` is greater than the number of steps of the padded batch"


@handles(torch._C._VariableFunctions._pack_padded_sequence)
def pack_in_a_trace(mode: TorchFunctions, func: object, args: Sequence[Any], kwargs: dict[str, Any]) -> object:
    """The valid rows of a padded batch, and the number of rows of each step."""
    input, lengths, batch_first = (*args, *kwargs.values())
    return pack(input, as_traced(lengths), batch_first)


def pack(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """The valid rows, and the number of rows of each step, for as many steps as the longest sequence has."""
    x = input.transpose(0, 1) if batch_first else input
    steps, batch = x.shape[:2]
    torch._check(x.numel() > 0, lambda: "Cannot pack empty tensors.")
    torch._check(
        lengths.shape[0] == batch,
        lambda: f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.shape[0]} (batch_size={batch})",
    )
    aten._assert_async.msg((lengths > 0).all(), POSITIVE)
    aten._assert_async.msg((lengths[1:] <= lengths[:-1]).all(), SORTED)
    aten._assert_async.msg((lengths <= steps).all(), TOO_LONG)
    is_there = torch.arange(steps).unsqueeze(1) < lengths
    rows = is_there.reshape(-1).nonzero().squeeze(-1).to(x.device)
    longest = lengths[0].item()
    torch._check(longest >= 1)
    torch._check(longest <= steps)
    batch_sizes = is_there.sum(1).narrow(0, 0, longest)
    current_trace().first_elements[batch_sizes.result] = batch
    return x.flatten(0, 1).index_select(0, rows), batch_sizes


@handles(torch._C._VariableFunctions._pad_packed_sequence)
def pad_in_a_trace(mode: TorchFunctions, func: object, args: Sequence[Any], kwargs: dict[str, Any]) -> object:
    """A padded batch from the rows of a packed sequence."""
    data, batch_sizes, *rest = (*args, *kwargs.values())
    batch_sizes = as_traced(batch_sizes)
    return pad(data, batch_sizes, batch_sizes[0].item(), *rest)


def as_traced(tensor: Tensor) -> Tensor:
    """A traced tensor: lengths may be a constant of the program."""
    return tensor if isinstance(tensor, Traced) else current_trace().lift(tensor)


def pad(
    data: Tensor, batch_sizes: Tensor, batch: Size, batch_first: bool, padding: float, total: Size
) -> tuple[Tensor, Tensor]:
    """The rows of a packed sequence as (step, sequence), and the sequences' lengths."""
    counts = torch.nn.functional.pad(batch_sizes, (0, total - batch_sizes.shape[0]))
    starts = counts.cumsum(0) - counts
    column = torch.arange(batch)
    is_there = column < counts.unsqueeze(1)
    rows = torch.where(is_there, starts.unsqueeze(1) + column, 0)
    rest = data.shape[1:]
    padded = data.index_select(0, rows.reshape(-1).to(data.device)).reshape(total, batch, *rest)
    mask = is_there.logical_not().reshape(total, batch, *[1] * len(rest)).to(data.device)
    value = padding if data.dtype.is_floating_point or data.dtype.is_complex else int(padding)
    padded = padded.masked_fill(mask, value)
    return padded.transpose(0, 1) if batch_first else padded, is_there.sum(0)
