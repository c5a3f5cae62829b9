"""Small models compiled for the CPU, forward and with their backward, beside Inductor and torch operator by operator.

    python -m benchmarks.compiled_models [--threads 1] [--rounds 7] [--models gpt2,t5] [--static] [--dynamo] [--write]

| column | what is measured |
|---|---|
| first call | CPU seconds from the first call to its result, trace included |
| / dynamic | time of a call, ours by Inductor's with `dynamic=True`: geometric mean of the sizes, and the worst |
| / eager | the same by torch operator by operator |
| peak | the most memory allocated during a call at the largest size, as torch's profiler sees it, ours by Inductor's |

First calls are made in fresh processes with empty caches; each has compiled another function before, so that what is
built once per machine is there. Inference runs without gradients; training is the loss and the gradients of all
parameters. All take turns, size by size. With one thread it is processor time, with more wall time. With `--dynamo`,
ours is `torch.compile(model, backend="symshape")`: Dynamo captures, our kernels run.
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
from collections.abc import Callable, Sequence
from dataclasses import replace
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
    from benchmarks.models.language import EAGER, KEY_VALUE_HEADS, TOKENS, VOCABULARY, decoder, made, text
    from benchmarks.models.model import Model

    gpt2 = made(
        "GPT2", "LMHeadModel", n_layer=2, n_embd=64, n_head=4, vocab_size=VOCABULARY, n_positions=LONGEST,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, **EAGER, **TOKENS,
    )  # fmt: skip
    mistral = decoder("mistral", "Mistral", max_position_embeddings=LONGEST, **KEY_VALUE_HEADS)
    found = [
        Model("gpt2", gpt2, text, TEXT),
        replace(MODELS["t5"], sizes=TEXT),
        replace(mistral, sizes=TEXT),
        replace(MODELS["vit"], sizes=IMAGES),
        replace(MODELS["unet"], sizes=IMAGES),
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


# ---------------------------------------------------------------------- the first call


def cold(engine: str, name: str, training: bool, threads: int) -> float:
    """CPU seconds of the first call, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "SYMSHAPE_CACHE": os.path.join(folder, "ours"),
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "theirs"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        }
        command = [sys.executable, "-m", "benchmarks.compiled_models", "--cold", engine, name, str(int(training))]
        run = subprocess.run(
            [*command, "--threads", str(threads)], env=environment, capture_output=True, text=True, check=False
        )
        if run.returncode:
            raise RuntimeError(run.stderr[-2000:])
        return json.loads(run.stdout.splitlines()[-1])


def first_call(engine: str, name: str, training: bool) -> float:
    """The same, in this process."""
    import torch

    other = compiled(engine, lambda x: (x * 2).softmax(-1).sum())
    other(torch.randn(3, 5, requires_grad=training))
    model = models()[name]
    module, function = program(model)
    run = step(module, compiled(engine, function), training)
    inputs = model.inputs(*model.sizes[0])
    began = spent()
    run(inputs)
    return spent() - began


def spent() -> float:
    """Processor seconds of this process and of those it has waited for."""
    return sum(os.times()[:4])


# ---------------------------------------------------------------------- further calls


def measure(options: argparse.Namespace) -> str:
    import torch

    torch.set_num_threads(options.threads)
    rows: list[list[report.Cell]] = []
    everything: dict[str, list[float]] = {}
    for name, model in models().items():
        if options.models and name not in options.models.split(","):
            continue
        for training in (False, True):
            ours = "symshape" if options.dynamo else "ours"
            engines = [ours, *[engine for engine in ENGINES if engine != "static" or options.static]]
            times, peaks = timed(model, training, engines, options.rounds, clock_for(options.threads))
            seconds = [cold(engine, name, training, options.threads) for engine in (ours, "dynamic")]
            row: list[report.Cell] = [f"{name}, training" if training else name, *seconds, seconds[0] / seconds[1]]
            for peer in engines[1:]:
                ratios = [mine / theirs for mine, theirs in zip(times[ours], times[peer])]
                everything.setdefault(peer, []).extend(ratios)
                row += [geometric(ratios), max(ratios)]
            rows.append([*row, peaks[ours] / peaks["dynamic"]])
    named = [cell for peer in everything for cell in (f"/ {peer}", "worst")]
    header = ["model", "first call, s", "dynamic's", "ratio", *named, "peak"]
    means = "; ".join([f"/ {peer} {report.text(geometric(each))}" for peer, each in everything.items()])
    versions = report.versions("torch", "transformers")
    return f"All: {means}.\n\n{report.table(header, rows)}\n\n{versions}."


def geometric(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def timed(
    model: Model, training: bool, engines: Sequence[str], rounds: int, clock: Clock
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Seconds of a call by each engine, size by size, and the most memory at the last size."""
    import torch

    torch._dynamo.reset()
    module, function = program(model)
    runs = {engine: step(module, compiled(engine, function), training) for engine in engines}
    times: dict[str, list[float]] = {engine: [] for engine in engines}
    peaks: dict[str, int] = {}
    for size in model.sizes:
        inputs = model.inputs(*size)
        results = {engine: run(inputs) for engine, run in runs.items()}
        for engine, result in results.items():
            torch.testing.assert_close(
                result, results["eager"], rtol=1e-3, atol=1e-3, equal_nan=True, msg=f"{model.name} by {engine}"
            )
        spans: dict[str, list[float]] = {engine: [] for engine in engines}
        for _ in range(rounds):
            for engine, run in runs.items():
                spans[engine].append(stretch(run, inputs, clock))
        for engine in engines:
            times[engine].append(statistics.median(spans[engine]))
        peaks = {engine: peak(run, inputs) for engine, run in runs.items()}
    return times, peaks


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
    parser.add_argument("--models", default="")
    parser.add_argument("--static", action="store_true", help="beside Inductor with constant sizes as well")
    parser.add_argument("--dynamo", action="store_true", help="ours as the backend of torch.compile")
    parser.add_argument("--cold", nargs=3, metavar=("ENGINE", "MODEL", "TRAINING"), help="only the first call")
    options, _ = parser.parse_known_args()
    if options.cold:
        import torch

        torch.set_num_threads(options.threads)
        engine, name, training = options.cold
        print(json.dumps(first_call(engine, name, training == "1")))
        return
    section = f"compiled_models, {options.threads}{', dynamo' if options.dynamo else ''}"
    how = "Models by torch.compile(backend='symshape')" if options.dynamo else "Compiled models"
    title = f"{how} beside Inductor, threads: {options.threads}"
    with tempfile.TemporaryDirectory() as folder:
        # what Inductor finds in a cache of another run may be for other strides
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", folder)
        report.publish("compiled_models", title, measure, parser, section)


if __name__ == "__main__":
    main()
