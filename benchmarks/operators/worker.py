"""Operators judged in a process of their own: requests come in, one a line, and outcomes go out."""

from __future__ import annotations

import json
import logging
import os
import select
import subprocess
import sys
import warnings
from typing import Final

from benchmarks.operators.record import ROOT, Outcome, first_line

SECONDS: Final = 240
"""The time limit of an operator."""


class Strict(logging.Handler):
    """Makes a note that something does not run as kernels after all an error."""

    def emit(self, record: logging.LogRecord) -> None:
        raise AssertionError(record.getMessage())


class Worker:
    """A process that judges, started anew after one that an operator did not leave alive."""

    def __init__(self, backend: str = "eager") -> None:
        self.backend = backend
        self.process: subprocess.Popen[str] | None = None

    def judge(self, operator: str, samples: int, *, backward: bool, dtype: str = "float32") -> Outcome:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.operators.worker"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                # samples are on the CPU, where Triton's kernels run in its interpreter
                env={**os.environ, "TRITON_INTERPRET": "1"},
            )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([operator, samples, backward, self.backend, dtype]) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return Outcome.read(line)
        if not ready:
            self.process.kill()
        code, self.process = self.process.wait(), None
        why = f"no answer in {SECONDS} s" if not ready else f"the process ended with {code}"
        return Outcome(operator, samples=1, failed=[why])

    def end(self) -> None:
        if self.process is not None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait()


def main() -> None:
    """Answer each request on a stream of its own, since libraries print what they like."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    import torch

    from benchmarks.operators.judging import judge

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.getLogger("symshape.triton").addHandler(Strict())
    for line in sys.stdin:
        operator, samples, backward, backend, dtype = json.loads(line)
        try:
            outcome = judge(operator, samples, backward=backward, backend=backend, dtype=dtype)
        except Exception as error:
            outcome = Outcome(operator, samples=1, failed=[f"the judge: {first_line(error)}"])
        print(outcome.line(), file=answers)


if __name__ == "__main__":
    main()
