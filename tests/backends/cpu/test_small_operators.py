"""Operators on few elements in C: against torch, by layout and size, and what is left to torch."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch.nn import functional as F

from backends.cpu.operators import KEYS, MOST, operator, text

FUSED = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
EMBEDDING = torch.ops.aten.embedding.default
MM, ADDMM = operator(torch.mm), operator(torch.addmm)
SIZES = (1, 2, 3, 5, 16, 17, 67, 130)
needs_c = pytest.mark.skipif(MM is None, reason="there is no compiler, or no fused multiply-add")


def matrix(rows: int, columns: int, layout: str) -> torch.Tensor:
    """Random values, by layout: rows or columns are contiguous, or every other element of either is used."""
    match layout:
        case "rows":
            return torch.randn(rows, columns)
        case "columns":
            return torch.randn(columns, rows).t()
    return torch.randn(2 * rows, 2 * columns)[::2, ::2]


@needs_c
@pytest.mark.parametrize("layouts", list(product(("rows", "columns", "apart"), repeat=2)), ids=" ".join)
def test_values(layouts):
    """A block, its last lanes or a layout is wrong."""
    for rows, columns, depth in product(SIZES, repeat=3):
        x, w = matrix(rows, depth, layouts[0]), matrix(depth, columns, layouts[1])
        bias, wide = torch.randn(columns), torch.full((rows, columns + 3), 7.0)
        expected = x.double() @ w.double()
        for out in (torch.empty(rows, columns), wide[:, :columns]):
            assert MM(x, w, out=out) is out
            torch.testing.assert_close(out.double(), expected, atol=1e-4, rtol=1e-5)
            assert ADDMM(bias, x, w, out=out) is out
            torch.testing.assert_close(out.double(), expected + bias, atol=1e-4, rtol=1e-5)
        assert (wide[:, columns:] == 7).all()


@needs_c
def test_no_depth():
    """A sum over nothing is not 0, or not the bias."""
    x, w, bias = torch.ones(3, 0), torch.ones(0, 5), torch.ones(5)
    assert not MM(x, w, out=torch.full((3, 5), 2.0)).any()
    assert (ADDMM(bias, x, w, out=torch.full((3, 5), 2.0)) == 1).all()


@needs_c
@pytest.mark.parametrize(
    "given",
    [
        (torch.ones(2, 3, dtype=torch.float64), torch.ones(3, 2, dtype=torch.float64)),
        (torch.ones(2, 3)[:, ::1], torch.ones(6, 6)[::2, ::3]),
        (torch._neg_view(torch.ones(2, 3)), torch.ones(3, 2)),
        (torch.ones(2, MOST), torch.ones(MOST, 2)),
        (torch.ones(2, 3).to_sparse(), torch.ones(3, 2)),
    ],
)
def test_others(given):
    """Fails when a tensor of a form that the C code does not read is read wrong, or refused."""
    out = torch.empty(2, 2, dtype=given[0].dtype)
    assert torch.equal(MM(*given, out=out), torch.mm(*given))


@needs_c
def test_errors():
    """An error of torch's is lost."""
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        MM(torch.ones(2, 3), torch.ones(2, 3), out=torch.empty(2, 3))
    with pytest.raises(RuntimeError, match="expand"):
        ADDMM(torch.ones(4), torch.ones(2, 3), torch.ones(3, 2), out=torch.empty(2, 2))
    with pytest.raises(TypeError):
        MM(torch.ones(2, 3), 2, out=torch.empty(2, 3))


def heads(batch: int, count: int, places: int, width: int, layout: str) -> torch.Tensor:
    """Random values by batch, head, place and feature, in the order of axes of `layout`."""
    if layout == "places":
        return torch.randn(batch, places, count, width).transpose(1, 2)
    return torch.randn(batch, count, places, width + 3)[..., :width]


