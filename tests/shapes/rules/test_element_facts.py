"""The facts about elements hold for what torch computes, and those that sizes are made of are there."""

from __future__ import annotations

import random
from typing import Any, Final

import pytest
import torch

from shapes import Never, ShapeEnv
from shapes.rules import Shape, rules
from shapes.rules.element_facts import FACTS
from shapes.rules.elements import Elements

SEEDS: Final = range(40)


def described(tensor: torch.Tensor, *, counts: bool = True) -> Shape:
    """The shape of a tensor with all that is true of its elements."""
    known = None
    if not tensor.is_floating_point() and tensor.numel() and counts:
        values = [int(each) for each in tensor.flatten()]
        known = Elements(
            lo=min(values),
            hi=max(values),
            total=sum(values),
            ordered=tensor.dim() == 1 and values == sorted(values),
            distinct=len(set(values)) == len(values),
            first=values[0] if tensor.dim() == 1 else None,
            last=values[-1] if tensor.dim() == 1 else None,
        )
    return Shape(tensor.shape, dtype=str(tensor.dtype).removeprefix("torch."), elements=known)


def assert_true(found: object, *tensors: torch.Tensor) -> None:
    """Each fact is true of the elements."""
    facts = found if isinstance(found, tuple) else (found,)
    assert len(facts) == len(tensors)
    for fact, tensor in zip(facts, tensors):
        if fact is None:
            continue
        values = [int(each) for each in tensor.flatten()]
        assert fact.lo is None or all(value >= fact.lo for value in values), fact
        assert fact.hi is None or all(value <= fact.hi for value in values), fact
        assert fact.total is None or sum(values) == fact.total, fact
        assert not fact.ordered or values == sorted(values), fact
        assert not fact.distinct or len(set(values)) == len(values), fact
        assert fact.first is None or not values or values[0] == fact.first, fact
        assert fact.last is None or not values or values[-1] == fact.last, fact


def drawn(seed: int) -> dict[str, Any]:
    """Tensors to compute with."""
    generator = torch.Generator().manual_seed(seed)
    length, width = random.Random(seed).randint(1, 6), random.Random(-seed).randint(1, 4)
    return {
        "v": torch.randint(0, 4, (length,), generator=generator),
        "any": torch.randint(-4, 4, (length,), generator=generator),
        "grid": torch.randint(0, 3, (length, width), generator=generator),
        "mask": torch.rand(length, generator=generator) > 0.5,
        "x": torch.randn(length, generator=generator),
        "rows": torch.randn(length, width, generator=generator),
        "edges": torch.randn(width, generator=generator).sort().values,
        "place": random.Random(seed).randrange(-length, length),
    }


def shapes(given: dict[str, Any], *names: str) -> list[Shape]:
    return [described(given[name]) for name in names]


