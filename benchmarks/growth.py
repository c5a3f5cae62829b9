"""Cost of one more question, fact or symbol when there are already many.

    python -m benchmarks.growth [--sizes 100,3000] [--baselines torch,z3,tvm] [--write]

Three topologies of facts: `independent` (one about each symbol), `hub` (each ties its symbol to the same one) and
`chain` (each ties its symbol to the one before). In an environment of that many symbols and facts, 60 times over: a
symbol, a fact about it, and a question about symbols somewhere in the middle that was not asked before, in turn one
that follows and one that is open. Then five stretches of 50 facts that are equalities, 50 questions and a rollback,
after which earlier questions are put again and must be answered as they were. The evidence is not read here: cores and
witnesses are built lazily, and a witness names every size.

Then operations that a program may do with n sizes at once, at n and at ten times n (see `benchmarks.cliffs`).
"""

import argparse
import random
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from benchmarks import cliffs, report
from benchmarks.baselines.pool import Pool
from benchmarks.baselines.worker import Line

OURS = "symshape, evidence unread"
PROBES, STRETCHES, DEEP = 60, 5, 50
KINDS = {
    "follows": "a question that follows, µs",
    "open": "an open question, µs",
    "assume": "a fact, µs",
    "symbol": "a symbol, µs",
    "stretch": "50 equalities, 50 questions, rollback, ms",
}


def ask(prop: str) -> Line:
    return {"op": "ask", "prop": prop}


def assume(prop: str) -> Line:
    return {"op": "assume", "prop": prop}


def symbol(name: str, hint: int) -> Line:
    return {"op": "symbol", "name": name, "hint": hint, "lo": 2, "hi": None}


class Topology(Protocol):
    """Hint and fact of symbol `i`, and two questions near it: one that follows, one that is open."""

    def hint(self, i: int) -> int: ...

    def fact(self, i: int) -> str: ...

    def follows(self, i: int, fresh: int) -> str: ...

    def open(self, i: int, fresh: int) -> str: ...


class Independent:
    def hint(self, i: int) -> int:
        return 8 * (i + 2)

    def fact(self, i: int) -> str:
        return f"s{i} % 8 == 0"

    def follows(self, i: int, fresh: int) -> str:
        return f"({2 * fresh + 1}*s{i} + 16) % 8 == 0"

    def open(self, i: int, fresh: int) -> str:
        return f"s{i} + {fresh} <= s{i + 1}"


class Hub:
    def hint(self, i: int) -> int:
        return i + 2

    def fact(self, i: int) -> str:
        return f"s{i} <= 4*b"

    def follows(self, i: int, fresh: int) -> str:
        return f"s{i} + s{i + 1} <= 8*b + {fresh}"

    def open(self, i: int, fresh: int) -> str:
        return f"s{i} + {fresh} <= b"


class Chain:
    def hint(self, i: int) -> int:
        return i + 10

    def fact(self, i: int) -> str:
        return f"s{i - 1} + 1 <= s{i}" if i else "s0 <= 2**40"

    def follows(self, i: int, fresh: int) -> str:
        return f"s{i} + 3 <= s{i + 3} + {fresh}"

    def open(self, i: int, fresh: int) -> str:
        return f"s{i + 3} <= s{i} + 7 + {fresh}"


TOPOLOGIES: dict[str, Topology] = {"independent": Independent(), "hub": Hub(), "chain": Chain()}


@dataclass(frozen=True, slots=True)
class Cost:
    """Median microseconds of a line of each kind, milliseconds of a stretch; nothing for what was not reached."""

    medians: Mapping[str, float]
    unchanged: bool | None


