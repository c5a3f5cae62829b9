"""Attention over ragged rows against that of each row alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from backends.cpu.attention.ragged_attention import ragged_attention
from frontends.pytorch import compile
from tests.frontends.pytorch.ragged.comparing import rows


def row_by_row(query: Tensor, key: Tensor, value: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    found = []
    for (a, b), (c, d) in zip(pairwise(queries), pairwise(keys)):
        scores = torch.einsum("lhd,shd->hls", query[a:b], key[c:d]) * 0.3
        found.append(torch.einsum("hls,shd->lhd", scores.softmax(-1), value[c:d]))
    return torch.cat(found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("queries", "keys"), [([0, 3, 3, 8], [0, 2, 4, 4]), ([0, 1], [0, 9]), ([0, 0, 5], [0, 0, 0]), ([0], [0])]
)
def test_values_and_gradients(dtype: torch.dtype, queries: list[int], keys: list[int]) -> None:
    """Fails when a row attends to another one, when an empty row is no zero, or when gradients are wrong."""
    generator = torch.Generator().manual_seed(0)
    lengths = (queries[-1], keys[-1], keys[-1])
    given = [torch.randn(n, 3, 8, generator=generator, dtype=dtype, requires_grad=True) for n in lengths]
    offsets = torch.tensor(queries), torch.tensor(keys)
    attended, _ = ragged_attention(*given, *offsets, 0.3)
    expected = row_by_row(*given, *offsets) if len(queries) > 1 else given[0] * 0
    weights = torch.randn(expected.shape, generator=generator, dtype=dtype)
    torch.testing.assert_close(attended, expected)
    losses = [(each * weights).sum() for each in (attended, expected)]
    gradients = [torch.autograd.grad(loss, given, materialize_grads=True) for loss in losses]
    torch.testing.assert_close(*gradients)


def test_operator() -> None:
    """Fails when torch finds a fault in the operator: its schema, fake implementation, or gradient."""
    x = torch.randn(5, 2, 4, requires_grad=True)
    offsets = torch.tensor([0, 2, 5])
    others = [(x.detach() + shift).requires_grad_() for shift in (1, 2)]
    torch.library.opcheck(ragged_attention, (x, *others, offsets, offsets, 0.5))


@pytest.mark.parametrize("options", [{}, {"scale": 0.2}, {"is_causal": True}, {"dropout_p": 0.5}])
def test_options(options: dict[str, object]) -> None:
    """Fails when an option is ignored, or what eager torch refuses is computed."""

    def program(x: Tensor) -> Tensor:
        heads = x.unflatten(-1, [2, 2]).transpose(1, 2)
        return F.scaled_dot_product_attention(heads, heads * 2, heads, **options)

    compiled = compile(program)
    x = rows([2, 3, 0], gradients=False)
    try:
        torch.manual_seed(0)
        expected = program(x)
    except RuntimeError as error:
        with pytest.raises(RuntimeError, match=str(error)[:30]):
            compiled(x)
    else:
        torch.manual_seed(0)
        torch.testing.assert_close(compiled(x).values(), expected.values())
