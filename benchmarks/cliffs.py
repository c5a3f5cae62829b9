"""Scaling cliffs: operations that once took quadratic or exponential time, at a size and at ten times that size.

Each is a function of a size that does the operation once; a row has its time at both sizes. Setup is not counted.
"""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable

from benchmarks import report
from shapes import Always, ShapeEnv, sym_ite
from solver.decide.simplify import simplify

Thing = Callable[[], object]
RUNS = 3


def environment() -> ShapeEnv:
    return ShapeEnv(origin=lambda: None, solvers=False)


def guards_on_one_symbol(count: int) -> Thing:
    env = environment()
    bound = env.symbol("b", hint=10**6)
    for i in range(count):
        env.guard(env.symbol(f"s{i}", hint=1) <= bound)
    return env.guards


def guards_apart(count: int) -> Thing:
    env = environment()
    for i in range(count):
        env.guard(env.symbol(f"s{i}", hint=1) <= env.symbol(f"b{i}", hint=10))
    return env.guards


def excluded_sizes(count: int) -> Thing:
    env = environment()
    size = env.symbol("s", hint=10**6)
    for i in range(count):
        env.guard(size != 7 * i + 3)
    return env.guards


def parity(count: int) -> tuple[ShapeEnv, str]:
    env = environment()
    for i in range(count):
        env.symbol(f"s{i}", 0, 1)
    return env, "(" * (count - 1) + "(s0 == 1)" + "".join([f" == (s{i} == 1))" for i in range(1, count)])


def parity_asked(count: int) -> Thing:
    env, text = parity(count)
    return lambda: (env.ask(text), env.assume(text))


def parity_printed(count: int) -> Thing:
    env, text = parity(count)
    prop, _ = env.parse(text)
    return lambda: str(prop)


def product_of_sums(count: int) -> Thing:
    env = environment()
    env.sizes(" ".join([f"s{i}" for i in range(count)]))
    return lambda: env.ask(" * ".join([f"(s{i} + 1)" for i in range(count)]) + " > 3")


def remainders_asked(count: int) -> Thing:
    env = environment()
    size = env.symbol("s", hint=1)
    return lambda: [env.ask(size % i == 0) for i in range(2, count + 2)]


def remainders_guarded(count: int) -> Thing:
    env = environment()
    size = env.symbol("s", hint=1)
    return lambda: ([env.guard(size % i == 0) for i in range(2, count + 2)], env.guards())


def remainders_among_multiples(count: int) -> Thing:
    """The same, where the size is a multiple of many of them."""
    env = environment()
    size = env.symbol("s", hint=720720)
    return lambda: ([env.guard(size % i == 0) for i in range(2, count + 2)], env.guards())


def remainders_of_remainders(count: int) -> Thing:
    env = environment()
    size, divisor = env.symbol("x", hint=50), env.symbol("n", lo=1, hint=7)
    for _ in range(count):
        size = (3 * size + 1) // 2 % divisor
    return lambda: env.ask(size >= 0)


def conditionals(count: int) -> Thing:
    env = environment()
    size = env.symbol("s", hint=5)
    result = size
    for i in range(count):
        result = sym_ite(size > i, result + 1, size)
    return lambda: env.ask(result >= 0)


def conditionals_else(count: int) -> Thing:
    """Each where the one before does not hold: `0 + s if s == 0 else 1 + s if s == 1 else ...`."""
    env = environment()
    size = env.symbol("s", hint=5)

    def build() -> object:
        result = size
        for i in range(count):
            result = sym_ite(size == i, size + i, result)
        return env.ask(result >= 0)

    return build


def chain_of_equalities(count: int) -> Thing:
    """An answer that rests on all of them, whose core is read."""
    env = environment()
    sizes = [env.symbol(f"s{i}", hint=8) for i in range(count)]
    for left, right in itertools.pairwise(sizes):
        env.assume(left == right)

    def read() -> object:
        verdict = env.ask(sizes[0] <= sizes[-1])
        return isinstance(verdict, Always) and verdict.core

    return read


def quotients_printed(count: int) -> Thing:
    env = environment()
    size = env.symbol("a", hint=50)
    for _ in range(count):
        size = size // 2 + size % 3
    return lambda: str(size)


def quotients_simplified(count: int) -> Thing:
    env = environment()
    size = env.symbol("a", hint=50)
    for _ in range(count):
        size = size // 2 + size % 3
    return lambda: simplify(env.known, size.expr, solvers=False)


CLIFFS: dict[str, tuple[Callable[[int], Thing], int]] = {
    "guards on one symbol": (guards_on_one_symbol, 200),
    "guards on two symbols each": (guards_apart, 200),
    "excluded sizes of one symbol": (excluded_sizes, 200),
    "remainders of one size, asked": (remainders_asked, 200),
    "remainders of one size, guards": (remainders_guarded, 200),
    "remainders of a multiple of many, guards": (remainders_among_multiples, 200),
    "remainders of remainders, asked": (remainders_of_remainders, 30),
    "nested conditionals, asked": (conditionals, 90),
    "conditionals in place of each other, built and asked": (conditionals_else, 30),
    "parity of truths, asked and assumed": (parity_asked, 18),
    "parity of truths, printed": (parity_printed, 18),
    "product of sums, asked": (product_of_sums, 18),
    "core of a chain of equalities, read": (chain_of_equalities, 60),
    "nested quotients and remainders, printed": (quotients_printed, 20),
    "nested quotients and remainders, simplified": (quotients_simplified, 2),
}


def milliseconds(cliff: Callable[[int], Thing], size: int) -> float:
    """The least processor time of a few runs, each on something new."""
    best = float("inf")
    for _ in range(RUNS):
        thing = cliff(size)
        gc.collect()  # what was left by building it
        start = time.process_time()
        thing()
        best = min(best, time.process_time() - start)
    return 1000 * best


def rows() -> list[list[report.Cell]]:
    found: list[list[report.Cell]] = []
    for name, (cliff, size) in CLIFFS.items():
        few, many = milliseconds(cliff, size), milliseconds(cliff, 10 * size)
        found.append([name, size, few, 10 * size, many, report.ratio(many, few)])
    return found


def table() -> str:
    return report.table(["what", "size", "ms", "ten times that", "ms", "ratio"], rows())
