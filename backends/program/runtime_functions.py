"""Functions that a host program calls between kernels, besides operators.

    >>> import torch
    >>> from backends.program.runtime_functions import Copied, Required, offsets_of
    >>> Required(IndexError, "an index is out of bounds")(torch.tensor(True))
    >>> Copied(2)(torch.ones(2, 3), 2, 3, 1, 2).stride()
    (1, 2)
    >>> offsets_of(torch.tensor([2, 0, 4]))
    tensor([0, 2, 2, 6])

A call receives tensors and then numbers: the sizes and strides that a result is to have.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Required:
    """Raise an error if an element is false; asynchronously on an accelerator."""

    error: type[Exception]
    message: str

    def __call__(self, found: torch.Tensor) -> None:
        if found.device.type != "cpu":
            torch._assert_async(found, self.message)
        elif not found:
            raise self.error(self.message)


@dataclass(frozen=True, slots=True)
class Brought:
    """Copy a CPU scalar to a device, without synchronization."""

    device: torch.device

    def __call__(self, number: torch.Tensor) -> torch.Tensor:
        return torch.full((), number.item(), dtype=number.dtype, device=self.device)


@dataclass(frozen=True, slots=True)
class Copied:
    """Copy a tensor of this rank to given sizes and strides."""

    rank: int

    def __call__(self, x: torch.Tensor, *layout: int) -> torch.Tensor:
        sizes, strides = layout[: self.rank], layout[self.rank :]
        return torch.empty_strided(sizes, strides, dtype=x.dtype, device=x.device).copy_(x)


def double(number: float, device: torch.device) -> torch.Tensor:
    """A number as a tensor."""
    return torch.scalar_tensor(number, dtype=torch.float64, device=device)


def offsets_of(lengths: torch.Tensor) -> torch.Tensor:
    """The offsets of rows of these lengths."""
    made = lengths.new_zeros(len(lengths) + 1, dtype=torch.int64)
    torch.cumsum(lengths, 0, out=made[1:])
    return made


def sum_of(lengths: torch.Tensor) -> int:
    """The number of elements in rows of these lengths."""
    return int(lengths.sum())
