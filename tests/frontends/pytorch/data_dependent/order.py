"""Programs that compare integers read from tensors: order, minimum and maximum, sums, products."""

from __future__ import annotations

from typing import Any

import torch

from tests.frontends.pytorch.data_dependent.records import chosen, numbers, program, ramp

check = torch._check


@program("pytorch/pytorch#193092", holds=[numbers(1, 2, 3), numbers(4, 4, 4)], fails=[numbers(1, 3, 2)])
def ordered_by_two_checks(t: torch.Tensor) -> Any:
    """`a <= b` and `b <= c` give `a <= c`."""
    a, b, c = t.tolist()
    check(a <= b)
    check(b <= c)
    if a <= c:
        return t + a
    return t - a


@program("pytorch/pytorch#193252", holds=[numbers(1, 2, 2), numbers(-5, 0, 9)], fails=[numbers(2, 2, 3)])
def strict_order_excludes_equality(t: torch.Tensor) -> Any:
    """`a < b <= c` excludes `a == c`."""
    a, b, c = t.tolist()
    check(a < b)
    check(b <= c)
    if a == c:
        return t - 1
    return t * c


@program("pytorch/pytorch#193092", holds=[numbers(1, 2, 5, 9), numbers(0, 0, 0, 1)], fails=[numbers(1, 2, 5, 5)])
def chain_of_four(t: torch.Tensor) -> Any:
    """`a <= b <= c < d` leaves `d - a` positive, so that it is a size."""
    a, b, c, d = t.tolist()
    check(a <= b)
    check(b <= c)
    check(c < d)
    if d - a < 1:
        raise ValueError("empty")
    return torch.ones(d - a) * a


@program("pytorch/pytorch#119969", holds=[numbers(1, 9), numbers(0, 1)], fails=[numbers(4, 8)])
def stronger_check_than_question(t: torch.Tensor) -> Any:
    """`2*a < b` for `a >= 0` is stronger than the `a < b` that is asked."""
    a, b = t.tolist()
    check(a >= 0)
    check(2 * a < b)
    if a >= b:
        raise ValueError("no room")
    return torch.cat([torch.zeros(a), torch.ones(b - a)])


@program("pytorch/pytorch#137096", holds=[numbers(3), numbers(5), numbers(0)], fails=[numbers(6)])
def minimum_with_the_bound(t: torch.Tensor) -> Any:
    """`n <= 5` makes `min(n, 5)` the number itself."""
    n = t[0].item()
    check(n >= 0)
    check(n <= 5)
    if min(n, 5) != n:
        raise ValueError("clipped")
    return torch.arange(5)[: min(n, 5)]


@program("pytorch/pytorch#125914", holds=[numbers(10, 10), numbers(0, 20)], fails=[numbers(10, 11)])
def maximum_of_a_checked_sum(t: torch.Tensor) -> Any:
    """The sum is checked to be 20, so the maximum of 1 and the sum is 20."""
    a, b = t.tolist()
    check(a >= 0)
    check(b >= 0)
    check(a + b == 20)
    if torch.sym_max(1, a + b) == 20:
        return torch.cat([torch.zeros(a), torch.ones(b)])
    return t


@program("pytorch/pytorch#123855", holds=[numbers(3, -2), numbers(-4, 7), numbers(1, 1)])
def minimum_plus_maximum(t: torch.Tensor) -> Any:
    """The minimum and the maximum of two numbers add up to the two numbers."""
    a, b = t.tolist()
    if torch.sym_min(a, b) + torch.sym_max(a, b) != a + b:
        raise ValueError("lost")
    return t + torch.sym_max(a, b)


@program("pytorch/pytorch#123855", holds=[numbers(3, 7), numbers(7, 3), numbers(0, 0)], fails=[numbers(-1, 3)])
def padded_to_the_longer(t: torch.Tensor) -> Any:
    """Padding to the longer of two lengths is never negative."""
    a, b = t.tolist()
    check(a >= 0)
    check(b >= 0)
    longer = torch.sym_max(a, b)
    if longer - a < 0 or longer - b < 0:
        raise ValueError("negative padding")
    first = torch.cat([torch.ones(a), torch.zeros(longer - a)])
    return torch.stack([first, torch.cat([torch.ones(b), torch.zeros(longer - b)])])


