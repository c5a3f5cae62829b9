"""Our Triton kernels beside Inductor's on a GPU: `python -m benchmarks.triton_kernels`.

    >>> from benchmarks.triton_kernels import geometric_mean
    >>> geometric_mean([0.5, 2.0])
    1.0

Each kernel at several sizes, compiled once with all sizes open, by us and by `torch.compile(dynamic=True)`. The time of
the device is the median of many runs with a cold cache; the time of the host is that of calls that do not wait.
Without a GPU it says so and ends.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

import torch

SIZES = [(4096, 1024), (4096, 1001), (100_000, 64), (128, 20_000), (8192, 4096), (63, 127)]
SHOWN = "case | size | ours us | Inductor dynamic us | eager us | ratio to Inductor | host us: ours, Inductor, eager"


def geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(sum([math.log(ratio) for ratio in ratios]) / len(ratios))


def device_time(call: Callable[[], object], flush: torch.Tensor) -> float:
    """Microseconds on the device, with a cold cache."""
    call()
    torch.cuda.synchronize()
    times = []
    for _ in range(25):
        flush.zero_()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        times.append((start, end))
    torch.cuda.synchronize()
    return 1000 * median([start.elapsed_time(end) for start, end in times])


def host_time(call: Callable[[], object]) -> float:
    """Microseconds of a call that does not wait for the device."""
    found = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(50):
            call()
        found.append((time.perf_counter() - start) / 50 * 1e6)
        torch.cuda.synchronize()
    return median(found)


def measure(wanted: Sequence[str], *, inductor: bool) -> None:
    """Print a row for each case and size, and the geometric means."""
    from tests.backends.triton.cases import CASES
    from tests.backends.triton.checking import host_of

    flush = torch.empty(256 * 2**20 // 4, device="cuda")
    print(SHOWN, flush=True)
    ratios: dict[str, list[float]] = {}
    for case in [case for case in CASES if not wanted or any(word in case.name for word in wanted)]:
        host = host_of(case, "cuda", fill=False)
        torch._dynamo.reset()
        peer = torch.compile(case.eager, dynamic=True) if inductor else case.eager
        for rows, columns in SIZES:
            scale = 12 if len(case.inputs[0].split()) == 4 else 1
            sizes = {"b": rows // scale or 1, "s": columns}
            inputs = [each.cuda() for each in case.tensors(**sizes)]
            calls = [partial(host.function, inputs), partial(peer, *inputs), partial(case.eager, *inputs)]
            for one, other in zip(calls[0](), calls[2]()):
                torch.testing.assert_close(one, other, atol=1e-3, rtol=1e-2)
            times = [device_time(call, flush) for call in calls]
            hosts = [host_time(call) for call in calls] if rows == SIZES[-1][0] else []
            ratios.setdefault(case.name, []).append(times[0] / times[1])
            cells = [case.name, f"{sizes['b']}x{columns}", *[f"{each:.1f}" for each in times]]
            cells += [f"{times[0] / times[1]:.2f}", ", ".join([f"{each:.1f}" for each in hosts])]
            print(" | ".join(cells), flush=True)
    for name, found in ratios.items():
        print(f"{name}: {geometric_mean(found):.2f}")
    print(f"all: {geometric_mean([ratio for found in ratios.values() for ratio in found]):.3f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="words of the names of cases")
    parser.add_argument("--no-inductor", action="store_true", help="leave Inductor out")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("there is no GPU here: nothing was measured")
        return 0
    measure(arguments.cases, inductor=not arguments.no_inductor)
    return 0


if __name__ == "__main__":
    sys.exit(main())
