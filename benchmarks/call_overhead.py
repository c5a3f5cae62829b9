"""Overhead of a call of a compiled model besides its kernels: models with hundreds of parameters.

    python -m benchmarks.call_overhead [--rounds 40] [--only resnet] [--write]

Models of `transformers` with random weights and many layers, and networks of images with batch norm, whose buffers a
training step changes. A call's overhead is its time less that of the host function, which allocates, launches kernels
and calls operators. It consists of Dynamo's guards and code, variant look-up, autograd's bookkeeping and the output
structure. Caches are as the kernels leave them. The best of the rounds, in microseconds of wall time, with one thread.

The steps are those of training: gradients cleared as optimizers do, forward, mean of squares, backward; processor time
against eager's, interleaved.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from benchmarks import report

if TYPE_CHECKING:
    import torch

BASE, EACH = 3.0, 0.01
"""The time that a call may take: microseconds per call, and for each parameter and buffer."""
TEXT = {"vocab_size": 100, "num_hidden_layers": 12, "hidden_size": 64, "num_attention_heads": 4}
TEXT |= {"intermediate_size": 128, "max_position_embeddings": 64}
GPT = {"vocab_size": 100, "n_layer": 12, "n_embd": 64, "n_head": 4, "n_positions": 64}


@dataclass(frozen=True)
class Network:
    """A model, what it is given, and whether a training step changes its buffers."""

    name: str
    make: Callable[[], torch.nn.Module]
    inputs: Callable[[], torch.Tensor]
    is_image: bool = False


def of_transformers(kind: str, head: str = "Model", **options: object) -> Callable[[], torch.nn.Module]:
    def make() -> torch.nn.Module:
        import transformers

        return getattr(transformers, kind + head)(getattr(transformers, f"{kind}Config")(**options))

    return make


def tokens() -> torch.Tensor:
    import torch

    return torch.randint(3, 100, (1, 16))


def picture(side: int = 64, batch: int = 2) -> Callable[[], torch.Tensor]:
    def made() -> torch.Tensor:
        import torch

        return torch.randn(batch, 3, side, side)

    return made


NETWORKS = (
    Network("gpt2", of_transformers("GPT2", **GPT), tokens),
    Network("bert", of_transformers("Bert", **TEXT), tokens),
    Network("llama", of_transformers("Llama", num_key_value_heads=2, **TEXT), tokens),
    Network("opt", of_transformers("OPT", ffn_dim=128, word_embed_proj_dim=64, **TEXT), tokens),
    Network(
        "vit", of_transformers("ViT", image_size=32, patch_size=8, **{k: TEXT[k] for k in list(TEXT)[1:5]}), picture(32)
    ),
    Network("resnet-50", of_transformers("ResNet", hidden_sizes=[32, 64, 128, 256]), picture(), True),
    Network("regnet", of_transformers("RegNet"), picture(), True),
    Network("mobilenet v1", of_transformers("MobileNetV1"), picture(), True),
    Network("mobilenet v2", of_transformers("MobileNetV2"), picture(), True),
    Network("efficientnet", of_transformers("EfficientNet", hidden_dim=1280, width_coefficient=1.0), picture(), True),
)


@contextmanager
def hosts_timed(spent: list[float]) -> Iterator[None]:
    """Hosts that are made here add the time of each of their calls."""
    from frontends.pytorch import variant

    host_of = variant._host

    def made(*args: object, **kwargs: object) -> object:
        host = host_of(*args, **kwargs)
        function = host.function

        def timed(given: object) -> object:
            start = time.perf_counter()
            found = function(given)
            spent[0] += time.perf_counter() - start
            return found

        host.function = timed
        return host

    variant._host = made
    try:
        yield
    finally:
        variant._host = host_of


def beside(call: Callable[[], object], spent: list[float], rounds: int) -> float:
    """Microseconds of a call beside its hosts."""
    found = []
    for _ in range(rounds):
        spent[0] = 0.0
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start - spent[0])
    return min(found) * 1e6


def output_of(found: object) -> torch.Tensor:
    import torch

    return found if isinstance(found, torch.Tensor) else found[0]


def overhead(network: Network, rounds: int) -> list[list[report.Cell]]:
    """A row for inference, and one for training."""
    import torch

    from frontends.pytorch import compile

    rows: list[list[report.Cell]] = []
    for training in (False, True):
        torch.manual_seed(0)
        model, x, spent = network.make().train(training), network.inputs(), [0.0]
        count = sum(1 for _ in model.parameters()) + sum(1 for _ in model.buffers())
        compiled = compile(model, backend="cpu")
        with hosts_timed(spent), torch.set_grad_enabled(training):
            for _ in range(3):
                compiled(x)
            taken = beside(partial(compiled, x), spent, rounds)
        allowed = BASE + EACH * count
        hosts = compiled.variants[-1].running.hosts if compiled.variants else ()
        note = "" if hosts else "runs operator by operator"
        kind = "training, forward" if training else "inference"
        rows.append([network.name, kind, count, taken, allowed, note])
        print(*rows[-1])
    return rows


def step(network: Network, rounds: int) -> list[report.Cell]:
    """A training step beside eager's."""
    import torch

    from frontends.pytorch import compile

    torch.manual_seed(0)
    model, x = network.make().train(), network.inputs()
    compiled = compile(model, backend="cpu")

    def run(call: Callable[..., object]) -> float:
        start = time.process_time()
        model.zero_grad()
        output_of(call(x)).square().mean().backward()
        return time.process_time() - start

    for _ in range(3):
        run(compiled), run(model)
    pairs = [(run(compiled), run(model)) for _ in range(rounds)]
    ours, eager = [statistics.median(each) * 1e3 for each in zip(*pairs)]
    row = [network.name, sum(1 for _ in model.buffers()), ours, eager, report.ratio(ours, eager)]
    print(*row)
    return row


def with_timm() -> tuple[Network, ...]:
    """The same kind of networks of another library, where it is installed."""
    import timm

    names = "ghostnet_100 res2net50_26w_4s mixnet_s mobilenetv3_small_100 densenet121 efficientnet_b0 resnet18 resnet50"
    names += " regnety_002 mnasnet_small hardcorenas_a tinynet_e rexnet_100 fbnetc_100 dla34 hrnet_w18_small"
    return tuple([Network(name, lambda name=name: timm.create_model(name), picture(), True) for name in names.split()])


def measure(options: argparse.Namespace) -> str:
    import torch

    logging.getLogger("symshape").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    networks = with_timm() if options.timm else NETWORKS
    chosen = [each for each in networks if not options.only or options.only in each.name]
    parts = []
    if not options.steps:
        rows = [row for network in chosen for row in overhead(network, options.rounds)]
        header = ["model", "call", "parameters", "beside kernels", "3 us + 10 ns each", ""]
        parts.append(report.table(header, rows))
    images = [step(network, max(5, options.rounds // 4)) for network in chosen if network.is_image]
    parts.append(report.table(["training step", "buffers", "ours, ms", "eager, ms", "of eager"], images))
    return "\n\n".join([*parts, f"{report.versions('torch', 'transformers')}."])


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", default="")
    parser.add_argument("--timm", action="store_true", help="networks of timm, which must be installed")
    parser.add_argument("--steps", action="store_true", help="training steps only")
    report.publish("call overhead", "Overhead of calls of compiled models", measure, parser)


if __name__ == "__main__":
    main()