def script(topology: Topology, size: int) -> Iterator[tuple[str, Line]]:
    """The lines of one measurement, each with the kind it is counted under."""
    pick = random.Random(size)
    yield "build", symbol("b", 100_000)
    for i in range(size):
        yield "build", symbol(f"s{i}", topology.hint(i))
        yield "build", assume(topology.fact(i))
    fresh = 0
    for i in range(size, size + PROBES):
        yield "symbol", symbol(f"s{i}", topology.hint(i))
        yield "assume", assume(topology.fact(i))
        near = pick.randrange(size - 4)
        fresh += 1
        yield ("follows", ask(topology.follows(near, fresh))) if i % 2 else ("open", ask(topology.open(near, fresh)))
    earlier = [ask((topology.follows if i % 2 else topology.open)(2 * i, 1)) for i in range(10)]
    yield from (("before", line) for line in earlier)
    for _ in range(STRETCHES):
        yield "stretch", {"op": "checkpoint"}
        for i in pick.sample(range(size - 4), DEEP):
            fresh += 1
            yield "stretch", assume(f"s{i + 1} == s{i} + {topology.hint(i + 1) - topology.hint(i)}")
            yield "stretch", ask((topology.follows if i % 2 else topology.open)(i, fresh))
        yield "stretch", {"op": "rollback"}
    yield from (("after", line) for line in earlier)


def measure(pool: Pool, engine: str, topology: Topology, size: int, seconds: float) -> Cost:
    kinds, lines = zip(*script(topology, size))
    result = pool.run(engine, lines, seconds)
    if result is None or result["notes"].get("lines left out"):
        return Cost({}, None)
    by_kind: dict[str, list[float]] = {}
    for kind, micros in zip(kinds, result["micros"]):
        by_kind.setdefault(kind, []).append(micros)
    medians = {kind: statistics.median(by_kind[kind]) for kind in KINDS if kind in by_kind}
    if result["notes"].get("rollback error"):
        del medians["stretch"]
        return Cost(medians, None)
    stretch, length = by_kind["stretch"], 2 * DEEP + 2
    sums = [sum(stretch[i : i + length]) / 1000 for i in range(0, len(stretch), length)]
    asked = [kind for kind, line in zip(kinds, lines) if line["op"] == "ask"]
    verdicts = [(kind, answer[0]) for kind, answer in zip(asked, result["answers"])]
    before, after = ([verdict for kind, verdict in verdicts if kind == wanted] for wanted in ("before", "after"))
    return Cost(medians | {"stretch": statistics.median(sums)}, before == after)


def run(options: argparse.Namespace) -> str:
    small, large = (int(size) for size in options.sizes.split(","))
    rows: list[list[report.Cell]] = []
    with Pool([OURS, *filter(None, options.baselines.split(","))]) as pool:
        same: dict[str, list[bool]] = {engine: [] for engine in pool.here}
        for name, topology in TOPOLOGIES.items():
            costs = {
                engine: [measure(pool, engine, topology, size, options.seconds) for size in (small, large)]
                for engine in pool.here
            }
            for kind, description in KINDS.items():
                row: list[report.Cell] = [name, description]
                for few, many in costs.values():
                    at_few, at_many = few.medians.get(kind), many.medians.get(kind)
                    both = at_few is not None and at_many is not None
                    row += [at_few, at_many, report.ratio(at_many, at_few) if both else ""]
                rows.append(row)
            for engine, pair in costs.items():
                same[engine] += [cost.unchanged for cost in pair if cost.unchanged is not None]
        missing = [f"{name} is not here: {reason}" for name, reason in pool.missing.items()]
        header = ["facts", "what"]
        for engine in pool.here:
            header += [f"{engine} at {small:,}", f"at {large:,}", "ratio"]
    note = f"An empty cell: no rollback, or not done within {options.seconds:.0f} s."
    told = [f"{engine} {'yes' if all(found) else 'NO'}" for engine, found in same.items() if found]
    kept = f"Earlier questions answered as before after the rollbacks: {', '.join(told)}."
    return "\n\n".join([report.table(header, rows), note, kept, *missing, "Ten times as large:", cliffs.table()])


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--sizes", default="100,3000", help="the two numbers of symbols and facts to compare")
    parser.add_argument("--baselines", default="torch,z3,tvm")
    parser.add_argument("--seconds", type=float, default=40, help="for one engine, topology and size")
    report.publish("growth", "Scaling with the number of facts", run, parser)


if __name__ == "__main__":
    main()
