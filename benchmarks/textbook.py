"""Written cases: identities, minima, indices, linear systems, bounds, contradictory sets, simplification.

    python -m benchmarks.textbook [--baselines torch,z3,jax,tvm,isl] [--seconds 120] [--write]

Three tables over benchmarks/cases: questions by file, as for the recorded ones; sets of facts, of which an engine
should call each contradictory one so and no consistent one; and expressions to be simplified, by the number of
operators in the printed result. A result that differs from the expression at sizes that satisfy the facts is wrong.
"""

import argparse
import ast
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import oracle, report
from benchmarks.baselines.pool import Pool
from benchmarks.baselines.worker import Line
from benchmarks.entailment import ALONE, OURS, by_file, measure, summary
from benchmarks.recorded import sessions

CASES = Path(__file__).parent / "cases"
SAMPLES, LONGEST = 300, 20.0


def question_files() -> list[Path]:
    return sorted(path for path in CASES.glob("*.jsonl") if not path.stem.endswith("-sets"))


def marked(path: Path) -> Iterator[Line]:
    yield from map(json.loads, path.read_text().splitlines())


# ------------------------------------------------------------ sets of facts


def fact_sets() -> list[tuple[bool, list[Line]]]:
    found = []
    for path in sorted(CASES.glob("*-sets.jsonl")):
        truth = [line["consistent"] for line in marked(path) if line["op"] == "session"]
        found += [(known, session.lines) for known, session in zip(truth, sessions(path), strict=True)]
    return found


def judged_consistent(pool: Pool, engine: str, lines: list[Line]) -> bool | None:
    """Ask the engine if the facts are consistent: when they are stated, or by a question."""
    result = pool.run(engine, [*lines, {"op": "consistent"}], LONGEST)
    if result is None:
        return None
    if any("Contradiction" in note for note in result["notes"]):
        return False
    said: bool | None = result["said"][-1]
    return said


def sets_table(pool: Pool) -> str:
    cases = fact_sets()
    contradictory = sum(not known for known, _ in cases)
    rows: list[list[report.Cell]] = []
    for engine in pool.here:
        said = [(known, judged_consistent(pool, engine, lines)) for known, lines in cases]
        rows.append(
            [
                engine,
                f"{sum(not known and says is False for known, says in said)} of {contradictory}",
                f"{sum(known and says is False for known, says in said)} of {len(cases) - contradictory}",
                f"{sum(known and says is True for known, says in said)} of {len(cases) - contradictory}",
            ]
        )
    header = ["engine", "contradictory, reported", "consistent, refused", "consistent, shown so"]
    return report.table(header, rows)


# ------------------------------------------------------------ simplification


def operators(text: str) -> int:
    """Count the operators of a result; a call of n arguments counts n - 1, and at least one.

    >>> operators("min(a, b, c) + -d // 2")
    5
    """
    count = 0
    for node in ast.walk(ast.parse(text.strip(), mode="eval")):
        match node:
            case ast.BinOp() | ast.IfExp():
                count += 1
            case ast.UnaryOp(operand=operand):
                count += not isinstance(operand, ast.Constant)
            case ast.Call(args=args):
                count += max(1, len(args) - 1)
            case ast.BoolOp(values=values):
                count += len(values) - 1
            case ast.Compare(ops=ops):
                count += len(ops)
    return count


PEER_FUNCTIONS: Mapping[str, Any] = {
    "FloorDiv": lambda a, b: a // b,
    "Mod": lambda a, b: a % b,
    "PythonMod": lambda a, b: a % b,
    "Max": max,
    "Min": min,
    "Abs": abs,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "If": lambda p, a, b: a if p else b,
}


