"""Small matrix products in C: against float64, by layout and size, and what is left to torch."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from backends.cpu.products import MOST, operator, text

MM, ADDMM = operator(torch.mm), operator(torch.addmm)
SIZES = (1, 2, 3, 5, 16, 17, 67, 130)
needs_products = pytest.mark.skipif(MM is None, reason="there is no compiler, or no fused multiply-add")


def matrix(rows: int, columns: int, layout: str) -> torch.Tensor:
    """Random values, by layout: rows or columns are contiguous, or every other element of either is used."""
    match layout:
        case "rows":
            return torch.randn(rows, columns)
        case "columns":
            return torch.randn(columns, rows).t()
    return torch.randn(2 * rows, 2 * columns)[::2, ::2]


@needs_products
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


@needs_products
def test_no_depth():
    """A sum over nothing is not 0, or not the bias."""
    x, w, bias = torch.ones(3, 0), torch.ones(0, 5), torch.ones(5)
    assert not MM(x, w, out=torch.full((3, 5), 2.0)).any()
    assert (ADDMM(bias, x, w, out=torch.full((3, 5), 2.0)) == 1).all()


@needs_products
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
    """What the C code does not read is read wrong, or refused."""
    out = torch.empty(2, 2, dtype=given[0].dtype)
    assert torch.equal(MM(*given, out=out), torch.mm(*given))


@needs_products
def test_errors():
    """An error of torch's is lost."""
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        MM(torch.ones(2, 3), torch.ones(2, 3), out=torch.empty(2, 3))
    with pytest.raises(RuntimeError, match="expand"):
        ADDMM(torch.ones(4), torch.ones(2, 3), torch.ones(3, 2), out=torch.empty(2, 2))
    with pytest.raises(TypeError):
        MM(torch.ones(2, 3), 2, out=torch.empty(2, 3))


def test_others_are_torchs():
    """An operator that has no code here gets a callable."""
    assert operator(torch.bmm) is None
    assert "@" not in text()
