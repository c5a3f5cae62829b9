"""Shape rules against torch's meta functions under its symbolic mode: microseconds of one call on symbolic sizes.

    python -m benchmarks.rules [--only conv2d,cat] [--calls 3] [--rounds 5] [--slowest 10] [--write]

The calls are drawn from `shapes.testing.arguments` with a fixed seed; those are kept that torch's CPU kernel accepts
and that have a size of at least 2 somewhere. Both sides get the same sizes the way torch makes them symbolic: equal
sizes share a symbol that is at least 2, 0 and 1 stay numbers. "own symbols" is ours with a symbol from 0 for every
size. On torch's side the inputs are made once by `FakeTensorMode.from_tensor` with dynamic dimensions, and its Python
dispatcher is on, as it is when torch traces with symbolic sizes.

- first: a new environment each time, the caches of fake tensors emptied, what is imported lazily loaded before
- again: the same call in the same environment

Ours and torch's alternate, round by round. An operator's figure is the median over its calls, a call's the median over
its rounds; a ratio is ours over torch's for the same operator.
"""

import argparse
import gc
import logging
import statistics
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from benchmarks import report
from shapes import ShapeEnv, UndecidedGuard
from shapes.errors import ShapeError
from shapes.rules import Rule, rules
from shapes.testing.arguments import arguments_for, operators_with_arguments
from shapes.testing.calls import Call, Input
from shapes.testing.references.torch_eager import tensor_of, torch_eager, torch_operator

DRAWN = 60
REPEATS = 5
TARGET_MICROSECONDS = 50
TARGET_RATIO = 0.1

Timed = Callable[[], object]


@dataclass
class Measured:
    """Medians in microseconds, one a call; a call that torch's symbolic mode cannot run has none of torch's."""

    ours_first: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    own_first: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    torch_first: list[float] = field(default_factory=list)
    torch: list[float] = field(default_factory=list)
    refused: str = ""

    def median(self, column: str) -> float | None:
        values = getattr(self, column)
        return statistics.median(values) if values else None

    def ratio(self, part: str, whole: str) -> float | None:
        ours, theirs = self.median(part), self.median(whole)
        return ours / theirs if ours is not None and theirs else None


def drawn_calls(name: str, count: int, accepted: Callable[[Call], object]) -> list[Call]:
    """A number of accepted calls of an operator, those with many sizes first; the same in every process."""
    found: dict[str, Call] = {}

    @settings(
        max_examples=DRAWN,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @seed(0)
    @given(arguments_for(name))
    def draw(call: Call) -> None:
        found.setdefault(repr(call), call)

    draw()
    large = sorted(found.values(), key=lambda call: -sum(int(size) > 1 for tensor in call.inputs() for size in tensor))
    kept = []
    for call in large:
        if any(int(size) > 1 for tensor in call.inputs() for size in tensor) and accepted(call) is not None:
            kept.append(call)
        if len(kept) == count:
            break
    return kept


def symbolic(call: Call, env: ShapeEnv, *, shared: bool, hinted: bool) -> tuple[tuple[object, ...], dict[str, object]]:
    """The arguments with symbols for sizes: one for equal sizes from 2 on as torch has them, or one for each size."""
    symbols: dict[int, Any] = {}

    def size_of(size: int) -> Any:
        if shared and size < 2:
            return size
        if shared and size in symbols:
            return symbols[size]
        made = env.symbol(f"s{len(env.symbols)}", lo=2 if shared else 0, hint=size if hinted else None)
        return symbols.setdefault(size, made) if shared else made

    def tensor(given: Input) -> Input:
        return Input(
            [size_of(int(size)) for size in given],
            dtype=given.dtype,
            strides=given.strides,
            storage_offset=given.storage_offset,
            low=given.low,
            high=given.high,
            values=given.values,
        )

    return call.replaced(tensor)


def needs_hints(rule: Rule, call: Call, shared: bool) -> bool:
    """Return True if a size decides the number of axes or outputs, so that it must be known."""
    env = ShapeEnv()
    args, kwargs = symbolic(call, env, shared=shared, hinted=False)
    try:
        rule(env, *args, **kwargs)
    except UndecidedGuard:
        return True
    return False


def our_call(rule: Rule, call: Call, shared: bool, hinted: bool) -> Timed:
    env = ShapeEnv()
    args, kwargs = symbolic(call, env, shared=shared, hinted=hinted)
    return lambda: rule(env, *args, **kwargs)


def torch_call(name: str, call: Call) -> Timed:
    import torch
    from torch._dispatch.python import enable_python_dispatcher
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    FakeTensorMode.cache_clear()
    mode = FakeTensorMode(shape_env=ShapeEnv())
    function = torch_operator(name)

    def tensor(given: Input) -> object:
        real: Any = tensor_of(given)
        if not real.dim():
            return mode.from_tensor(real)
        context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DUCK] * real.dim())
        return mode.from_tensor(real, symbolic_context=context)

    args, kwargs = call.replaced(tensor)

    def run() -> object:
        with mode, enable_python_dispatcher(), torch.no_grad():
            return function(*args, **kwargs)

    return run


