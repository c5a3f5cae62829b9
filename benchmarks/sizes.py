"""Sizes that satisfy an environment's facts: the time to generate a thousand, and their coverage of boundary cases.

    python -m benchmarks.sizes [--count 1000] [--sizes 10,30,100] [--write]

Environments with as many symbols as facts, of six kinds: divisibility, a linear inequality between two symbols, sums of
quotients, an upper bound, padding, a disjunction. Python evaluates the text of every fact at each assignment; a fact
counts as tight where its two sides are equal, and as violated alone where all other texts are true.
"""

import argparse
import time
from collections.abc import Mapping

from benchmarks import report
from shapes import ShapeEnv
from shapes.testing import assignments
from shapes.testing.corners import violations


def environment(count: int) -> tuple[ShapeEnv, dict[str, str]]:
    """An environment of a number of symbols and facts; the text of each fact, and one that says that it is tight."""
    env = ShapeEnv(origin=lambda: None)
    for i in range(count):
        env.symbol(f"s{i}", hi=2**40 if i % 3 == 0 else None)
    facts = {}
    for i in range(count):
        a, b, c = f"s{i}", f"s{(i + 1) % count}", f"s{(i + 7) % count}"
        fact, tight = (
            (f"{a} % 8 == 0", f"{a} % 8 == 0"),
            (f"{a} + 3 <= 4*{b} + 100", f"{a} + 3 == 4*{b} + 100"),
            (f"{a} // 4 + {b} // 2 >= 2", f"{a} // 4 + {b} // 2 == 2"),
            (f"{a} <= 2**33", f"{a} == 2**33"),
            (f"({a} + 15)//16*16 - {a} + {b} >= 5", f"({a} + 15)//16*16 - {a} + {b} == 5"),
            (f"{a} == {c} or {a} < 1000", f"{a} == {c} or {a} == 999"),
        )[i % 6]
        env.assume(fact)
        facts[fact] = tight
    return env, facts


def true_at(text: str, sizes: Mapping[str, int]) -> bool:
    return bool(eval(text, {}, dict(sizes)))


def row(count: int, wanted: int) -> list[report.Cell]:
    env, facts = environment(count)
    begin = time.process_time()
    found = list(assignments(env, wanted))
    took = time.process_time() - begin
    begin = time.process_time()
    violated = list(violations(env))
    took_violating = time.process_time() - begin
    assert all(true_at(fact, sizes) for sizes in found for fact in facts)
    tight = [any(true_at(text, sizes) for sizes in found) for text in facts.values()]
    alone = {
        corner.what.removeprefix("violated: ")
        for corner in violated
        if sum([not true_at(fact, corner.sizes) for fact in facts]) == 1
    }
    different = len({tuple(sizes.values()) for sizes in found})
    shown = f"{sum(tight)} of {count}", f"{len(alone)} of {count}"
    return [f"{count} symbols, {count} facts", different, took, *shown, took_violating]


def measure(options: argparse.Namespace) -> str:
    rows = [row(int(count), options.count) for count in options.sizes.split(",")]
    header = ["environment", "different assignments", "s", "facts tight in some", "facts violated alone", "s for those"]
    return report.table(header, rows)


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--sizes", default="10,30,100")
    report.publish("sizes", "Search for witnesses", measure, parser)


if __name__ == "__main__":
    main()
