"""Exchanges between ranks: what one sends is what the other receives, for every pair of ranks.

    >>> from shapes import ShapeEnv, sym_max, sym_min
    >>> from shapes.ranks.shards import balanced_shards, chunks
    >>> env = ShapeEnv(origin=lambda: None)
    >>> n, old, new = env.sizes("n old new")
    >>> env.assume("old >= 1 and new >= 1")
    >>> before, after = chunks(n, old), balanced_shards(n, new)
    >>> def sent(r, q):                                         # of the rows of r, those that are to be on q
    ...     return sym_max(0, sym_min(before.stop(r), after.stop(q)) - sym_max(before.start(r), after.start(q)))
    >>> def received(q, r):
    ...     first, last = sym_max(after.start(q), before.start(r)), sym_min(after.stop(q), before.stop(r))
    ...     return sym_max(last - first, 0)
    >>> print(check_exchange(env, sent, received, old, new))
    proven  what a rank sends is what the other receives
    proven  no rank sends less than nothing

In a ring each rank sends to the next one and receives from the one before, which of rank 0 is the last:

    >>> world = env.symbol("world", lo=1)
    >>> check_permutation(env, lambda r: (r + 1) % world, lambda r: (r - 1) % world, world).proven
    True
    >>> print(check_permutation(env, lambda r: (r + 1) % world, lambda r: r - 1, world).false[0])
    false   a rank receives from a rank: rank r = 0, world = 1: 0 <= -1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shapes.env import ShapeEnv
from shapes.ranks.claims import Claim, Report, claimed
from shapes.ranks.shards import among, free_names
from shapes.rules.sharding import coordinate_of, rank_of
from shapes.symbolic.choices import Int

SENT = "what a rank sends is what the other receives"


def check_exchange(
    env: ShapeEnv,
    sent: Callable[[Int, Int], Int],
    received: Callable[[Int, Int], Int],
    senders: Int,
    receivers: Int | None = None,
) -> Report:
    """Check for every pair of ranks that `sent(r, q)`, what r sends to q, is `received(q, r)`, what q receives from r,
    and not negative. The receivers are the senders if they are not given.
    """
    rank, other = free_names(env, "r", "q")
    with env.for_all(rank, 0, senders) as r, env.for_all(other, 0, senders if receivers is None else receivers) as q:
        return Report(
            (
                claimed(env, SENT, sent(r, q), "==", received(q, r)),
                claimed(env, "no rank sends less than nothing", 0, "<=", sent(r, q)),
            )
        )


def check_permutation(env: ShapeEnv, to: Callable[[Int], Int], source: Callable[[Int], Int], ranks: Int) -> Report:
    """Check for all ranks that the one that r sends to, `to(r)`, receives from r, its `source`, and the other way
    round: nobody waits, and everybody sends to another one."""
    (rank,) = free_names(env, "r")
    with env.for_all(rank, 0, ranks) as r:
        return Report(
            (
                among(env, "a rank sends to a rank", to(r), ranks),
                among(env, "a rank receives from a rank", source(r), ranks),
                claimed(env, "the rank that it sends to receives from it", source(to(r)), "==", r),
                claimed(env, "the rank that it receives from sends to it", to(source(r)), "==", r),
            )
        )


def check_mesh(
    env: ShapeEnv,
    mesh_shape: Sequence[Int],
    rank: Callable[[Sequence[Int]], Int] | None = None,
    coordinate: Callable[[Int], Sequence[Int]] | None = None,
) -> Report:
    """Check for all ranks of a mesh that rank and coordinate determine each other; by default those of DeviceMesh, the
    last axis fastest."""
    to_rank = rank or (lambda at: rank_of(at, mesh_shape))
    to_coordinate = coordinate or (lambda of: coordinate_of(of, mesh_shape))
    count: Int = 1
    for size in mesh_shape:
        count = count * size
    there = _of_coordinates(env, mesh_shape, to_rank, to_coordinate, count, ())
    return Report((*there, *_of_ranks(env, mesh_shape, to_rank, to_coordinate, count)))


def _of_coordinates(
    env: ShapeEnv,
    mesh_shape: Sequence[Int],
    to_rank: Callable[[Sequence[Int]], Int],
    to_coordinate: Callable[[Int], Sequence[Int]],
    count: Int,
    at: tuple[Int, ...],
) -> list[Claim]:
    if len(at) < len(mesh_shape):
        (name,) = free_names(env, f"i{len(at)}")
        with env.for_all(name, 0, mesh_shape[len(at)]) as index:
            return _of_coordinates(env, mesh_shape, to_rank, to_coordinate, count, (*at, index))
    back = to_coordinate(to_rank(at))
    nouns = {each.variable.name: "coordinate" for each in env.ranges}
    claims = [among(env, "a coordinate has a rank", to_rank(at), count, nouns)]
    for axis in range(len(at)):
        claims.append(claimed(env, f"its coordinate {axis} comes back", back[axis], "==", at[axis], nouns))
    return claims


def _of_ranks(
    env: ShapeEnv,
    mesh_shape: Sequence[Int],
    to_rank: Callable[[Sequence[Int]], Int],
    to_coordinate: Callable[[Int], Sequence[Int]],
    count: Int,
) -> list[Claim]:
    (name,) = free_names(env, "r")
    with env.for_all(name, 0, count) as r:
        at = to_coordinate(r)
        return [
            *[among(env, f"a rank has a coordinate {axis}", at[axis], size) for axis, size in enumerate(mesh_shape)],
            claimed(env, "the rank comes back", to_rank(at), "==", r),
        ]
