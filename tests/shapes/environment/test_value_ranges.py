"""`env.bounds` against brute force: every value of a box is within, and ranges of choices are as narrow as they are."""

import itertools
import random

import pytest

from shapes import ShapeEnv
from shapes.environment.value_ranges import REWRITTEN, Ranges

CHOICES = [
    ("min(r, 64)", (16, 64)),
    ("max(r, 64)", (64, 4096)),
    ("min(r, 8)", (8, 8)),
    ("min(r, s)", (2, 100)),
    ("max(min(r, 64), 20)", (20, 64)),
    ("min(r, 64) * s", (32, 6400)),
    ("min(r, 64) * -s", (-6400, -32)),
    ("min(r, 64) + max(s, 7)", (23, 164)),
    ("min(r, 64) // 4", (4, 16)),
    ("min(r*s, 64)", (32, 64)),
    ("abs(r - 64)", (0, 4032)),
    ("min(r, 64) % 16", (0, 15)),
    ("max(min(r, s), min(s, 64))", (2, 100)),
    ("r if s >= 4 else 64", (16, 4096)),
    ("min(u, 64)", (None, 64)),
    ("max(u, 64)", (64, None)),
]


@pytest.mark.parametrize(("text", "expected"), CHOICES)
def test_ranges_of_choices(text: str, expected: tuple[int | None, int | None]) -> None:
    """A clamp is as wide as its ends, wherever it stands."""
    env = ShapeEnv(origin=lambda: None)
    env.symbol("r", 16, 4096)
    env.symbol("s", 2, 100)
    env.unbacked("u")
    assert env.bounds(text) == expected


def drawn(draw: random.Random, depth: int) -> str:
    if depth == 0:
        return draw.choice(["a", "b", "c", str(draw.randint(-6, 9))])
    one, two, three = [drawn(draw, depth - 1) for _ in range(3)]
    k = draw.randint(1, 5)
    return draw.choice(
        [
            f"min({one}, {two})",
            f"max({one}, {two})",
            f"({one} + {two})",
            f"({one} - {two})",
            f"({one} * {two})",
            f"({one} // {k})",
            f"({one} % {k})",
            f"({one} if {two} >= {k} else {three})",
        ]
    )


@pytest.mark.parametrize("seed", range(6))
def test_every_value_is_within_the_range(seed: int) -> None:
    """No value of a box is left out, and more ranges are exact than those of the normal form."""
    draw = random.Random(seed)
    tight = plain = 0
    for _ in range(50):
        env = ShapeEnv(origin=lambda: None)
        box = {}
        for name in "abc":
            first = draw.randint(-5, 9)
            box[name] = range(first, first + draw.randint(1, 8))
            env.symbol(name, first, box[name][-1])
        text = drawn(draw, draw.randint(1, 3))
        code = compile(text, "", "eval")
        points = [dict(zip("abc", point, strict=True)) for point in itertools.product(*box.values())]
        values = [eval(code, {"min": min, "max": max}, point) for point in points]
        low, high = env.bounds(text)
        assert low is not None and high is not None, text
        assert low <= min(values) and max(values) <= high, (text, box)
        tight += (low, high) == (min(values), max(values))
        plain += env.known.bounds(env._reader.read_expr(text)[0]) == (min(values), max(values))
    assert tight > plain


def test_the_number_of_rewritten_expressions_is_bounded() -> None:
    """Many choices cost a bounded number of expressions, and their range is still one."""
    env = ShapeEnv(origin=lambda: None)
    sizes = [env.symbol(f"s{k}", 1, 10 + k) for k in range(40)]
    total = env.size(" + ".join(f"min({size}, 5)" for size in sizes))
    low, high = env.bounds(total)
    assert low is not None and low <= 40 and high is not None and high >= 200
    ranges = Ranges(env.known)
    ranges.of(env._reader.read_expr(total)[0])
    assert ranges.left == 0 and len(ranges.known) <= 4 * REWRITTEN
