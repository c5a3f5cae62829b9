"""`compile` inside of `torch.compile`, and the other way around."""

import subprocess
import sys

import torch

from frontends.pytorch import compile

AROUND_DYNAMO = """
import torch
from frontends.pytorch import compile

@torch.compile(backend="eager")
def doubled(x):
    return x.sin() * 2

def calls(x):
    return doubled(x) + 1

def counted(x):
    return x * x.shape[0]

def branches(x):
    return doubled(x) if x.sum() > 0 else x - 1

for dynamic in (True, None):
    torch.compiler.reset()
    compiled = compile(calls, dynamic=dynamic)
    # Dynamo's hook of the interpreter comes between two traces
    after = compile(counted, dynamic=dynamic)
    for size in (2, 3, 4):
        x = torch.ones(size)
        assert torch.equal(compiled(x), x.sin() * 2 + 1)
        assert torch.equal(after(x), x * size)
    assert after.variants and not after.fallbacks

for backend in ("eager", "cpu"):
    torch.compiler.reset()
    compiled = compile(branches, dynamic=True, backend=backend)
    for size in (3, 4, 5):
        for x in (torch.ones(size), -torch.ones(size)):
            torch.testing.assert_close(compiled(x), branches(x))
print("right")
"""


def test_functions_of_torch_compile_inside() -> None:
    """A program with functions of torch.compile inside is right: nothing raises between two captures or at a break."""
    command = [sys.executable, "-W", "ignore", "-c", AROUND_DYNAMO]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert found.stdout == "right\n", found.stderr[-2000:]


def test_a_compiled_function_inside_of_torch_compile() -> None:
    """Dynamo traces the function, not its compilation."""
    torch.compiler.reset()
    inner = compile(lambda x: x.sin() * x.shape[0])
    outer = torch.compile(lambda x: inner(x) + 1, backend="eager")
    for size in (2, 3, 4, 2):
        x = torch.linspace(0.0, 1.0, size)
        torch.testing.assert_close(outer(x), x.sin() * size + 1)
    torch.compiler.reset()
