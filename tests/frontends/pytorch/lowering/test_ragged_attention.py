"""Attention of padded rows beside eager: row by row where no padding is seen, and the operator of torch elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from backends.loops.program import Call
from frontends.pytorch import compile

aten = torch.ops.aten
OFFSETS = [0, 5, 20, 20, 30], [0, 7], [0, 0, 1, 9]
WIDTH = 16


def heads(x: Tensor, offsets: Tensor) -> Tensor:
    whole = aten._jagged_to_padded_dense_forward(x.flatten(1), [offsets], [WIDTH])
    return whole.unflatten(2, x.shape[1:]).transpose(1, 2)


def unpadded(made: Tensor, offsets: Tensor, q: Tensor) -> Tensor:
    return aten._padded_dense_to_jagged_forward(made.transpose(1, 2).flatten(2), [offsets], q.shape[0]).view(q.shape)


def hidden(offsets: Tensor) -> Tensor:
    return (torch.arange(WIDTH)[None, :] < offsets.diff()[:, None])[:, None, None, :]


def causal(q, k, v, offsets):
    given = [heads(x, offsets) for x in (q, k, v)]
    return unpadded(scaled_dot_product_attention(*given, is_causal=True), offsets, q)


def masked(q, k, v, offsets):
    given = [heads(x, offsets) for x in (q, k, v)]
    return unpadded(scaled_dot_product_attention(*given, attn_mask=hidden(offsets), scale=0.3), offsets, q)


def added(q, k, v, offsets):
    """The mask as numbers that are added."""
    given = [heads(x, offsets) for x in (q, k, v)]
    mask = torch.where(hidden(offsets), 0.0, float("-inf"))
    return unpadded(scaled_dot_product_attention(*given, attn_mask=mask), offsets, q)


def open_(q, k, v, offsets):
    """Padding is seen."""
    return unpadded(scaled_dot_product_attention(*[heads(x, offsets) for x in (q, k, v)]), offsets, q)


def longer(q, k, v, offsets):
    """A mask that shows one more element than a row has."""
    mask = (torch.arange(WIDTH)[None, :] <= offsets.diff()[:, None])[:, None, None, :]
    return unpadded(
        scaled_dot_product_attention(*[heads(x, offsets) for x in (q, k, v)], attn_mask=mask), offsets, q
    )


def padded_too(q, k, v, offsets):
    """A result of attention at padded places is used."""
    made = scaled_dot_product_attention(*[heads(x, offsets) for x in (q, k, v)], is_causal=True)
    return unpadded(made, offsets, q), made * 2


def called(compiled: Callable[..., object]) -> list[str]:
    (variant,) = compiled.variants
    (host,) = variant.running.hosts
    targets = [step.target for step in host.steps if isinstance(step, Call)]
    return [getattr(target, "__name__", str(target)) for target in targets]


@pytest.mark.parametrize(
    ("function", "by_rows", "by_torch"),
    [(causal, 1, 0), (masked, 1, 0), (added, 1, 0), (open_, 0, 1), (longer, 0, 1), (padded_too, 1, 1)],
)
def test_rows_attend_to_themselves(function, by_rows, by_torch) -> None:
    """A query sees padding or another row, or does not see what eager shows it."""
    compiled = compile(function, backend="cpu", dynamic=True)
    for offsets in OFFSETS:
        torch.manual_seed(0)
        q, k, v = [torch.randn(offsets[-1], 3, 8) for _ in range(3)]
        given = q, k, v, torch.tensor(offsets)
        with torch.no_grad():
            torch.testing.assert_close(compiled(*given), function(*given), rtol=1e-4, atol=1e-5)
    names = called(compiled)
    assert names.count("attention_of_rows") == by_rows
    assert sum(["flash_attention" in name for name in names]) == by_torch


def test_each_row_is_an_attention_of_its_own() -> None:
    """The oracle's padding shows in the result."""
    q, k, v = [torch.randn(30, 2, 8) for _ in range(3)]
    with torch.no_grad():
        found = compile(masked, backend="cpu", dynamic=True)(q, k, v, torch.tensor(OFFSETS[0]))
    rows = []
    for first, last in pairwise(OFFSETS[0]):
        piece = [x[first:last].transpose(0, 1) for x in (q, k, v)]
        rows.append(scaled_dot_product_attention(*piece, scale=0.3).transpose(0, 1) if last > first else q[:0])
    torch.testing.assert_close(found, torch.cat(rows), rtol=1e-4, atol=1e-5)


def test_too_few_keys() -> None:
    """Memory behind the keys is read."""
    compiled = compile(causal, backend="cpu", dynamic=True)
    q, offsets = torch.randn(9, 2, 8), torch.tensor([0, 4, 9])
    with torch.no_grad():
        compiled(q, torch.randn(10, 2, 8), q, offsets)
        with pytest.raises(RuntimeError):
            compiled(q, torch.randn(8, 2, 8), q, offsets)
