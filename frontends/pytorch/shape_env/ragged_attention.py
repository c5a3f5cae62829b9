"""Attention over ragged rows on the CPU: each row of queries attends to its row of keys, and nothing is padded.

    >>> import torch
    >>> from frontends.pytorch.shape_env.ragged_attention import ragged_attention
    >>> x, offsets = torch.ones(5, 2, 4), torch.tensor([0, 2, 5])
    >>> attended, logsumexp = ragged_attention(x, x, x, offsets, offsets, 0.5)
    >>> attended.shape, logsumexp.shape
    (torch.Size([5, 2, 4]), torch.Size([5, 2]))

Torch computes the attention of jagged tensors on the CPU through strided nested tensors, which no tracer takes, and
whose sizes are data. In a graph of ours it is this operator on the values, laid out by element, head and feature. Both
run torch's own kernels: here one call of the fused kernel for each row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
from torch import Tensor
from torch._guards import detect_fake_mode
from torch.nested._internal.nested_tensor import NestedTensor, nested_view_from_values_offsets_lengths

from frontends.pytorch.shape_env.adapter import EngineShapeEnv

aten: Final = torch.ops.aten
Attention = Callable[..., Any]
DTYPES: Final = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def rows(queries: Tensor, keys: Tensor) -> Iterator[tuple[slice, slice]]:
    """The elements of each row that has queries and keys."""
    ends = zip(queries.tolist(), queries[1:].tolist(), keys.tolist(), keys[1:].tolist())
    return ((slice(a, b), slice(c, d)) for a, b, c, d in ends if a < b and c < d)


def by_head(values: Tensor) -> Tensor:
    """One row as a batch of one, heads first."""
    return values.transpose(0, 1).unsqueeze(0)


@torch.library.custom_op("symshape::ragged_attention", mutates_args=())
def ragged_attention(
    query: Tensor, key: Tensor, value: Tensor, queries: Tensor, keys: Tensor, scale: float
) -> tuple[Tensor, Tensor]:
    """The attention, and the logarithms of its denominators; `queries` and `keys` are the offsets of the rows."""
    attended = torch.zeros_like(query, memory_format=torch.contiguous_format)
    wide = torch.float64 if query.dtype is torch.float64 else torch.float32
    logsumexp = query.new_zeros(query.shape[:2], dtype=wide)
    for of, among in rows(queries, keys):
        row, denominators = aten._scaled_dot_product_flash_attention_for_cpu(
            by_head(query[of]), by_head(key[among]), by_head(value[among]), scale=scale
        )
        attended[of] = row[0].transpose(0, 1)
        logsumexp[of] = denominators[0].reshape(logsumexp.shape[1], -1).transpose(0, 1)
    return attended, logsumexp


@torch.library.custom_op("symshape::ragged_attention_backward", mutates_args=())
def ragged_attention_backward(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attended: Tensor,
    logsumexp: Tensor,
    queries: Tensor,
    keys: Tensor,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of queries, keys and values."""
    found = [torch.zeros_like(each, memory_format=torch.contiguous_format) for each in (query, key, value)]
    for of, among in rows(queries, keys):
        given = (gradient[of], query[of], key[among], value[among], attended[of])
        gradients = aten._scaled_dot_product_flash_attention_for_cpu_backward(
            *map(by_head, given), by_head(logsumexp[of]), 0.0, False, scale=scale
        )
        for whole, part, places in zip(found, gradients, (of, among, among)):
            whole[places] = part[0].transpose(0, 1)
    return found[0], found[1], found[2]


@ragged_attention.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, queries: Tensor, keys: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    wide = torch.float64 if query.dtype is torch.float64 else torch.float32
    return query.new_empty(query.shape), query.new_empty(query.shape[:2], dtype=wide)


@ragged_attention_backward.register_fake
def _(gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, *others: object) -> tuple[Tensor, Tensor, Tensor]:
    return query.new_empty(query.shape), key.new_empty(key.shape), value.new_empty(value.shape)


def saved(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, ctx.scale = inputs
    ctx.save_for_backward(*tensors, *output)


def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    query, key, value, queries, keys, attended, logsumexp = ctx.saved_tensors
    found = ragged_attention_backward(gradient, query, key, value, attended, logsumexp, queries, keys, ctx.scale)
    return (*found, None, None, None)


ragged_attention.register_autograd(backward, setup_context=saved)


def attention(
    torchs: Attention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """The operator above for fake jagged tensors of an environment of ours, where it does the same; else `torchs`."""
    is_plain = attn_mask is None and not dropout_p and not is_causal and not enable_gqa
    if not is_plain or not is_supported(query, key, value):
        found: Tensor = torchs(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        return found
    return attended(query, key, value, 1 / math.sqrt(query.size(-1)) if scale is None else scale)


def is_supported(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Return True for fake jagged tensors of an environment of ours for which torch would take its own way."""
    if not is_row_major(query) or not is_row_major(key) or not is_row_major(value):
        return False
    is_torchs_way = torch.backends.cuda.math_sdp_enabled() and not torch.is_autocast_enabled("cpu")
    return is_torchs_way and query.dtype == key.dtype == value.dtype and fits(query, key) and fits(value, key, 2)


def fits(one: Tensor, other: Tensor, *axes: int) -> bool:
    """Return True if sizes are equal: batch, heads, features, and these axes."""
    return all(one.size(axis) == other.size(axis) for axis in (0, 1, 3, *axes))


def is_row_major(tensor: Tensor) -> bool:
    """Return True for a fake jagged tensor on the CPU of an environment of ours, by batch, head, ragged axis and
    feature, whose values lie by element, head and feature without gaps."""
    if not isinstance(tensor, NestedTensor) or tensor.dim() != 4 or tensor._ragged_idx != 2:
        return False
    mode = detect_fake_mode(tensor._values)
    is_ours = mode is not None and isinstance(mode.shape_env, EngineShapeEnv)
    is_plain = tensor.device.type == "cpu" and tensor.dtype in DTYPES and tensor._lengths is None
    return is_ours and is_plain and tensor.transpose(1, 2).is_contiguous()


def attended(query: NestedTensor, key: NestedTensor, value: NestedTensor, scale: float) -> Tensor:
    values = [each.transpose(1, 2).values() for each in (query, key, value)]
    result, _ = ragged_attention(*values, query.offsets(), key.offsets(), scale)
    rows = nested_view_from_values_offsets_lengths(
        result,
        query.offsets(),
        query.lengths(),
        min_seqlen=query._maybe_min_seqlen,
        max_seqlen=query._maybe_max_seqlen,
    )
    return rows.transpose(1, 2)
