"""An answer depends on the facts and the question: not on the order of facts, names, or symbols that neither mentions.

Random facts that hold at a hidden point, and a question, are given to environments that differ in what must not matter.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pytest

from shapes import Always, Never, ShapeEnv
from shapes.errors import Contradiction, Undefined

Bounds = tuple[int | None, int | None]
NAMES = "abcd"
OTHER_NAMES = ("abcd", "ABCD", "BDEF", "KMPZ")
"""Names as long, in the order of the letters and before those of functions: terms are printed in the order of texts."""
RANGES: Sequence[Bounds] = ((0, None), (1, None), (2, None), (None, None), (0, 109), (-60, 90), (2, 2**40))


@dataclass(frozen=True)
class Problem:
    """Symbols with bounds, facts, and a question, over single letters."""

    bounds: dict[str, Bounds]
    facts: tuple[str, ...]
    question: str


@dataclass(frozen=True)
class Setting:
    """A setting that answers must not depend on."""

    order: tuple[int, ...]
    names: dict[str, str]
    unrelated: int = 0
    asked_before: tuple[int, ...] = ()
    early: bool = False
    """True to ask the question already when one fact is known."""

    @staticmethod
    def plain(problem: Problem) -> Setting:
        return Setting(tuple(range(len(problem.facts))), {name: name for name in problem.bounds})

    @staticmethod
    def drawn(problem: Problem, draw: random.Random) -> Setting:
        count = len(problem.facts)
        names = dict(zip(problem.bounds, draw.choice(OTHER_NAMES)))
        asked = tuple(draw.sample(range(count), min(count, draw.choice((0, 0, 2)))))
        order = tuple(draw.sample(range(count), count))
        return Setting(order, names, draw.choice((0, 1, 2, 3, 7)), asked, draw.random() < 0.3)


def answer(problem: Problem, setting: Setting) -> tuple[object, ...]:
    """The kind of the answer, the text of the question in normal form, and the texts of the core, in the letters of the
    problem."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for position in range(setting.unrelated):
        env.symbol(f"unrelated{position}", lo=None if position % 2 else 0)
        env.assume(f"unrelated{position} >= {position - 3}")
    for name, (lo, hi) in problem.bounds.items():
        env.symbol(setting.names[name], lo, hi)
    letters = {name: letter for letter, name in setting.names.items()}

    def renamed(text: str) -> str:
        return re.sub(r"\b[abcd]\b", lambda found: setting.names[found.group()], text)

    def in_letters(text: str) -> str:
        return re.sub(r"\b\w+\b", lambda found: letters.get(found.group(), found.group()), text)

    try:
        for position in setting.asked_before:
            env.ask(renamed(problem.facts[position]))
        for place, position in enumerate(setting.order):
            if setting.early and place == 1:
                with suppress(Undefined):
                    env.ask(renamed(problem.question))
            env.assume(renamed(problem.facts[position]))
        verdict = env.ask(renamed(problem.question))
    except (Contradiction, Undefined) as error:
        return (type(error).__name__,)
    core = verdict.core if isinstance(verdict, Always | Never) else ()
    texts = frozenset([in_letters(str(fact.text)) for fact in core])
    return type(verdict).__name__, in_letters(str(verdict.prop)), texts


def expression(draw: random.Random, names: Sequence[str], depth: int = 0) -> str:
    kind = "symbol" if depth > 2 else draw.choices(KINDS, WEIGHTS)[0]
    inner = lambda: expression(draw, names, depth + 1)  # noqa: E731
    match kind:
        case "symbol":
            return draw.choice(names)
        case "constant":
            return str(draw.choice((1, 2, 3, 4, 8, 16, 64, -1, -5, draw.randint(-200, 200))))
        case "linear":
            return f"({draw.randint(-4, 8)}*{draw.choice(names)} + {inner()})"
        case "product":
            return f"({inner()} * {inner()})"
        case "//" | "%":
            return f"({inner()} {kind} {draw.choice(('2', '3', '4', '8', draw.choice(names)))})"
        case _:
            return f"{kind}({inner()}, {inner()})"


KINDS = ("symbol", "constant", "linear", "product", "//", "%", "min", "max")
WEIGHTS = (35, 10, 25, 10, 8, 6, 3, 3)


def comparison(draw: random.Random, names: Sequence[str]) -> str:
    left = expression(draw, names)
    operator = draw.choice(("==", "!=", "<", "<=", ">", ">=", "divides"))
    if operator == "divides":
        return f"{left} % {draw.choice((2, 3, 4, 8, 16, 64))} == {draw.choice((0, 0, 0, 1))}"
    return f"{left} {operator} {draw.choice((expression(draw, names), str(draw.randint(-200, 200)), '0', '1'))}"


def proposition(draw: random.Random, names: Sequence[str]) -> str:
    one = comparison(draw, names)
    return one if draw.random() < 0.85 else f"{one} or {comparison(draw, names)}"


