"""The effect of padding a matrix product to friendly sizes on this machine: why the CPU backend does not pad.

    python -m benchmarks.padding [--rounds 15] [--write]

A product (m, k) by (k, n) with an odd inner size k follows an elementwise operator and is followed by another. "padded"
is with k raised to the next multiple of 16, as if the operator in front had written its result with columns of zeros
behind it, which costs that much more writing; the weights are padded once and are not counted. Zeros add nothing to a
sum, so padding is invisible whenever the operator in front gives finite numbers. A ratio below 1 would be a gain.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from benchmarks import report

SIZES = ((32, 63, 64), (128, 127, 128), (256, 255, 1024), (512, 1001, 512), (1024, 769, 768), (8, 4097, 1024))
BLOCK = 16
LEAST = 2e-3


def measure(options: argparse.Namespace) -> str:
    import torch

    torch.set_num_threads(1)
    rows: list[list[report.Cell]] = []
    for m, k, n in SIZES:
        wide = -(-k // BLOCK) * BLOCK
        x, weight = torch.randn(m, k), torch.randn(k, n)
        padded, padded_weight = torch.zeros(m, wide), torch.zeros(wide, n)
        padded_weight[:k] = weight
        odd, even = torch.empty(m, k), padded[:, :k]

        def plain(x=x, odd=odd, weight=weight) -> object:
            torch.clamp_min(x, 0, out=odd)
            return odd @ weight

        def with_zeros(x=x, even=even, padded=padded, weight=padded_weight) -> object:
            torch.clamp_min(x, 0, out=even)
            padded[:, x.shape[1] :] = 0
            return padded @ weight

        torch.testing.assert_close(plain(), with_zeros(), rtol=1e-4, atol=1e-3)
        one, other = interleaved([plain, with_zeros], options.rounds)
        rows.append([f"({m}, {k}) by ({k}, {n})", one, other, other / one])
    table = report.table(["product", "as it is, us", "padded, us", "padded / as it is"], rows)
    return f"{table}\n\n{report.versions('torch')}."


def interleaved(functions: list[Callable[[], object]], rounds: int) -> list[float]:
    """The median microseconds of each, all run in turn."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for found, function in zip(times, functions):
            count, began = 0, time.process_time()
            while (spent := time.process_time() - began) < LEAST:
                function()
                count += 1
            found.append(spent / count * 1e6)
    return [statistics.median(each) for each in times]


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    report.publish("padding", "Padding a matrix product", measure, parser)


if __name__ == "__main__":
    main()
