"""Shards of a tensor over ranks: how long each one is, where it begins, and its shape.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> n, d, world = env.sizes("n d world")
    >>> rules["shard_tensor"](env, (10, d), dim=0, num_chunks=4, rank=3)
    Shape(1, d)
    >>> with env.for_all("r", 0, world) as r:
    ...     length, offset = chunk(n, world, r)
    ...     _, following = chunk(n, world, r + 1)
    ...     type(env.ask(offset + length == following)).__name__
    'Always'

Three ways to divide n elements among w ranks are in use. *Chunks* are those of `torch.chunk`, of FSDP and DTensor:
ceildiv(n, w) elements each, as long as there are any, so that the last shards may be short or empty. *Balanced* shards
are those of `tensor_split`: the first n % w ranks have one more. *Strided* shards are chunks of each of several chunks,
as DTensor makes them where an axis is sharded twice, the inner way first. `shapes.ranks` proves what they should be.
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.axes import axis_of, replaced
from shapes.rules.expectations import expect_axes
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.windows import require_at_least
from shapes.symbolic.choices import Int, sym_ite, sym_min

Placement = int | None
"""The placement of a tensor along an axis of a mesh: sharded along one of its own axes, or replicated."""


def ceildiv(size: Int, parts: Int) -> Int:
    """The quotient, rounded up."""
    return -(-size // parts)


def chunk(size: Int, num_chunks: Int, rank: Int) -> tuple[Int, Int]:
    """The length of a chunk, and where it begins."""
    full = ceildiv(size, num_chunks)
    begin = sym_min(size, full * rank)
    return sym_min(size, full * (rank + 1)) - begin, begin


def balanced(size: Int, num_chunks: Int, rank: Int) -> tuple[Int, Int]:
    """The length of a balanced shard, and where it begins."""
    quotient, longer = size // num_chunks, size % num_chunks
    return quotient + sym_ite(rank < longer, 1, 0), rank * quotient + sym_min(rank, longer)


def strided(size: Int, split_factor: int, num_chunks: Int, rank: Int) -> Int:
    """The length of a strided shard: a chunk of each of `split_factor` chunks."""
    length: Int = 0
    for part in range(split_factor):
        length = length + chunk(chunk(size, split_factor, part)[0], num_chunks, rank)[0]
    return length


def rank_of(coordinate: Sequence[Int], mesh_shape: Sequence[Int]) -> Int:
    """The rank at a coordinate of a mesh, the last axis fastest.

    >>> rank_of((1, 2), (2, 4))
    6
    """
    rank: Int = 0
    for index, size in zip(coordinate, mesh_shape, strict=True):
        rank = rank * size + index
    return rank


def coordinate_of(rank: Int, mesh_shape: Sequence[Int]) -> tuple[Int, ...]:
    """The coordinate of a rank in a mesh.

    >>> coordinate_of(6, (2, 4))
    (1, 2)
    """
    coordinate: list[Int] = []
    for size in reversed(mesh_shape[1:]):
        coordinate.append(rank % size)
        rank = rank // size
    return tuple([rank, *reversed(coordinate)][: len(mesh_shape)])


# ---------------------------------------------------------------------- rules


def _require_rank(env: ShapeEnv, rank: Int, num_chunks: Int, name: str) -> None:
    require_at_least(env, num_chunks, 1, "num_chunks: expected a positive number")
    require_at_least(env, rank, 0, f"{name}: expected no negative number")
    env.require(rank < num_chunks, f"{name}: there is no such rank")


@rule("shard_tensor")
def shard_tensor(env: ShapeEnv, self: Shape, dim: int, num_chunks: Int, rank: Int) -> Shape:
    """The rank's chunk along the axis; the last ones may be short or empty."""
    _require_rank(env, rank, num_chunks, "rank")
    axis = _axis(self, dim)
    return Shape(replaced(self, axis, chunk(self[axis], num_chunks, rank)[0]), dtype=self.dtype)


@rule("pad_shard")
def pad_shard(env: ShapeEnv, self: Shape, dim: int, num_chunks: Int) -> Shape:
    """A chunk padded to the length of the longest, alike on all ranks, of which `all_gather_tensor` makes the
    padded tensor."""
    require_at_least(env, num_chunks, 1, "num_chunks: expected a positive number")
    axis = _axis(self, dim)
    return Shape(replaced(self, axis, ceildiv(self[axis], num_chunks)), dtype=self.dtype)


@rule("strided_shard_tensor")
def strided_shard_tensor(env: ShapeEnv, self: Shape, dim: int, split_factor: int, num_chunks: Int, rank: Int) -> Shape:
    """The rank's chunk of each of `split_factor` chunks, one after the other."""
    _require_rank(env, rank, num_chunks, "rank")
    _expect_factor(split_factor)
    axis = _axis(self, dim)
    return Shape(replaced(self, axis, strided(self[axis], split_factor, num_chunks, rank)), dtype=self.dtype)


@rule("compute_local_shape_and_global_offset")
def compute_local_shape_and_global_offset(
    env: ShapeEnv,
    global_shape: Shape,
    mesh_shape: Sequence[Int],
    my_coordinate: Sequence[Int],
    placements: Sequence[Placement],
) -> tuple[Shape, Shape]:
    """The shape of the shard at a coordinate of the mesh, and where it begins: at the end of the axis where it is
    empty. The axes of the mesh divide from the first to the last."""
    if not len(mesh_shape) == len(my_coordinate) == len(placements):
        raise ShapeError("placements and my_coordinate: expected one for each axis of mesh_shape")
    local: list[Int] = list(global_shape)
    offsets: list[Int] = [0] * len(local)
    for size, index, placement in zip(mesh_shape, my_coordinate, placements, strict=True):
        _require_rank(env, index, size, "my_coordinate")
        if placement is None:
            continue
        axis = _axis(global_shape, placement)
        length, offset = chunk(local[axis], size, index)
        offsets[axis] = sym_ite(length == 0, global_shape[axis], offsets[axis] + offset)
        local[axis] = length
    return Shape(local, dtype=global_shape.dtype), Shape(offsets)


def _axis(shape: Shape, dim: int) -> int:
    expect_axes(shape, 1, "self")
    return axis_of(dim, len(shape), "dim")


def _expect_factor(split_factor: int) -> None:
    if split_factor < 1:
        raise ShapeError(f"split_factor={split_factor}: expected a positive number")
