"""Loading an artifact against compiling: processor time of a process to its first result.

    python -m benchmarks.artifacts [--layers 4 12] [--rounds 3] [--write]

GPT-2 with random weights in two alternating processes per round: one compiles with an empty kernel cache, and saves;
one loads the artifact, with an empty cache too. Imports and the model are not counted; the C compiler, a child process,
is.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import report

PROGRAM = """
import json, os, sys
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
from transformers import GPT2Config, GPT2LMHeadModel
from frontends.pytorch import compile, load
what, path, layers = sys.argv[1:]
model = GPT2LMHeadModel(GPT2Config(n_layer=int(layers), n_embd=256, n_head=4, vocab_size=5000, use_cache=False)).eval()
tokens = torch.randint(0, 5000, (2, 37))
with torch.no_grad():
    expected = model(tokens).logits
    begin = sum(os.times()[:4])
    compiled = compile(model, backend="cpu", dynamic=True) if what == "save" else load(path, model)
    found = compiled(tokens).logits
    end = sum(os.times()[:4])
torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
if what == "save":
    compiled.save(path)
print(json.dumps([end - begin, len(compiled.variants), len(compiled.fallbacks)]))
"""


def seconds(what: str, path: str, layers: int) -> float:
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, what, path, str(layers)],
            cwd=Path(__file__).parent.parent,
            env={**os.environ, "SYMSHAPE_CACHE": cache, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
    spent, variants, fallbacks = json.loads(done.stdout.splitlines()[-1])
    assert (variants, fallbacks) == (1, 0)
    return float(spent)


def run(options: argparse.Namespace) -> str:
    rows: list[list[report.Cell]] = []
    for layers in options.layers:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.artifact")
            rounds = [[seconds(what, path, layers) for what in ("save", "load")] for _ in range(options.rounds)]
        cold, loaded = [statistics.median(times) for times in zip(*rounds, strict=True)]
        ratios = sorted(second / first for first, second in rounds)
        rows.append([f"GPT-2, {layers} layers", cold, loaded, loaded / cold, f"{ratios[0]:.2f} to {ratios[-1]:.2f}"])
    return report.table(["model", "cold, s", "loaded, s", "of cold", "over the rounds"], rows)


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--layers", type=int, nargs="+", default=[4, 12])
    parser.add_argument("--rounds", type=int, default=3)
    report.publish("artifacts", "Artifacts in a second process", run, parser)


if __name__ == "__main__":
    main()
