"""Proofs over all ranks at once: that shards cover a tensor without overlap, and that exchanges match pairwise.

    >>> from shapes import ShapeEnv
    >>> from shapes.ranks import check_shards, chunks
    >>> env = ShapeEnv(origin=lambda: None)
    >>> n, world = env.sizes("n world")
    >>> env.assume(world >= 1)
    >>> print(check_shards(env, chunks(n, world)))
    proven  the first shard starts at 0
    proven  the last shard stops at the size
    proven  a shard starts where the one before stops
    proven  no shard has a negative length
    proven  a shard lies inside
    proven  no two shards overlap

A check asks about a rank of which only its range is known (`ShapeEnv.for_all`), so the answer is for every rank, and
for every number of ranks where that is a symbol. What is false has a counterexample:

    >>> from shapes.ranks import Sharding
    >>> off_by_one = Sharding(n, world, lambda r: r * (n // world), lambda r: (r + 1) * (n // world))
    >>> print(check_shards(env, off_by_one)["the last shard stops at the size"])
    false   the last shard stops at the size: n = 1, world = 2: 0 == 1
"""

from __future__ import annotations

from shapes.ranks.claims import Claim, Report
from shapes.ranks.exchanges import check_exchange, check_mesh, check_permutation
from shapes.ranks.shards import Sharding, balanced_shards, check_gather, check_owner, check_shards, chunks

__all__ = [
    "Claim",
    "Report",
    "Sharding",
    "balanced_shards",
    "check_exchange",
    "check_gather",
    "check_mesh",
    "check_owner",
    "check_permutation",
    "check_shards",
    "chunks",
]
