"""Shards of an axis over ranks, and the proof that they cover it without overlap.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> n, world = env.sizes("n world")
    >>> env.assume(world >= 1)
    >>> rounded_down = Sharding(n, world, lambda r: r * (n // world), lambda r: (r + 1) * (n // world))
    >>> for claim in check_shards(env, rounded_down).false:
    ...     print(claim)
    false   the last shard stops at the size: n = 1, world = 2: 0 == 1
    >>> check_shards(env, balanced_shards(n, world)).proven
    True

Shards cover an axis if the first one starts at 0, the last one stops at the size, and each starts where the one before
stops: by induction over the ranks every element is in one. They do not overlap if lengths are not negative, which then
follows too; it is asked by itself, so that a shard that overlaps another one is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shapes.env import ShapeEnv
from shapes.environment.symbols import free_name
from shapes.ranks.claims import Claim, Report, claimed
from shapes.rules import sharding as formulas
from shapes.symbolic.choices import Int


@dataclass(frozen=True, slots=True)
class Sharding:
    """The shards of an axis: that of rank r has the elements from `start(r)` up to `stop(r)`, which is not included."""

    size: Int
    ranks: Int
    start: Callable[[Int], Int]
    stop: Callable[[Int], Int]

    def length(self, rank: Int) -> Int:
        """The number of elements of a rank."""
        return self.stop(rank) - self.start(rank)


def chunks(size: Int, ranks: Int) -> Sharding:
    """The shards of `torch.chunk`, FSDP and DTensor."""
    return _by_length(size, ranks, formulas.chunk)


def balanced_shards(size: Int, ranks: Int) -> Sharding:
    """Shards whose lengths differ by one at most, the longer ones first, as those of `tensor_split`."""
    return _by_length(size, ranks, formulas.balanced)


def _by_length(size: Int, ranks: Int, shard: Callable[[Int, Int, Int], tuple[Int, Int]]) -> Sharding:
    def start(rank: Int) -> Int:
        return shard(size, ranks, rank)[1]

    def stop(rank: Int) -> Int:
        length, offset = shard(size, ranks, rank)
        return offset + length

    return Sharding(size, ranks, start, stop)


def check_shards(env: ShapeEnv, shards: Sharding) -> Report:
    """Check for all ranks that the shards cover the axis and do not overlap.

    Raises:
        Contradiction: there is no rank.
    """
    start, stop, ranks, size = shards.start, shards.stop, shards.ranks, shards.size
    rank, other = free_names(env, "r", "q")
    with env.for_all(rank, 0, ranks) as r:
        inside = [
            claimed(env, "no shard has a negative length", start(r), "<=", stop(r)),
            _inside(env, shards, r),
        ]
    with env.hypothesis(ranks >= 1):
        claims = [
            claimed(env, "the first shard starts at 0", start(0), "==", 0),
            claimed(env, "the last shard stops at the size", stop(ranks - 1), "==", size),
        ]
    if env.proves(ranks <= 1):
        return Report((*claims, *inside))
    with env.for_all(rank, 0, ranks - 1) as r:
        claims.append(claimed(env, "a shard starts where the one before stops", stop(r), "==", start(r + 1)))
        with env.for_all(other, r + 1, ranks) as q:
            apart = claimed(env, "no two shards overlap", stop(r), "<=", start(q))
    return Report((*claims, *inside, apart))


def check_owner(env: ShapeEnv, shards: Sharding, owner: Callable[[Int], Int]) -> Report:
    """Check for all elements that the rank that is said to own one has it in its shard."""
    (name,) = free_names(env, "e")
    with env.for_all(name, 0, shards.size) as element:
        rank, nouns = owner(element), {name: "element"}
        before, behind = (f"the element is not {side} the shard of its owner" for side in ("before", "behind"))
        return Report(
            (
                among(env, "the owner of an element is a rank", rank, shards.ranks, nouns),
                claimed(env, before, shards.start(rank), "<=", element, nouns),
                claimed(env, behind, element, "<", shards.stop(rank), nouns),
            )
        )


def check_gather(env: ShapeEnv, shards: Sharding, padded: Int) -> Report:
    """Check for all ranks and elements that shards padded to a common length, one after the other, begin with the axis:
    an all-gather of them needs no more than to be cut."""
    rank, name = free_names(env, "r", "k")
    with env.for_all(rank, 0, shards.ranks) as r:
        claims = [claimed(env, "a shard fits the padded length", shards.length(r), "<=", padded)]
        with env.for_all(name, 0, shards.length(r)) as k:
            text = "an element is gathered where it belongs"
            nouns = {name: "element"}
            claims.append(claimed(env, text, r * padded + k, "==", shards.start(r) + k, nouns))
    claims.append(claimed(env, "the gathered shards are as long as the axis", shards.size, "<=", shards.ranks * padded))
    return Report(tuple(claims))


def among(env: ShapeEnv, text: str, rank: Int, ranks: Int, nouns: Mapping[str, str] | None = None) -> Claim:
    """The claim that this is a rank: the end of the range that it is beyond, if it is."""
    low = claimed(env, text, 0, "<=", rank, nouns)
    return claimed(env, text, rank, "<", ranks, nouns) if low.proven else low


def _inside(env: ShapeEnv, shards: Sharding, r: Int) -> Claim:
    """The claim that a shard is a part of the axis: the end of it that is not, if there is one."""
    text = "a shard lies inside"
    low = claimed(env, text, 0, "<=", shards.start(r))
    return claimed(env, text, shards.stop(r), "<=", shards.size) if low.proven else low


def free_names(env: ShapeEnv, *names: str) -> list[str]:
    """Names for bound variables that no symbol has."""
    return [free_name(name, env.names) for name in names]
