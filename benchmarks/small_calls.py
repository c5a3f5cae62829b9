"""Calls on small tensors by both spellings of the compiler, beside eager torch and Dynamo with eager kernels.

    python -m benchmarks.small_calls [--rounds 15] [--only "pure function"] [--first] [--write]

| column | what is called |
|---|---|
| compile | `frontends.pytorch.compile(f, dynamic=True, backend="cpu")` |
| torch.compile | `torch.compile(f, dynamic=True, backend="symshape")`, with CPU kernels |
| dynamo | `torch.compile(f, dynamic=True, backend="eager")` |

One thread, processor time of a call once graphs exist, interleaved; the median of the rounds' ratios to eager torch.
`--first` measures first calls instead: each in a process of its own, with another function compiled before it and
kernels in the cache.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from benchmarks import report

Call = Callable[[], object]
SPELLINGS: Final = ("eager", "compile", "torch.compile", "dynamo")
SECONDS: Final = 0.02
"""The processor time of one measurement of a round."""
WARM: Final = 6
"""Calls before anything is measured."""


def compiled(function: Any, spelling: str) -> Any:
    """The function or module, compiled by this spelling."""
    import torch

    from frontends.pytorch import compile

    match spelling:
        case "compile":
            return compile(function, dynamic=True, backend="cpu")
        case "torch.compile":
            return torch.compile(function, dynamic=True, backend="symshape", options={"kernels": "cpu"})
        case "dynamo":
            return torch.compile(function, dynamic=True, backend="eager")
    return function


@dataclass(frozen=True)
class Program:
    """A program: makes its call by one of the spellings, with objects of its own."""

    name: str
    made: Callable[[str], Call]
    asked: float
    """The part of eager's time, by both spellings."""


