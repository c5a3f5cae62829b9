"""Kernels traced at unrepresentative sizes: 4 rows and then 100,000, and the other way round.

    python -m benchmarks.kernels.hints [--rounds 9] [--write]

The same function is compiled twice, traced at each of the two sizes, and both kernels run at both. A ratio is the time
of the kernel traced elsewhere by that of the one traced there; where kernels choose at run time, it is 1.
"""

from __future__ import annotations

import argparse

from benchmarks import report
from benchmarks.clocks import clock_for
from benchmarks.kernels.__main__ import interleaved
from benchmarks.kernels.forms import ours
from benchmarks.kernels.programs import PROGRAMS

FEW, MANY, COLUMNS = 4, 100_000, 64
NAMES = ("gelu with bias", "softmax", "layer norm", "column sum", "RMS norm with residual", "cross entropy")


def measure(options: argparse.Namespace) -> str:
    import torch

    torch.set_num_threads(options.threads)
    rows: list[list[report.Cell]] = []
    for program in PROGRAMS:
        if program.name not in NAMES:
            continue
        sizes = {
            count: (count, COLUMNS) if program.name == "cross entropy" else (count, 1, COLUMNS) for count in (FEW, MANY)
        }
        inputs = {count: program.make(*size) for count, size in sizes.items()}
        forms = {count: ours(str(count), program.function, dynamic=True) for count in sizes}
        for count, form in forms.items():
            form.function(*inputs[count])
        row: list[report.Cell] = [program.name]
        for here, elsewhere in ((MANY, FEW), (FEW, MANY)):
            calls = {count: form.forward(inputs[here])[1] for count, form in forms.items()}
            micros = interleaved(
                {str(count): each for count, each in calls.items()}, options.rounds, clock_for(options.threads)
            )
            row += [micros[str(here)], micros[str(elsewhere)] / micros[str(here)]]
        rows.append(row)
    header = ["kernels", f"at {MANY:,} rows, us", f"traced at {FEW}", f"at {FEW} rows, us", f"traced at {MANY:,}"]
    return f"{report.table(header, rows)}\n\n{report.versions('torch')}."


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    report.publish("kernels.hints", "Kernels traced at unrepresentative sizes", measure, parser)


if __name__ == "__main__":
    main()
