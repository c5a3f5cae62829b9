"""Programs that ask what neither checks nor construction decide, so that they are refused with a fix."""

from __future__ import annotations

from typing import Any

import torch

from tests.frontends.pytorch.data_dependent.records import chosen, numbers, program, ramp

check = torch._check


@program(
    "vllm-project/vllm#37499",
    holds=[lambda: (chosen(1, 0, 1), ramp(1) + 1), lambda: (chosen(1, 1, 1), ramp(1) + 1)],
    undecided=True,
)
def broadcast_to_rows(mask: torch.Tensor, scale: torch.Tensor) -> Any:
    """`and` asks its first operand, which only data decide, though the second is false."""
    n = mask.nonzero().shape[0]
    if n != 1 and scale.shape[0] != 1:
        raise ValueError("cannot broadcast")
    return scale.expand(n) * 2


@program(
    "pytorch/pytorch#194765",
    holds=[lambda: (ramp(4, 2), chosen(1, 0, 1, 0)), lambda: (ramp(4, 2), chosen(1, 1, 1, 1))],
    undecided=True,
)
def loss_of_a_cluster(logits: torch.Tensor, inside: torch.Tensor) -> Any:
    """A cluster may have no rows."""
    rows = inside.nonzero().squeeze(1)
    if rows.numel() == 0:
        return logits * 0
    return logits.index_fill(0, rows, 1.0)


@program(
    "pytorch/pytorch#154559",
    holds=[lambda: (ramp(5, 2), torch.tensor([2, 3])), lambda: (ramp(7, 2), torch.tensor([6, 1]))],
    fails=[lambda: (ramp(5, 2), torch.tensor([2, 2]))],
    undecided=True,
)
def experts_without_tokens(x: torch.Tensor, counts: torch.Tensor) -> Any:
    """An expert may have no tokens."""
    a, b = counts.tolist()
    check(a >= 0)
    check(b >= 0)
    check(a + b == x.shape[0])
    first, second = x.split([a, b])
    parts = []
    if a != 0:
        parts.append(first * 2)
    if b != 0:
        parts.append(second * 3)
    return torch.cat(parts)


@program("pytorch/pytorch#137217", holds=[numbers(7)], undecided=True)
def size_the_program_insists_on(t: torch.Tensor) -> Any:
    """An `if` that raises is not a check."""
    n = t[0].item()
    check(n >= 0)
    x = torch.ones(3, n)
    if x.shape[1] != 7:
        raise ValueError("wrong shape")
    return x.sum(0)


@program(
    "huggingface/transformers#41319",
    holds=[lambda: (torch.tensor([0, 7, 7, 3]), ramp(4, 3), ramp(2, 3) + 50)],
    undecided=True,
)
def image_tokens_counted(ids: torch.Tensor, words: torch.Tensor, features: torch.Tensor) -> Any:
    """Only data tell how many places there are."""
    places = ids == 7
    filled = words[places]
    if filled.numel() != features.numel():
        raise ValueError("tokens and features do not match")
    return words.masked_scatter(places.unsqueeze(1), features)


@program(
    "pytorch/pytorch#157355",
    holds=[numbers(4), numbers(2)],
    fails=[numbers(0)],
    undecided=True,
)
def single_segment(t: torch.Tensor) -> Any:
    """`n >= 1` leaves 1 possible."""
    n = t[0].item()
    check(n >= 1)
    if n == 1:
        return torch.zeros(1)
    return torch.ones(n).cumsum(0)


@program("pytorch/pytorch#195767", holds=[numbers(3)], fails=[numbers(1)], undecided=True)
def cross_product_of_any_length(t: torch.Tensor) -> Any:
    """The operator asks whether the size is 3."""
    n = t[0].item()
    check(n >= 2)
    x = torch.arange(2 * n).view(2, n) + 1.0
    return torch.linalg.cross(x, x.flip(0))


@program("pytorch/pytorch#183814", holds=[numbers(4), numbers(6)], fails=[numbers(1)], undecided=True)
def inverse_of_a_matrix_of_any_height(t: torch.Tensor) -> Any:
    """The operator asks whether the matrix is wider than high."""
    rows = t[0].item()
    check(rows >= 2)
    matrix = torch.eye(3).repeat(rows, 1)
    return torch.linalg.pinv(matrix[:rows])
