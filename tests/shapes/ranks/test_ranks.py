"""Proofs over all ranks at once against enumeration and z3, and mistakes that were planted.

If one of these fails, shards that leave rows out or overlap are said to cover a tensor, an exchange that hangs is said
to match, or a counterexample is none.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shapes import ShapeEnv, ShapeError, UndecidedGuard, sym_ite, sym_max, sym_min
from shapes.ranks import (
    Claim,
    Report,
    Sharding,
    balanced_shards,
    check_exchange,
    check_gather,
    check_mesh,
    check_owner,
    check_permutation,
    check_shards,
    chunks,
)
from shapes.rules.sharding import ceildiv
from shapes.symbolic.choices import Int
from solver.interop.z3 import objection

Make = Callable[[Int, Int], Sharding]
SIZES, RANKS = range(13), range(1, 6)


def dtensor(n: Int, world: Int) -> Sharding:
    """The size and offset that DTensor's `Shard.local_shard_size_and_offset` computes."""
    full = (n + world - 1) // world

    def start(r: Int) -> Int:
        return sym_min(n, full * r)

    return Sharding(n, world, start, lambda r: start(r) + sym_max(0, sym_min(n, full * r + full) - full * r))


def evened(n: Int, world: Int) -> Sharding:
    """Boundaries at the multiples of n/world, rounded down."""
    return Sharding(n, world, lambda r: r * n // world, lambda r: (r + 1) * n // world)


def remainder_last(n: Int, world: Int) -> Sharding:
    """Equal shards, of which the last one takes what is left."""
    return Sharding(n, world, lambda r: r * (n // world), lambda r: sym_ite(r == world - 1, n, (r + 1) * (n // world)))


def remainder_first(n: Int, world: Int) -> Sharding:
    """Equal shards, of which the first one takes what is left."""

    def stop(r: Int) -> Int:
        return n % world + (r + 1) * (n // world)

    return Sharding(n, world, lambda r: sym_ite(r == 0, 0, stop(r - 1)), stop)


RIGHT: list[Make] = [chunks, balanced_shards, dtensor, evened, remainder_last, remainder_first]


def by_chunk(start: Callable[[Int, Int, Int], Int], stop: Callable[[Int, Int, Int], Int]) -> Make:
    """Shards from functions of rank, size and chunk length."""

    def make(n: Int, world: Int) -> Sharding:
        c = ceildiv(n, world)
        return Sharding(n, world, lambda r: start(r, n, c), lambda r: stop(r, n, c))

    return make


def right_start(r: Int, n: Int, c: Int) -> Int:
    return sym_min(r * c, n)


def right_stop(r: Int, n: Int, c: Int) -> Int:
    return sym_min((r + 1) * c, n)


PLANTED: dict[str, Make] = {
    "rounded down": lambda n, w: Sharding(n, w, lambda r: r * (n // w), lambda r: (r + 1) * (n // w)),
    "not clamped": by_chunk(lambda r, n, c: r * c, lambda r, n, c: (r + 1) * c),
    "start not clamped": by_chunk(lambda r, n, c: r * c, right_stop),
    "stops early": by_chunk(right_start, lambda r, n, c: sym_min((r + 1) * c - 1, n)),
    "stops late": by_chunk(right_start, lambda r, n, c: sym_min((r + 1) * c + 1, n)),
    "starts late": by_chunk(lambda r, n, c: sym_min(r * c + 1, n), right_stop),
    "size less one": by_chunk(right_start, lambda r, n, c: sym_min((r + 1) * c, n - 1)),
    "ranks from one": by_chunk(lambda r, n, c: sym_min((r - 1) * c, n), lambda r, n, c: sym_min(r * c, n)),
    "one rank more": lambda n, w: Sharding(
        n, w, lambda r: sym_min(r * ceildiv(n, w + 1), n), lambda r: sym_min((r + 1) * ceildiv(n, w + 1), n)
    ),
    "longer ones too many": lambda n, w: Sharding(
        n, w, balanced_shards(n, w).start,
        lambda r: r * (n // w) + sym_min(r, n % w) + n // w + sym_ite(r <= n % w, 1, 0),
    ),
    "last one forgotten": lambda n, w: Sharding(
        n, w, lambda r: r * (n // w), lambda r: sym_ite(r == w, n, (r + 1) * (n // w))
    ),
}  # fmt: skip


def environment(lo: int = 1) -> tuple[ShapeEnv, Int, Int]:
    env = ShapeEnv(origin=lambda: None)
    return env, env.symbol("n"), env.symbol("world", lo=lo)


def ask_all(make: Make) -> tuple[ShapeEnv, Report]:
    env, n, world = environment()
    return env, check_shards(env, make(n, world))


def covers(shards: Sharding) -> bool:
    """Return True if every element is in one shard and no length is negative, by counting."""
    ends = [(int(shards.start(r)), int(shards.stop(r))) for r in range(int(shards.ranks))]
    found = [e for start, stop in ends for e in range(start, stop)]
    return found == list(range(int(shards.size))) and all(start <= stop for start, stop in ends)


@pytest.mark.parametrize("make", RIGHT, ids=lambda make: make.__name__)
def test_shards_are_proven_to_cover_for_all_ranks_and_sizes(make: Make) -> None:
    """A sharding that covers in all small worlds is proven to cover in all, with proofs that checker and z3 accept."""
    assert all(covers(make(n, world)) for n in SIZES for world in RANKS)
    env, report = ask_all(make)
    assert report.proven, str(report)
    assert env.ranges == () and env.guards() == () and list(env.names) == ["n", "world"]
    assert all(claim.verdict.check() for claim in report)


@pytest.mark.parametrize("make", [chunks, balanced_shards, dtensor], ids=lambda make: make.__name__)
def test_z3_agrees_for_fixed_ranks(make: Make) -> None:
    """z3 proves for each number of ranks and each rank what was proven for all of them."""
    for world in (1, 2, 3):
        env = ShapeEnv(origin=lambda: None)
        n = env.symbol("n")
        shards = make(n, world)
        facts = [fact.prop for fact in env.facts()]
        for r in range(world):
            following = shards.size if r == world - 1 else shards.start(r + 1)
            meets = shards.stop(r) == following
            assert isinstance(meets, bool) or objection(facts, meets.prop) is None, (world, r)
            assert meets is not False, (world, r)


@pytest.mark.parametrize("name", PLANTED)
def test_planted_mistakes_have_a_counterexample(name: str) -> None:
    """Every mistake is found, and what is said to be false is false at the rank and sizes that are named."""
    make = PLANTED[name]
    assert not all(covers(make(n, world)) for n in SIZES for world in RANKS), "this is no mistake"
    _, report = ask_all(make)
    assert report.false, str(report)
    for claim in report.false:
        assert claim.sizes is not None and str(claim).startswith("false ")
        sizes = dict(claim.sizes)
        n, world = sizes.get("n", 0), sizes["world"]
        shards, r, q = make(n, world), sizes.get("r"), sizes.get("q")
        assert (
            n >= 0 and world >= 1 and (r is None or 0 <= r < world) and (q is None or r is not None and r < q < world)
        )
        assert is_false(claim, shards, r, q), str(claim)
        assert r is None or f"rank r = {r}" in str(claim)


def is_false(claim: Claim, shards: Sharding, r: int | None, q: int | None) -> bool:
    """Evaluate a claim about shards of numbers."""
    match claim.text:
        case "the first shard starts at 0":
            return bool(shards.start(0) != 0)
        case "the last shard stops at the size":
            return bool(shards.stop(shards.ranks - 1) != shards.size)
    assert r is not None
    match claim.text:
        case "a shard starts where the one before stops":
            return bool(shards.stop(r) != shards.start(r + 1))
        case "no shard has a negative length":
            return bool(shards.start(r) > shards.stop(r))
        case "a shard lies inside":
            return bool(shards.start(r) < 0 or shards.stop(r) > shards.size)
        case _:
            assert q is not None
            return bool(shards.stop(r) > shards.start(q))


def test_a_number_of_ranks_that_is_known() -> None:
    """64 ranks, and a single one, without symbols for them."""
    for world in (1, 2, 64):
        env = ShapeEnv(origin=lambda: None)
        n = env.symbol("n")
        for make in (chunks, balanced_shards):
            assert check_shards(env, make(n, world)).proven
        assert check_gather(env, chunks(n, world), ceildiv(n, world)).proven
        early = check_shards(env, PLANTED["stops early"](n, world))
        assert early.false[0].text == "the last shard stops at the size"
    assert early.false[1].counterexample.startswith("rank r = ")


def test_shards_of_a_shard() -> None:
    """An axis that two axes of a mesh divide: the shards of the inner one cover each shard of the outer one."""
    env, n, world = environment()
    inner = env.symbol("inner", lo=1)
    outer = chunks(n, world)
    with env.for_all("i", 0, world) as i:
        report = check_shards(env, chunks(outer.length(i), inner))
        assert report.proven, str(report)


def test_a_claim_may_be_about_sizes_that_are_called_as_its_variables() -> None:
    """Names of bound variables give way to those of sizes."""
    env = ShapeEnv(origin=lambda: None)
    r, q = env.sizes("r q", lo=1)
    report = check_shards(env, PLANTED["stops early"](r, q))
    assert "rank r_1 = " in str(report["a shard starts where the one before stops"])
    with pytest.raises(KeyError):
        report["no such claim"]


def test_functions_that_branch_are_told_to_the_caller() -> None:
    """A function of the rank that branches on it is an error, no answer about one rank."""
    env, n, world = environment()
    with pytest.raises(UndecidedGuard):
        check_shards(env, Sharding(n, world, lambda r: 0 if r == 0 else n, lambda r: n))
    assert env.ranges == () and env.guards() == ()
    with pytest.raises(ShapeError):
        check_shards(env, chunks(n, 0))


def test_owners() -> None:
    """The rank that has an element, of both kinds of shards; a mistake is shown with the element."""
    env, n, world = environment()
    c, quotient, longer = ceildiv(n, world), n // world, n % world
    assert check_owner(env, chunks(n, world), lambda e: e // c).proven

    def of_balanced(e: Int) -> Int:
        late = longer + (e - longer * (quotient + 1)) // sym_max(quotient, 1)
        return sym_ite(e < longer * (quotient + 1), e // (quotient + 1), late)

    assert check_owner(env, balanced_shards(n, world), of_balanced).proven
    wrong = check_owner(env, chunks(n, world), lambda e: e // (quotient + 1))
    assert "element e = " in wrong.false[-1].counterexample


def test_padded_shards_are_gathered_in_order() -> None:
    """Chunks padded to the longest one need no more than a cut after an all-gather; balanced shards do."""
    env, n, world = environment()
    assert check_gather(env, chunks(n, world), ceildiv(n, world)).proven
    moved = check_gather(env, balanced_shards(n, world), ceildiv(n, world))
    assert [claim.text for claim in moved.false] == ["an element is gathered where it belongs"]
    assert len(check_gather(env, chunks(n, world), n // world).false) == 3


def overlap(before: Sharding, after: Sharding, r: Int, q: Int) -> Int:
    """The number of elements of one sharding's rank that are another one's."""
    return sym_max(0, sym_min(before.stop(r), after.stop(q)) - sym_max(before.start(r), after.start(q)))


def test_exchanges_match_pairwise() -> None:
    """Rows that are sent from one sharding to another are those received; an off-by-one is shown with both ranks."""
    env, n, world = environment()
    new = env.symbol("new", lo=1)
    before, after = chunks(n, world), balanced_shards(n, new)

    def received(q: Int, r: Int) -> Int:
        first = sym_min(sym_max(after.start(q), before.start(r)), after.stop(q))
        return sym_max(first, sym_min(after.stop(q), before.stop(r))) - first

    right = check_exchange(env, lambda r, q: overlap(before, after, r, q), received, world, new)
    assert right.proven, str(right)
    wrong = check_exchange(env, lambda r, q: overlap(before, after, r, q), lambda q, r: received(q, r + 1), world, new)
    (claim,) = wrong.false
    assert claim.sizes is not None
    r, q, size, ranks, others = (claim.sizes[name] for name in ("r", "q", "n", "world", "new"))
    one, other = chunks(size, ranks), balanced_shards(size, others)
    assert r < ranks and q < others and overlap(one, other, r, q) != overlap(one, other, r + 1, q)
    assert f"rank r = {r}, rank q = {q}" in claim.counterexample


def test_permutations() -> None:
    """Rings of any number of ranks and steps, and reversals; what waits for nobody is shown."""
    env, _, world = environment()
    step = env.symbol("step")
    assert check_permutation(env, lambda r: (r + step) % world, lambda r: (r - step) % world, world).proven
    assert check_permutation(env, lambda r: world - 1 - r, lambda r: world - 1 - r, world).proven
    for to, source in (
        (lambda r: r + 1, lambda r: r - 1),
        (lambda r: (r + 1) % world, lambda r: (r - 2) % world),
        (lambda r: world - r, lambda r: world - r),
        (lambda r: (2 * r) % world, lambda r: r // 2),
    ):
        assert check_permutation(env, to, source, world).false


def test_meshes() -> None:
    """Rank and coordinate determine each other in meshes of one to three axes; a wrong order of axes is found."""
    env = ShapeEnv(origin=lambda: None)
    a, b, c = env.sizes("a b c", lo=1)
    for mesh in ((a,), (a, b), (a, b, c), (a, 4), (2, b)):
        report = check_mesh(env, mesh)
        assert report.proven, str(report)
    wrong = check_mesh(env, (a, b), rank=lambda at: at[0] * a + at[1])
    assert "coordinate i0 = " in wrong.false[0].counterexample
    assert check_mesh(env, (a, b), rank=lambda at: at[0] + at[1] * a, coordinate=lambda r: (r % a, r // a)).proven


def test_pipelines() -> None:
    """Stages cover the layers, and a micro-batch is at one stage at a time: it arrives a step after it was sent."""
    env = ShapeEnv(origin=lambda: None)
    layers, stages, batches = env.sizes("layers stages batches", lo=1)
    assert check_shards(env, balanced_shards(layers, stages)).proven
    with env.for_all("s", 0, stages - 1) as s, env.for_all("b", 0, batches) as b:
        env.lemma((s + 1) + b == (s + b) + 1)
        env.lemma(s + b < stages + batches - 1)
