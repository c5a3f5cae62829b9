"""Guards at run time: what a call pays to check that a variant is valid for its sizes.

    python -m benchmarks.guards [--rounds 15] [--write]

Ten guards over the sizes of three tensors, given as nine integers or as three tuples: x is (b, s, d), y is (b, t, d), w
is (d, h, k), so three of the guards say that sizes agree. Generated Python and C, against guards written carefully by a
person (`benchmarks/handwritten_guards.py`). A rejected call is the mean over one call for each irredundant guard, with
sizes that only it rejects.

Then a dispatch among n variants, inputs rotating over all of them: the generated tree, and the checks one by one.

All forms are interleaved, `--rounds` times; medians, in microseconds of processor time. An empty call is shown for
scale.
"""

import argparse
import os
import resource
import statistics
import tempfile
import time
import timeit
from collections.abc import Callable, Sequence

from benchmarks import handwritten_guards, report
from shapes import ShapeEnv
from shapes.guards.codegen import Check, is_check
from shapes.guards.dispatch import Dispatch

HINTS = {"b": 4, "s": 128, "t": 256, "d": 192, "h": 3, "k": 64}
GUARDS = (
    "s % 16 == 0",
    "t >= s",
    "t <= 8192",
    "(b*s) % 64 == 0",
    "b*s*d < 2**31",
    "h*k == d",
    "d % 32 == 0",
)
POSITIONS = {"b": [0, 3], "s": 1, "d": [2, 5, 6], "t": 4, "h": 7, "k": 8}
PATHS = {
    "b": [("x", 0), ("y", 0)],
    "s": ("x", 1),
    "d": [("x", 2), ("y", 2), ("w", 0)],
    "t": ("y", 1),
    "h": ("w", 1),
    "k": ("w", 2),
}
ACCEPTED = (4, 128, 192, 4, 256, 192, 192, 3, 64)
REJECTED = (
    (4, 120, 192, 4, 256, 192, 192, 3, 64),
    (4, 128, 192, 4, 64, 192, 192, 3, 64),
    (4, 128, 192, 4, 9000, 192, 192, 3, 64),
    (1, 16, 192, 1, 256, 192, 192, 3, 64),
    (2**20, 128, 192, 2**20, 256, 192, 192, 3, 64),
    (4, 128, 192, 4, 256, 192, 192, 3, 63),
    (4, 128, 48, 4, 256, 48, 48, 3, 16),
    (4, 128, 192, 5, 256, 192, 192, 3, 64),
    (4, 128, 192, 4, 256, 160, 192, 3, 64),
    (4, 128, 192, 4, 256, 192, 160, 3, 64),
)
COUNTS = (1, 8, 32, 64)


def environment() -> ShapeEnv:
    env = ShapeEnv()
    for name, hint in HINTS.items():
        env.symbol(name, lo=1, hint=hint)
    for guard in GUARDS:
        assert env.guard(guard)
    return env


