"""Small models compiled for the CPU, forward and with their backward, against Inductor and torch operator by operator.

    python -m benchmarks.compiled_models [--threads 1] [--rounds 7] [--models gpt2,t5] [--static] [--dynamo] [--write]

| column | what is measured |
|---|---|
| first call | CPU seconds from the first call to its result, trace included |
| / dynamic | time of a call, ours by Inductor's with `dynamic=True`: geometric mean of the sizes, and the worst |
| / eager | the same by torch operator by operator |
| peak | the most memory allocated during a call at the largest size, as torch's profiler sees it, ours by Inductor's |
| graphs | with `--dynamo`: Dynamo's graphs of all sizes, ours and Inductor's: more are sizes specialized |

Each row has a process of its own, with empty caches, and `--limit` seconds of wall time; what it has measured by then
is its row, and the table is written row by row. Each engine has compiled another function before its first call, so
that what is built once per machine exists; ours comes first, so torch's one-time initialization counts as ours.
Inference runs without gradients; training is the loss and the gradients of all parameters. All are interleaved, size by
size, and all results are compared with eager torch's. With one thread it is processor time, with more wall time. With
`--dynamo`, ours is `torch.compile(model, backend="symshape")`: Dynamo captures, our kernels run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from benchmarks import report
from benchmarks.clocks import Clock, clock_for

if TYPE_CHECKING:
    import torch

    from benchmarks.models import Model

TEXT: Final = ((2, 7), (1, 1), (1, 32), (4, 128), (3, 129), (8, 512))
IMAGES: Final = ((2, 5), (1, 4), (4, 8), (3, 9), (1, 16), (8, 16))
LONGEST: Final = 512
ENGINES: Final = ("dynamic", "static", "eager")
LEAST: Final = 2e-3


def models() -> dict[str, Model]:
    """The models by name, made for sequences up to `LONGEST`, with the sizes that they run at; the first is traced."""
    from benchmarks.models import MODELS
    from benchmarks.models.language import EAGER, KEY_VALUE_HEADS, TOKENS, VOCABULARY, decoder, encoder, made, text
    from benchmarks.models.model import Model

    gpt2 = made(
        "GPT2", "LMHeadModel", n_layer=2, n_embd=64, n_head=4, vocab_size=VOCABULARY, n_positions=LONGEST,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, **EAGER, **TOKENS,
    )  # fmt: skip
    mistral = decoder("mistral", "Mistral", max_position_embeddings=LONGEST, **KEY_VALUE_HEADS)
    longer = {"max_position_embeddings": LONGEST}
    found = [
        Model("gpt2", gpt2, text, TEXT),
        replace(MODELS["t5"], sizes=TEXT),
        replace(mistral, sizes=TEXT),
        replace(MODELS["vit"], sizes=IMAGES),
        replace(MODELS["unet"], sizes=IMAGES),
        replace(encoder("bert", "Bert", **longer), sizes=TEXT),
        replace(decoder("llama", "Llama", **longer), sizes=TEXT),
        replace(decoder("qwen3", "Qwen3", head_dim=16, **longer, **KEY_VALUE_HEADS), sizes=TEXT),
        replace(decoder("phi", "Phi", embd_pdrop=0.0, resid_pdrop=0.0, **longer), sizes=TEXT),
        replace(MODELS["resnet"], sizes=IMAGES),
    ]
    return {model.name: model for model in found}


def program(model: Model) -> tuple[torch.nn.Module, Callable[..., torch.Tensor]]:
    """A module with the same parameters in every process, and its loss."""
    import torch

    from benchmarks.models.model import loss_of

    torch.manual_seed(0)
    module = model.build()
    return module, lambda **inputs: loss_of(module(**inputs))


def compiled(engine: str, function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A function by one of the engines."""
    import torch

    if engine == "ours":
        from frontends.pytorch import compile

        return compile(function, backend="cpu", dynamic=True)
    if engine == "symshape":
        return torch.compile(function, backend="symshape", dynamic=True)
    if engine == "eager":
        return function
    return torch.compile(function, dynamic=engine == "dynamic")


def step(module: torch.nn.Module, function: Callable[..., torch.Tensor], training: bool) -> Callable[..., object]:
    """One call: the loss, and the gradients if training."""
    import torch

    parameters = [each for each in module.parameters() if each.requires_grad]

    def inference(inputs: dict[str, object]) -> object:
        with torch.no_grad():
            return function(**inputs)

    def train(inputs: dict[str, object]) -> object:
        loss = function(**inputs)
        return loss, *torch.autograd.grad(loss, parameters, allow_unused=True)

    return train if training else inference