@program("pytorch/pytorch#177280", holds=[numbers(7, 3), numbers(-2, 3), numbers(2, 3)], fails=[numbers(1, -1)])
def clamped_by_another_size(t: torch.Tensor) -> Any:
    """A number clamped between 0 and `k` is at most `k`."""
    n, k = t.tolist()
    check(k >= 0)
    n = torch.sym_max(0, torch.sym_min(n, k))
    if n > k:
        raise ValueError("not clamped")
    return torch.cat([torch.ones(n), torch.zeros(k - n)])


@program("pytorch/pytorch#177308", holds=[numbers(3, 7), numbers(7, 3), numbers(2, 2)])
def distance_of_two(t: torch.Tensor) -> Any:
    """The minimum is at most the maximum."""
    a, b = t.tolist()
    low, high = torch.sym_min(a, b), torch.sym_max(a, b)
    if low > high:
        raise ValueError("out of order")
    return torch.ones(high - low)


@program("pytorch/pytorch#132522", holds=[numbers(3, 3), numbers(1, 1)], fails=[numbers(3, 4), numbers(4, 3)])
def equal_from_both_sides(t: torch.Tensor) -> Any:
    """`a <= b` and `b <= a` make the two sizes one."""
    a, b = t.tolist()
    check(a >= 1)
    check(a <= b)
    check(b <= a)
    x, y = torch.ones(a, 2), torch.ones(b, 2)
    if x.shape[0] != y.shape[0]:
        raise ValueError("shapes differ")
    return x + y


@program("pytorch/FBGEMM#2923", holds=[numbers(5, 6), numbers(-3, 20)], fails=[numbers(6, 6), numbers(4, 6)])
def positive_from_a_sum(t: torch.Tensor) -> Any:
    """`a + b > 10` with `a <= 5` leaves more than 5 to `b`."""
    a, b = t.tolist()
    check(a + b > 10)
    check(a <= 5)
    if b <= 5:
        raise ValueError("too few")
    return torch.arange(b)[5:]


@program("pytorch/pytorch#117353", holds=[numbers(5, 2, 3), numbers(4, 0, 4)], fails=[numbers(5, 2, 2)])
def part_of_a_whole(t: torch.Tensor) -> Any:
    """A whole that is the sum of two parts is at least as large as each."""
    whole, a, b = t.tolist()
    check(a >= 0)
    check(b >= 0)
    check(whole == a + b)
    if whole < a:
        raise ValueError("the part is larger")
    return torch.arange(whole)[a:]


@program("pytorch/pytorch#150236", holds=[numbers(1, 4), numbers(-7, 3)], fails=[numbers(1, 2), numbers(3, 3)])
def either_or(t: torch.Tensor) -> Any:
    """One of two is at least 3, and not the first."""
    a, b = t.tolist()
    check((a >= 3) | (b >= 3))
    check(a < 3)
    if b < 3:
        raise ValueError("neither")
    return torch.ones(b - 2)


@program("pytorch/pytorch#120288", holds=[numbers(3, 8, 5), numbers(0, 2, 1)], fails=[numbers(3, 8, 8)])
def room_for_one_between(t: torch.Tensor) -> Any:
    """A number strictly between two puts them at least 2 apart."""
    a, b, between = t.tolist()
    check(a < between)
    check(between < b)
    if b - a < 2:
        raise ValueError("no room")
    return torch.ones(b - a - 1)


@program("pytorch/pytorch#195767", holds=[numbers(3, 3)], fails=[numbers(2, 3), numbers(3, 4)])
def cross_product_of_checked_length(t: torch.Tensor) -> Any:
    """`3 <= n <= k <= 3` makes the last size 3, which the operator asks."""
    n, k = t.tolist()
    check(n >= 3)
    check(n <= k)
    check(k <= 3)
    x = torch.arange(2 * n).view(2, n) + 1.0
    return torch.linalg.cross(x, x.flip(0))


@program("pytorch/pytorch#120688", holds=[numbers(3, 4), numbers(12, 1)], fails=[numbers(3, 5), numbers(-3, -4)])
def factor_of_a_product(t: torch.Tensor) -> Any:
    """A positive factor of 12 is at most 12."""
    a, b = t.tolist()
    check(a >= 1)
    check(b >= 1)
    check(a * b == 12)
    if a > 12:
        raise ValueError("too large")
    return torch.arange(12.0).view(a, b).sum(0)


