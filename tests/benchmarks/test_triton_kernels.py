"""The benchmark of Triton's kernels as it runs where there is a GPU, with a device that is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import torch
from types import SimpleNamespace
from benchmarks import triton_kernels

empty = torch.empty
torch.cuda.is_available = lambda: True
torch.cuda.get_device_name = lambda: "none"
torch.cuda.synchronize = lambda: None
torch.cuda.Event = lambda **options: SimpleNamespace(record=lambda: None, elapsed_time=lambda other: 0.25)
torch.Tensor.cuda = lambda tensor: tensor
torch.empty = lambda *sizes, device=None, **options: empty(*sizes, **options)
torch.compile = lambda function, dynamic: function
triton_kernels.FLUSHED = triton_kernels.ROUNDS = 2
triton_kernels.larger = lambda size: (2, *[min(axis, 3) for axis in size[1:]])
triton_kernels.host_time = lambda call: 1.0
for program in triton_kernels.PROGRAMS:
    object.__setattr__(program, "sizes", program.sizes[:2])
print(triton_kernels.measure(SimpleNamespace(words=["softmax", "dropout", "entropy", "column"])))
"""


def test_all_of_it_runs() -> None:
    """The benchmark of Triton kernels runs to its end, and compares the right things."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    lines = done.stdout.splitlines()
    assert lines[2].startswith("| function | size | ours us")
    assert "| softmax, backward | 2x3x3 | 250.0 | 250.0 | 250.0 | 1.00 |" in lines
    assert lines[-3] == "- all: 1.000"
