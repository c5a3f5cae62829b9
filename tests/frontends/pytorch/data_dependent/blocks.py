"""Programs that divide sizes read from tensors: blocks, shards, strides, pieces, remainders."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from tests.frontends.pytorch.data_dependent.records import numbers, program

check = torch._check


@program("pytorch/pytorch#136216", holds=[numbers(37), numbers(32), numbers(1)], fails=[numbers(0)])
def padded_to_a_multiple(t: torch.Tensor) -> Any:
    """A size padded by `(32 - n % 32) % 32` is a multiple of 32."""
    n = t[0].item()
    check(n >= 1)
    padding = (32 - n % 32) % 32
    if (n + padding) % 32 != 0:
        raise ValueError("not a multiple")
    return torch.cat([torch.ones(n), torch.zeros(padding)]).view(-1, 32).sum(1)


@program("pytorch/pytorch#169602", holds=[numbers(9), numbers(8), numbers(1)], fails=[numbers(0)])
def padding_by_a_negative_remainder(t: torch.Tensor) -> Any:
    """`-n % 4` brings `n` to a multiple of 4 that is less than 4 larger."""
    n = t[0].item()
    check(n >= 1)
    padded = n + (-n) % 4
    if padded % 4 != 0 or padded - n >= 4:
        raise ValueError("not aligned")
    return torch.ones(padded).view(-1, 4)


@program("pytorch/pytorch#185757", holds=[numbers(19), numbers(8), numbers(3)], fails=[numbers(-1)])
def cut_to_a_multiple(t: torch.Tensor) -> Any:
    """`n - n % 8` lies between 0 and `n` and is a multiple of 8."""
    n = t[0].item()
    check(n >= 0)
    whole = n - n % 8
    if whole < 0 or whole > n:
        raise ValueError("out of range")
    return torch.arange(n)[:whole].view(-1, 8)


@program("pytorch/pytorch#155267", holds=[numbers(37), numbers(16), numbers(1)], fails=[numbers(0)])
def blocks_that_cover(t: torch.Tensor) -> Any:
    """Blocks counted by rounding up hold every row, with less than a block to spare."""
    n = t[0].item()
    check(n >= 1)
    blocks = (n + 15) // 16
    if blocks * 16 < n or blocks * 16 - n >= 16:
        raise ValueError("wrong number of blocks")
    return functional.pad(torch.ones(n), (0, blocks * 16 - n)).view(blocks, 16).sum(1)


@program("pytorch/torchtitan#2369", holds=[numbers(100, 8), numbers(8, 8)], fails=[numbers(0, 8), numbers(9, 0)])
def capacity_of_experts(t: torch.Tensor) -> Any:
    """A capacity rounded up gives every token a place among the experts."""
    tokens, experts = t.tolist()
    check(tokens >= 1)
    check(experts >= 1)
    capacity = (tokens + experts - 1) // experts
    if capacity * experts < tokens:
        raise ValueError("no place")
    return torch.ones(experts, capacity).sum(1)


@program("pytorch/torchtitan#2369", holds=[numbers(100, 8), numbers(8, 8)], fails=[numbers(7, 8)])
def tokens_for_every_expert(t: torch.Tensor) -> Any:
    """With no more experts than tokens, each has at least one."""
    tokens, experts = t.tolist()
    check(experts >= 1)
    check(experts <= tokens)
    each = tokens // experts
    if each < 1:
        raise ValueError("an expert without tokens")
    return torch.arange(tokens)[: each * experts].view(experts, each).sum(1)


@program("pytorch/pytorch#186321", holds=[numbers(16), numbers(0)], fails=[numbers(12)])
def finer_remainder_than_checked(t: torch.Tensor) -> Any:
    """A multiple of 8 is a multiple of 4."""
    n = t[0].item()
    check(n >= 0)
    check(n % 8 == 0)
    if n % 4 != 0:
        raise ValueError("not a multiple")
    return torch.ones(n).view(-1, 4)


@program("pytorch/pytorch#133655", holds=[numbers(8), numbers(-6)], fails=[numbers(7)])
def even_number_modulo_four(t: torch.Tensor) -> Any:
    """An even number leaves no odd remainder, whatever its sign."""
    n = t[0].item()
    check(n % 2 == 0)
    if n % 4 == 1:
        return t - 1
    return t + n // 2


@program("meta-pytorch/torchrec#2195", holds=[numbers(2, 3), numbers(0, 0), numbers(-4, -6)], fails=[numbers(2, 4)])
def lengths_in_proportion(t: torch.Tensor) -> Any:
    """`3*a == 2*b` makes `a` even."""
    a, b = t.tolist()
    check(3 * a == 2 * b)
    if a % 2 != 0:
        raise ValueError("odd")
    return t + a // 2


@program("meta-pytorch/torchrec#2326", holds=[numbers(3, 3), numbers(1, 1)], fails=[numbers(3, 4), numbers(0, 1)])
def stride_of_equal_keys(t: torch.Tensor) -> Any:
    """A positive number that its double is divided by with nothing left has a quotient that is not 0."""
    a, b = t.tolist()
    check(a >= 1)
    check(b >= 1)
    check((2 * a) % (a + b) == 0)
    keys = torch.arange(2 * a).view(a + b, -1)
    if keys.shape[1] == 0:
        raise ValueError("empty keys")
    return keys.sum(0)


@program("meta-pytorch/torchrec#2306", holds=[numbers(6, 2, 3), numbers(4, 1, 4)], fails=[numbers(6, 2, 2)])
def lengths_by_key(t: torch.Tensor) -> Any:
    """`total == keys * stride` makes the stride a divisor, and the keys the quotient."""
    total, keys, stride = t.tolist()
    check(keys >= 1)
    check(stride >= 1)
    check(total == keys * stride)
    if total % stride != 0 or total // stride != keys:
        raise ValueError("not divided")
    return torch.arange(total).view(keys, stride).sum(1)


@program("pytorch/pytorch#123651", holds=[numbers(8, 2), numbers(9, 9)], fails=[numbers(8, 3), numbers(8, 0)])
def shards_put_together(t: torch.Tensor) -> Any:
    """A size that the number of shards divides is that many times the quotient."""
    n, shards = t.tolist()
    check(shards >= 1)
    check(n >= 0)
    check(n % shards == 0)
    each = n // shards
    if each * shards != n:
        raise ValueError("not divided")
    return torch.ones(n).view(shards, each).sum(1)


@program("pytorch/pytorch#194982", holds=[numbers(12), numbers(2)], fails=[numbers(7), numbers(0)])
def even_rows_in_two_chunks(t: torch.Tensor) -> Any:
    """An even number of rows makes exactly two chunks."""
    n = t[0].item()
    check(n >= 2)
    check(n % 2 == 0)
    first, second = torch.arange(2 * n).view(n, 2).chunk(2)
    return first * second


@program("pytorch/pytorch#117268", holds=[numbers(12), numbers(2)], fails=[numbers(7), numbers(0)])
def split_at_the_half(t: torch.Tensor) -> Any:
    """An even number split at its half gives exactly two pieces."""
    n = t[0].item()
    check(n >= 2)
    check(n % 2 == 0)
    gate, value = torch.arange(n).split(n // 2)
    return gate * value


@program("pytorch/pytorch#113406", holds=[numbers(5), numbers(1)], fails=[numbers(0)])
def split_in_one_piece(t: torch.Tensor) -> Any:
    """A positive size split by itself gives exactly one piece."""
    n = t[0].item()
    check(n >= 1)
    (piece,) = torch.arange(n).split(n)
    return piece + 1


@program("pytorch/pytorch#157355", holds=[numbers(21), numbers(8)], fails=[numbers(7)])
def frames_within_a_signal(t: torch.Tensor) -> Any:
    """The last frame of 8 samples at hops of 4 ends within the signal."""
    n = t[0].item()
    check(n >= 8)
    frames = (n - 8) // 4 + 1
    if (frames - 1) * 4 + 8 > n:
        raise ValueError("over the end")
    return torch.arange(n).unfold(0, 8, 4).sum(1)


@program("pytorch/pytorch#157355", holds=[numbers(12), numbers(2)], fails=[numbers(7)])
def every_second_index(t: torch.Tensor) -> Any:
    """Every second of an even number of indices is half of them."""
    n = t[0].item()
    check(n >= 2)
    check(n % 2 == 0)
    even = torch.arange(0, n, 2)
    if even.shape[0] != n // 2:
        raise ValueError("not half")
    return even + torch.arange(n // 2)


@program("pytorch/pytorch#147672", holds=[numbers(21), numbers(4), numbers(3)], fails=[numbers(2)])
def length_after_a_strided_convolution(t: torch.Tensor) -> Any:
    """`(n - 1) // 2 + 1` is `(n + 1) // 2`."""
    n = t[0].item()
    check(n >= 3)
    y = functional.conv1d(torch.ones(1, 1, n), torch.ones(1, 1, 3), stride=2, padding=1)
    if y.shape[2] != (n + 1) // 2:
        raise ValueError("another length")
    return y + torch.ones((n + 1) // 2)


@program("pytorch/pytorch#136216", holds=[numbers(20), numbers(4)], fails=[numbers(6), numbers(0)])
def skip_connection(t: torch.Tensor) -> Any:
    """A length that is halved without a rest is the old one when it is doubled."""
    n = t[0].item()
    check(n >= 4)
    check(n % 4 == 0)
    x = torch.ones(1, 1, n)
    low = functional.conv1d(x, torch.ones(1, 1, 2), stride=2)
    up = functional.conv_transpose1d(low, torch.ones(1, 1, 2), stride=2)
    if up.shape[2] != x.shape[2]:
        up = up[:, :, : x.shape[2]]
    return torch.cat([x, up], 1)


@program("pytorch/pytorch#180202", holds=[numbers(3, 9), numbers(1, 4)], fails=[numbers(2, 9)])
def heads_of_an_attention(t: torch.Tensor) -> Any:
    """Heads that divide the width have the quotient as theirs."""
    heads, width = t.tolist()
    check(heads >= 1)
    check(width >= 1)
    check(width % heads == 0)
    each = width // heads
    if heads * each != width:
        raise ValueError("not divided")
    q = torch.ones(1, 2, heads, each).transpose(1, 2)
    return (q @ q.transpose(2, 3)).softmax(-1).sum((1, 2))


@program("pytorch/pytorch#128906", holds=[numbers(2, 4, 6), numbers(1, 2, 2)], fails=[numbers(2, 3, 6)])
def patches_merged_by_four(t: torch.Tensor) -> Any:
    """A grid of even height and width has a number of patches that 4 divides."""
    frames, height, width = t.tolist()
    check(frames >= 1)
    check(height >= 2)
    check(width >= 2)
    check(height % 2 == 0)
    check(width % 2 == 0)
    patches = frames * height * width
    if patches % 4 != 0:
        raise ValueError("not merged")
    return torch.ones(patches).view(-1, 4).sum(1)


@program("pytorch/pytorch#128906", holds=[numbers(2, 4, 6), numbers(1, 2, 2)], fails=[numbers(2, 4, 5)])
def merged_patches_counted_twice(t: torch.Tensor) -> Any:
    """A quarter of an even grid is the grid of the halves."""
    frames, height, width = t.tolist()
    check(frames >= 1)
    check(height >= 2)
    check(width >= 2)
    check(height % 2 == 0)
    check(width % 2 == 0)
    merged = frames * height * width // 4
    if merged != frames * (height // 2) * (width // 2):
        raise ValueError("counted differently")
    return torch.ones(merged)
