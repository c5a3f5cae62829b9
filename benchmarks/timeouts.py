"""Time-outs: how much later than asked an unknown answer comes, on the hardest questions.

    python -m benchmarks.timeouts [--rounds 3] [--write] [NAMES...]

Each question is asked in a fresh environment, without a time-out where it ends within half a minute, then with one of
0, 1, 20 and 200 ms. The lateness is processor time beyond the time-out, the least of `--rounds`: the machine may be
shared. It may be 20 ms, or a tenth of the time-out. The longest stretch is the processor time between two looks at the
deadline, without a time-out that ends the question.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from math import inf

from benchmarks import report
from benchmarks.question_families import FAMILIES, Case, Size, named, sizes
from shapes import ShapeEnv, SymBool, SymInt, sym_max, sym_min
from shapes.environment.questions import Effort
from solver.terms import deadline
from solver.terms.prop import Prop

TIMEOUTS = (0.0, 0.001, 0.02, 0.2)
ALLOWED = 0.02
SHARE = 0.1
LONGEST = 30.0
"""Seconds for a question without a time-out of its own."""


Told = tuple[ShapeEnv, Prop, Prop]
"""An environment that knows the facts, a question and its domain."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, made anew by each call of `told`, and its effort."""

    name: str
    told: Callable[[], Told]
    effort: Effort = "default"


def told(case: Case) -> Told:
    """The environment of a case, and its question as it was read."""
    env = ShapeEnv(origin=lambda: None)
    for size in case.sizes:
        env.unbacked(size.name, lo=size.lo, hi=size.hi)
    for fact in case.facts:
        env.assume(fact)
    return env, *env.parse(case.question)


def asked_of(env: ShapeEnv, question: object) -> Told:
    assert isinstance(question, SymBool)
    return env, question.prop, question.domain


def of_family(name: str, parts: int, effort: Effort = "default") -> Question:
    return Question(f"{name} {parts}" + ("" if effort == "default" else f", {effort}"),
                    lambda: told(FAMILIES[name].case(parts)), effort)  # fmt: skip


FAMILY_QUESTIONS = [
    ("clamped slices", 64), ("clamped slices", 128), ("maxima in reverse", 64), ("maxima in reverse", 192),
    ("scaled maxima", 32), ("scaled maxima", 64), ("clamps", 200), ("clamps", 400), ("clamps times a size", 400),
    ("index in bounds", 24), ("one broadcast axis", 64), ("pages together", 64), ("clamps of two positions", 32),
    ("broadcast axes", 64), ("maxima by halves", 64), ("larger in each axis", 24), ("padded to the longest", 128),
    ("offsets", 1000), ("offsets told in reverse", 300), ("ragged sums", 600), ("sum against maximum", 128),
    ("padded batch", 64), ("huge equations", 2000), ("prefix sums", 300), ("least common multiple", 12),
    ("strides", 24),
]  # fmt: skip
THOROUGH = [
    ("index in bounds", 24), ("one broadcast axis", 64), ("pages together", 64), ("broadcast axes", 64),
    ("larger in each axis", 24), ("strided again", 8), ("least common multiple", 6),
]  # fmt: skip


def halves(n: int) -> Told:
    """A quotient and a remainder of the level before, again and again."""
    env = ShapeEnv(origin=lambda: None)
    a = env.unbacked("a")
    x = reduce(lambda x, _: x // 2 + x % 3, range(n), a)
    return asked_of(env, x <= a + 5)


def wide_product(n: int) -> Told:
    names = named("a", n)
    return told(Case(sizes(names, 1), (), " * ".join([f"({a} + 1)" for a in names]) + f" >= {2**n}"))


def open_clamps(n: int) -> Told:
    env = ShapeEnv(origin=lambda: None)
    limit = env.symbol("n", 0)
    x: SymInt | int = env.symbol("p", None)
    for i in range(n):
        x = sym_min(sym_max(env.symbol(f"s{i}", None) + x, 0), limit)
    return asked_of(env, x * (limit - x) >= 0)


def choices(n: int) -> Told:
    """A disjunction for each size, and a sum that only all together refute."""
    names = named("a", n)
    facts = tuple([f"{a} == 2*b or {a} == 3*c or {a} == b*c" for a in names])
    return told(Case(sizes([*names, "b", "c"], 1), facts, f"{' + '.join(names)} != b*c*{n} + 1"))


def cubes(n: int) -> Told:
    """No solution that is small, and no proof of ours."""
    return told(Case(sizes(["x", "y", "z"], 1), (), f"x*x*x + y*y*y != z*z*z + {n}"))


def congruences(n: int) -> Told:
    primes = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149)[:n]
    facts = tuple([f"x % {p} == {i + 1}" for i, p in enumerate(primes)])
    return told(Case(sizes(["x", "y"], 1), (*facts, "x <= y*y"), "x*y % 7 == 3"))


def nested_tiles(n: int) -> Told:
    env = ShapeEnv(origin=lambda: None)
    size = x = env.symbol("s", 0)
    waste: SymInt | int = 0
    for i in range(n):
        tile = env.symbol(f"t{i}", 1)
        x, waste = (x + tile - 1) // tile * tile, waste + tile - 1
    return asked_of(env, x <= size + waste)


def dense_equations(n: int) -> Told:
    """Linear equations in which every size occurs, with large coefficients."""
    names = named("x", n)
    facts = tuple(
        [" + ".join([f"{(i * 37 + j * 101) % 911 + 1}*{x}" for j, x in enumerate(names)]) + f" >= {i * 977 + 1}"
         for i in range(n)]
    )  # fmt: skip
    total = " + ".join([f"{(j * 53) % 97 + 1}*{x}" for j, x in enumerate(names)])
    return told(Case(sizes(names), facts, f"({total}) % 1009 != {n}"))