CASES: Final = {
    "bincount": lambda g: (FACTS["bincount"](*shapes(g, "v")), g["v"].bincount(minlength=2)),
    "unique": lambda g: (
        FACTS["unique"](*shapes(g, "v"), Shape(g["v"].unique().shape)),
        *g["v"].unique(return_inverse=True, return_counts=True),
    ),
    "unique of rows": lambda g: (
        FACTS["unique"](*shapes(g, "grid"), Shape(g["grid"].unique(dim=0).shape), 0),
        *g["grid"].unique(return_inverse=True, return_counts=True, dim=0),
    ),
    "runs": lambda g: (
        FACTS["unique"](*shapes(g, "v"), Shape(g["v"].unique_consecutive().shape)),
        *g["v"].unique_consecutive(return_inverse=True, return_counts=True),
    ),
    "count_nonzero": lambda g: (FACTS["count_nonzero"](*shapes(g, "grid"), 0), g["grid"].count_nonzero(0)),
    "nonzero": lambda g: (FACTS["nonzero"](*shapes(g, "mask")), g["mask"].nonzero()),
    "argsort": lambda g: (FACTS["argsort"](*shapes(g, "x")), g["x"].argsort()),
    "argsort of rows": lambda g: (FACTS["argsort"](*shapes(g, "rows"), 0), g["rows"].argsort(0)),
    "sort": lambda g: (FACTS["sort"](*shapes(g, "any")), *g["any"].sort()),
    "sort down": lambda g: (FACTS["sort"](*shapes(g, "any"), 0, True), *g["any"].sort(descending=True)),
    "topk": lambda g: (FACTS["topk"](*shapes(g, "any")), *g["any"].topk(1)),
    "argmax": lambda g: (FACTS["argmax"](*shapes(g, "rows"), 1), g["rows"].argmax(1)),
    "argmax of all": lambda g: (FACTS["argmax"](*shapes(g, "rows")), g["rows"].argmax()),
    "argmin": lambda g: (FACTS["argmin"](*shapes(g, "rows"), 0), g["rows"].argmin(0)),
    "arange": lambda g: (FACTS["arange"](len(g["v"])), torch.arange(len(g["v"]))),
    "randperm": lambda g: (FACTS["randperm"](len(g["v"])), torch.randperm(len(g["v"]))),
    "searchsorted": lambda g: (FACTS["searchsorted"](*shapes(g, "edges", "x")), torch.searchsorted(g["edges"], g["x"])),
    "bucketize": lambda g: (FACTS["bucketize"](*shapes(g, "x", "edges")), torch.bucketize(g["x"], g["edges"])),
    "repeat_interleave": lambda g: (FACTS["repeat_interleave"](*shapes(g, "v")), torch.repeat_interleave(g["v"])),
    "sum": lambda g: (FACTS["sum"](*shapes(g, "any")), g["any"].sum()),
    "sum of a mask": lambda g: (FACTS["sum"](described(g["mask"], counts=False)), g["mask"].sum()),
    "sum of rows": lambda g: (FACTS["sum"](*shapes(g, "grid"), [1]), g["grid"].sum(1)),
    "cumsum": lambda g: (FACTS["cumsum"](*shapes(g, "v"), 0), g["v"].cumsum(0)),
    "cumsum of any": lambda g: (FACTS["cumsum"](*shapes(g, "any"), 0), g["any"].cumsum(0)),
    "cumsum of a mask": lambda g: (FACTS["cumsum"](described(g["mask"], counts=False), 0), g["mask"].cumsum(0)),
    "select": lambda g: (FACTS["select"](*shapes(g, "any"), 0, g["place"]), g["any"][g["place"]]),
    "select of rows": lambda g: (FACTS["select"](*shapes(g, "grid"), 0, g["place"]), g["grid"][g["place"]]),
    "same": lambda g: (FACTS["same"](*shapes(g, "v")), g["v"].clone()),
    "reordered": lambda g: (FACTS["reordered"](*shapes(g, "any")), g["any"].flip(0)),
}


@pytest.mark.parametrize("name", CASES)
def test_true_of_what_torch_computes(name: str) -> None:
    """A fact is false for some elements: sizes made of them would be decided wrongly."""
    for seed in SEEDS:
        assert_true(*CASES[name](drawn(seed)))


def test_every_operator_is_tested() -> None:
    """An operator of the table has no case."""
    assert {name.partition(" ")[0] for name in CASES} >= set(FACTS)


def test_facts_that_sizes_are_made_of() -> None:
    """A fact is lost that a split, a repetition or an offset needs."""
    mask = Shape((5,), dtype="bool")
    assert FACTS["bincount"](Shape((7,), dtype="int64")).total == 7
    assert FACTS["sum"](mask).hi == 5 and FACTS["cumsum"](mask, 0).ordered
    counted = FACTS["bincount"](Shape((7,), dtype="int64"))
    offsets = FACTS["cumsum"](Shape((3,), dtype="int64", elements=counted), 0)
    assert offsets.ordered and offsets.last == 7 and offsets.hi == 7
    # a sum of any integers may be too large for its dtype
    unbounded = Shape((3,), dtype="int64", elements=Elements(lo=0))
    assert not FACTS["cumsum"](unbounded, 0).ordered and FACTS["sum"](unbounded).lo is None


@pytest.mark.parametrize("seed", SEEDS)
def test_sizes_that_elements_bound(seed: int) -> None:
    """The bounds of a size that a shape rule makes from elements hold for the size that torch makes."""
    v = drawn(seed)["v"]
    least = random.Random(seed).randint(0, 6)
    known = Shape(v.shape, dtype="int64", elements=Elements(lo=int(v.min()), hi=int(v.max())))
    env = ShapeEnv(origin=lambda: None)
    for predicted, made, most in (
        (rules["bincount"](env, known, minlength=least), v.bincount(minlength=least), max(least, int(v.max()) + 1)),
        (rules["repeat_interleave"](env, known), torch.repeat_interleave(v), int(v.max()) * len(v)),
    ):
        assert isinstance(predicted, Shape)
        (size,) = predicted
        assert not isinstance(env.ask(size == len(made)), Never)
        assert env.bounds(size)[1] == most


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mask_as_integers(seed: int) -> None:
    """The elements of a converted mask are 0 or 1."""
    mask = drawn(seed)["mask"]
    found = FACTS["same"](Shape(mask.shape, dtype="bool"))
    assert_true(found, mask.long())
    assert isinstance(found, Elements) and (found.lo, found.hi) == (0, 1)
