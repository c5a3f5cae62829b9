"""Simplification: the time of each of ten thousand expressions, recorded ones and idioms of programs.

    python -m benchmarks.simplification [--count 10000] [--solvers] [--write]

Recorded are the sides of the questions of the corpora, each simplified once in an environment with the facts known when
it was asked; they and idioms alternate. Idioms are written over and over with other sizes and numbers: padding, tiles,
strides, clamps, convolutions, halves of halves. Processor time in milliseconds, without other solvers unless they are
asked for.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from random import Random
from statistics import quantiles

from benchmarks import report
from benchmarks.recorded import CORPUS, sessions
from shapes import ShapeEnv, ShapeError
from solver.syntax.printer import operators

FEW = 60
"""Expressions of one session."""
COMPARISON = re.compile(r" (?:==|!=|<=|>=|<|>) ")
IDIOMS = (
    "({a} + {k} - 1) // {k} * {k}", "(({a} + {k} - 1) // {k} + 3) // 4 * {m}", "({k} - {a} % {k}) % {k} + {a}",
    "max(({k} - {a} % {k}) % {k} + {a}, 1) // {k}", "min(max({a} + {b}, 0), {c})", "max(min({b}, {a}) - {c}, 0)",
    "(({a} + 2*{k} - {m}) // 2 + 1 + 2*{k} - {m}) // 2 + 1", "{a} * {b} // ({b} * {k}) * {k}",
    "min({a}, {b}) + max({a}, {b}) - {b}", "{a} - {a} // {k} * {k}", "({a} * {k} + {b}) // {k}",
    "{a} // 2 + ({a} + 1) // 2", "{a} // {k} + min({a} % {k}, 1)", "({a} + {b}) * ({a} - {b}) + {b} * {b}",
    "max({a}, {b}, {c}) - min({a}, {b}, {c})", "{a} if {b} >= {k} else {a} + {c}", "abs({a} - {b}) + min({a}, {b})",
    "({a} * {b} + {k} * {a}) // {a}", "min({a} * {k}, {b} * {k}) // {k}", "(({a} + 63) & -64) + ({b} & 15)",
    "({a} // {k} if {a} % {k} == 0 else {a} // {k} + 1)", "{a} % ({k} * {m}) % {k}", "{a} // {k} // {m}",
    "max(0, {a} - {k}) + min({a}, {k})", "{a} * {b} * {c} // ({a} * {b})", "min({a} + {k}, {b} + {k}) - {k}",
)  # fmt: skip
"""Over the sizes a, b and c, and the numbers k and m."""


def recorded() -> Iterator[tuple[ShapeEnv, str]]:
    """The sides of recorded questions."""
    for session in chain.from_iterable(map(sessions, sorted(CORPUS.rglob("*.jsonl.gz")))):
        env = ShapeEnv(origin=lambda: None)
        seen: set[str] = set()
        for line in session.lines:
            try:
                if line["op"] == "symbol":
                    env.symbol(line["name"], line["lo"], line["hi"], hint=line["hint"])
                elif line["op"] == "assume":
                    env.assume(line["prop"])
            except ShapeError:
                continue
            for side in COMPARISON.split(line["prop"]) if line["op"] == "ask" and len(seen) < FEW else ():
                if side not in seen and re.search(r"[a-z].*[-+*/%(]", side):
                    seen.add(side)
                    yield env, side


def idioms(random: Random) -> Iterator[tuple[ShapeEnv, str]]:
    """Idioms, and idioms of idioms."""
    while True:
        env = ShapeEnv(origin=lambda: None)
        for name in "abcd":
            env.symbol(name, random.choice([0, 1, 2]), random.choice([None, None, 4096]), hint=random.randrange(2, 64))
        for fact in random.sample(["a % 8 == 0", "b <= a", "c == 2*d", "a + b <= c", "b % 3 == 0"], 2):
            with suppress(ShapeError):
                env.assume(fact)
        for _ in range(20):
            text = "a"
            for _ in range(random.choice([1, 1, 2, 2, 3])):
                sizes = [f"({text})", *random.sample("bcd", 2)]
                numbers = {"k": random.choice([2, 3, 4, 8, 16]), "m": random.choice([2, 3, 5])}
                text = random.choice(IDIOMS).format(**dict(zip("abc", sizes, strict=True)), **numbers)
            yield env, text


def halves() -> Iterator[tuple[ShapeEnv, str]]:
    for depth in range(2, 9):
        text = "a"
        for _ in range(depth):
            text = f"({text})//2 + ({text})%3"
        env = ShapeEnv(origin=lambda: None)
        env.symbol("a", 0, hint=50)
        yield env, text


def mixed() -> Iterator[tuple[ShapeEnv, str]]:
    """One idiom after each recorded expression, as long as there are recorded ones."""
    for first, second in zip(recorded(), idioms(Random(1))):
        yield from (first, second)
    yield from idioms(Random(2))


def simplified(count: int, solvers: bool) -> Iterator[tuple[float, str, bool]]:
    """The milliseconds of each expression, its text, and whether that of the result has more operators."""
    from solver.decide.simplify import simplify

    for env, text in islice(chain(halves(), mixed()), count):
        try:
            expr, domain = env.parse_expr(text)
        except ShapeError:
            continue
        started = time.process_time()
        simple = simplify(env.known, expr, domain=domain, solvers=solvers)
        taken = 1000 * (time.process_time() - started)
        yield taken, text, simple is not expr and operators(simple) > operators(expr)


def run(options: argparse.Namespace) -> str:
    times = sorted(simplified(options.count, options.solvers))
    cuts = quantiles([each for each, _, _ in times], n=1000, method="inclusive")
    rows: list[list[report.Cell]] = [
        ["expressions", len(times)], ["half at most, ms", cuts[499]], ["99 of 100", cuts[989]],
        ["999 of 1000", cuts[998]], ["longest", times[-1][0]],
        ["texts with more operators than before", sum([longer for _, _, longer in times])],
    ]  # fmt: skip
    slow: list[list[report.Cell]] = [[text[:90], each] for each, text, _ in times[: -1 - options.slowest : -1]]
    return "\n\n".join([report.table(["", ""], rows), report.table(["slowest", "ms"], slow)])


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--slowest", type=int, default=8)
    parser.add_argument("--solvers", action="store_true")
    report.publish("simplification", "Simplification", run, parser)


if __name__ == "__main__":
    main()