def tensors(sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    return tuple(sizes[:3]), tuple(sizes[3:6]), tuple(sizes[6:])


def empty(b: int, s: int, d: int, b2: int, t: int, d2: int, d3: int, h: int, k: int) -> bool:
    return True


def per_call(function: Callable[..., object], calls: Sequence[Sequence[object]], times: int) -> float:
    """Microseconds a call, with the arguments as constants, as where a compiler emits the call."""
    text = "\n".join([f"check({', '.join(map(repr, arguments))})" for arguments in calls])
    timer = timeit.Timer(text, timer=time.process_time, globals={"check": function})
    return timer.timeit(times // len(calls)) / (times // len(calls) * len(calls)) * 1e6


def interleaved(forms: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median of each form, all measured in turn."""
    found: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(rounds):
        for name, measured in forms.items():
            found[name].append(measured())
    return {name: statistics.median(times) for name, times in found.items()}


def calls_table(rounds: int) -> str:
    env = environment()
    by_position, by_path = env.compile_guards(POSITIONS), env.compile_guards(PATHS)
    forms: dict[str, tuple[Callable[..., bool], bool]] = {
        "empty Python function": (empty, False),
        "handwritten": (handwritten_guards.check, False),
        "generated Python": (by_position, False),
        "native": (by_position.native(), False),
        "handwritten, tuples": (handwritten_guards.check_tensors, True),
        "generated Python, tuples": (by_path, True),
        "native, tuples": (by_path.native(), True),
    }
    timed: dict[str, Callable[[], float]] = {}
    for name, (function, nested) in forms.items():
        accepted = [tensors(ACCEPTED) if nested else ACCEPTED]
        rejected = [tensors(sizes) if nested else sizes for sizes in REJECTED]
        if function is not empty:
            assert function(*accepted[0]) and not any(function(*sizes) for sizes in rejected), name
        timed[name] = lambda function=function, calls=accepted: per_call(function, calls, 20_000)
        timed[f"{name}, rejected"] = lambda function=function, calls=rejected: per_call(function, calls, 20_000)
    large = tuple([size * 2**70 if place in (0, 3) else size for place, size in enumerate(ACCEPTED)])
    timed["beyond 64 bits"] = lambda: per_call(by_position.native(), [large], 20_000)
    found = interleaved(timed, rounds)
    rows: list[list[report.Cell]] = []
    for name, (function, nested) in forms.items():
        hand = found["handwritten, tuples" if nested else "handwritten"]
        compared = report.ratio(found[name], hand) if function is not empty else ""
        shown = (
            name
            if not is_check(function) or function.form in name.lower() or not function.reason
            else function.reason
        )
        rows.append([shown, found[name], compared, found[f"{name}, rejected"]])
    rows.append(["native, a size beyond 64 bits (falls back)", None, "", found["beyond 64 bits"]])
    table = report.table(["ten guards", "accepted", "of handwritten", "rejected"], rows)
    saved = found["generated Python"] - found["native"]
    return f"{table}\n\n{building(env, saved)}"


def building(env: ShapeEnv, saved: float) -> str:
    """Measure the cost of building the forms, and the calls after which the native one has paid."""
    python, native, loaded = [], [], []
    before = os.environ.get("SYMSHAPE_CACHE")
    try:
        for _ in range(5):
            begin = processor_time()
            check = env.compile_guards(POSITIONS)
            python.append(processor_time() - begin)
            with tempfile.TemporaryDirectory() as folder:
                os.environ["SYMSHAPE_CACHE"] = folder
                for times in (native, loaded):
                    forget()
                    begin = processor_time()
                    check = check.native()
                    times.append(processor_time() - begin)
                    if check.form != "native":
                        return f"No native form here: {check.reason}."
                    check = env.compile_guards(POSITIONS)
    finally:
        if before is None:
            os.environ.pop("SYMSHAPE_CACHE", None)
        else:
            os.environ["SYMSHAPE_CACHE"] = before
    milliseconds = [1000 * statistics.median(times) for times in (python, native, loaded)]
    calls = milliseconds[1] * 1000 / saved
    return (
        f"Making the check: Python form {milliseconds[0]:.1f} ms, native form {milliseconds[1]:.0f} ms, from the cache "
        f"{milliseconds[2]:.1f} ms. A native form that must be built has paid after {calls:,.0f} calls, so it is built "
        "when asked for."
    )


def processor_time() -> float:
    """The processor time of this process and of the compilers that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum([usage.ru_utime + usage.ru_stime for usage in used])


def forget() -> None:
    """Drop what this process has loaded, so that the next time is that of a new process."""
    from shapes.guards import extension_modules

    extension_modules._loaded.clear()


def dispatches_table(rounds: int) -> str:
    timed: dict[str, Callable[[], float]] = {}
    made: dict[int, float] = {}
    for count in COUNTS:
        dispatch: Dispatch[int] = Dispatch(["b", "s", "t"])
        checks: list[Check] = []
        for number in range(count):
            check = variant(number)
            checks.append(check)
            dispatch.add(check, number)
        calls = [(4, 64 * number + 16, 8 * number + 8) for number in range(count)]
        begin = processor_time()
        dispatch.lookup(*calls[0])
        made[count] = 1000 * (processor_time() - begin)
        assert [dispatch.lookup(*call) for call in calls] == list(range(count))

        def scan(*arguments: int, checks: list[Check] = checks) -> int | None:
            for number, check in enumerate(checks):
                if check(*arguments):
                    return number
            return None

        timed[f"tree {count}"] = lambda lookup=dispatch.lookup, calls=calls: per_call(lookup, calls, 12_800)
        timed[f"scan {count}"] = lambda scan=scan, calls=calls: per_call(scan, calls, 1_280)
    found = interleaved(timed, rounds)
    rows: list[list[report.Cell]] = [
        ["generated tree", *[found[f"tree {count}"] for count in COUNTS]],
        ["generated checks, one by one", *[found[f"scan {count}"] for count in COUNTS]],
        ["making the tree, ms", *[made[count] for count in COUNTS]],
    ]
    return report.table(["dispatch among n variants", *map(str, COUNTS)], rows)


def variant(number: int) -> Check:
    """Sizes of one bucket, and what every variant of a kernel requires."""
    env = ShapeEnv()
    env.symbol("b", lo=1, hint=4)
    env.symbol("s", lo=1, hint=64 * number + 16)
    env.symbol("t", lo=1, hint=8 * number + 8)
    for guard in (f"s >= {64 * number}", f"s < {64 * number + 64}", "s % 16 == 0", "t % 8 == 0", "b*s*t < 2**31"):
        assert env.guard(guard)
    return env.compile_guards({"b": 0, "s": 1, "t": 2})


def measure(options: argparse.Namespace) -> str:
    return f"{calls_table(options.rounds)}\n\n{dispatches_table(options.rounds)}"


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    report.publish("guards", "Guards at run time", measure, parser)


if __name__ == "__main__":
    main()
