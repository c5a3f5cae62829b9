"""Embedding, negative log-likelihood, and their gradients: contiguous results."""

from __future__ import annotations

from typing import Final

import torch

from frontends.pytorch.meta_rules.normalization import Optional, given, one_dtype
from frontends.pytorch.meta_rules.registry import kind_rule, metadata_of, packed, ruled
from frontends.pytorch.symbolic.tensor import Trace

aten: Final = torch.ops.aten


@kind_rule(aten.embedding.default)
def embedding(recorder: Trace, weight: torch.Tensor, indices: torch.Tensor, *options: object) -> object:
    """A row for each index."""
    table, rows = given(recorder, weight, indices)
    if rows.dtype not in (torch.int64, torch.int32):
        return NotImplemented
    return packed(recorder, ruled(recorder, aten.embedding.default, table, rows), table.dtype, table.device)


@kind_rule(aten.embedding_dense_backward.default)
def embedding_backward(
    recorder: Trace, grad_output: torch.Tensor, indices: torch.Tensor, num_weights: int, *options: object
) -> object:
    """A gradient for the whole table."""
    grad = metadata_of(recorder, grad_output)
    if not isinstance(num_weights, int) or not grad.shape:
        return NotImplemented
    return packed(recorder, (num_weights, grad.shape[-1]), grad.dtype, grad.device)


@kind_rule(aten.nll_loss_forward.default)
def nll_loss(recorder: Trace, self: torch.Tensor, target: torch.Tensor, weight: Optional, *options: int) -> object:
    """The loss, and the weight of all targets."""
    x, classes, weights = given(recorder, self, target, weight)
    if not one_dtype(x, weights):
        return NotImplemented
    found, total = ruled(recorder, aten.nll_loss_forward.default, x, classes, weights, *options)
    return packed(recorder, found, x.dtype, x.device), packed(recorder, total, x.dtype, x.device)


@kind_rule(aten.nll_loss_backward.default, aten.nll_loss2d_backward.default)
def nll_loss_backward(
    recorder: Trace, grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, weight: Optional, *_: object
) -> object:
    """A gradient like the scores."""
    x, grad, weights = given(recorder, self, grad_output, weight)
    if not one_dtype(x, grad, weights):
        return NotImplemented
    return packed(recorder, x.shape, x.dtype, x.device)
