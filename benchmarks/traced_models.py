"""Models traced once, forward and backward, and run at ten sizes: what their guards reject, and which line adds them.

    python -m benchmarks.traced_models [--write] [--backend cpu|triton] [NAME ...]

| column | what it says |
|---|---|
| right | sizes, of those that eager accepts, at which the graph equals eager: loss and gradients |
| refused | sizes that eager accepts and a guard rejects |
| branches on a size | the lines of the model that add those guards |

`benchmarks.models` has the models and their sizes; the first size is traced, a single row or token is among the others.
"""

from __future__ import annotations

import argparse
import logging

from benchmarks import report


def row(name: str, backend: str) -> list[report.Cell]:
    """Trace one model and run it at its sizes by a backend."""
    import torch

    from benchmarks.models import MODELS, step
    from benchmarks.models.running import admitted, agree, refusing_lines, traced

    torch.manual_seed(0)
    model = MODELS[name]
    module = model.build()
    program = step(module)
    state = {key: value.clone() for key, value in module.state_dict().items()}
    variant = traced(module, model, backend)
    right, wrong, refused, lines = 0, 0, 0, set[str]()
    for batch, length in model.sizes:
        torch.manual_seed(100 * batch + length)
        inputs = model.inputs(batch, length)
        try:
            program(**inputs)
        except (RuntimeError, ValueError):
            continue
        finally:
            module.load_state_dict(state)
        if not admitted(variant, inputs):
            refused += 1
            lines |= set(refusing_lines(variant, inputs))
        elif agree(module, program, variant, inputs):
            right += 1
        else:
            wrong += 1
    count = len(variant.recording.operations)
    return [name, count, len(variant.guards), f"{right} of {right + wrong}", refused, ", ".join(sorted(lines))]


def measure(options: argparse.Namespace) -> str:
    from benchmarks.models import MODELS

    logging.disable(logging.WARNING)
    rows = [row(name, options.backend) for name in options.models or MODELS]
    table = report.table(["model", "operators", "guards", "right", "refused", "branches on a size"], rows)
    return f"{table}\n\n{report.versions('torch', 'transformers')}."


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--backend", default="eager", help="what runs the graphs; triton: with TRITON_INTERPRET=1")
    parser.add_argument("models", nargs="*", help="all, unless some are named")
    report.publish("traced_models", "Models traced once, run at ten sizes", measure, parser)


if __name__ == "__main__":
    main()