def assignments(ranges: Mapping[str, Sequence[int | None]], facts: Sequence[str]) -> Iterator[dict[str, int]]:
    """Sizes that satisfy the facts: small ones first, then larger; fixed by the case."""
    pick = random.Random(json.dumps([ranges, facts]))
    for attempt in range(50 * SAMPLES):
        reach = 8 if attempt < 25 * SAMPLES else 1000
        values = {}
        for name, (lo, hi) in ranges.items():
            low = lo if lo is not None else (hi - reach if hi is not None else -reach)
            values[name] = pick.randint(low, min(low + 2 * reach, hi) if hi is not None else low + 2 * reach)
        if all(oracle.holds(fact, values) is True for fact in facts):
            yield values


def equal_where_known(expr: str, result: str, case: Line, symbols: Mapping[str, str]) -> bool:
    """Return True if the result agrees with the expression at sizes that satisfy the facts; baselines rename
    symbols."""
    code = compile(result.strip(), "result", "eval")
    scope = {"__builtins__": {}, **oracle.FUNCTIONS, **PEER_FUNCTIONS}
    for number, values in enumerate(assignments(case["symbols"], case["facts"])):
        if number == SAMPLES:
            break
        try:
            wanted = oracle.value(expr, values)
        except ZeroDivisionError:
            continue
        try:
            if eval(code, scope | {symbols.get(name, name): value for name, value in values.items()}) != wanted:
                return False
        except ZeroDivisionError:
            return False
    return True


def simplifications() -> list[Line]:
    return [line for path in question_files() for line in marked(path) if line["op"] == "simplify"]


def simplified(pool: Pool, engine: str, case: Line) -> str | None:
    lines = [
        {"op": "symbol", "name": name, "hint": None, "lo": lo, "hi": hi} for name, (lo, hi) in case["symbols"].items()
    ]
    lines += [{"op": "assume", "prop": fact} for fact in case["facts"]]
    result = pool.run(engine, [*lines, {"op": "simplify", "prop": case["expr"]}], LONGEST)
    said: str | None = result["said"][-1] if result else None
    return said


def simplification_table(pool: Pool) -> str:
    """Totals over the cases that an engine could say, beside ours and the shortest known over the same ones."""
    cases = simplifications()
    if not cases:
        return ""
    results = {engine: [simplified(pool, engine, case) for case in cases] for engine in pool.here}
    rows: list[list[report.Cell]] = []
    for engine, found in results.items():
        counted: list[tuple[int, int, int]] = []
        wrong = unreadable = 0
        for i, (case, result) in enumerate(zip(cases, found)):
            if result is None:
                continue
            # torch prints its own names u0, u1, ... in the order in which the symbols were made
            symbols = {name: f"u{j}" for j, name in enumerate(case["symbols"])} if engine == "torch" else {}
            try:
                wrong += not equal_where_known(case["expr"], result, case, symbols)
                ours = results[OURS][i] if OURS in results else None
                counted.append((operators(result), case["operators"], operators(ours or case["expr"])))
            except (SyntaxError, NameError, TypeError):
                unreadable += 1
        if not counted:
            continue  # it has no such operation
        total, best, ours_total = (sum(column) for column in zip(*counted))
        rows.append([engine, f"{len(counted)} of {len(cases)}", wrong, total, ours_total, best, unreadable])
    header = ["engine", "simplified", "wrong", "operators", "ours on the same", "shortest known", "not read back"]
    return report.table(header, rows)


def run(options: argparse.Namespace) -> str:
    baselines = [name for name in options.baselines.split(",") if name]
    scores, missing = measure(question_files(), [OURS, ALONE, *baselines], options.seconds)
    parts = [summary(scores, missing), by_file(scores)]
    with Pool([OURS, *baselines]) as pool:
        parts += ["Sets of facts:", sets_table(pool), "Simplification:", simplification_table(pool)]
    return "\n\n".join(parts)


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--baselines", default="torch,z3,jax,tvm,isl")
    parser.add_argument("--seconds", type=float, default=120, help="how long each engine may take over the questions")
    report.publish("textbook", "Written cases", run, parser)


if __name__ == "__main__":
    main()
