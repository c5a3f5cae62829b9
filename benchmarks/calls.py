"""Calls of compiled PyTorch functions: what finding the variant costs, against torch.compile with its eager backend.

    python -m benchmarks.calls [--rounds 60] [--write]

The function takes three tensors, `(x + y * z).relu()`, so little work that the overhead dominates. One variant with a
dynamic size, then calls that rotate over 64 variants for as many static sizes. "over the graph" is a call less one of
the bare graph. Torch's limit on recompilations is raised for the second part.

All forms are interleaved, `--rounds` times; the best of them, in microseconds of processor time.
"""

import argparse
import itertools
import time
import timeit
from collections.abc import Callable, Sequence

from benchmarks import report

VARIANTS = 64
WIDTH = 8


def program(x, y, z):
    return (x + y * z).relu()


def best(forms: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The least of each form, all measured in turn."""
    found = dict.fromkeys(forms, float("inf"))
    for _ in range(rounds):
        for name, measured in forms.items():
            found[name] = min(found[name], measured())
    return found


def per_call(function: Callable[..., object], calls: Sequence[tuple[object, ...]], times: int = 1024) -> float:
    """Microseconds a call, rotating over these arguments."""
    turns = itertools.cycle(calls)
    timer = timeit.Timer(
        "for call in islice(turns, times): function(*call)",
        timer=time.process_time,
        globals={"turns": turns, "islice": itertools.islice, "times": times, "function": function},
    )
    return timer.timeit(1) / times * 1e6


def measure(options: argparse.Namespace) -> str:
    import torch

    from frontends.pytorch import Policy, compile

    torch.set_num_threads(1)
    calls = [arguments(size) for size in range(2, 2 + VARIANTS)]
    ours = compile(program, dynamic=True)
    ours_static = compile(program, dynamic=False, policy=Policy(variants=VARIANTS))
    forms: dict[str, tuple[Callable[..., object], list[tuple[object, ...]]]] = {
        "ours, one variant": (ours, calls[:1]),
        "ours, 64 variants": (ours_static, calls),
        "ours, 64 variants, one of them": (ours_static, calls[:1]),
    }
    for one in calls:
        ours(*one), ours_static(*one)
    assert (len(ours.variants), len(ours_static.variants)) == (1, VARIANTS), (ours.variants, ours_static.variants)
    run = ours.variants[0].running.call
    forms["the graph by itself"] = (lambda *tensors: run(tensors), calls[:1])
    forms["the function by itself"] = (program, calls[:1])
    compiled = baseline()
    if compiled is not None:
        one_graph, many = compiled
        for one in calls:
            one_graph(*one), many(*one)
        forms["torch.compile, one variant"] = (one_graph, calls[:1])
        forms["torch.compile, 64 variants"] = (many, calls)
        forms["torch.compile, 64 variants, one of them"] = (many, calls[:1])
    found = best({name: (lambda each=each: per_call(*each)) for name, each in forms.items()}, options.rounds)
    graph = found["the graph by itself"]
    rows: list[list[report.Cell]] = []
    for name, each in found.items():
        engine, _, kind = name.partition(", ")
        rotating = kind == f"{VARIANTS} variants"
        compared = report.ratio(each, found[f"{engine}, one variant"]) if rotating else ""
        over = None if name.endswith("by itself") else each - graph
        rows.append([name, each, over, compared])
    table = report.table(["a call", "in all", "over the graph", "of one variant"], rows)
    return f"{table}\n\n{report.versions('torch')}."


def arguments(size: int) -> tuple[object, ...]:
    import torch

    return torch.randn(size, WIDTH), torch.randn(size, WIDTH), torch.randn(WIDTH)


def baseline() -> tuple[Callable[..., object], Callable[..., object]] | None:
    """Torch's own, with one dynamic variant and with static ones."""
    import torch

    try:
        import torch._dynamo.config as config

        config.recompile_limit = config.accumulated_recompile_limit = 2 * VARIANTS
        # a function each: what torch knows of recompilations belongs to the code
        first, second = (type(program)(program.__code__.replace(), program.__globals__) for _ in range(2))
        return (
            torch.compile(first, backend="eager", dynamic=True),
            torch.compile(second, backend="eager", dynamic=False),
        )
    except Exception as error:
        print(f"torch.compile is not measured: {error}")
        return None


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    report.publish("calls", "Calls of compiled PyTorch functions", measure, parser)


if __name__ == "__main__":
    main()
