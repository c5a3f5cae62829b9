"""Attention of rows in C against the formula in double precision, row by row."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from backends.cpu.attention import KEYS, PART, attention, is_supported
from backends.cpu.vector import PLAIN, instruction_set
from shapes.guards.toolchain import Unavailable, compiler

pytestmark = [
    pytest.mark.skipif(isinstance(compiler(), Unavailable), reason="no compiler"),
    pytest.mark.skipif(instruction_set() is PLAIN, reason="left to torch"),
]
SCALE = 0.3


def offsets_of(lengths: list[int]) -> Tensor:
    return torch.tensor([0, *lengths]).cumsum(0)


def formula(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> tuple[Tensor, Tensor]:
    """The attention of one row, and the logarithms of its denominators."""
    scores = torch.einsum("lhd,shd->hls", query.double(), key.double()) * SCALE
    if is_causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[1:], dtype=torch.bool).tril(), -math.inf)
    return torch.einsum("hls,shd->lhd", scores.softmax(-1), value.double()), scores.logsumexp(-1).T


def check(
    queries: list[int], keys: list[int], given: tuple[Tensor, Tensor, Tensor], *, is_causal: bool = False
) -> None:
    offsets = offsets_of(queries), offsets_of(keys)
    logsumexp = torch.full(given[0].shape[:2], math.nan)
    found = attention(*given, *offsets, scale=SCALE, is_causal=is_causal, logsumexp=logsumexp)
    assert found is not None
    for (a, b), (c, d) in zip(pairwise(offsets[0].tolist()), pairwise(offsets[1].tolist())):
        expected = formula(given[0][a:b], given[1][c:d], given[2][c:d], is_causal)
        if c == d:
            expected = torch.zeros_like(found[a:b], dtype=torch.float64), torch.zeros_like(logsumexp[a:b]).double()
        torch.testing.assert_close(found[a:b].double(), expected[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(logsumexp[a:b].double(), expected[1], rtol=1e-4, atol=1e-5)


def drawn(queries: int, keys: int, heads: int, width: int, value_width: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(width)
    sizes = [(queries, heads, width), (keys, heads, width), (keys, heads, value_width)]
    query, key, value = [torch.randn(each, generator=generator) for each in sizes]
    return query, key, value


@pytest.mark.parametrize("width", [1, 8, 16, 20, 64, 256])
@pytest.mark.parametrize("value_width", [1, 16, 33, 256])
@pytest.mark.parametrize("is_causal", [False, True])
def test_widths(width: int, value_width: int, is_causal: bool) -> None:
    """Fails when features that fill no vector, or lie behind one, are lost."""
    queries, keys = [0, 3, 17, 40], [5, 0, 70, 9]
    check(queries, keys, drawn(60, 84, 2, width, value_width), is_causal=is_causal)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("lengths", [[], [0], [1], [16, 32], [33], [KEYS, KEYS + 1, 2 * KEYS + 7], [2 * PART + 5, 3]])
def test_lengths(lengths: list[int], is_causal: bool) -> None:
    """Fails when a block of keys or queries is lost, or weights of several blocks do not add up."""
    count = sum(lengths)
    query, key, value = drawn(count, count, 2, 16, 16)
    # a maximum that grows from block to block
    key = key * torch.linspace(0, 20, count)[:, None, None]
    check(lengths, lengths, (query, key, value), is_causal=is_causal)


def test_strides() -> None:
    """Fails when heads or features that do not lie one after another are read from elsewhere."""
    lengths = [9, 40]
    whole = torch.randn(49, 3, 2, 16, generator=torch.Generator().manual_seed(1))
    apart = torch.randn(2, 16, 49, generator=torch.Generator().manual_seed(2)).permute(2, 0, 1)
    check(lengths, lengths, (whole[:, 0], whole[:, 1], whole[:, 2]))
    check(lengths, lengths, (apart, apart.transpose(0, 1).contiguous().transpose(0, 1), apart))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads(threads: int) -> None:
    """Fails when threads that share rows, heads and parts of rows leave one out."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        lengths = [0, 2, 3 * PART, 1, 50]
        check(lengths, lengths, drawn(sum(lengths), sum(lengths), 3, 32, 32))
    finally:
        torch.set_num_threads(before)


def test_elements_outside_of_rows() -> None:
    """Fails when elements before the first row and behind the last are not 0."""
    x = torch.ones(8, 1, 4)
    for offsets, inside in (([2, 5], range(2, 5)), ([3], range(0))):
        given = torch.tensor(offsets), torch.tensor(offsets)
        found = attention(x, x, x, *given, scale=SCALE, is_causal=False, logsumexp=None)
        assert found is not None
        expected = torch.zeros(8)
        expected[list(inside)] = 1
        torch.testing.assert_close(found[:, 0, 0], expected)


def test_unbounded_scores() -> None:
    """Fails when infinity or NaN in one row changes another row, or is lost."""
    lengths = [5, 4]
    query, key, value = drawn(9, 9, 1, 4, 4)
    for bad in (math.nan, math.inf):
        key[6, 0, 0] = bad
        offsets = offsets_of(lengths)
        found = attention(query, key, value, offsets, offsets, scale=SCALE, is_causal=False, logsumexp=None)
        assert found is not None
        expected = [formula(query[a:b], key[a:b], value[a:b], False)[0] for a, b in pairwise(offsets.tolist())]
        torch.testing.assert_close(found.double(), torch.cat(expected), rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("tensor", [torch.ones(2, 1, 4).double(), torch.ones(2, 1, 257), torch.ones(2, 1, 0)])
def test_what_is_left_to_torch(tensor: Tensor) -> None:
    """Fails when the kernel takes what it is not written for."""
    offsets = torch.tensor([0, 2])
    assert not is_supported(tensor)
    found = attention(tensor, tensor, tensor, offsets, offsets, scale=SCALE, is_causal=False, logsumexp=None)
    assert found is None


@pytest.mark.parametrize("offsets", [[], [-1, 2], [0, 3], [0, 2, 1]])
def test_wrong_offsets(offsets: list[int]) -> None:
    """Fails when memory outside of the tensors is accessed."""
    x, wrong, right = torch.ones(2, 1, 4), torch.tensor(offsets, dtype=torch.int64), torch.zeros(len(offsets)).long()
    for given in ((wrong, right), (right, wrong), (right, torch.zeros(len(offsets) + 1).long())):
        assert attention(x, x, x, *given, scale=SCALE, is_causal=False, logsumexp=None) is None