# ---------------------------------------------------------------------- a row


@dataclass(slots=True)
class Measured:
    """The measurements of a model in one process: by engine, as its lines of JSON arrive.

    Attributes:
        first: CPU seconds of the first call.
        times: of a call, size by size.
        peak: the most bytes at once, at the last size.
        graphs: Dynamo's, of all sizes so far.
        problem: why there is no more.
    """

    first: dict[str, float] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=dict)
    peak: dict[str, int] = field(default_factory=dict)
    graphs: dict[str, int] = field(default_factory=dict)
    problem: str = ""

    def read(self, text: str) -> None:
        """Read the output of a process, except a line that it did not finish."""
        for line in text.splitlines():
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if not isinstance(found, dict):
                continue
            self.first.update(found.get("first", {}))
            self.peak.update(found.get("peak", {}))
            self.graphs.update(found.get("graphs", {}))
            for engine, seconds in found.get("times", {}).items():
                self.times.setdefault(engine, []).append(seconds)


def measured(name: str, training: bool, engines: Sequence[str], options: argparse.Namespace) -> Measured:
    """A model in a process of its own, for as long as it may take."""
    found = Measured()
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "SYMSHAPE_CACHE": os.path.join(folder, "ours"),
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "theirs"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        }
        command = [sys.executable, "-m", "benchmarks.compiled_models", "--row", name, str(int(training))]
        command += [",".join(engines), "--threads", str(options.threads), "--rounds", str(options.rounds)]
        try:
            run = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False, timeout=options.limit
            )
        except subprocess.TimeoutExpired as ended:
            found.read((ended.output or b"").decode())
            found.problem = f"{options.limit:.0f} s were not enough"
        else:
            found.read(run.stdout)
            if run.returncode:
                found.problem = (run.stderr.strip().splitlines() or ["no message"])[-1][:200]
    return found


def row_of(name: str, training: bool, engines: Sequence[str], options: argparse.Namespace) -> None:
    """The same in this process: a line of JSON for the first calls, and for each size."""
    import torch

    torch.set_num_threads(options.threads)
    # each engine has the number of compilations that it would have alone
    torch._dynamo.config.recompile_limit *= len(engines)
    graphs = dict.fromkeys(engines, 0)
    for engine in engines:
        other = compiled(engine, lambda x: (x * 2).softmax(-1).sum())
        other(torch.randn(3, 5, requires_grad=training))
    model = models()[name]
    module, function = program(model)
    runs = {engine: step(module, compiled(engine, function), training) for engine in engines}
    for place, size in enumerate(model.sizes):
        inputs = model.inputs(*size)
        results = {}
        for engine, run in runs.items():
            before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
            began = spent()
            results[engine] = run(inputs)
            if not place:
                print(json.dumps({"first": {engine: spent() - began}}), flush=True)
            graphs[engine] += torch._dynamo.utils.counters["stats"]["unique_graphs"] - before
        for engine, result in results.items():
            torch.testing.assert_close(
                result, results["eager"], rtol=1e-3, atol=1e-3, equal_nan=True, msg=f"{name} by {engine} at {size}"
            )
        del results
        times = seconds_of_calls(runs, inputs, options.rounds, clock_for(options.threads))
        found: dict[str, object] = {"times": times, "graphs": graphs}
        if size == model.sizes[-1]:
            found["peak"] = {engine: peak(run, inputs) for engine, run in runs.items()}
        print(json.dumps(found), flush=True)


def seconds_of_calls(
    runs: Mapping[str, Callable[..., object]], inputs: dict[str, object], rounds: int, clock: Clock
) -> dict[str, float]:
    """Seconds of a call by each engine, which take turns."""
    spans: dict[str, list[float]] = {engine: [] for engine in runs}
    for _ in range(rounds):
        for engine, run in runs.items():
            spans[engine].append(stretch(run, inputs, clock))
    return {engine: statistics.median(found) for engine, found in spans.items()}


def spent() -> float:
    """Processor seconds of this process and of those it has waited for."""
    return sum(os.times()[:4])


# ---------------------------------------------------------------------- the table


def chosen(names: str, known: Sequence[str]) -> Sequence[str]:
    """Some of the models, with commas between; all of them for no name."""
    wanted = [name for name in names.split(",") if name]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SystemExit(f"--models {', '.join(unknown)}: expected of {', '.join(known)}")
    return wanted or known


