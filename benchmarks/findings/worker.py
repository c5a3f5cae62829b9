"""One survey in a process of its own: names of operators come in, one a line, and what was found goes out."""

import importlib
import json
import os
import sys
from dataclasses import asdict
from types import ModuleType

from benchmarks.findings.record import Examined, Finding

SURVEYS = {
    "torch": "torch_meta",
    "torch_samples": "torch_samples",
    "torch_kernels": "torch_kernels",
    "onnx": "onnx_inference",
    "jax": "jax_export",
}
"""The module of each survey."""


def survey(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.findings.{SURVEYS[name]}")


def main() -> None:
    """Answer each request on a stream of its own, since libraries print what they like."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    module = survey(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        if "finding" in request:
            found = module.again(request["operator"], Finding(**request["finding"]))
            print(json.dumps(None if found is None else asdict(found)), file=answers)
            continue
        try:
            done: Examined = module.examine(request["operator"])
        except Exception as error:
            done = Examined(request["operator"], failed=f"{type(error).__name__}: {error}")
        print(done.line(), file=answers)


if __name__ == "__main__":
    main()
