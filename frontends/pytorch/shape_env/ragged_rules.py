"""Operators on jagged tensors in an environment of ours, where torch's read lengths or make copies.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> x = torch.nested.nested_tensor([torch.ones(2, 1, 4), torch.ones(3, 1, 4)], layout=torch.jagged).transpose(1, 2)
    >>> f = compile(lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x).select(0, 1))
    >>> f(x).shape, f.fallbacks
    (torch.Size([1, 3, 4]), [])

Attention is one operator on values and offsets: torch computes it on the CPU through strided nested tensors, which no
tracer takes. A row is read by its own offset and length: torch reads those of all rows. A gradient has the holes of
its tensor: AOTAutograd copies one without, whose rows then are others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final

import torch
from torch import Tensor
from torch._functorch._aot_autograd.schemas import MemoryFormatMeta
from torch._guards import detect_fake_mode
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.nested._internal.nested_tensor import NestedTensor, nested_view_from_values_offsets

from backends.cpu.attention.ragged_attention import ragged_attention
from frontends.pytorch.shape_env.adapter import EngineShapeEnv

number: Final = torch.ops.aten._local_scalar_dense.default
Torchs = Callable[..., Any]
DTYPES: Final = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


class Anything:
    """Sizes or strides that are as they are."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


def layout_of_gradient(torchs: Torchs, tensor: Tensor, *options: Any, **named: Any) -> MemoryFormatMeta | None:
    """The layout that AOTAutograd gives a gradient: that of rows with holes stays."""
    if isinstance(tensor, NestedTensor) and tensor._lengths is not None and engine_of(tensor) is not None:
        return MemoryFormatMeta(size=Anything(), stride=Anything())
    found: MemoryFormatMeta | None = torchs(tensor, *options, **named)
    return found


def engine_of(tensor: NestedTensor) -> EngineShapeEnv | None:
    """The environment of ours that a fake jagged tensor has."""
    mode = detect_fake_mode(tensor._values)
    found = None if mode is None else mode.shape_env
    return found if isinstance(found, EngineShapeEnv) else None


def select(torchs: Torchs, tensor: NestedTensor, dim: int, index: int) -> Tensor:
    """A row of a fake jagged tensor of an environment of ours, by its number; else what `torchs` gives."""
    shapes = engine_of(tensor)
    if dim % tensor.dim() or shapes is None:
        found: Tensor = torchs(tensor, dim, index)
        return found
    # in the graph of Dynamo it is one operator, whose result shows the length, but not the offset
    with nullcontext() if get_proxy_mode() else shapes.ignore_fresh_unbacked_symbols():
        begin = number(tensor._offsets[:-1][index])
    lengths = tensor._offsets.diff() if tensor._lengths is None else tensor._lengths
    length = number(lengths[index])
    axis = tensor._ragged_idx - 1
    torch._check(begin >= 0)
    torch._check(length >= 0)
    torch._check(begin + length <= tensor._values.size(axis))
    return tensor._values.narrow(axis, begin, length)


def attention(
    torchs: Torchs, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """The operator above for fake jagged tensors of an environment of ours, where it does the same; else `torchs`."""
    is_plain = attn_mask is None and not dropout_p and not is_causal and not enable_gqa
    if not is_plain or not is_supported(query, key, value):
        found: Tensor = torchs(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        return found
    return attended(query, key, value, 1 / math.sqrt(query.size(-1)) if scale is None else scale)


def is_supported(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Return True for fake jagged tensors of an environment of ours, whose sizes and dtypes fit, for which torch would
    take its own way."""
    is_torchs_way = torch.backends.cuda.math_sdp_enabled() and not torch.is_autocast_enabled("cpu")
    if not is_torchs_way or not all(map(is_row_major, (query, key, value))):
        return False
    pairs = *[(query, key, axis) for axis in (0, 1, 3)], *[(value, key, axis) for axis in range(4)]
    return query.dtype == key.dtype == value.dtype and all(a.size(axis) == b.size(axis) for a, b, axis in pairs)


def is_row_major(tensor: Tensor) -> bool:
    """Return True for a fake jagged tensor on the CPU of an environment of ours, by batch, head, ragged axis and
    feature, whose values lie by element, head and feature without gaps."""
    if not isinstance(tensor, NestedTensor) or tensor.dim() != 4 or tensor._ragged_idx != 2:
        return False
    is_ours = engine_of(tensor) is not None
    is_plain = tensor.device.type == "cpu" and tensor.dtype in DTYPES and tensor._lengths is None
    return is_ours and is_plain and tensor.transpose(1, 2).is_contiguous()


def attended(query: NestedTensor, key: NestedTensor, value: NestedTensor, scale: float) -> Tensor:
    values = [each.transpose(1, 2).values() for each in (query, key, value)]
    result, _ = ragged_attention(*values, query.offsets(), key.offsets(), scale)
    ends = {"min_seqlen": query._maybe_min_seqlen, "max_seqlen": query._maybe_max_seqlen}
    return nested_view_from_values_offsets(result, query.offsets(), **ends).transpose(1, 2)
