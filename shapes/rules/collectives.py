"""Collectives: what one rank holds after an exchange with its group.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> from shapes.rules.collectives import exchanged_counts
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> rules["all_gather_tensor"](env, (b, s), gather_dim=1, group_size=8)
    Shape(b, 8*s)
    >>> rules["reduce_scatter_tensor"](env, (b, 8*s), "sum", scatter_dim=1, group_size=8)
    Shape(b, s)

How many rows each rank sends to which other one may be known only at run time. `exchanged_counts` has what always
holds of them, so that what the ranks receive adds up to what they sent:

    >>> counts = exchanged_counts(env, [b, s])
    >>> received = [
    ...     rules["all_to_all_single"](env, (rows, 64), [row[rank] for row in counts], counts[rank], group_size=2)
    ...     for rank, rows in enumerate((b, s))
    ... ]
    >>> received
    [Shape(u0 + u2, 64), Shape(u1 + u3, 64)]
    >>> type(env.ask(received[0][0] + received[1][0] == b + s)).__name__
    'Always'
    >>> env.guards()
    ()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.axes import axis_of, replaced
from shapes.rules.broadcasting import agree
from shapes.rules.expectations import expect_axes
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.windows import require_at_least
from shapes.symbolic.choices import Int, sym_sum

REDUCTIONS: Final = ("sum", "avg", "product", "min", "max", "band", "bor", "bxor", "premul_sum")
"""The ways in which the tensors of a group are reduced to one."""


def _expect_reduction(reduce_op: str) -> None:
    if reduce_op.lower() not in REDUCTIONS:
        raise ShapeError(f"reduceOp={reduce_op!r}: expected one of {', '.join(REDUCTIONS)}")


def _expect_group(env: ShapeEnv, group_size: Int) -> None:
    require_at_least(env, group_size, 1, "group_size: expected a positive number")


def _part(env: ShapeEnv, size: Int, group_size: Int, name: str) -> Int:
    """One of as many equal parts as there are ranks."""
    _expect_group(env, group_size)
    env.require(size % group_size == 0, f"the size along {name} is no multiple of group_size")
    return size // group_size


@rule("all_gather_tensor", "all_gather_single")
def all_gather_tensor(env: ShapeEnv, self: Shape, gather_dim: int, group_size: Int) -> Shape:
    """The tensors of all ranks one after the other along the axis."""
    _expect_group(env, group_size)
    axis = axis_of(gather_dim, len(self), "gather_dim")
    if not self:
        return Shape((group_size,), dtype=self.dtype)
    return Shape(replaced(self, axis, self[axis] * group_size), dtype=self.dtype)


@rule("reduce_scatter_tensor", "reduce_scatter_single")
def reduce_scatter_tensor(env: ShapeEnv, self: Shape, reduceOp: str, scatter_dim: int, group_size: Int) -> Shape:
    """This rank's part along the axis, which is a multiple of the group."""
    _expect_reduction(reduceOp)
    axis = _axis(self, scatter_dim, "scatter_dim")
    return Shape(replaced(self, axis, _part(env, self[axis], group_size, "scatter_dim")), dtype=self.dtype)


@rule("all_reduce")
def all_reduce(env: ShapeEnv, self: Shape, reduceOp: str, group_size: Int = 1) -> Shape:
    """As the input, which is alike on all ranks."""
    _expect_reduction(reduceOp)
    _expect_group(env, group_size)
    return Shape(self, dtype=self.dtype)


@rule("broadcast")
def broadcast(env: ShapeEnv, self: Shape, src: Int, group_size: Int) -> Shape:
    """As the input, which is alike on all ranks."""
    _expect_group(env, group_size)
    require_at_least(env, src, 0, "src: expected no negative number")
    env.require(src < group_size, "src: there is no such rank")
    return Shape(self, dtype=self.dtype)


