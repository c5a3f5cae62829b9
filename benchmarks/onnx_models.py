"""Whole ONNX models: how many sizes are known, against ONNX's and ONNX Runtime's inference, and who is wrong.

    python -m benchmarks.onnx_models [--only decoder --only detector] [--write]

Networks with random weights are exported by torch with symbolic sizes. Every value of the graph is compared at five
sizes of the inputs. Known is a size that is a number or an expression in the sizes of the inputs; the others are
data-dependent (NonZero, NonMaxSuppression). ONNX's inference runs with data propagation; `runtime` is the symbolic
inference of ONNX Runtime's tools.
"""

import argparse
import time
from collections.abc import Callable

from benchmarks import report
from benchmarks.onnx_judging import inferred_by_onnx, inferred_by_runtime, judge_inferred, judge_ours, runner
from benchmarks.onnx_networks import NETWORKS, Network
from frontends.onnx import read

HEAD = [
    "network", "nodes", "sizes", "known, ours", "known, onnx", "known, runtime", "wrong, ours", "wrong, onnx",
    "wrong, runtime", "ms, ours", "ms, onnx", "ms, runtime",
]  # fmt: skip


def least_time(run: Callable[[], object]) -> float:
    """The least seconds of three runs."""
    taken = []
    for _ in range(3):
        begin = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def row(name: str, network: Network) -> list[report.Cell]:
    model = network.export()
    found = read(model)
    ours_took = least_time(lambda: read(model))
    onnx_took = least_time(lambda: inferred_by_onnx(model))
    runtime_took = least_time(lambda: inferred_by_runtime(model))
    run = runner(model)
    runs = [(sizes, feeds := network.feeds(sizes), run(feeds)) for sizes in network.sizes]
    ours, theirs = judge_ours(found, runs), judge_inferred(inferred_by_onnx(model), runs)
    symbolic = judge_inferred(inferred_by_runtime(model), runs)
    for wrong in [*ours.wrong, *theirs.wrong, *symbolic.wrong][:5]:
        print(f"{name}: {wrong}")
    return [
        name, len(model.graph.node), ours.dimensions, ours.known, theirs.known, symbolic.known,
        len(ours.wrong), len(theirs.wrong), len(symbolic.wrong), 1e3 * ours_took, 1e3 * onnx_took, 1e3 * runtime_took,
    ]  # fmt: skip


def measure(options: argparse.Namespace) -> str:
    rows = [row(name, network) for name, network in NETWORKS.items() if name in (options.only or NETWORKS)]
    totals = [sum([one[column] for one in rows]) for column in range(1, len(HEAD))]
    return report.table(HEAD, [*rows, ["all", *totals]]) + "\n\n" + report.versions("onnx", "onnxruntime", "torch")


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--only", action="append", help="a network; may be given several times")
    report.publish("onnx_models", "Whole ONNX models", measure, parser)


if __name__ == "__main__":
    main()
