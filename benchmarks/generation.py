"""Generation by language models with growing caches: greedy, beams, sampled; the model's `forward` compiled.

    python -m benchmarks.generation [--rounds 7] [--tokens 40] [--models T5] [--inductor greedy] [--write]

Random weights, a prompt of 12 tokens in a batch of two, one thread, processor time of a whole `generate`, medians,
interleaved, from the second `generate` on. "first" is the first `generate` of the compiled model, in seconds by the
clock, kernels that are in the cache included. Tokens and the state of the random numbers are compared with eager
torch's at each call. Inductor (`dynamic=True`) takes a minute or more to compile, and is left out but for kinds that
are asked for, of the first model.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from benchmarks import report

if TYPE_CHECKING:
    import torch

KINDS: dict[str, dict[str, object]] = {
    "greedy": {"do_sample": False},
    "beams": {"do_sample": False, "num_beams": 3},
    "sampled": {"do_sample": True},
}


def models() -> Iterator[tuple[str, Any]]:
    import torch
    import transformers

    torch.manual_seed(0)
    tokens = {"bos_token_id": 1, "eos_token_id": 2}
    gpt2 = transformers.GPT2Config(n_embd=64, n_layer=4, n_head=4, vocab_size=500, n_positions=256, **tokens)
    yield "GPT-2, 4 layers", transformers.GPT2LMHeadModel(gpt2).eval()
    llama = transformers.LlamaConfig(
        hidden_size=64, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=500, max_position_embeddings=256, **tokens,
    )  # fmt: skip
    yield "llama, 4 layers", transformers.LlamaForCausalLM(llama).eval()
    neox = transformers.GPTNeoXConfig(
        hidden_size=64, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4, vocab_size=500,
        max_position_embeddings=256, **tokens,
    )  # fmt: skip
    yield "NeoX, 4 layers", transformers.GPTNeoXForCausalLM(neox).eval()
    t5 = transformers.T5Config(
        d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=500, decoder_start_token_id=0,
    )  # fmt: skip
    yield "T5, 2 + 2 layers", transformers.T5ForConditionalGeneration(t5).eval()


def measure(options: argparse.Namespace) -> str:
    import torch

    from frontends.pytorch import compile

    torch.set_num_threads(1)
    rows: list[list[report.Cell]] = []
    for name, model in models():
        if not name.startswith(tuple(options.models)):
            continue
        for kind, chosen in KINDS.items():
            torch._dynamo.reset()
            plain = model.forward
            ours = compile(plain, dynamic=True, backend="cpu")
            ways: dict[str, Callable[..., object]] = {"eager": plain, "ours": ours}
            if kind in options.inductor and name.startswith("GPT-2"):
                ways["inductor"] = torch.compile(plain, dynamic=True)
            first: dict[str, float] = {}
            times: dict[str, list[float]] = {way: [] for way in ways}
            for number in range(options.rounds + 1):
                expected = None
                for way, forward in ways.items():
                    model.forward = forward
                    found, spent, clock = generated(model, number, options.tokens, chosen)
                    expected = found if expected is None else expected
                    if not all(map(torch.equal, found, expected)):
                        raise RuntimeError(f"{name}, {kind}: other tokens than eager torch's by {way}")
                    if number:
                        times[way].append(spent)
                    else:
                        first[way] = clock
            model.forward = plain
            if ours.fallbacks:
                raise RuntimeError(f"{name}, {kind}: {ours.fallbacks[0].reason}")
            eager, mine = statistics.median(times["eager"]), statistics.median(times["ours"])
            row: list[report.Cell] = [name, kind, eager * 1e3, mine / eager, len(ours.variants), first["ours"]]
            if options.inductor:
                row += inductors(times, first, eager)
            rows.append(row)
    header = ["model", "kind", "eager, ms", "ours", "graphs", "first, s"]
    header += ["Inductor", "first, s"] if options.inductor else []
    return f"{report.table(header, rows)}\n\n{report.versions('torch', 'transformers')}."


def inductors(times: dict[str, list[float]], first: dict[str, float], eager: float) -> list[report.Cell]:
    """Inductor's times, where it was asked for."""
    return [statistics.median(times["inductor"]) / eager, first["inductor"]] if "inductor" in times else [None, None]


def generated(
    model: Any, number: int, tokens: int, chosen: dict[str, object]
) -> tuple[tuple[torch.Tensor, torch.Tensor], float, float]:
    """Run a `generate`: tokens and the state of the random numbers; the processor's and the clock's seconds."""
    import torch

    torch.manual_seed(number)
    prompt = torch.randint(3, 400, (2, 12))
    given = {"attention_mask": torch.ones_like(prompt), "pad_token_id": 0, "eos_token_id": None}
    clock, began = time.perf_counter(), time.process_time()
    with torch.no_grad():
        found = model.generate(prompt, max_new_tokens=tokens, **given, **chosen)
    spent = time.process_time() - began
    return (found, torch.get_rng_state()), spent, time.perf_counter() - clock


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--models", nargs="*", default=[""], help="those whose names begin so")
    parser.add_argument("--inductor", nargs="*", default=[], choices=list(KINDS))
    report.publish("generation", "Generation", measure, parser)


if __name__ == "__main__":
    main()
