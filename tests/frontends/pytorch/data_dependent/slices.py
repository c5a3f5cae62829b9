"""Programs that slice, split and narrow at bounds read from tensors, whose order the program has checked."""

from __future__ import annotations

from typing import Any

import torch

from tests.frontends.pytorch.data_dependent.records import chosen, numbers, program, ramp, with_numbers

check = torch._check


@program(
    "pytorch/pytorch#148497",
    holds=[
        lambda: (ramp(10, 2), torch.tensor([0, 3, 7, 10]), torch.tensor(1)),
        lambda: (ramp(6, 3), torch.tensor([0, 0, 4, 6]), torch.tensor(0)),
    ],
    fails=[lambda: (ramp(10, 2), torch.tensor([0, 7, 3, 10]), torch.tensor(1))],
)
def component_of_a_nested_tensor(values: torch.Tensor, offsets: torch.Tensor, which: torch.Tensor) -> Any:
    """`0 <= begin <= end <= rows` gives the slice `end - begin` rows."""
    k = which.item()
    check(k >= 0)
    check(k < offsets.shape[0] - 1)
    begin, end = offsets[k].item(), offsets[k + 1].item()
    check(begin >= 0)
    check(begin <= end)
    check(end <= values.shape[0])
    component = values[begin:end]
    if component.shape[0] != end - begin:
        raise ValueError("cut")
    return component * 2


@program(
    "pytorch/pytorch#119468",
    holds=[with_numbers(10, of=[3, 7, 10]), with_numbers(10, of=[0, 0, 10])],
    fails=[with_numbers(10, of=[3, 2, 10]), with_numbers(10, of=[3, 7, 9])],
)
def offsets_cover_the_values(values: torch.Tensor, offsets: torch.Tensor) -> Any:
    """Consecutive slices up to the end have as many elements as the whole."""
    a, b, c = offsets.tolist()
    check(a >= 0)
    check(a <= b)
    check(b <= c)
    check(c == values.shape[0])
    rows = torch.cat([values[:a] * 1, values[a:b] * 2, values[b:c] * 3])
    if rows.shape[0] != values.shape[0]:
        raise ValueError("lost")
    return rows + values


@program(
    "pytorch/pytorch#157944",
    holds=[with_numbers(12, of=[2, 5, 9]), with_numbers(15, of=[0, 0, 15])],
    fails=[with_numbers(12, of=[2, 5, 13]), with_numbers(12, of=[6, 5, 9])],
)
def slice_over_an_inner_bound(x: torch.Tensor, t: torch.Tensor) -> Any:
    """`a <= b <= c` orders the ends of `x[a:c]`."""
    a, b, c = t.tolist()
    check(a >= 0)
    check(a <= b)
    check(b <= c)
    check(c <= x.shape[0])
    piece = x[a:c]
    if piece.shape[0] != c - a:
        raise ValueError("cut")
    return piece.sum() + b


@program(
    "pytorch/pytorch#150474",
    holds=[with_numbers(12, of=[2, 5, 9]), with_numbers(9, of=[4, 4, 4])],
    fails=[with_numbers(12, of=[2, 1, 9])],
)
def adjacent_slices(x: torch.Tensor, t: torch.Tensor) -> Any:
    """Two adjacent slices have as many elements as the slice over both."""
    a, b, c = t.tolist()
    check(a >= 0)
    check(a <= b)
    check(b <= c)
    check(c <= x.shape[0])
    first, second, both = x[a:b], x[b:c], x[a:c]
    if first.shape[0] + second.shape[0] != both.shape[0]:
        raise ValueError("a gap")
    return torch.cat([first * 2, second * 3]) - both


@program("pytorch/pytorch#161393", holds=[numbers(9, 2, 7), numbers(4, 0, 4)], fails=[numbers(9, 7, 2)])
def slice_of_what_has_a_size_from_data(t: torch.Tensor) -> Any:
    """A slice is never longer than what it is taken from."""
    n, a, b = t.tolist()
    check(a >= 0)
    check(a <= b)
    check(b <= n)
    piece = torch.arange(n)[a:b]
    if piece.shape[0] > n:
        raise ValueError("grown")
    return torch.cat([piece, torch.zeros(n - piece.shape[0], dtype=torch.int64)])


