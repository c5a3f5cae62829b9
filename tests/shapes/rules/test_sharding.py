"""Shapes of shards against torch.distributed.tensor's and FSDP's own functions, which need no process group for these.

If one of these fails, a rank is said to hold other rows than it does.
"""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapes import Always, ShapeEnv
from shapes.rules import Refused, rules
from shapes.rules.sharding import balanced, ceildiv, chunk, coordinate_of, rank_of, strided
from tests.effort import examples
from tests.shapes.rules.expectations import told

SIZE = st.integers(0, 40)
PARTS = st.integers(1, 7)


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(SIZE, PARTS, st.integers(1, 4))
def test_shards_agree_with_dtensor(size, parts, split_factor):
    """Lengths and offsets of chunks and strided shards are those of DTensor's placements; padded ones those of FSDP."""
    torch = pytest.importorskip("torch")
    placements = pytest.importorskip("torch.distributed.tensor.placement_types")
    fsdp = pytest.importorskip("torch.distributed.fsdp._fully_shard._fsdp_common")
    pieces = torch.tensor_split(torch.empty(size), parts)
    for rank in range(parts):
        assert chunk(size, parts, rank) == placements.Shard.local_shard_size_and_offset(size, parts, rank)
        assert balanced(size, parts, rank)[0] == len(pieces[rank])
        assert balanced(size, parts, rank)[1] == sum(map(len, pieces[:rank]))
        if size:
            whole = placements._StridedShard(0, split_factor=split_factor)
            assert strided(size, split_factor, parts, rank) == whole.local_shard_size_and_offset(size, parts, rank)[0]
    assert ceildiv(size, parts) * parts == fsdp._get_dim0_padded_size(torch.Size([size]), parts)[0]


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=3),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.data(),
)
def test_local_shapes_agree_with_dtensor(shape, mesh, data):
    """A tensor that several axes of a mesh divide, the same axis twice included."""
    module = pytest.importorskip("torch.distributed.tensor._utils")
    tensor = pytest.importorskip("torch.distributed.tensor")
    axes = st.none() | st.integers(0, len(shape) - 1)
    placements = data.draw(st.lists(axes, min_size=len(mesh), max_size=len(mesh)))
    coordinate = [data.draw(st.integers(0, size - 1)) for size in mesh]
    theirs = [tensor.Replicate() if axis is None else tensor.Shard(axis) for axis in placements]
    expected = module._compute_local_shape_and_global_offset(tuple(shape), tuple(mesh), coordinate, theirs)
    env = ShapeEnv(origin=lambda: None)
    rule = rules["compute_local_shape_and_global_offset"]
    assert rule(env, shape, mesh, coordinate, placements) == expected

    symbols: dict[str, int] = {}

    def named(letter: str, sizes: Sequence[int]) -> list[object]:
        symbols.update({f"{letter}{i}": size for i, size in enumerate(sizes)})
        return [env.symbol(f"{letter}{i}", hint=size) for i, size in enumerate(sizes)]

    symbolic = rule(env, named("n", shape), named("w", mesh), named("r", coordinate), placements)
    values = [[env.hint(size) for size in found] for found in symbolic]
    assert values == [list(found) for found in expected], symbols


def test_mesh_coordinates():
    """Rank and coordinate of a mesh are those of an array of ranks."""
    for mesh in ((3,), (2, 3), (2, 3, 4), (1, 1, 5)):
        ranks = range(math.prod(mesh))
        assert [rank_of(coordinate_of(rank, mesh), mesh) for rank in ranks] == list(ranks)
        coordinates = [coordinate_of(rank, mesh) for rank in ranks]
        assert sorted(coordinates) == coordinates and len(set(coordinates)) == len(coordinates)


def test_shards_of_symbolic_sizes():
    """Shapes and requirements as they print."""
    assert told("pad_shard", "s d", 0, "$t") == ("Shape(ceildiv(s, t), d)", ["t >= 1"])
    output, guards = told("shard_tensor", "s d", 0, "$t", "$e")
    assert guards == ["e < t"], guards  # which has t >= 1 from e >= 0
    assert output.endswith(", d)")


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("shard_tensor", ((4,), 0, 0, 0), "num_chunks: expected a positive number"),
        ("shard_tensor", ((4,), 0, 2, 2), "rank: there is no such rank"),
        ("shard_tensor", ((4,), 0, 2, -1), "rank: expected no negative number"),
        ("shard_tensor", ((4,), 1, 2, 0), "dim"),
        ("pad_shard", ((), 0, 2), "self"),
        ("strided_shard_tensor", ((4,), 0, 0, 2, 1), "split_factor=0: expected a positive number"),
        ("compute_local_shape_and_global_offset", ((4,), (2, 2), (0,), (0, None)), "expected one for each axis"),
    ],
)
def test_shards_refuse_wrong_arguments(name, arguments, reason):
    with pytest.raises(Refused, match=reason):
        rules[name](ShapeEnv(origin=lambda: None), *arguments)


def test_shards_of_a_rank_that_is_any():
    """A shard of any rank is never longer than a padded one, and strided shards of one chunk are chunks."""
    env = ShapeEnv(origin=lambda: None)
    n, d, world = env.sizes("n d world")
    with env.for_all("r", 0, world) as r:
        shard, padded = rules["shard_tensor"](env, (n, d), 0, world, r), rules["pad_shard"](env, (n, d), 0, world)
        assert isinstance(env.ask(shard[0] <= padded[0]), Always)
        gathered = rules["all_gather_tensor"](env, padded, 0, world)
        assert isinstance(env.ask(gathered[0] >= n), Always)
        strided_shard = rules["strided_shard_tensor"](env, (n, d), 0, 1, world, r)
        assert isinstance(env.ask(strided_shard[0] == shard[0]), Always)
    assert env.guards() == ()
