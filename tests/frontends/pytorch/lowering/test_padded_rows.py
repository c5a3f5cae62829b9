"""Rows of different lengths that a program pads: kernels over them beside eager."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import compile
from tests.frontends.pytorch.lowering.rows import MOST, OFFSETS, aten, by_pieces, inputs, padded, steps_of, unpadded


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float64, torch.bool])
def test_padding_of_any_dtype(dtype: torch.dtype) -> None:
    """Padding is converted otherwise than in eager, or rows that are too long are not cut off."""

    def function(x, offsets):
        whole = aten._jagged_to_padded_dense_forward(x, [offsets], [4], 1.0)
        return whole, whole.sum(1)

    compiled = compile(function, backend="cpu", dynamic=True)
    for offsets in OFFSETS[:5]:
        x, rows = inputs(offsets, 3)
        x = (3 * x).to(dtype)
        torch.testing.assert_close(compiled(x, rows), function(x, rows), rtol=1e-5, atol=1e-5)


def test_padding_reads_nothing_outside() -> None:
    """Where eager does not look at offsets, memory outside is read."""
    compiled = compile(lambda x, o: padded(x, o, 9.0).sum(1) * 2, backend="cpu", dynamic=True)
    x = torch.randn(5, 3)
    compiled(x, torch.tensor([0, 1, 1, 5]))
    found = compiled(x, torch.tensor([0, 1 << 40, -(1 << 40), 2]))
    expected = torch.stack([x.sum(0) + 9.0 * (MOST - 5), torch.full((3,), 9.0 * MOST), x[:2].sum(0) + 9.0 * (MOST - 2)])
    torch.testing.assert_close(found, 2 * expected)


def test_any_width() -> None:
    """A width that may be 0 makes the maximum one over padded rows, beside what stands for that of none."""

    def softmax_to(x, offsets, width):
        whole = aten._jagged_to_padded_dense_forward(x, [offsets], [width], float("-inf"))
        return unpadded(whole.softmax(1), offsets, x)

    compiled = compile(softmax_to, backend="cpu", dynamic=True)
    for width in (7, 9, 70):
        x, rows = inputs([0, 2, 2, 7], 3)
        expected = torch.cat(by_pieces(lambda piece: piece.softmax(0), x, rows))
        torch.testing.assert_close(compiled(x, rows, width), expected)
    kernels, calls = steps_of(compiled)
    assert len(kernels) == 1 and not calls
    with pytest.raises(RuntimeError):
        compiled(x, rows, 4)


def test_padding_that_varies() -> None:
    """Padding that an argument tells is that of the first call."""
    compiled = compile(lambda x, o, fill: padded(x, o, fill).exp().sum(1), backend="cpu", dynamic=True)
    x, rows = inputs([0, 2, 2, 7], 3)
    for fill in (0.5, -1.0, -1.25):
        torch.testing.assert_close(compiled(x, rows, fill), padded(x, rows, fill).exp().sum(1), rtol=1e-5, atol=1e-4)


def test_padded_products() -> None:
    """Padded rows that an operator of torch takes, and what it makes of them, are converted wrongly."""

    def function(x, weight, offsets):
        return unpadded(torch.bmm(padded(x, offsets), weight) + 1, offsets, x)

    compiled = compile(function, backend="cpu", dynamic=True)
    for offsets in ([0, 2, 2, 7], [0, 3], [0, 0, 5, 5]):
        x, rows = inputs(offsets, 4)
        weight = torch.randn(len(offsets) - 1, 4, 6)
        torch.testing.assert_close(compiled(x, weight, rows), function(x, weight, rows), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_part_of_what_is_padded(dtype: torch.dtype) -> None:
    """A slice of padded rows is reduced as if it were all of them."""

    def function(x, offsets):
        whole = aten._jagged_to_padded_dense_forward(x, [offsets], [6], 0.5)
        parts = whole[:, :3], whole[:, 2:], whole[1:], whole[:, :, 1:], whole.flip(1), whole[:, ::2]
        return [part.sum(1) for part in parts] + [whole.argmax(1), (whole * whole[:, :1]).sum((1, 2)), whole.cumsum(1)]

    compiled = compile(function, backend="cpu", dynamic=True)
    for offsets in OFFSETS[:4]:
        x, rows = inputs(offsets, 3, dtype=dtype)
        torch.testing.assert_close(compiled(x, rows), function(x, rows), rtol=2e-2, atol=5e-2)


def test_rows_of_another_number() -> None:
    """A padded tensor with fewer rows than offsets tell is read behind its end."""
    compiled = compile(lambda x, o: unpadded(x, o, torch.empty(7)) + 1, backend="cpu", dynamic=True)
    x = torch.randn(3, 5, 2)
    offsets = torch.tensor([0, 2, 2, 7])
    torch.testing.assert_close(compiled(x, offsets), unpadded(x, offsets, torch.empty(7)) + 1)