def microseconds(run: Timed) -> float:
    begin = time.perf_counter_ns()
    run()
    return (time.perf_counter_ns() - begin) / 1000


def measure(name: str, calls: Iterable[Call], rounds: int) -> Measured:
    rule, measured = rules[name], Measured()
    for call in calls:
        makers: dict[str, Callable[[], Timed]] = {}
        try:
            for prefix, shared in (("ours", True), ("own", False)):
                hinted = needs_hints(rule, call, shared)
                makers[prefix] = partial(our_call, rule, call, shared, hinted)
                makers[prefix]()()
        except ShapeError as refused:
            measured.refused = f"ours: {str(refused).splitlines()[0]}"
            continue
        try:
            torch_call(name, call)()
            makers["torch"] = partial(torch_call, name, call)
        except Exception as refused:  # whatever torch's symbolic mode has no answer for
            measured.refused = f"{type(refused).__name__}: {(str(refused).splitlines() or [''])[0][:80]}"
        spent: dict[str, list[float]] = {}
        for _ in range(rounds):
            for prefix, make in makers.items():
                run = make()
                gc.collect(0)
                spent.setdefault(f"{prefix}_first", []).append(microseconds(run))
                spent.setdefault(prefix, []).append(statistics.median(microseconds(run) for _ in range(REPEATS)))
        for column, values in spent.items():
            getattr(measured, column).append(statistics.median(values))
    return measured


def median_of(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return statistics.median(found) if found else None


def run(options: argparse.Namespace) -> str:
    import torch

    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    names = options.only.split(",") if options.only else sorted(operators_with_arguments())
    found: dict[str, Measured] = {}
    gc.disable()
    for name in names:
        found[name] = measure(name, drawn_calls(name, options.calls, torch_eager(name)), options.rounds)
        gc.collect()
    gc.enable()
    both = {name: m for name, m in found.items() if m.ours and m.torch}
    lines: list[list[report.Cell]] = []
    for label, ours, own, theirs in (
        ("first", "ours_first", "own_first", "torch_first"),
        ("again", "ours", "own", "torch"),
    ):
        ratios = [m.ratio(ours, theirs) for m in both.values()]
        known = [ratio for ratio in ratios if ratio is not None]
        lines.append(
            [
                f"{label}: median over {len(both)} operators",
                median_of(m.median(ours) for m in both.values()),
                median_of(m.median(own) for m in both.values()),
                median_of(m.median(theirs) for m in both.values()),
                median_of(ratios),
                f"{sum(ratio <= TARGET_RATIO for ratio in known)} of {len(known)}",
                f"{sum((m.median(ours) or 0) <= TARGET_MICROSECONDS for m in both.values())} of {len(both)}",
            ]
        )
    summary = report.table(
        ["", "ours µs", "own symbols µs", "torch µs", "median ratio", "<= 1/10 of torch", "<= 50 µs"], lines
    )
    slowest = sorted(both, key=lambda name: -(both[name].median("ours_first") or 0))[: options.slowest]
    columns = ("ours_first", "own_first", "torch_first", "ours", "own", "torch")
    rows: list[list[report.Cell]] = [
        [f"`{name}`", *[both[name].median(column) for column in columns], both[name].ratio("ours_first", "torch_first")]
        for name in slowest
    ]
    header = ["slowest", "first µs", "own symbols", "torch", "again µs", "own symbols", "torch", "ratio, first"]
    parts = [summary, report.table(header, rows)]
    alone = sorted(name for name, m in found.items() if m.ours and not m.torch)
    nothing = sorted(name for name, m in found.items() if not m.ours)
    if alone:
        told = "; ".join(f"`{name}` ({found[name].refused})" for name in alone) if options.why else ", ".join(alone)
        parts.append(f"{len(alone)} operators whose calls torch's symbolic mode cannot run: {told}.")
    if nothing:
        parts.append(f"{len(nothing)} without a measured call: {', '.join(nothing)}.")
    parts.append(report.versions("torch"))
    return "\n\n".join(parts)


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--only", default="", help="some operators, with commas between")
    parser.add_argument("--calls", type=int, default=3, help="calls of each operator")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slowest", type=int, default=10)
    parser.add_argument("--why", action="store_true", help="tell why torch's symbolic mode cannot run a call")
    report.publish("rules", "Shape rules of operators", run, parser)


if __name__ == "__main__":
    main()