@program(
    "pytorch/pytorch#146152",
    holds=[
        lambda: (chosen(1, 0, 1, 1, 0), chosen(0, 1, 1, 0, 0)),
        lambda: (chosen(1, 1, 1, 1, 1), chosen(1, 1, 1, 1, 1)),
    ],
)
def pairs_of_selected_boxes(kept: torch.Tensor, truth: torch.Tensor) -> Any:
    """Each selection has at most 5 rows, so there are at most 25 pairs."""
    n, m = kept.nonzero().shape[0], truth.nonzero().shape[0]
    if n * m > 25:
        raise ValueError("too many pairs")
    return kept.nonzero().float() @ truth.nonzero().float().t()


@program(
    "open-edge-platform/geti#5073",
    holds=[
        lambda: (torch.tensor([0.1, 0.9, 0.5, 0.7]), torch.tensor([2])),
        lambda: (torch.tensor([0.1, 0.2, 0.5, 0.7, 0.3]), torch.tensor([9])),
    ],
    fails=[lambda: (torch.tensor([0.1, 0.9, 0.5, 0.7]), torch.tensor([0]))],
)
def best_of_the_kept(scores: torch.Tensor, limit: torch.Tensor) -> Any:
    """The minimum of the limit and the kept rows is at most the limit."""
    k = limit[0].item()
    check(k >= 1)
    kept = scores[scores > 0.25]
    n = torch.sym_min(kept.shape[0], k)
    if n > k:
        raise ValueError("over the limit")
    return kept.sort(descending=True).values[:n]


@program("pytorch/pytorch#147096", holds=[numbers(2, 3, 4), numbers(1, 1, 1)], fails=[numbers(0, 3, 4)])
def frames_of_a_grid(t: torch.Tensor) -> Any:
    """At least one frame holds at least one grid."""
    frames, height, width = t.tolist()
    check(frames >= 1)
    check(height >= 1)
    check(width >= 1)
    patches = frames * height * width
    if patches < height * width:
        raise ValueError("less than a frame")
    return torch.ones(patches).view(frames, height, width).sum(0)


@program(
    "pytorch/pytorch#147672",
    holds=[
        lambda: (torch.ones(5, 4), chosen(1, 1, 0, 1, 0), torch.tensor([2])),
        lambda: (torch.ones(5, 4), chosen(1, 1, 1, 1, 1), torch.tensor([5])),
    ],
    fails=[lambda: (torch.ones(5, 4), chosen(1, 0, 0, 0, 0), torch.tensor([2]))],
)
def useful_queries(queries: torch.Tensor, useful: torch.Tensor, least: torch.Tensor) -> Any:
    """At least `k` rows with `k > 1` exclude a single row."""
    k = least[0].item()
    rows = queries[useful]
    check(rows.shape[0] >= k)
    check(k > 1)
    if rows.numel() == rows.shape[1]:
        raise ValueError("a single row")
    return torch.softmax(rows @ rows.t(), -1) @ rows


@program(
    "pytorch/pytorch#108805",
    holds=[
        lambda: (ramp(5, 4), torch.tensor([0.9, 0.1, 0.5, 0.7, 0.2])),
        lambda: (ramp(3, 4), torch.tensor([0.9, 0.8, 0.5])),
        lambda: (ramp(4, 4), torch.tensor([0.1, 0.2, 0.1, 0.3])),
    ],
)
def padded_back_to_all_boxes(boxes: torch.Tensor, scores: torch.Tensor) -> Any:
    """No more boxes are kept than there are, however many that is."""
    kept = boxes[(scores > 0.4).nonzero().squeeze(1)]
    rest = scores.shape[0] - kept.shape[0]
    if rest < 0:
        raise ValueError("more than all")
    return torch.cat([kept, boxes.new_zeros(rest, 4)])


@program(
    "pytorch/pytorch#113118",
    holds=[lambda: (torch.tensor([3, 1, 3, 2]),), lambda: (torch.tensor([5, 5]),), lambda: (torch.tensor([4, 0, 4]),)],
)
def distances_of_classes(labels: torch.Tensor) -> Any:
    """Labels that are there are of at least one class, and of no more classes than labels."""
    classes = torch.unique(labels).float().unsqueeze(1)
    if classes.shape[0] == 0 or classes.shape[0] > labels.shape[0]:
        raise ValueError("no classes")
    return (classes - classes.t()).abs()