def huge_mixed(n: int) -> Told:
    """Facts with integers of many bits, some of them congruences."""
    big = 4611686018427387905**n
    facts = (
        f"2*b + 3*d >= {2361183241434822606929**n}", "8*a + 7*c >= 201",
        f"b == a + d + 5*c + {1180591620717411303373**n}",
        "4294967296*c - 3*b >= -3541774862143643975701", f"b == {big}*d - 2*a + {1069911156275153993759**n}",
        "(a + 4294967296*b) % 7 == 4",
    )  # fmt: skip
    return told(Case((Size("a", None), Size("b"), Size("c", None), Size("d")), facts, "(ceildiv(a, (-3)) % d) <= 0"))


def powers(n: int) -> Told:
    names = named("e", n)
    return told(Case(sizes([*names, "b"], 1), (), f"{'*'.join([f'b**{e}' for e in names])} >= b"))


def roots(n: int) -> Told:
    """Roots of sums with roots, through doubles."""
    env = ShapeEnv(origin=lambda: None)
    total, text = env.symbol("a", 0), "a"
    for i in range(n):
        total, text = total + env.symbol(f"s{i}", 0), f"floor(sqrt({text} + s{i}))"
    return env, *env.parse(f"{text} <= {total} + 1")


MADE: list[tuple[Callable[[int], Told], int, Effort]] = [
    (halves, 24, "default"), (halves, 48, "default"), (wide_product, 9, "default"), (wide_product, 12, "default"),
    (open_clamps, 100, "default"), (open_clamps, 200, "default"), (choices, 12, "default"), (choices, 12, "thorough"),
    (cubes, 0, "thorough"), (congruences, 8, "thorough"), (nested_tiles, 6, "thorough"),
    (dense_equations, 14, "default"), (dense_equations, 14, "thorough"), (huge_mixed, 1, "thorough"),
    (huge_mixed, 8, "default"), (powers, 12, "thorough"), (roots, 12, "thorough"),
]  # fmt: skip
QUESTIONS = [
    *[of_family(name, parts) for name, parts in FAMILY_QUESTIONS],
    *[of_family(name, parts, "thorough") for name, parts in THOROUGH],
    *[
        Question(f"{made.__name__.replace('_', ' ')} {n}" + ("" if effort == "default" else f", {effort}"),
                 partial(made, n), effort)
        for made, n, effort in MADE
    ],
]  # fmt: skip


def asked(question: Question, timeout: float | None) -> tuple[float, str]:
    """The processor time of an answer in a fresh environment, in seconds, and its kind."""
    env, prop, domain = question.told()
    gc.collect()
    started = time.process_time()
    verdict = env.verdict_on(prop, domain, question.effort, timeout)
    return time.process_time() - started, type(verdict).__name__


class Stretches:
    """A clock that keeps the longest processor time between two looks at it."""

    def __init__(self) -> None:
        self.last = time.process_time()
        self.longest = 0.0

    def __call__(self) -> float:
        now = time.process_time()
        self.longest = max(self.longest, now - self.last)
        self.last = time.process_time()
        return now


def longest_stretch(question: Question) -> float:
    clock = Stretches()
    usual, deadline.clock = deadline.clock, clock
    try:
        env, prop, domain = question.told()
        clock.last, clock.longest = time.process_time(), 0.0
        env.verdict_on(prop, domain, question.effort, LONGEST)
        clock()
    finally:
        deadline.clock = usual
    return clock.longest


def lateness(question: Question, timeout: float, rounds: int) -> float:
    """The least processor time beyond a time-out; negative for an answer before."""
    found = inf
    for _ in range(rounds):
        found = min(found, asked(question, timeout)[0] - timeout)
        if found <= ALLOWED / 2:
            break
    return found


def rows_of(questions: list[Question], rounds: int) -> Iterator[list[report.Cell]]:
    for question in questions:
        seconds, kind = asked(question, LONGEST)
        late = [lateness(question, timeout, rounds) for timeout in TIMEOUTS]
        held = all(each <= max(ALLOWED, SHARE * timeout) for each, timeout in zip(late, TIMEOUTS, strict=True))
        cells = [1000 * max(each, 0) for each in late]
        stretch = 1000 * longest_stretch(question)
        row: list[report.Cell] = [question.name, kind, 1000 * seconds, *cells, stretch, "yes" if held else "no"]
        print(*row, file=sys.stderr, flush=True)
        yield row


def run(options: argparse.Namespace) -> str:
    sys.set_int_max_str_digits(0)
    chosen = [each for each in QUESTIONS if not options.names or each.name in options.names]
    asked(of_family("strided again", 2, "thorough"), None)  # what is loaded on demand
    rows = list(rows_of(chosen, options.rounds))
    held = sum([row[-1] == "yes" for row in rows])
    header = ["question", "answer", "ms", *[f"late at {1000 * each:.0f} ms" for each in TIMEOUTS],
              "longest stretch, ms", "held"]  # fmt: skip
    return "\n\n".join([report.table(header, rows), f"{held} of {len(rows)} held in all time-outs."])


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="questions; all where none is named")
    parser.add_argument("--rounds", type=int, default=3)
    report.publish("timeouts", "Time-outs", run, parser)


if __name__ == "__main__":
    main()
