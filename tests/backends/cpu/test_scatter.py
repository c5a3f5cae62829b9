"""Rows added by index, as torch's gradients of embeddings and of bags have them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from backends.cpu import scatter
from backends.cpu.scatter import added_rows
from frontends.pytorch import compile

WIDTHS = (1, 15, 16, 33, 300)


def drawn(count: int, width: int, table: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(count)
    return torch.randn(count, width, generator=generator), torch.randint(0, table, (count,), generator=generator)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("threads", [1, 3])
def test_rows(width: int, threads: int) -> None:
    """Fails when a row is lost, added twice or partly, or the ignored row is not 0."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for count, table in ((0, 3), (7, 1), (5000, 7), (20, 500)):
            rows, indices = drawn(count, width, table)
            expected = torch.zeros(table, width).index_add(0, indices, rows)
            torch.testing.assert_close(added_rows(rows, indices, table), expected, rtol=1e-4, atol=1e-4)
            expected[table // 2] = 0
            found = added_rows(rows, indices.int(), table, table // 2)
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("by", ["kernel", "torch"])
def test_bags(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when an element counts for another bag, or one outside of all bags counts."""
    if by == "torch":
        monkeypatch.setattr(scatter, "_run", lambda: None)
    rows, indices = torch.arange(1.0, 4.0)[:, None].expand(3, 2), torch.tensor([3, 0, 0, 1, 2, 3])
    found = added_rows(rows, indices, 4, offsets=torch.tensor([1, 3, 3, 5]))
    assert found[:, 1].tolist() == [2, 3, 3, 0]
    assert added_rows(rows, indices, 4, ignored=0, offsets=torch.tensor([1, 3, 3, 5]))[:, 0].tolist() == [0, 3, 3, 0]


def test_indices_that_no_row_has() -> None:
    """Fails when memory outside of the table is written."""
    rows = torch.ones(4, 20)
    for dtype in (torch.float32, torch.float64):
        found = added_rows(rows.to(dtype), torch.tensor([-5, 1, 2, 90]), 2)
        assert found.sum(1).tolist() == [0, 20]


@pytest.mark.parametrize("padding", [None, 1, -1])
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients(mode: str, padding: int | None) -> None:
    """Fails when the gradient of a table is another one than in eager torch."""

    def program(table: Tensor, indices: Tensor, offsets: Tensor) -> Tensor:
        bags = F.embedding_bag(indices, table, offsets, mode=mode, include_last_offset=True, padding_idx=padding)
        return bags.sum() + (F.embedding(indices, table, padding_idx=padding) ** 2).sum()

    compiled = compile(program, backend="cpu", dynamic=True)
    for count, table in ((9, 4), (30, 6)):
        _, indices = drawn(count, 1, table)
        weights = torch.randn(table, 5, requires_grad=True)
        offsets = torch.tensor([0, 2, 2, count])
        found = torch.autograd.grad(compiled(weights, indices, offsets), weights)
        expected = torch.autograd.grad(program(weights, indices, offsets), weights)
        torch.testing.assert_close(found, expected)
    assert not compiled.fallbacks
    text = compiled.explain(kernels=True)
    assert text.count("added_rows") == (1 + (mode == "sum")) * len(compiled.variants)


@pytest.mark.parametrize("factor", [1, 0])
def test_gradients_that_are_a_number(factor: int) -> None:
    """Fails when rows that are all one number have no axes."""

    def program(table: Tensor, indices: Tensor) -> Tensor:
        return torch.autograd.grad((F.embedding(indices, table) * factor).sum(), table)[0]

    compiled = compile(program, backend="cpu", dynamic=True)
    for count in (3, 5, 0):
        table, indices = torch.randn(9, 6, requires_grad=True), torch.randint(0, 9, (2, count))
        assert torch.equal(compiled(table, indices), program(table, indices))
    assert not compiled.fallbacks