def engines_of(options: argparse.Namespace) -> list[str]:
    """Ours, and the baselines."""
    named = options.baselines.split(",")
    unknown = [name for name in named if name not in ENGINES]
    if unknown:
        raise SystemExit(f"--baselines {', '.join(unknown)}: expected of {', '.join(ENGINES)}")
    wanted = {*named, "eager", *["static"] * options.static}
    return ["symshape" if options.dynamo else "ours", *[engine for engine in ENGINES if engine in wanted]]


def measure(options: argparse.Namespace) -> Iterator[str]:
    """The table, anew with each of its rows."""
    engines = engines_of(options)
    ours, baselines = engines[0], engines[1:]
    rows: list[list[report.Cell]] = []
    everything: dict[str, list[float]] = {baseline: [] for baseline in baselines}
    problems = []
    for name in chosen(options.models, list(models())):
        for training in (False, True):
            title = f"{name}, training" if training else name
            found = measured(name, training, engines, options)
            if found.problem:
                problems.append(f"{title}: {found.problem}.")
            row: list[report.Cell] = [title, found.first.get(ours)]
            if "dynamic" in baselines:
                row += [found.first.get("dynamic"), quotient(found.first, ours)]
            for baseline in baselines:
                pairs = zip(found.times.get(ours, ()), found.times.get(baseline, ()))
                ratios = [mine / theirs for mine, theirs in pairs]
                everything[baseline] += ratios
                row += [geometric(ratios), max(ratios)] if ratios else [None, None]
            if "dynamic" in baselines:
                row.append(quotient(found.peak, ours))
            if options.dynamo:
                row += [found.graphs.get(engine) for engine in engines if engine in ("symshape", "dynamic")]
            rows.append(row)
            yield shown(rows, everything, problems, options)


def quotient(values: Mapping[str, float], ours: str) -> float | None:
    """Ours by Inductor's, where both were measured."""
    return values[ours] / values["dynamic"] if ours in values and "dynamic" in values else None


def shown(
    rows: list[list[report.Cell]],
    everything: Mapping[str, Sequence[float]],
    problems: Sequence[str],
    options: argparse.Namespace,
) -> str:
    inductor = "dynamic" in everything
    named = [cell for baseline in everything for cell in (f"/ {baseline}", "worst")]
    header = ["model", "first call, s", *["dynamic's", "ratio"] * inductor, *named, *["peak"] * inductor]
    if options.dynamo:
        header += ["graphs", *["dynamic's"] * inductor]
    means = "; ".join([f"/ {baseline} {report.text(geometric(each))}" for baseline, each in everything.items() if each])
    versions = report.versions("torch", "transformers")
    return "\n\n".join([f"All: {means}.", report.table(header, rows), *problems, f"{versions}."])


def geometric(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def stretch(run: Callable[..., object], inputs: dict[str, object], clock: Clock) -> float:
    """Seconds of a call, of as many as last long enough."""
    began = clock()
    count = 0
    while (now := clock()) - began < LEAST:
        run(inputs)
        count += 1
    return (now - began) / count


def peak(run: Callable[..., object], inputs: dict[str, object]) -> int:
    """The most bytes that are allocated at once during a call, over what was there before it."""
    import torch

    with torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        result = run(inputs)
    del result
    total = most = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            total += event.nbytes()
            most = max(most, total)
    return most


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--models", default="", help="some of them, with commas between")
    parser.add_argument("--baselines", default="dynamic", help="what ours is compared with: dynamic, static, eager")
    parser.add_argument("--limit", type=float, default=900, help="seconds of wall time for a row")
    parser.add_argument("--static", action="store_true", help="beside Inductor with constant sizes as well")
    parser.add_argument("--dynamo", action="store_true", help="ours as the backend of torch.compile")
    parser.add_argument("--row", nargs=3, metavar=("MODEL", "TRAINING", "ENGINES"), help="one row, in this process")
    options = parser.parse_args()
    if options.row:
        name, training, engines = options.row
        row_of(name, training == "1", engines.split(","), options)
        return
    section = f"compiled_models, {options.threads}{', dynamo' if options.dynamo else ''}"
    how = "Models by torch.compile(backend='symshape')" if options.dynamo else "Compiled models"
    title = f"{how} against Inductor, threads: {options.threads}"
    for body in measure(options):
        print(body, end="\n\n", flush=True)
        if options.write:
            arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
            command = " ".join(["python", "-m", "benchmarks.compiled_models", *arguments])
            report.write_section(section, title, body, command=command)


if __name__ == "__main__":
    main()
