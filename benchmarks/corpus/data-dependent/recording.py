# ruff: noqa: B023, E402, E501
"""Questions to torch's environment and ours while a program is traced, one file per program and producer.

    python recording.py MODULE [NAME ...]

It runs beside the recorder (rec.py, prop.py, forked.py) and writes raw/unbacked-NAME.jsonl.gz
(torch's questions) and raw/own-NAME.jsonl.gz (our tracer's, whose shared
parts `expand.py` writes out); its `label.py`, `fix.py` and `gather.py` give the labelled files.
"""

import importlib
import logging
import os
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

import gzip
import json

import rec
import torch
import torch._dynamo
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
torch._dynamo.config.capture_scalar_outputs = True
torch._dynamo.config.capture_dynamic_output_shape_ops = True


def torchs(name, function, arguments):
    """Compiled at two input sizes, then exported."""
    rec.reset()
    compiled = torch.compile(function, dynamic=True, backend="aot_eager")
    for i in range(2):
        try:
            compiled(*arguments(i))
        except Exception as error:
            print(name, i, type(error).__name__, str(error)[:300].replace("\n", " "))
            break

    class Module(nn.Module):
        def forward(self, *xs):
            return function(*xs)

    try:
        given = arguments(0)
        automatic = [
            dict.fromkeys(range(t.dim()), torch.export.Dim.AUTO) if isinstance(t, torch.Tensor) else None for t in given
        ]
        torch.export.export(Module(), tuple(given), dynamic_shapes=(tuple(automatic),), strict=False)
    except Exception as error:
        print(name, "export", type(error).__name__, str(error)[:200].replace("\n", " "))


def save_torchs(name):
    rec.save(
        f"raw/unbacked-{name}.jsonl.gz",
        f"unbacked-{name}",
        f"hand-written {name.replace('-', ' ')}, torch.compile(aot_eager, dynamic=True) at two input sizes, then torch.export",
        policy="unbacked",
    )


def ours(name, function, arguments):
    """Traced by the frontend at three input sizes."""
    import frontends.pytorch.tracing as tracing
    from frontends.pytorch import compile

    made = []

    class Recorded(tracing.ShapeEnv):
        def __init__(self, *a, **k):
            super().__init__(*a, **k)
            path = f"raw/.own-{name}-{os.getpid()}-{len(made)}.jsonl"
            made.append((path, self.record(path)))

    plain, tracing.ShapeEnv = tracing.ShapeEnv, Recorded
    try:
        for dynamic in (None, True):
            compiled = compile(function, dynamic=dynamic)
            for i in (0, 1):
                try:
                    compiled(*arguments(i))
                except Exception as error:
                    print(name, i, "ours", type(error).__name__, str(error)[:400].replace("\n", " "))
                    break
    finally:
        tracing.ShapeEnv = plain
    head = {
        "workload": f"hand-written {name.replace('-', ' ')}, frontends.pytorch.compile at two input sizes",
        "producer": "symshape",
        "policy": "dynamic",
    }
    lines, count = [], 0
    for path, end in made:
        end()
        session = [json.loads(line) for line in Path(path).read_text().splitlines()]
        os.remove(path)
        if any(line["op"] == "ask" for line in session):
            lines += [
                {**line, **head, "name": f"own-{name}" + (f"/{count}" if count else "")}
                if line["op"] == "session"
                else line
                for line in session
            ]
            count += 1
    if lines:
        with gzip.open(f"raw/own-{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    print(f"own {name}: sessions={count} asks={sum(line['op'] == 'ask' for line in lines)}", flush=True)


if __name__ == "__main__":
    import forked

    import frontends.pytorch  # noqa: F401

    module = importlib.import_module(sys.argv[1])
    for name in sys.argv[2:] or list(module.ALL):
        function, arguments = module.ALL[name]
        forked.each(
            [
                (
                    name,
                    f"raw/unbacked-{name}.jsonl.gz",
                    lambda: torchs(name, function, arguments),
                    lambda: save_torchs(name),
                ),
                (f"own {name}", f"raw/own-{name}.jsonl.gz", lambda: ours(name, function, arguments), lambda: None),
            ],
            soft=45,
        )