@program(
    "pytorch/pytorch#185185",
    holds=[with_numbers(4, 12, of=[3, 8, 5]), with_numbers(2, 12, of=[0, 12])],
    fails=[with_numbers(4, 12, of=[3, 13, 5])],
)
def slice_between_the_extremes(x: torch.Tensor, marks: torch.Tensor) -> Any:
    """The bounds are checked to be in order and within the row."""
    start, end = marks.min().item(), marks.max().item()
    check(start >= 0)
    check(start < end)
    check(end <= x.shape[1])
    piece = x[:, start:end]
    if piece.shape[1] == 0 or piece.shape[1] != end - start:
        raise ValueError("empty")
    return piece.mean(1)


@program(
    "pytorch/pytorch#146298",
    holds=[
        lambda: (ramp(1, 16, 4), -ramp(1, 5, 4), torch.tensor([3, 8])),
        lambda: (ramp(1, 16, 4), -ramp(1, 5, 4), torch.tensor([11, 16])),
    ],
    fails=[
        lambda: (ramp(1, 16, 4), -ramp(1, 5, 4), torch.tensor([12, 17])),
        lambda: (ramp(1, 16, 4), -ramp(1, 5, 4), torch.tensor([3, 9])),
    ],
)
def window_of_a_cache(cache: torch.Tensor, update: torch.Tensor, span: torch.Tensor) -> Any:
    """The window is checked to be as long as the update and within the cache."""
    start, end = span.tolist()
    check(start >= 0)
    check(end - start == update.shape[1])
    check(end <= cache.shape[1])
    window = cache[:, start:end]
    if window.shape[1] != update.shape[1]:
        raise ValueError("the update does not fit")
    return torch.cat([cache[:, :start], window + update, cache[:, end:]], 1)


@program(
    "pytorch/pytorch#178897",
    holds=[with_numbers(12, of=[3, 7, 9]), with_numbers(12, of=[0, 5, 12])],
    fails=[with_numbers(12, of=[3, 2, 9])],
)
def pieces_between_cumulative_lengths(x: torch.Tensor, ends: torch.Tensor) -> Any:
    """The last of ordered ends is at least the first."""
    a, b, c = ends.tolist()
    check(a >= 0)
    check(a <= b)
    check(b <= c)
    check(c <= x.shape[0])
    head = x[:c]
    if head.shape[0] < a:
        raise ValueError("lengths do not add up")
    first, second, third = head.split([a, b - a, c - b])
    return torch.cat([third, second, first, x.new_zeros(x.shape[0] - c)])


@program(
    "pytorch/pytorch#120288",
    holds=[with_numbers(2, 10, 12, of=[1, 4, 2, 9]), with_numbers(1, 6, 8, of=[0, 6, 0, 8])],
    fails=[with_numbers(2, 10, 12, of=[1, 11, 2, 9])],
)
def crop_of_an_image(image: torch.Tensor, box: torch.Tensor) -> Any:
    """The corners are checked to be in order and within the image."""
    top, bottom, left, right = box.tolist()
    check(top >= 0)
    check(top < bottom)
    check(bottom <= image.shape[1])
    check(left >= 0)
    check(left < right)
    check(right <= image.shape[2])
    crop = image[:, top:bottom, left:right]
    if crop.shape[1] != bottom - top or crop.shape[2] != right - left:
        raise ValueError("outside")
    return crop.mean((1, 2))


@program(
    "pytorch/executorch#8988",
    holds=[lambda: (chosen(1, 0, 1, 1, 1), torch.tensor([2])), lambda: (chosen(1, 0, 1, 1, 0), torch.tensor([3]))],
    fails=[lambda: (chosen(1, 0, 0, 0, 1), torch.tensor([3]))],
)
def accepted_without_the_first(accepted: torch.Tensor, least: torch.Tensor) -> Any:
    """More than one accepted token leaves at least one after the first."""
    k = least[0].item()
    positions = accepted.nonzero().squeeze(1)
    check(positions.shape[0] >= k)
    check(k >= 2)
    if positions.shape[0] - 1 < 1:
        raise ValueError("nothing left")
    return positions[1:] - positions[0]


@program(
    "pytorch/pytorch#175819",
    holds=[with_numbers(12, of=[4, 20]), with_numbers(7, of=[0, 3])],
    fails=[with_numbers(12, of=[5, 4])],
)
def slice_to_a_minimum(x: torch.Tensor, t: torch.Tensor) -> Any:
    """The minimum of two sizes is within both, also of the smaller one."""
    a, b = t.tolist()
    check(a >= 0)
    check(a <= b)
    n = torch.sym_min(b, x.shape[0])
    m = torch.sym_min(a, x.shape[0])
    if n < m:
        raise ValueError("out of order")
    return x[:n].sum() - x[:m].sum()
