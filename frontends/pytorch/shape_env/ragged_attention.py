"""The attention of jagged tensors in an environment of ours: one operator on values and offsets.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> x = torch.nested.nested_tensor([torch.ones(2, 1, 4), torch.ones(3, 1, 4)], layout=torch.jagged).transpose(1, 2)
    >>> f = compile(lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x))
    >>> f(x).values().shape, f.fallbacks
    (torch.Size([1, 5, 4]), [])

Torch computes it on the CPU through strided nested tensors, which no tracer takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor
from torch._guards import detect_fake_mode
from torch.nested._internal.nested_tensor import NestedTensor, nested_view_from_values_offsets_lengths

from frontends.pytorch.lowering.ragged_attention import ragged_attention
from frontends.pytorch.shape_env.adapter import EngineShapeEnv

Attention = Callable[..., Any]
DTYPES: Final = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


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
