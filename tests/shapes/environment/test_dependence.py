"""Dependence tests against the addresses themselves: of chains of views, of any strides, of sizes at many values."""

from __future__ import annotations

import random
from itertools import product

import pytest

from shapes import ShapeEnv
from shapes.environment.dependence import disjoint, identical, injective
from shapes.environment.layout import Layout


def addresses(layout: Layout) -> list[int]:
    """The offset of every element."""
    indices = product(*map(range, layout.sizes))
    return [layout.storage_offset + sum(i * stride for i, stride in zip(index, layout.strides)) for index in indices]


def viewed(layout: Layout, seeded: random.Random) -> Layout:
    """One view more: an element of an axis, a slice, two axes exchanged, a diagonal, an expanded axis, windows."""
    sizes, strides, offset = list(layout.sizes), list(layout.strides), layout.storage_offset
    if not sizes:
        return layout
    axis, kind = (
        seeded.randrange(len(sizes)),
        seeded.choice(["select", "slice", "slice", "exchange", "diagonal", "expand", "unfold"]),
    )
    other, size = seeded.randrange(len(sizes)), sizes[axis]
    if kind == "select" and size:
        offset += seeded.randrange(size) * strides[axis]
        del sizes[axis], strides[axis]
    elif kind == "slice":
        start, step = seeded.randrange(size + 1), seeded.choice((1, 1, 2, 3))
        stop = seeded.randrange(start, size + 1)
        offset += start * strides[axis]
        sizes[axis], strides[axis] = -(-(stop - start) // step), strides[axis] * step
    elif kind == "exchange":
        sizes[axis], sizes[other] = sizes[other], sizes[axis]
        strides[axis], strides[other] = strides[other], strides[axis]
    elif kind == "diagonal" and axis != other:
        shift = seeded.randrange(2)
        length, stride = min(size, sizes[other] - shift), strides[axis] + strides[other]
        if length > 0:
            offset += shift * strides[other]
            left = [place for place in range(len(sizes)) if place not in (axis, other)]
            sizes, strides = [*[sizes[place] for place in left], length], [*[strides[place] for place in left], stride]
    elif kind == "expand":
        sizes.insert(axis, seeded.randrange(1, 3))
        strides.insert(axis, 0)
    elif kind == "unfold" and size > 1:
        window = seeded.randrange(1, size + 1)
        sizes[axis] = size - window + 1
        sizes.append(window)
        strides.append(strides[axis])
    return Layout(tuple(sizes), tuple(strides), offset)


def pairs(count: int, seed: int) -> list[tuple[Layout, Layout]]:
    """Chains of views of one storage."""
    seeded = random.Random(seed)
    found = []
    for _ in range(count):
        if seeded.random() < 0.8:
            base = Layout.contiguous([seeded.randrange(1, 6) for _ in range(seeded.randrange(1, 4))])
        else:
            sizes, strides = [[seeded.randrange(low, 7) for _ in range(2)] for low in (1, 0)]
            base = Layout(tuple(sizes), tuple(strides))
        pair = []
        for _ in range(2):
            layout = base
            for _ in range(seeded.randrange(4)):
                layout = viewed(layout, seeded)
            pair.append(layout)
        found.append((pair[0], pair[1]))
    return found


def judged(found: list[tuple[Layout, Layout]]) -> tuple[int, int]:
    """The number of pairs that share no element, and of those proven to; no other pair is."""
    apart = proven = 0
    for one, other in found:
        first, second = addresses(one), addresses(other)
        proof = disjoint(one, other, bool)
        share = bool(set(first) & set(second))
        assert proof is None or (proof == () and not share), (one, other)
        if first and second and not share:
            apart += 1
            proven += proof is not None
        if identical(one, other, int.__eq__):
            assert first == second, (one, other)
        if injective(one, bool) is not None:
            assert len(set(first)) == len(first), one
    return apart, proven


def test_addresses() -> None:
    """Views that share an element are never proven apart, and most of those that are apart are."""
    apart, proven = judged(pairs(6000, seed=0))
    assert apart > 200
    assert proven >= 0.9 * apart


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(1, 9))
def test_more_addresses(seed: int) -> None:
    """More addresses, as in test_addresses."""
    apart, proven = judged(pairs(40_000, seed=seed))
    assert proven >= 0.9 * apart


def test_gaps() -> None:
    """Each test for gaps decides its cases: bounds, remainders, quotients, common divisors."""
    rows = Layout((2, 5), (5, 1), 0), Layout((2, 5), (5, 1), 10)
    columns = Layout((4, 2), (5, 1), 0), Layout((4, 3), (5, 1), 2)
    every_other = Layout((4,), (2,), 0), Layout((3,), (2,), 3)
    blocks = Layout((2, 2), (10, 1), 0), Layout((2, 4), (10, 1), 5)
    divided = Layout((3, 2), (6, 4), 0), Layout((3, 2), (6, 4), 1)
    wrapped = Layout((3, 2), (5, 1), 3), Layout((3, 2), (5, 1), 5)
    for one, other in (rows, columns, every_other, blocks, divided, wrapped):
        assert disjoint(one, other, bool) == () == disjoint(other, one, bool)
    assert disjoint(Layout((4, 4), (5, 1), 1), Layout((4, 4), (5, 1), 0), bool) is None
    assert injective(Layout((3, 3), (1, 1)), bool) is None
    assert injective(Layout((3, 4), (1, 3)), bool) == ()


def test_sizes() -> None:
    """Proofs over symbolic sizes hold exactly under their conditions."""
    env = ShapeEnv(origin=lambda: None)
    rows, columns, cut = env.sizes("b s k", lo=1, hints=(4, 8, 3))

    def hinted(truth: object) -> bool:
        return truth if isinstance(truth, bool) else env.hint(truth) is True

    views = {
        "left": Layout((rows, cut), (columns, 1), 0),
        "right": Layout((rows, columns - cut), (columns, 1), cut),
        "first column": Layout((rows,), (columns,), 0),
        "last column": Layout((rows,), (columns,), columns - 1),
        "first row": Layout((columns,), (1,), 0),
        "other rows": Layout((rows - 1, columns), (columns, 1), columns),
        "even": Layout(((columns + 1) // 2,), (2,), 0),
        "odd": Layout((columns // 2,), (2,), 1),
        "transposed": Layout((columns, rows), (1, columns), 0),
    }
    proven = set()
    for (name, one), (named, other) in product(views.items(), repeat=2):
        proof = disjoint(one, other, hinted)
        if proof is None:
            continue
        proven.add((name, named))
        for b, s, k in product(range(1, 4), range(1, 6), range(1, 4)):
            at = {str(rows): b, str(columns): s, str(cut): k}

            def value(number: object, at: dict[str, int] = at) -> int:
                return (
                    number
                    if isinstance(number, int)
                    else number.expr.evaluate({a: at[str(a)] for a in number.expr.symbols})
                )

            if not all(
                isinstance(each, bool) or each.prop.evaluate({a: at[str(a)] for a in each.prop.symbols})
                for each in proof
            ):
                continue
            first, second = [
                Layout(tuple(map(value, each.sizes)), tuple(map(value, each.strides)), value(each.storage_offset))
                for each in (one, other)
            ]
            if min(*first.sizes, *second.sizes) >= 0:
                assert not set(addresses(first)) & set(addresses(second)), (name, named, at, proof)
    wanted = {("left", "right"), ("first column", "last column"), ("first row", "other rows"), ("even", "odd")}
    assert wanted | {(b, a) for a, b in wanted} <= proven
    assert ("left", "transposed") not in proven