@needs_c
@pytest.mark.parametrize("layout", ["heads", "places"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_attention(is_causal, layout):
    """The scores, their maximum, their sum or what is added up is wrong, or has another layout than torch's."""
    attend = operator(FUSED)
    for queries, keys, width in product((1, 2, 7, 19), (1, 2, 16, 33), (1, 8, 16, 20, 64)):
        q = heads(2, 3, queries, width, layout)
        k, v = [heads(2, 3, keys, width, layout) for _ in range(2)]
        expected = FUSED(q, k, v, 0.0, is_causal, scale=0.3)
        found = attend(q, k, v, 0.0, is_causal, scale=0.3)
        assert type(found) is tuple
        for ours, torchs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, torchs, atol=1e-5, rtol=1e-5)
        assert found[0].transpose(1, 2).is_contiguous()


@needs_c
def test_attention_with_a_mask_or_shared_heads():
    """A mask is added at another place, or a head of queries has another head of keys."""
    attend = operator(FUSED)
    for kept, places in product((1, 2, 4), (1, 5)):
        q, (k, v) = heads(2, 4, places, 16, "places"), [heads(2, kept, 9, 16, "heads") for _ in range(2)]
        for ours, torchs in zip(attend(q, k, v, 0.0, False, scale=0.3), FUSED(q, k, v, 0.0, False, scale=0.3)):
            torch.testing.assert_close(ours, torchs)
    q, (k, v) = heads(2, 4, 5, 16, "places"), [heads(2, 4, 9, 16, "heads") for _ in range(2)]
    for sizes in ((2, 4, 5, 9), (1, 4, 5, 9), (2, 1, 1, 9), (1, 1, 5, 9)):
        mask = torch.randn(sizes)
        for each in (mask, mask.expand(2, 4, 5, 9), mask.masked_fill(mask > 1, torch.finfo().min)):
            found = attend(q, k, v, 0.0, False, attn_mask=each, scale=0.3)
            expected = F.scaled_dot_product_attention(q, k, v, each, scale=0.3)
            torch.testing.assert_close(found[0], expected, atol=1e-5, rtol=1e-5)
    hidden = torch.zeros(2, 4, 5, 9).masked_fill(torch.rand(2, 4, 5, 9) > 0.8, -float("inf"))
    for other in (hidden, torch.zeros(5, 9), torch.zeros(2, 4, 5, 9, dtype=torch.float64)):
        try:
            expected = FUSED(q, k, v, 0.0, False, attn_mask=other, scale=0.3)
        except RuntimeError:
            continue
        torch.testing.assert_close(attend(q, k, v, 0.0, False, attn_mask=other, scale=0.3), expected)


@needs_c
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e30])
def test_attention_of_values_that_are_not_finite(value):
    """A score that is not finite gives another result than torch's."""
    attend = operator(FUSED)
    for operand, place in product(range(3), (0, 1, 33, 39)):
        given = [torch.randn(1, 1, 40, 8) for _ in range(3)]
        given[operand][0, 0, place, 3] = value
        for ours, torchs in zip(attend(*given, 0.0, True, scale=1.0), FUSED(*given, 0.0, True, scale=1.0)):
            torch.testing.assert_close(ours, torchs, equal_nan=True)


@needs_c
def test_other_attention():
    """Fails when an operator that the C code does not compute is computed wrong, or refused."""
    attend, small = operator(FUSED), torch.randn(1, 2, 3, 4)
    long = torch.randn(1, 2, KEYS + 1, 4)
    wide = small.double()
    for given in ((small, long, long), (wide, wide, wide), (torch._neg_view(small), small, small)):
        assert torch.equal(attend(*given, 0.0, False, scale=1.0)[0], FUSED(*given, 0.0, False, scale=1.0)[0])
    assert torch.equal(attend(small, small, small)[0], FUSED(small, small, small)[0])
    with pytest.raises(RuntimeError):
        attend(small, torch.randn(1, 2, 3, 5), small, 0.0, False, scale=1.0)


@needs_c
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int16, torch.bool])
def test_embedding(dtype):
    """A row is taken from another place, or an index out of range from any."""
    embed = operator(EMBEDDING)
    rows = torch.randn(9, 6).to(dtype)
    for matrix in (rows, rows[:, :3], rows[::2], rows[:, ::2], rows[:0], rows[:, :0]):
        for sizes in ((), (4,), (2, 3), (2, 1, 3), (0,), (1, 0), (2, 2, 1, 2)):
            index = torch.randint(0, max(1, len(matrix)), sizes)
            for each in (index, index.int(), index.t() if index.dim() == 2 else index):
                if not each.numel() or len(matrix):
                    found, expected = embed(matrix, each), torch.embedding(matrix, each)
                    assert torch.equal(found, expected) and found.dtype == expected.dtype
                    assert found.stride() == expected.stride()
    for wrong in (-1, 9):
        with pytest.raises(IndexError):
            embed(rows, torch.tensor([0, wrong]))


def test_others_are_torchs():
    """An operator that has no code here gets a callable."""
    assert operator(torch.bmm) is None
    assert "@BLOCKS@" not in text()
