"""The time that `import shapes` adds to the start of Python, and modules that it must not import.

    python -m benchmarks.import_time [--rounds 7] [--write]
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import report

PROGRAMS = {
    "nothing": "pass",
    "shapes": "import shapes",
    "shapes, first question": (
        "from shapes import ShapeEnv; env = ShapeEnv(); b, s = env.sizes('b s', hints=(4, 128)); env.ask(b * s >= b)"
    ),
    "sympy": "import sympy",
    "z3": "import z3",
    "jax.export": "from jax import export",
    "torch's ShapeEnv": "from torch.fx.experimental.symbolic_shapes import ShapeEnv",
    "tvm": "import tvm",
}
HEAVY = ("torch", "sympy", "z3", "numpy")


def execute(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def run(options: argparse.Namespace) -> str:
    # The first run of each also warms the disk.
    here = {name: program for name, program in PROGRAMS.items() if not execute(program).returncode}
    spent: dict[str, list[float]] = {name: [] for name in here}
    for _ in range(options.rounds):
        for name, program in here.items():
            begin = time.perf_counter()
            execute(program)
            spent[name].append(1000 * (time.perf_counter() - begin))
    middle = {name: statistics.median(times) for name, times in spent.items()}
    base = middle["nothing"]
    ours = middle.get("shapes", base) - base
    rows: list[list[report.Cell]] = [
        [name, ms, ms - base, report.ratio(ms - base, ours) if ours and name != "nothing" else ""]
        for name, ms in middle.items()
    ]
    loaded = execute(f"import shapes, sys; print(*[name for name in {HEAVY} if name in sys.modules])").stdout.split()
    note = f"`import shapes` loads {', '.join(loaded) or 'none'} of {', '.join(HEAVY)}."
    return "\n\n".join([report.table(["program", "ms", "more than nothing", "x shapes"], rows), note])


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    report.publish("import_time", "Import", run, parser)


if __name__ == "__main__":
    main()
