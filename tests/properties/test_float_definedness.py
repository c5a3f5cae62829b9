"""Doubles mean what they do in Python through every conversion: NaNs, infinities, zeros of either sign."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from shapes import Always, Never, ShapeEnv, ShapeError
from solver.errors import NotExported, NotExpressible
from solver.floats.ordinals import pattern
from tests.properties.definedness import outcome
from tests.properties.float_texts import FLOAT_NAMES, FloatTexts, float_assignments
from tests.properties.test_definedness import EXACT, differences_of, environment, simplified

EXAMPLES = 30


def text_of_seed(seed: int, depth: int) -> tuple[Random, str]:
    random = Random(seed)
    texts = FloatTexts(random)
    return random, texts.condition(depth) if seed % 3 else texts.number(depth)


def float_differences(seed: int, depth: int) -> list[str]:
    """Where conversions of one random text of doubles differ from Python; none if all is well."""
    random, text = text_of_seed(seed, depth)
    return differences_of(text, environment(FLOAT_NAMES), [*EXACT, simplified], float_assignments(random, 12))


def wrong_decisions(seed: int) -> list[str]:
    """Answers that a size in reach refutes, and theorems about texts of doubles."""
    random, text = text_of_seed(3 * seed + 1, 1)
    env = environment(FLOAT_NAMES)
    try:
        verdict = env.ask(text)
    except ShapeError:  # it makes sense nowhere
        return [text for sizes in float_assignments(random, 40) if outcome(text, sizes) is not None][:1]
    if not isinstance(verdict, Always | Never):
        return []
    refuted = isinstance(verdict, Never)
    found = [f"{text} at {sizes}" for sizes in float_assignments(random, 40) if outcome(text, sizes) is refuted]
    try:
        verdict.export("coq")
    except NotExported:
        return found[:1]
    return [*found[:1], f"Coq has no doubles: {text}"] if "double" in text else found[:1]


def unlike_saved(seed: int, path: Path) -> list[str]:
    """Where a fact, saved and loaded or compiled, accepts other sizes than Python."""
    random, text = text_of_seed(3 * seed + 1, 1)
    env = environment(FLOAT_NAMES)
    try:
        env.assume(text)
    except ShapeError:  # it never holds
        return []
    env.save(path)
    sources = {name: place for place, name in enumerate(FLOAT_NAMES)}
    checks = {"compiled": env.compile_guards(sources), "loaded": ShapeEnv.load(path).compile_guards(sources)}
    with suppress(NotExpressible):
        checks["in C"] = env.compile_guards(sources, native=True)
    for sizes in float_assignments(random, 12):
        expected = outcome(text, sizes) is True
        for name, check in checks.items():
            if check(*[sizes[each] for each in FLOAT_NAMES]) != expected:
                return [f"{name}: {text} at {sizes}: Python {expected}"]
    return []


def test_conversions_keep_doubles() -> None:
    """A value that is lost between two forms, or a domain, is a wrong answer where one of them is asked about."""
    found = [line for seed in range(EXAMPLES) for line in float_differences(seed, 1)]
    assert not found, "\n".join(found[:5])


def test_answers_about_doubles() -> None:
    """No NaN and no infinity refutes an answer."""
    found = [line for seed in range(EXAMPLES) for line in wrong_decisions(seed)]
    assert not found, "\n".join(found[:5])


def test_saved_and_compiled_facts_about_doubles(tmp_path: Path) -> None:
    found = [line for seed in range(EXAMPLES) for line in unlike_saved(seed, tmp_path / "saved.jsonl")]
    assert not found, "\n".join(found[:5])


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(0, 20_000, 5_000))
def test_many_texts_of_doubles(first: int) -> None:
    """Twenty thousand texts, as above."""
    found = [line for seed in range(first, first + 5_000) for line in float_differences(seed, 1 + first // 10_000)]
    assert not found, f"{len(found)}\n" + "\n".join(found[:5])


@pytest.mark.thorough
def test_many_answers_and_facts_about_doubles(tmp_path: Path) -> None:
    found = [line for seed in range(2_000) for line in wrong_decisions(seed)]
    found += [line for seed in range(2_000) for line in unlike_saved(seed, tmp_path / "saved.jsonl")]
    assert not found, f"{len(found)}\n" + "\n".join(found[:5])


@pytest.mark.parametrize(
    "text",
    [
        # a chain stops where it fails, before the value that Python would refuse
        "1.0 <= 0.0 < double(u)", "double(u) == double(u) != n / d", "double(u) < 0.0 < 1.0 / double(v) < 2.0",
        "n < 0 < 1 // d < 1.0 / d",
        # constants that Python refuses, where it does not come to them
        "(ceil(1e999 - 1e999) if double(u) != double(u) and 1e999 < 0.0 else 2) == 2",
        "double(u) < 0.0 or sqrt(-1.0) >= double(u)", "n == 0 or 1.0 / 0.0 > 1.0", "n == 0 or float(10**400) > 1.0",
        # a NaN among constants
        "-1 >= (1e999 - 1e999)", "(1e999 - 1e999) < n", "-1.0 >= (1e999 - 1e999) or n > 1e999 - 1e999",
        # the equality in an operand is not that of the comparison
        "not (n / d if double(u) == 9007199254740992.0 else n / d) >= double(u)",
        "not (double(u) if n == 0 else double(v)) == double(u)", "not (double(v) if n == 0 else 1.0) > double(u)",
        # the larger of an integer and a double is the integer
        "max(n, double(u)) >= 9007199254740993", "min(double(u), n) == 9007199254740993",
        # `double(u) == n` within a condition, and powers that overflow
        "double(u) != n and double(u) / double(v) <= 1.0", "0.0 >= double(u) == float(n) ** 2.0",
        "double(u) ** 2.0 > 1.0", "double(u) ** 3.0 != double(v) ** -1.0", "double(u) ** double(v) > 0.0",
        # roots
        "sqrt(double(u)) >= 0.0", "not sqrt(double(u)) > 3.0", "double(u) ** 0.5 >= 0.0", "max(double(u), 1.0) > 0.5",
        "max(1.0, double(u)) > 0.5", "min(double(u), double(v)) == min(double(v), double(u))",
    ],
)  # fmt: skip
def test_doubles_at_the_edges(text: str) -> None:
    random = Random(text)
    large = {"n": 2**53 + 1, "d": 1, "u": pattern(2.0**53), "v": pattern(math.inf)}
    places = [*float_assignments(random, 80), *({**large, "u": pattern(x)} for x in (1e200, -1e200, math.inf, 0.0))]
    if not text.startswith(("max(n", "min(double(u), n)")):  # an integer among doubles, no larger than 2**53
        places.append(large)
    else:
        places = [sizes for sizes in places if abs(sizes["n"]) <= 2**53]
    assert not differences_of(text, environment(FLOAT_NAMES), EXACT, places)


def test_the_larger_of_an_integer_and_a_double_is_not_rounded() -> None:
    """As a double, 2**53 + 1 is 2**53: a wrong answer where Python takes the integer."""
    env = environment(FLOAT_NAMES)
    value, domain = env.parse("max(double(u), n) >= 9007199254740993")
    sizes = {env.names["n"].atom: 2**53 + 1, env.names["u"].atom: pattern(2.0**53)}
    assert not domain.evaluate(sizes) or value.evaluate(sizes)
