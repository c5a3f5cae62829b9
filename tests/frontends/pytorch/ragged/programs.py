"""Programs with ragged tensors: as arguments, made inside, as results; each with what makes its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.frontends.pytorch.ragged.comparing import parts, rows

jagged = torch.nested.nested_tensor_from_jagged
linear = nn.Linear(4, 4)
table = nn.Embedding(10, 4)
AROUND = rows([2, 1], gradients=False)


class Counting(nn.Module):
    """A module with a parameter, and a buffer that each call changes."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return F.relu(self.inner(x)) + x


def one(lengths: Sequence[int]) -> tuple[Any, ...]:
    return (rows(lengths),)


def alike(lengths: Sequence[int]) -> tuple[Any, ...]:
    """Two tensors with the same offsets."""
    first = rows(lengths)
    return first, (first.detach() * 3).requires_grad_()


def with_a_row(lengths: Sequence[int]) -> tuple[Any, ...]:
    return rows(lengths), torch.ones(len(lengths), 1, 4, requires_grad=True)


def numbers(lengths: Sequence[int]) -> tuple[Any, ...]:
    given = [torch.arange(length) % 10 for length in lengths]
    return (torch.nested.nested_tensor(given, layout=torch.jagged),)


def changed(x: Tensor) -> Tensor:
    y = x * 2
    return y.mul_(3)


def made(values: Tensor, offsets: Tensor) -> Tensor:
    return jagged(values, offsets) * 2


def made_from_lengths(values: Tensor, offsets: Tensor) -> tuple[Tensor, ...]:
    x = jagged(values, F.pad(offsets.diff().cumsum(0), (1, 0)))
    return x * 2, x * 3


def made_inside(values: Tensor, offsets: Tensor) -> Tensor:
    return jagged(values, offsets).to_padded_tensor(0.0)


def made_and_taken_apart(values: Tensor, offsets: Tensor) -> tuple[Tensor, ...]:
    x = jagged(values, offsets)
    y = x * 2 + x
    return y.values(), y


def without_history(x: Tensor) -> Tensor:
    with torch.no_grad():
        y = x * 2
    return y + x


def attention(x: Tensor) -> Tensor:
    heads = linear(x).unflatten(-1, [2, 2]).transpose(1, 2)
    return F.scaled_dot_product_attention(heads, heads * 2, heads)


def padded_and_back(x: Tensor) -> Tensor:
    return jagged(x.to_padded_tensor(0.0).flatten(0, 1)[: x.values().size(0)], x.offsets())


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[Sequence[int]], tuple[Any, ...]]]] = {
    "argument": (lambda x: x * 2, one),
    "two arguments": (lambda a, b: a * b + a, alike),
    "a row for each": (lambda x, row: x + row, with_a_row),
    "module": (Counting(), one),
    "in place": (changed, one),
    "made": (made, parts),
    "made from lengths": (made_from_lengths, parts),
    "made inside": (made_inside, parts),
    "containers": (lambda x: {"a": x * 2, "b": [x.sin(), x.offsets()]}, one),
    "values": (lambda x: x.values() * x.offsets().numel(), one),
    "sizes": (lambda x: (x * 2, x.shape[0], x.size(-1)), one),
    "ragged size": (lambda x: (x.sin(), x.shape), one),
    "padded": (lambda x: x.to_padded_tensor(0.0).sum(1), one),
    "padded and back": (padded_and_back, one),
    "joined": (lambda a, b: torch.cat([a, b], -1), alike),
    "no_grad": (without_history, one),
    "transposed": (lambda x: x.transpose(1, 2).sin(), one),
    "factories": (lambda x: (torch.zeros_like(x), torch.ones_like(x) * x), one),
    "comparison": (lambda x: x > 0, one),
    "layer norm": (lambda x: F.layer_norm(x, (4,)), one),
    "softmax": (lambda x: torch.softmax(x, 1), one),
    "dropout": (lambda x: F.dropout(x, 0.5), one),
    "attention": (attention, one),
    "embedding": (table, numbers),
    "views": (lambda x: x.unflatten(-1, [2, 2]).sin().flatten(-2), one),
    "contiguity": (lambda x: x * 2 if x.is_contiguous() else x * 3, one),
    "lengths": (lambda x: x * x.offsets().diff()[:, None, None], one),
    "around": (lambda s: AROUND * s, lambda lengths: (torch.tensor(float(len(lengths)), requires_grad=True),)),
}
"""Programs of one graph, for all lengths."""
