"""Questions about size objects, without text: what a tracer pays per operation and per branch.

    python -m benchmarks.symints [--rounds 5] [--write]

| case | what is timed |
|---|---|
| ask again | `ask` of an existing proposition under the same facts |
| branch | `(b + 1) * s > 8` built anew and branched on, seen before |
| new | a linear proposition with a coefficient not seen before, built and asked |
| chain | `x = (a + b)*k - 8; y = x + (k + 1)*c; y - x` with a new `k` each time |

Each engine runs in a fresh process, the engines in turn, `--rounds` times; the median of the rounds is shown. A case
that an engine cannot express is empty.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import report

CASES = ("ask again", "branch", "new", "chain")
Measured = dict[str, float]


def chain(a: Any, b: Any, c: Any, k: int) -> Any:
    x = (a + b) * k - 8
    y = x + (k + 1) * c
    return y - x


def per_call(call: Callable[[], object], times: int) -> float:
    """Microseconds of a call that costs the same each time, so that one clock around many is fair."""
    for _ in range(10):
        call()
    clock = time.perf_counter_ns
    rounds = []
    for _ in range(5):
        begin = clock()
        for _ in itertools.repeat(None, times):
            call()
        rounds.append((clock() - begin) / times / 1000)
    return statistics.median(rounds)


def each_call(call: Callable[[int], object], numbers: Iterator[int], times: int) -> float:
    """Median microseconds of calls that differ."""
    clock = time.perf_counter_ns
    spent = []
    for k in itertools.islice(numbers, times):
        begin = clock()
        call(k)
        spent.append(clock() - begin)
    return statistics.median(spent) / 1000


def symshape() -> Measured:
    from shapes import Always, ShapeEnv

    env = ShapeEnv()
    a, b, c, s = env.sizes("a b c s", hints=(5, 4, 6, 128), lo=1)
    env.assume("s % 16 == 0")
    known = b * s >= s
    assert isinstance(env.ask(known), Always)

    def branch() -> bool:
        return bool((b + 1) * s > 8)

    return {
        "ask again": per_call(lambda: env.ask(known), 20_000),
        "branch": per_call(branch, 5_000),
        "new": each_call(lambda k: env.ask(3 * b + k * s >= k), itertools.count(3), 2_000),
        "chain": each_call(lambda k: chain(a, b, c, k), itertools.count(3), 2_000),
    }


def torch() -> Measured:
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, statically_known_true

    env = ShapeEnv()

    def size(name: str, hint: int) -> Any:
        source = ConstantSource(name)
        return env.create_symintnode(env.create_symbol(hint, source, DimDynamic.DYNAMIC), hint=hint, source=source)

    a, b, c, s = (size(name, hint) for name, hint in (("a", 5), ("b", 4), ("c", 6), ("s", 128)))
    bool(s % 16 == 0)
    known = b * s >= s
    assert not isinstance(known, bool)

    def branch() -> bool:
        return bool((b + 1) * s > 8)

    return {
        "ask again": per_call(lambda: statically_known_true(known), 200),
        "branch": per_call(branch, 200),
        "new": each_call(lambda k: statically_known_true(3 * b + k * s >= k), itertools.count(3), 200),
        "chain": each_call(lambda k: chain(a, b, c, k), itertools.count(3), 200),
    }


def sympy() -> Measured:
    """No environment here: what is known is in the symbols, so only building can be compared."""
    from sympy import Symbol

    a, b, c = (Symbol(name, integer=True, positive=True) for name in "abc")
    return {"chain": each_call(lambda k: chain(a, b, c, k), itertools.count(3), 200)}


def jax() -> Measured:
    """A comparison is a `bool` at once, so there is no proposition to ask again."""
    from jax import export

    a, b, c, s = export.symbolic_shape("a, b, c, s", constraints=["mod(s, 16) == 0"])

    def branch() -> bool:
        return bool((b + 1) * s > 8)

    def asked(call: Callable[[], bool]) -> bool | None:
        try:
            return call()
        except Exception:  # jax raises where a comparison is inconclusive
            return None

    return {
        "branch": per_call(lambda: asked(branch), 200),
        "new": each_call(lambda k: asked(lambda: 3 * b + k * s >= k), itertools.count(3), 200),
        "chain": each_call(lambda k: chain(a, b, c, k), itertools.count(3), 200),
    }


ENGINES: dict[str, Callable[[], Measured]] = {"symshape": symshape, "torch": torch, "sympy": sympy, "jax": jax}


def in_process(engine: str) -> Measured | str:
    """The measurement in a fresh process; why not, where it cannot be made."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.symints", "--engine", engine],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
    measured: Measured = json.loads(done.stdout.splitlines()[-1])
    return measured


def run(options: argparse.Namespace) -> str:
    rounds: dict[str, list[Measured]] = {name: [] for name in ENGINES}
    missing: dict[str, str] = {}
    for _ in range(options.rounds):
        for name in ENGINES:
            if name in missing:
                continue
            measured = in_process(name)
            if isinstance(measured, str):
                missing[name] = measured
            else:
                rounds[name].append(measured)
    shown = {
        name: {case: statistics.median(m[case] for m in found) for case in CASES if case in found[0]}
        for name, found in rounds.items()
        if found
    }
    rows: list[list[report.Cell]] = []
    for case in CASES:
        ours = shown.get("symshape", {}).get(case)
        row: list[report.Cell] = [case]
        for name, of in shown.items():
            row.append(of.get(case))
            if name != "symshape":
                row.append(report.ratio(of[case], ours) if case in of and ours else "")
        rows.append(row)
    header = ["case"]
    for name in shown:
        header += [f"{name} µs"] + ["x ours"] * (name != "symshape")
    notes = [f"{name} is not here: {reason}" for name, reason in missing.items()]
    return "\n\n".join([report.table(header, rows), *notes])


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engine", choices=ENGINES, help="measure one in this process and print JSON")
    options = parser.parse_args()
    if options.engine:
        print(json.dumps(ENGINES[options.engine]()))
    else:
        report.publish("symints", "Operations on symbolic integers", run, parser)


if __name__ == "__main__":
    main()
