"""Run in a process of its own: kernels through Triton's interpreter, which must be chosen before Triton is loaded.

One line of JSON comes out for each case and sizes: nothing, or what is wrong.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

os.environ["TRITON_INTERPRET"] = "1"

import torch

from backends import triton
from backends.host import Host
from backends.loops.kernels import Kernel
from backends.loops.schedule import schedule
from tests.backends.programs import CASES as COMMON
from tests.backends.programs import Case
from tests.backends.triton.cases import CASES, EDGES


def wrong(case: Case) -> Iterator[tuple[str, str]]:
    """What differs from eager, by sizes; nothing said is nothing wrong."""
    program = case.program()
    steps = schedule(program)
    launches = triton.kernels([step for step in steps if isinstance(step, Kernel)], program.decisions)
    host = Host(program, steps, launches)
    for sizes in [{"b": 4, "s": edge} for edge in EDGES] + [{"b": 0, "s": 5}, {"b": 1, "s": 16}, {"b": 129, "s": 2}]:
        sizes |= {"n": sizes["b"], "h": sizes["s"]}
        inputs = case.tensors(**sizes)
        try:
            expected = case.eager(*inputs)
        except (RuntimeError, ValueError, ZeroDivisionError):
            continue  # eager refuses these sizes
        found = host.function(inputs)
        try:
            torch.testing.assert_close(found, list(expected), atol=1e-5, rtol=1e-4, equal_nan=True)
        except AssertionError as error:
            yield str(sizes), str(error)


if __name__ == "__main__":
    torch.manual_seed(0)
    cases = {case.name: case for case in [*COMMON, *CASES]}
    for name in sys.argv[1:] or cases:
        print(json.dumps([name, list(wrong(cases[name]))]), flush=True)