@rule("all_to_all")
def all_to_all(env: ShapeEnv, self: Shape, split_dim: int, concat_dim: int, group_size: Int) -> Shape:
    """Equal parts along one axis go to the ranks, and those that come from them are joined along another."""
    split, concat = _axis(self, split_dim, "split_dim"), _axis(self, concat_dim, "concat_dim")
    part = _part(env, self[split], group_size, "split_dim")
    if split == concat:
        return Shape(self, dtype=self.dtype)
    return Shape(
        replaced(replaced(self, split, part), concat, self[concat] * group_size),
        dtype=self.dtype,
    )


@rule("all_to_all_single")
def all_to_all_single(
    env: ShapeEnv,
    self: Shape,
    output_split_sizes: Sequence[Int] | None,
    input_split_sizes: Sequence[Int] | None,
    group_size: Int,
    *,
    rank: int | None = None,
    peer_rows: Int | None = None,
) -> Shape:
    """As many rows as come from all ranks: equal parts without split sizes, and numbers that only the run tells where
    the input's are given alone. Of those it helps to know this rank, and how many rows a rank has at most.
    """
    expect_axes(self, 1, "self")
    if input_split_sizes is None:
        if output_split_sizes is not None:
            raise ShapeError("input_split_sizes: expected beside output_split_sizes")
        _part(env, self[0], group_size, "the first axis")
        return Shape(self, dtype=self.dtype)
    _expect_splits(env, input_split_sizes, group_size, "input_split_sizes")
    agree(env, sym_sum(input_split_sizes), self[0], "input_split_sizes do not add up to the number of rows")
    if output_split_sizes is None:
        output_split_sizes = received_sizes(env, input_split_sizes, rank=rank, peer_rows=peer_rows)
    else:
        _expect_splits(env, output_split_sizes, group_size, "output_split_sizes")
    return Shape((sym_sum(output_split_sizes), *self[1:]), dtype=self.dtype)


@rule("permute_tensor")
def permute_tensor(env: ShapeEnv, self: Shape, src_dst: Sequence[int], group_size: int) -> Shape:
    """As the input, which is alike on all ranks; each rank is a source of one."""
    if sorted(src_dst) != list(range(group_size)):
        raise ShapeError(f"src_dst={list(src_dst)}: expected every rank up to {group_size - 1} once")
    return Shape(self, dtype=self.dtype)


@rule("wait_tensor")
def wait_tensor(env: ShapeEnv, tensor: Shape) -> Shape:
    """As the input."""
    return Shape(tensor, dtype=tensor.dtype)


def received_sizes(
    env: ShapeEnv, input_split_sizes: Sequence[Int], *, rank: int | None = None, peer_rows: Int | None = None
) -> list[Int]:
    """The number of rows received from each rank, which only the run tells: none is negative, the own ones are as many
    as were kept, and none is more than a rank has.
    """
    sizes: list[Int] = []
    for peer in range(len(input_split_sizes)):
        if peer == rank:
            sizes.append(input_split_sizes[peer])
            continue
        size = env.unbacked(lo=0)
        if peer_rows is not None:
            env.postulate(size <= peer_rows)
        sizes.append(size)
    return sizes


def exchanged_counts(env: ShapeEnv, rows: Sequence[Int]) -> list[list[Int]]:
    """The number of rows that each rank sends to each one, which only the run tells: none is negative, and the rows
    that a rank sends add up to those that it has. By sender, then by receiver.
    """
    counts: list[list[Int]] = []
    for own in rows:
        sent: list[Int] = [env.unbacked(lo=0) for _ in rows]
        env.postulate(sym_sum(sent) == own)
        counts.append(sent)
    return counts


def _axis(shape: Shape, dim: int, name: str) -> int:
    expect_axes(shape, 1, "self")
    return axis_of(dim, len(shape), name)


def _expect_splits(env: ShapeEnv, sizes: Sequence[Int], group_size: Int, name: str) -> None:
    if isinstance(group_size, int) and len(sizes) != group_size:
        raise ShapeError(f"{name}: expected {group_size} numbers, not {len(sizes)}")
    if not isinstance(group_size, int):
        env.require(group_size == len(sizes), f"{name}: not as many numbers as ranks")
    for size in sizes:
        require_at_least(env, size, 0, f"{name}: expected no negative number")