def random_problem(draw: random.Random) -> Problem:
    names = NAMES[: draw.randint(1, 4)]
    bounds = {name: draw.choice(RANGES) for name in names}
    point = {
        name: draw.randint(-30 if lo is None else lo, 60 if hi is None else hi) for name, (lo, hi) in bounds.items()
    }
    wanted = draw.randint(1, 6)
    facts: list[str] = []
    while len(facts) < wanted:
        fact = proposition(draw, names)
        try:
            if eval(fact, {"min": min, "max": max}, point):
                facts.append(fact)
        except ZeroDivisionError:
            continue
    return Problem(bounds, tuple(facts), proposition(draw, names))


KNOWN = {
    "a disjunction and a product": Problem(
        {"a": (0, None), "b": (0, None), "c": (-1099511627775, None)},
        ("a // c == 0", "b >= 100 or c == 1", "b*c >= 1", "(4*c + 8*a) % 64 == 4"),
        "((b % c) * b) < (b // (-5))",
    ),
    "a root of a product": Problem(
        {"a": (None, None), "b": (3, None), "c": (None, None), "d": (0, None)},
        ("min(b, b) <= 3", "a*c >= -112"),
        "(1*d + 3*b) * (-b + 7*c - a) == -679",
    ),
    "a product that is one value": Problem(
        {"a": (100, 8589934692), "b": (None, None), "c": (-1099511627752, 27), "d": (None, None)},
        ("3*c + 3*d >= 68",),
        "a * (7*d + 8*b) != -6300",
    ),
    "remainders": Problem(
        {"a": (0, None), "b": (-1099511627783, -4), "c": (None, None)},
        ("(2*c + 4*b) % 3 == 0", "5*b - c - a == -36", "a % b == -5"),
        "(c + 5*b + 7*a) % 4 == 2",
    ),
    "few values of a quadratic": Problem(
        {"a": (-60, 90), "b": (2, 2**40)},
        ("(2*b + (2 * b)) != 1", "((max(b, b) // 8) // 3) >= 0", "b % 3 == 0"),
        "(4*b + ((-2*b + a) * a)) == 1 or b % 64 == 1",
    ),
    "a product with a quotient": Problem(
        {"a": (-60, 90), "b": (0, None), "c": (2, 2**40), "d": (0, 109)},
        ("-39 < 0", "(4*d + (d // b)) % 2 == 0"),
        "(5*c + ((-2*c + a) * (b // 8))) != (5*b + max(178, d))",
    ),
    "facts that lose their samples": Problem(
        {"a": (-2, 6), "b": (0, None), "d": (0, None)},
        ("a == 6 or a == 3", "(8*a + 3*d) % 7 == 6", "a >= 10 or a == 3"),
        "b == 23",
    ),
    "a remainder of a quotient": Problem(
        {"a": (None, None), "b": (2, 2**40)}, ("a >= -123", "b != (b // 4)"), "((b // 2) % 8) % 16 == 1"
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_every_order_and_number_of_unrelated_symbols(name: str) -> None:
    problem = KNOWN[name]
    letters = {each: each for each in problem.bounds}
    answers = {
        answer(problem, Setting(order, letters, unrelated))
        for order in itertools.permutations(range(len(problem.facts)))
        for unrelated in (0, 1, 3)
    }
    assert len(answers) == 1 and next(iter(answers))[0] in {"Always", "Never", "Depends"}
    plain = Setting.plain(problem)
    assert len({answer(problem, replace(plain, unrelated=count)) for count in range(9)}) == 1


def test_a_chain_of_equalities_both_ways() -> None:
    names = [f"s{position}" for position in range(100)]
    equalities = [f"{one} == {other}" for one, other in itertools.pairwise(names)]
    for facts in (equalities, equalities[::-1], random.Random(5).sample(equalities, len(equalities))):
        env = ShapeEnv(origin=lambda: None, solvers=False)
        env.sizes(" ".join(names))
        for fact in facts:
            env.assume(fact)
        verdict = env.ask("s0 == s99")
        assert type(verdict).__name__ == "Always" and verdict.check()


def unstable(problems: int, settings: int, seed: int) -> list[Problem]:
    """The problems that are decided in one setting and given up in another; nothing else may differ."""
    draw = random.Random(seed)
    found = []
    for _ in range(problems):
        problem = random_problem(draw)
        answers = {answer(problem, Setting.plain(problem))}
        answers |= {answer(problem, Setting.drawn(problem, draw)) for _ in range(settings)}
        if len(answers) > 1:
            assert sum(kind != "GaveUp" for kind, *_ in answers) == 1, problem
            found.append(problem)
    return found


def test_random_variations() -> None:
    assert not unstable(150, 4, seed=3)


@pytest.mark.thorough
def test_20_000_variations() -> None:
    """Where sample values are lucky in one setting and not in another, an undecided question may be unknown: once in
    10,000 variations at most."""
    assert len(unstable(2_500, 8, seed=21)) <= 2
