"""Launch overhead: what a call of a compiled function costs besides its kernel, checks and allocations included.

    python -m benchmarks.launches [--rounds 100] [--write]

The function is `x * y + z` over three tensors of 2 x 4 x 64, so little work that nearly all of it is overhead. Whole
calls are those of `compile(backend="cpu")`, eager torch and torch.compile; its parts are measured separately: the
call's class, the entry in C, the program, one kernel. "left to Python" is the same variant without the entry in C. A
call with 8 or 32 static variants rotates over as many sizes.

All forms are interleaved, `--rounds` times; the median of them, in microseconds of processor time.
"""

import argparse
import itertools
import statistics
import time
import timeit
from collections.abc import Callable, Sequence

from benchmarks import report

SHAPE = (2, 4, 64)
TIMES = 1024


def program(x, y, z):
    return x * y + z


def with_default(x, y, z, scale=2.0):
    return (x * y + z) * scale


def medians(forms: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median of each form, all measured in turn."""
    found: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(rounds):
        for name, measured in forms.items():
            found[name].append(measured())
    return {name: statistics.median(each) for name, each in found.items()}


def per_call(function: Callable[..., object], calls: Sequence[tuple[object, ...]]) -> float:
    """Microseconds a call, rotating over these arguments, without the loop."""
    setup = {"islice": itertools.islice, "function": function, "nothing": int}
    text = "for call in islice(turns, {times}): {body}"
    spent = []
    for body in ("function(*call)", "call"):
        scope = {**setup, "turns": itertools.cycle(calls)}
        timer = timeit.Timer(text.format(times=TIMES, body=body), timer=time.process_time, globals=scope)
        spent.append(timer.timeit(1))
    return (spent[0] - spent[1]) / TIMES * 1e6


def measure(options: argparse.Namespace) -> str:
    import torch

    torch.set_num_threads(1)
    one = [arguments(SHAPE)]
    forms = {**ours(one), "eager": (program, one), **baselines(one)}
    for function, calls in forms.values():
        for call in calls:
            function(*call)
    measured = medians({name: (lambda each=each: per_call(*each)) for name, each in forms.items()}, options.rounds)
    eager = measured["eager"]
    rows: list[list[report.Cell]] = [[name, each, report.ratio(each, eager)] for name, each in measured.items()]
    return f"{report.table(['form', 'µs a call', 'of eager'], rows)}\n\n{report.versions('torch')}."


Forms = dict[str, tuple[Callable[..., object], list[tuple[object, ...]]]]


def ours(one: list[tuple[object, ...]]) -> Forms:
    """Whole calls and their parts."""
    from frontends.pytorch import Policy, compile

    dynamic = compile(program, backend="cpu", dynamic=True)
    default = compile(with_default, backend="cpu", dynamic=True)
    forms: Forms = {
        "ours": (dynamic, one),
        "ours, an argument left to its default": (default, one),
        "ours, operator by operator": (compile(program, dynamic=True), one),
    }
    for count in (8, 32):
        calls = [arguments((2, 4, width)) for width in range(33, 33 + count)]
        static = compile(program, backend="cpu", dynamic=False, policy=Policy(variants=count))
        forms[f"ours, {count} static variants"] = static, calls
    (call,) = one
    for compiled in (dynamic, default):
        compiled(*call)
    (graph,) = dynamic.graphs
    entry = graph.compiled.entry
    (host,) = dynamic.variants[0].running.hosts
    (launch,) = host.launches
    (out,) = host.function(call)
    numbers = [out.numel(), 1]
    assert len(numbers) == launch.numbers
    kernel_call = [*[out if place == 0 else tensor for place, tensor in enumerate((out, *call))], *numbers]
    forms["part: a class with `__call__` in Python"] = (Empty(), one)
    forms["part: the entry in C"] = (entry, [(call, {})])
    forms["part: the host's function in Python"] = (host.function, [(call,)])
    forms["part: the kernel alone"] = (launch, [tuple(kernel_call)])
    return forms


class Empty:
    """A call that does nothing, as Python classes are called."""

    def __call__(self, /, *args: object, **kwargs: object) -> None:
        return None


def baselines(one: list[tuple[object, ...]]) -> Forms:
    """Torch's own compiler, where it runs."""
    import torch

    forms: Forms = {}
    for backend, dynamic in (("inductor", False), ("inductor", True), ("eager", True)):
        # a function each: what torch knows of recompilations belongs to the code
        own = type(program)(program.__code__.replace(), program.__globals__)
        function = torch.compile(own, backend=backend, dynamic=dynamic)
        try:
            function(*one[0])
        except Exception as error:
            print(f"torch.compile with {backend} is not measured: {str(error).splitlines()[0]}")
            continue
        forms[f"torch.compile, {backend}, {'dynamic' if dynamic else 'static'}"] = function, one
    return forms


def arguments(shape: Sequence[int]) -> tuple[object, ...]:
    import torch

    return torch.randn(*shape), torch.randn(*shape), torch.randn(*shape)


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    report.publish("launches", "Launches: calls of compiled kernels", measure, parser)


if __name__ == "__main__":
    main()
