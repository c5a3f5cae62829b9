"""The conformance suite as others run it: Triton's interpreter and the example pass, and each planted fault is found.

Eager and the CPU backend are tested where the suite itself is collected.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from backends import named
from backends.testing.conformance import test_backend as suite
from shapes.errors import ShapeError
from tests.backends.testing import defective

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("backend", "environment"),
    [("triton", {"TRITON_INTERPRET": "1"}), ("docs.examples.pytorch.kernel_backend:backend", {})],
    ids=["triton", "example"],
)
def test_backends_pass(backend: str, environment: dict[str, str]) -> None:
    """The backends pass the suite of their own protocol."""
    command = [sys.executable, "-m", "pytest", "--pyargs", "backends.testing.conformance"]
    command += ["-p", "backends.testing.plugin", f"--shape-backend={backend}", "-q", "-n0", "-x"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert not done.returncode and " passed" in done.stdout, done.stdout[-4000:] + done.stderr


FAULTS: dict[str, tuple[object, Callable[..., None], tuple[object, ...]]] = {
    "launches nothing": (defective.LaunchesNothing(), suite.test_computes_what_torch_computes, ("transposed",)),
    "knows its first sizes": (defective.KnowsItsFirstSizes(), suite.test_computes_what_torch_computes, ("softmax",)),
    "ignores strides": (defective.IgnoresStrides(), suite.test_allocates_what_is_asked_for, (torch.float32,)),
    "shares results": (
        defective.SharesResults(),
        suite.test_results_do_not_depend_on_earlier_calls,
        ("transposed",),
    ),
    "writes its arguments": (defective.WritesItsArguments(), suite.test_leaves_arguments_as_they_are, ("softmax",)),
    "one launch too few": (defective.OneLaunchTooFew(), suite.test_a_launch_for_each_kernel, ()),
    "wrong threads": (defective.NoThreads(), suite.test_has_every_attribute, ()),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    """The suite finds a backend that computes the wrong result."""
    backend, test, arguments = FAULTS[fault]
    with pytest.raises((AssertionError, IndexError)):
        test(backend, *arguments)
    test(defective.WholeGrid(), *arguments)


def test_what_is_no_backend_is_refused() -> None:
    """A backend that lacks an attribute is refused before any call."""
    with pytest.raises(ShapeError, match="a backend has device, allocate, kernels, interchanges"):
        named("tests.backends.testing.defective:HasNothing")
    with pytest.raises(ShapeError, match="has no attribute 'nothing'"):
        named("tests.backends.testing.defective:nothing")
    with pytest.raises(ShapeError, match="No module named 'not_there'"):
        named("not_there:backend")
