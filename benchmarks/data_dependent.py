"""Programs whose sizes come from data as whole graphs: plain torch, and torch with this engine.

    python -m benchmarks.data_dependent [--ours reasoner|backend|compile] [--programs NAME,...] [--reasons]

Each is compiled anew with `fullgraph=True`, run on all its arguments and compared with eager torch; "wrong" is a result
that differs or a false `torch._check` that passes. "undecided" are programs that only data decide: ours refuses them
with a fix, and "fixed" is the program with what its messages say applied.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from collections import Counter

from benchmarks import report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", default="reasoner", choices=["reasoner", "backend", "compile"])
    parser.add_argument("--programs", default="", help="some of them, with commas between")
    parser.add_argument("--reasons", action="store_true", help="print why ours refuses a program")
    options = parser.parse_args()

    import torch

    from tests.frontends.pytorch.data_dependent.programs import PROGRAMS
    from tests.frontends.pytorch.data_dependent.running import SPELLINGS, outcome, repaired, whole_graph

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    chosen = options.programs.split(",") if options.programs else list(PROGRAMS)
    rows: list[list[report.Cell]] = []
    counts: Counter[tuple[str, str]] = Counter()
    for name in chosen:
        program = PROGRAMS[name]
        plain = outcome(program, whole_graph)
        asked, *repairs = repaired(program, SPELLINGS[options.ours])
        mended = repairs[-1] if repairs else asked if program.undecided else None
        rows.append([name, program.reference, plain.verdict, asked.verdict, None if mended is None else mended.verdict])
        counts["plain", plain.verdict] += 1
        if plain.verdict == "refused":
            counts["ours, undecided" if program.undecided else "ours", asked.verdict] += 1
        if mended is not None:
            counts["fixed", mended.verdict] += 1
        if options.reasons and asked.verdict != "whole":
            print(f"{name}: {asked.verdict}\n{asked.reason}\n", flush=True)
    print(report.table(["program", "met in", "plain torch", "ours", "fixed"], rows))
    print()
    shown = [(who, verdict, count) for (who, verdict), count in sorted(counts.items())]
    print(report.table(["of", "verdict", "programs"], shown))


if __name__ == "__main__":
    main()