def pure_function(spelling: str) -> Call:
    import torch

    def program(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return (x + y * z).relu()

    call = compiled(program, spelling)
    x, y, z = torch.randn(4, 8), torch.randn(4, 8), torch.randn(8)
    return lambda: call(x, y, z)


def module_with_state(spelling: str) -> Call:
    import torch

    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0
            self.register_buffer("mean", torch.zeros(8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
            return torch.tanh(x - self.mean) * 2 + x

    call, x = compiled(Counter(), spelling), torch.randn(4, 8)
    return lambda: call(x)


def prints(spelling: str) -> Call:
    import torch

    out = io.StringIO()

    def program(x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x * 2)
        print("rows", x.shape[0], file=out)
        return torch.softmax(y + 1, -1)

    call, x = compiled(program, spelling), torch.randn(4, 8)
    return lambda: call(x)


def branch_on_data(spelling: str) -> Call:
    import torch

    def program(x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        return y / 2 if y.sum() > 4 else y * 3

    call, x = compiled(program, spelling), torch.ones(4, 8)
    return lambda: call(x)


def training_step(spelling: str) -> Call:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    call, x, y = compiled(model, spelling), torch.randn(4, 8), torch.randn(4, 4)

    def step() -> None:
        optimizer.zero_grad()
        (call(x) - y).square().mean().backward()
        optimizer.step()

    return step


def gpt2(layers: int) -> tuple[Any, Any]:
    import torch
    import transformers

    torch.manual_seed(0)
    sizes = {"n_embd": 64, "n_head": 4, "vocab_size": 500, "n_positions": 256}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=layers, **sizes)).eval()
    return model, torch.randint(0, 500, (2, 12))


def decode(spelling: str) -> Call:
    import torch
    from transformers import DynamicCache

    model, tokens = gpt2(4)
    call = compiled(model, spelling)

    def step() -> None:
        with torch.no_grad():
            cache = DynamicCache()
            out = call(tokens, past_key_values=cache, use_cache=True)
            for _ in range(4):
                token = out.logits[:, -1:].argmax(-1)
                out = call(token, past_key_values=cache, use_cache=True)

    return step


PROGRAMS: Final = (
    Program("pure function", pure_function, 0.4),
    Program("module with state", module_with_state, 0.8),
    Program("print", prints, 1.5),
    Program("branch on data", branch_on_data, 2.0),
    Program("training step", training_step, 0.8),
    Program("GPT-2 decode", decode, 0.25),
)


def repetitions(call: Call) -> int:
    start = time.process_time()
    call()
    return max(1, int(SECONDS / max(time.process_time() - start, 1e-6)))


def spent(call: Call, count: int) -> float:
    """Microseconds of a call."""
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count * 1e6


def row(program: Program, rounds: int) -> list[report.Cell]:
    calls = [program.made(spelling) for spelling in SPELLINGS]
    for call in calls:
        for _ in range(WARM):
            call()
    counts = [repetitions(call) for call in calls]
    times = [[spent(call, count) for call, count in zip(calls, counts)] for _ in range(rounds)]
    eager = statistics.median([each[0] for each in times])
    ratios = [statistics.median([each[k] / each[0] for each in times]) for k in range(1, len(SPELLINGS))]
    print(program.name, eager, *ratios, flush=True)
    return [program.name, eager, *ratios, program.asked]


def first_pure() -> tuple[Any, tuple[Any, ...]]:
    import torch

    def program(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return (x + y * z).relu()

    return program, (torch.randn(4, 8), torch.randn(4, 8), torch.randn(8))


def first_gpt2() -> tuple[Any, tuple[Any, ...]]:
    model, tokens = gpt2(2)
    return model, (tokens,)


def first_resnet() -> tuple[Any, tuple[Any, ...]]:
    import torch
    import transformers

    sizes = {"depths": [2, 2, 2, 2], "hidden_sizes": [64, 128, 256, 512], "layer_type": "basic", "embedding_size": 64}
    return transformers.ResNetModel(transformers.ResNetConfig(**sizes)).eval(), (torch.randn(2, 3, 64, 64),)


FIRST: Final = {"pure function": first_pure, "GPT-2, 2 layers": first_gpt2, "ResNet-18": first_resnet}


def first_call(name: str, spelling: str) -> float:
    """Seconds of processor time of the first call, in this process."""
    import torch

    torch.set_num_threads(1)
    with torch.no_grad():
        compiled(lambda x: x.cos() + 1, spelling)(torch.ones(3))
        function, given = FIRST[name]()
        function(*given)
        call = compiled(function, spelling)
        start = time.process_time()
        call(*given)
        return time.process_time() - start


def first_row(name: str, rounds: int) -> list[report.Cell]:
    found: dict[str, list[float]] = {spelling: [] for spelling in SPELLINGS[1:]}
    for number in range(rounds + 1):
        for spelling, times in found.items():
            command = [sys.executable, "-m", "benchmarks.small_calls", "--process", json.dumps([name, spelling])]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            if number:  # kernels are in the cache from here on
                times.append(float(output.split()[-1]))
    ours, spelled, dynamo = [statistics.median(times) for times in found.values()]
    print(name, ours, spelled, dynamo, flush=True)
    return [name, ours, spelled, dynamo, report.ratio(ours, dynamo), report.ratio(spelled, dynamo)]


def measure(options: argparse.Namespace) -> str:
    import torch

    torch.set_num_threads(1)
    wanted = [each for each in options.only.split(",") if each]
    if options.first:
        rows = [first_row(name, options.rounds) for name in FIRST if not wanted or name in wanted]
        header = ["first call, s", *SPELLINGS[1:], "compile / dynamo", "torch.compile / dynamo"]
        table = report.table(header, rows)
    else:
        chosen = [program for program in PROGRAMS if not wanted or program.name in wanted]
        rows = [row(program, options.rounds) for program in chosen]
        header = ["program", "eager, us", *[f"{spelling}, of eager" for spelling in SPELLINGS[1:]], "asked of ours"]
        table = report.table(header, rows)
    return f"{table}\n\n{report.versions('torch', 'transformers')}."


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="programs, by name")
    parser.add_argument("--first", action="store_true", help="first calls")
    parser.add_argument("--process", default="", help=argparse.SUPPRESS)
    logging.getLogger("symshape").setLevel(logging.ERROR)
    if "--process" in sys.argv:
        print(first_call(*json.loads(parser.parse_args().process)))
        return
    name = "small_calls, first" if "--first" in sys.argv else "small_calls"
    report.publish(name, "Calls on small tensors, both spellings", measure, parser)


if __name__ == "__main__":
    main()
