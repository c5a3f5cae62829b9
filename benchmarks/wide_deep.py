"""Wide sums, high powers, thousands of guards, deep nesting, huge numbers: an answer or a clear error, soon.

    python -m benchmarks.wide_deep [--baselines torch,z3,jax,tvm,isl] [--seconds 20] [--write]

Each cell is the last answer, or the error in its place, and the time from the first symbol to it.
"""

import argparse
from collections.abc import Callable

from benchmarks import report
from benchmarks.baselines.pool import Pool
from benchmarks.baselines.worker import Line
from benchmarks.growth import ask, assume, symbol

WIDE, GUARDS, DEEP = 200, 4355, 5000
NAMES = [f"s{i}" for i in range(WIDE)]
SUM = " + ".join(NAMES)


def wide(*last: Line, multiple: int = 1) -> list[Line]:
    lines = [symbol(name, 16 * (i + 2)) for i, name in enumerate(NAMES)]
    if multiple > 1:
        lines += [assume(f"{name} % {multiple} == 0") for name in NAMES]
    return [*lines, *last]


def guarded(*last: Line) -> list[Line]:
    """Every size under one bound, as a program over thousands of ragged rows has them."""
    lines = [symbol("b", 1_000_000)]
    for i in range(GUARDS):
        lines += [symbol(f"s{i}", i + 2), assume(f"0 <= s{i} <= b")]
    return [*lines, *last]


def small(*last: Line) -> list[Line]:
    return [symbol("x", 5), symbol("y", 7), *last]


CASES: dict[str, Callable[[], list[Line]]] = {
    "sum // 16 * 16 + sum % 16 == sum": lambda: wide(ask(f"({SUM}) // 16 * 16 + ({SUM}) % 16 == {SUM}")),
    "sum // 16 // 4 == sum // 64": lambda: wide(ask(f"({SUM}) // 16 // 4 == ({SUM}) // 64")),
    "sum % 16 == 0, 200 facts s % 16 == 0": lambda: wide(ask(f"({SUM}) % 16 == 0"), multiple=16),
    "((sum // 2 - 1) // 2 + 3) % 5 < 5": lambda: wide(ask(f"((({SUM}) // 2 - 1) // 2 + 3) % 5 < 5")),
    "((sum - 1) // 2 + 1) // 2 >= 100": lambda: wide(ask(f"((({SUM}) - 1) // 2 + 1) // 2 >= 100")),
    "sum // 7 % 3 == 1": lambda: wide(ask(f"({SUM}) // 7 % 3 == 1")),
    "sum**3 >= 8": lambda: wide(ask(f"({SUM})**3 >= 8")),
    "sum**3 == sum * sum * sum": lambda: wide(ask(f"({SUM})**3 == ({SUM}) * ({SUM}) * ({SUM})")),
    "4,355 guards 0 <= s <= b: s17 <= b": lambda: guarded(ask("s17 <= b")),
    "4,355 guards 0 <= s <= b: s17 + s4000 <= 2*b": lambda: guarded(ask("s17 + s4000 <= 2*b")),
    "5,000 nested parentheses": lambda: small(ask("(" * DEEP + "x" + ")" * DEEP + " >= 2")),
    "5,000 nested 1 + ( )": lambda: small(ask("(1 + " * DEEP + "x" + ")" * DEEP + " >= 2")),
    "5,000 nested ( ) // 2": lambda: small(ask("(" * DEEP + "x" + ") // 2" * DEEP + " >= 0")),
    "5,000 nested max(1, )": lambda: small(ask("max(1, " * DEEP + "x" + ")" * DEEP + " >= 1")),
    "5,000 terms and": lambda: small(ask(" and ".join(f"x + {i} >= 2" for i in range(DEEP)))),
    "x < 2**100000": lambda: small(ask("x < 2**100000")),
    "x * 2**100000 >= 2**100001": lambda: small(ask("x * 2**100000 >= 2**100001")),
    "x**100000 >= 0": lambda: small(ask("x**100000 >= 0")),
    "x < y, y < x": lambda: small(assume("x < y"), assume("y < x"), ask("x == y")),
    "x // 0 == 1": lambda: small(ask("x // 0 == 1")),
    "x % (y - y) == 0": lambda: small(ask("x % (y - y) == 0")),
    "x // (y - 7) >= 0": lambda: small(ask("x // (y - 7) >= 0")),
    "y == 7: x // (y - 7) >= 0": lambda: small(assume("y == 7"), ask("x // (y - 7) >= 0")),
}


def duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def cell(pool: Pool, engine: str, lines: list[Line], seconds: float) -> str:
    result = pool.run(engine, lines, seconds)
    if result is None or result["notes"].get("lines left out"):
        return f"> {seconds:.0f} s"
    error = next((note.split(": ")[1] for note in result["notes"] if ": " in note), None)
    unsaid = any("not expressible" in note for note in result["notes"])
    said = result["answers"][-1][0] or error or ("no words" if unsaid else "open")
    return f"{said}, {duration(result['seconds'])}"


def run(options: argparse.Namespace) -> str:
    with Pool(["symshape", *filter(None, options.baselines.split(","))]) as pool:
        rows: list[list[report.Cell]] = [
            [f"`{name}`", *(cell(pool, engine, case(), options.seconds) for engine in pool.here)]
            for name, case in CASES.items()
        ]
        missing = [f"{name} is not here: {reason}" for name, reason in pool.missing.items()]
        header = ["case", *pool.here]
    note = f"`sum` has {WIDE} symbols. A name such as RecursionError is what the engine raised; `> N s`: ended then."
    return "\n\n".join([report.table(header, rows), note, *missing])


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--baselines", default="torch,z3,jax,tvm,isl")
    parser.add_argument("--seconds", type=float, default=20, help="for one case and engine")
    report.publish("wide_deep", "Wide and deep", run, parser)


if __name__ == "__main__":
    main()
