"""Attention over ragged rows on the CPU: each row of queries attends to its row of keys, and nothing is padded.

    >>> import torch
    >>> x, offsets = torch.ones(5, 2, 4), torch.tensor([0, 2, 5])
    >>> attended, logsumexp = ragged_attention(x, x, x, offsets, offsets, 0.5)
    >>> attended.shape, logsumexp.shape
    (torch.Size([5, 2, 4]), torch.Size([5, 2]))

Values lie by element, head and feature. The operator is one kernel of the CPU backend, or calls torch's once for each
row, as its gradient does. It is what the attention of jagged tensors becomes, which torch computes through strided
nested tensors, whose sizes are data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import torch
from torch.autograd.function import FunctionCtx

from backends.cpu.attention import attention as kernel

aten: Final = torch.ops.aten
FUSED: Final = aten._scaled_dot_product_flash_attention_for_cpu.default
FUSED_BACKWARD: Final = aten._scaled_dot_product_flash_attention_for_cpu_backward.default


def by_row(values: torch.Tensor, offsets: Sequence[int]) -> tuple[torch.Tensor, ...]:
    """Each row as a batch of one, heads first."""
    inside = values.narrow(0, offsets[0], offsets[-1] - offsets[0])
    lengths = [last - first for first, last in pairwise(offsets)]
    return inside.transpose(0, 1).unsqueeze(0).split(lengths, 2) if lengths else ()


GIVEN: Final = "Tensor query, Tensor key, Tensor value, "
ROWS: Final = "Tensor queries, Tensor keys, float? scale"


@torch.library.custom_op(
    "symshape::ragged_attention", mutates_args=(), schema=f"({GIVEN}{ROWS}) -> (Tensor, Tensor)"
)
def ragged_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, queries: torch.Tensor, keys: torch.Tensor,
    scale: float | None,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """The attention, with the logarithms of its denominators, which its gradient needs; `queries` and `keys` are the
    offsets of the rows."""
    logsumexp = query.new_zeros(query.shape[:2], dtype=torch.promote_types(query.dtype, torch.float32))
    steepness = 1 / math.sqrt(query.shape[2]) if scale is None else scale
    found = kernel(query, key, value, queries, keys, scale=steepness, is_causal=False, logsumexp=logsumexp)
    if found is not None:
        return found, logsumexp
    attended = torch.zeros_like(query, memory_format=torch.contiguous_format)
    of, among = queries.tolist(), keys.tolist()
    rows = [by_row(*each) for each in ((query, of), (key, among), (value, among), (attended, of), (logsumexp, of))]
    for q, k, v, *places in zip(*rows):
        if q.shape[2] and k.shape[2]:
            for place, made in zip(places, FUSED(q, k, v, scale=scale)):
                place.copy_(made)
    return attended, logsumexp


@torch.library.custom_op(
    "symshape::ragged_attention_backward", mutates_args=(),
    schema=f"(Tensor gradient, {GIVEN}Tensor attended, Tensor logsumexp, {ROWS}) -> (Tensor, Tensor, Tensor)",
)  # fmt: skip
def ragged_attention_backward(
    gradient: torch.Tensor, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attended: torch.Tensor,
    logsumexp: torch.Tensor, queries: torch.Tensor, keys: torch.Tensor, scale: float | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    """The gradients of queries, keys and values."""
    made = [torch.zeros_like(each, memory_format=torch.contiguous_format) for each in (query, key, value)]
    of, among = queries.tolist(), keys.tolist()
    given = [by_row(*each) for each in (
        (gradient, of), (query, of), (key, among), (value, among), (attended, of), (logsumexp, of),
        *zip(made, (of, among, among)),
    )]  # fmt: skip
    for *row, q, k, v in zip(*given):
        if q.shape[2] and k.shape[2]:
            for target, found in zip((q, k, v), FUSED_BACKWARD(*row, 0.0, False, scale=scale)):
                target.copy_(found)
    return made[0], made[1], made[2]


@ragged_attention.register_fake
def _(query: torch.Tensor, *others: object, **named: object) -> tuple[torch.Tensor, torch.Tensor]:
    wide = torch.promote_types(query.dtype, torch.float32)
    return query.new_empty(query.shape), query.new_empty(query.shape[:2], dtype=wide)


@ragged_attention_backward.register_fake
def _(_: torch.Tensor, *given: torch.Tensor, **named: object) -> tuple[torch.Tensor, ...]:
    return tuple([each.new_empty(each.shape) for each in given[:3]])


def saved(ctx: FunctionCtx, inputs: Sequence[object], output: tuple[torch.Tensor, torch.Tensor]) -> None:
    *tensors, ctx.scale = inputs
    ctx.save_for_backward(*tensors, *output)


def backward(ctx: FunctionCtx, gradient: torch.Tensor, _: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    *values, queries, keys, attended, logsumexp = ctx.saved_tensors
    rest = attended, logsumexp, queries, keys, ctx.scale
    return (*ragged_attention_backward(gradient, *values, *rest), None, None, None)


ragged_attention.register_autograd(backward, setup_context=saved)
