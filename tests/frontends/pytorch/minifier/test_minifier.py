"""Programs that fail, made small: what is left must fail as the whole did, in a process of its own as well."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from backends.cpu.launcher import launcher
from frontends.pytorch import compile, mark_dynamic, mark_maybe_dynamic, minify
from frontends.pytorch.errors import ConstraintViolation
from shapes.guards.toolchain import Unavailable
from tests.frontends.pytorch.planted_operators import planted, planted_in_gradients, shifted, widened

ROOT = Path(__file__).parents[4]
IMPORT = "import tests.frontends.pytorch.planted_operators"
PLANTED = "from tests.frontends.pytorch.planted_operators import planted\n\nplace = planted()\nplace.__enter__()"
IN_GRADIENTS = PLANTED.replace(" planted\n", " planted_in_gradients\n").replace(" planted()", " planted_in_gradients()")
native = pytest.mark.skipif(isinstance(launcher(), Unavailable), reason="no C compiler")


def randoms(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator) for shape in shapes]


RUNNER = """
import json, runpy, sys
for path in sys.argv[1:]:
    try:
        runpy.run_path(path, run_name="__main__")
        print(json.dumps(""))
    except Exception as error:
        print(json.dumps(f"{type(error).__name__}: {error}"))
"""


def ran(folder: Path, *scripts: str) -> list[str]:
    """The errors of each script, in one process that runs them one after the other."""
    paths = [folder / f"issue{place}.py" for place in range(len(scripts))]
    for path, script in zip(paths, scripts):
        path.write_text(script)
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, *map(str, paths)], cwd=folder, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 4)
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x: torch.Tensor, *, scale: float) -> torch.Tensor:
        x = torch.relu(self.first(self.norm(x))) * scale
        x = shifted(torch.softmax(x, -1)) + x.mean(-1, keepdim=True)
        return self.second(x).view(x.shape[0], 2, -1).sum(1)


@native
def test_a_fault_in_a_kernel(tmp_path: Path) -> None:
    """A fault in one operator's kernel is blamed on it alone, and the script shows it."""
    torch.manual_seed(0)
    network = Network()
    with planted(), torch.no_grad():
        found = minify(network, randoms((3, 8)), {"scale": 0.5}, preamble=PLANTED)
    assert found.failure.kind == "differs"
    assert found.operators == ("planted.shifted.default",)
    assert found.facts == ()
    # where the fault is not planted, the script ends well: it is no failure of its own
    mended, shown = ran(tmp_path, found.script.replace("place.__enter__()", ""), found.script)
    assert mended == "" and shown.startswith("AssertionError: Tensor-likes are not"), (mended, shown)


def chained(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    a, _ = torch.max(x @ y, -1, keepdim=True)
    b = widened(torch.exp(x - a))
    return torch.relu(b + 1).sum(-1)


def test_a_fault_in_a_shape() -> None:
    """The operator with a wrong shape is found, and the error stays the same on the way."""
    found = minify(chained, randoms((2, 3), (3, 3)), backend="eager", preamble=IMPORT)
    assert found.operators == ("planted.widened.default",)
    assert not found.facts


def halved(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = torch.softmax(x @ x.t(), -1).cumsum(0)
    z = torch.relu(z).reshape(2, -1)
    return z.sum() * y


def test_a_guard_of_an_operator() -> None:
    """The operator that specializes a size is found, with only the sizes that matter."""
    found = minify(halved, randoms((4, 6), (5,)), kind="specializes", backend="eager")
    assert found.operators == ("aten.view.default",)
    # their product is even, which is so whatever one is if the other is 4
    assert len(found.facts) == 2 and all(fact.startswith("mark_maybe_dynamic(") for fact in found.facts)


@pytest.mark.parametrize(
    ("fn", "shape", "facts"),
    [
        # without `t` the sizes of what is multiplied are two, and a guard that they are equal would be found first
        (lambda x: (x.exp() @ x.t()).view(-1, 2), (4, 4), 2),
        (lambda x: torch.exp(x.t() @ x).sum(0).view(2, -1), (3, 4), 1),
    ],
)
def test_a_guard_is_of_the_whole_program(fn, shape: tuple[int, ...], facts: int) -> None:
    """A guard is shown only if the whole program has it, not because something was left out."""
    found = minify(fn, randoms(shape), kind="specializes", backend="eager")
    assert found.operators == ("aten.view.default",)
    assert len(found.facts) == facts


def test_bounds_that_do_not_matter_go() -> None:
    """The facts are minimal: no mark or bound stays that the failure does not need."""
    x, y = randoms((4, 6), (5,))
    mark_dynamic(x, 0, lo=2, hi=64, strict=False)
    mark_maybe_dynamic(x, 1)
    mark_dynamic(y, 0, lo=2, strict=False)
    found = minify(lambda x, y: (torch.relu(x).reshape(3, -1).sum() * y), (x, y), backend="eager", dynamic=None)
    assert found.failure.kind == "specializes"
    assert len(found.facts) == 1 and "lo=" not in found.facts[0] and "hi=" not in found.facts[0]


@native
def test_gradients_are_looked_at(tmp_path: Path) -> None:
    """A wrong gradient is found, and the script computes it."""
    x, y = randoms((3, 4), (4, 4))
    with planted_in_gradients():
        found = minify(
            lambda x, y: torch.tanh(torch.relu(x @ y) + 1).sum(-1),
            (x.requires_grad_(), y),
            preamble=IN_GRADIENTS,
        )
    assert found.failure.kind == "differs" and found.operators == ("aten.tanh.default",)
    mended, shown = ran(tmp_path, found.script.replace("place.__enter__()", ""), found.script)
    assert mended == "" and shown.startswith("AssertionError: Tensor-likes are not"), (mended, shown)


def test_what_does_not_fail_is_said_not_to() -> None:
    """A program without a failure is an error, not minimized."""
    with pytest.raises(ConstraintViolation, match="behaves like eager torch"):
        minify(torch.relu, randoms((3,)), backend="eager")
    with pytest.raises(ConstraintViolation, match="nothing specializes"):
        minify(torch.relu, randoms((3,)), kind="specializes", backend="eager")
    with pytest.raises(ConstraintViolation, match="expected one of raises, differs, specializes"):
        minify(torch.relu, randoms((3,)), kind="wrong")
    with pytest.raises(ConstraintViolation, match="marks of the arguments"):
        minify(torch.relu, randoms((3,)), dynamic={"x": ("b",)})


def test_arguments_stay_as_they_are() -> None:
    """The search does not change the tensors that it is given."""
    x, y = randoms((4, 6), (6,))
    before = x.clone()

    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x.reshape(2, -1).sum() * y

    found = minify(program, (x, y), kind="specializes", backend="eager")
    assert torch.equal(x, before) and found.facts


def test_a_compiled_function_is_taken_for_what_it_compiles() -> None:
    """A compiled function is minimized as the function that it compiles."""
    found = minify(compile(halved), randoms((4, 6), (5,)), kind="specializes", backend="eager")
    assert found.operators == ("aten.view.default",)
