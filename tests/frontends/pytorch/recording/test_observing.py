"""An existing suite of operators checks their schema, aliasing, shape rule, autograd and dynamic tracing."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from frontends.pytorch.custom_operators import custom_op
from frontends.pytorch.recording.observing import observing
from shapes.testing.suites import failures

ROOT = Path(__file__).parents[4]

SUITE = '''
import torch
from torch import Tensor
from frontends.pytorch.custom_operators import custom_op

@custom_op("suite::right")
def right(x: Tensor) -> Tensor:
    return x[::2].clone()

@right.shape_rule
def _(env, x):
    return ((x[0] + 1) // 2, *x[1:])

right.gradient(
    lambda ctx, gradient: torch.zeros(ctx.shape).index_add(0, torch.arange(0, ctx.shape[0], 2), gradient),
    lambda ctx, inputs, output: setattr(ctx, "shape", inputs[0].shape),
)

@custom_op("suite::odd")
def odd(x: Tensor) -> Tensor:
    return x[::2].clone()

@odd.shape_rule
def _(env, x):
    return (x[0] // 2, *x[1:])

@torch.library.custom_op("suite::mutates", mutates_args=())
def mutates(x: Tensor) -> Tensor:
    x.add_(1)
    return x.clone()

@mutates.register_fake
def _(x):
    return torch.empty_like(x)

@torch.library.custom_op("suite::pinned", mutates_args=())
def pinned(x: Tensor) -> Tensor:
    return x.clone()

@pinned.register_fake
def _(x):
    assert type(x.shape[0]) is int
    return x.new_empty(5) if x.dim() == 1 else torch.empty_like(x)

library = torch.library.Library("suite", "FRAGMENT")
library.define("alias(Tensor x) -> Tensor")
library.impl("alias", lambda x: x[:2], "CompositeExplicitAutograd")

class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient / 2

library.define("halved(Tensor x) -> Tensor")
library.impl("halved", Halved.apply, "CPU")

def test_right():
    assert right(torch.ones(5, 2)).shape == (3, 2)
    assert right(torch.ones(7, requires_grad=True)).shape == (4,)

def test_odd():
    odd(torch.ones(5))

def test_mutates():
    mutates(torch.ones(3))

def test_pinned():
    pinned(torch.ones(4))

def test_pinned_matrix():
    pinned(torch.ones(4, 3))

def test_halved():
    torch.ops.suite.halved(torch.ones(4, requires_grad=True))

def test_alias():
    torch.ops.suite.alias(torch.ones(4))

def test_failing():
    assert right(torch.ones(2)).shape == (7,)

def test_others():
    torch.relu(torch.ones(2))
'''


def test_calls_are_observed() -> None:
    """Of calls that differ in numbers only the first is kept; other namespaces are not looked at."""

    @custom_op("observed::odd")
    def odd(x: torch.Tensor, step: int = 2) -> torch.Tensor:
        return x[::step].clone()

    @odd.shape_rule
    def _(env: object, x: tuple[int, ...], step: int = 2) -> tuple[int, ...]:
        return (x[0] // step, *x[1:])

    with observing(["observed"]) as operations:
        for call in ((torch.ones(5),), (torch.ones(9), 3), (torch.ones(7),), (torch.ones(4, 2),)):
            odd(*call)
        torch.relu(torch.ones(2))
    assert [(each.name, each.sizes) for each in operations] == [
        ("observed::odd", ((3,),)), ("observed::odd", ((3,),)), ("observed::odd", ((2, 2),)),
    ]  # fmt: skip
    found = failures(operations)
    assert [line.partition(":")[0] for line in found].count("shape rule") == 1
    assert any("fake tensors" in line for line in found)


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_suite.py").write_text(SUITE)
    command = [
        sys.executable, "-m", "pytest", "-v", "-p", "shapes.testing.plugin", "-p", "no:cacheprovider",
        "--rootdir", str(folder), *options, "test_suite.py",
    ]  # fmt: skip
    return subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT), "PATH": "", "COLUMNS": "200", "HOME": str(folder)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text that pytest prints for the suite."""
    done = run(tmp_path_factory.mktemp("suite"), "--operators", "suite")
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("test", ["test_right", "test_others"])
def test_right_operators_pass(checked: str, test: str) -> None:
    """A suite of right operators passes as it did, and so does what calls none."""
    assert f"{test} PASSED" in checked


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("test_odd", "shape rule: suite.odd(Input((5,), dtype='float32')): the operator gives ((3,),)"),
        ("test_mutates", "schema and aliasing: suite::mutates"),
        ("test_pinned", "fake tensors: suite::pinned"),
        ("test_pinned_matrix", "dynamic tracing: suite::pinned"),
        ("test_halved", "autograd: suite::halved"),
        ("test_alias", "schema and aliasing: suite::alias"),
    ],
)
def test_wrong_operators_are_found(checked: str, test: str, said: str) -> None:
    """A test that passes alone fails where an operator that it calls is wrong; the check is named."""
    assert f"{test} FAILED" in checked
    assert said in checked.partition(f"_ {test} _")[2].partition("\n____")[0]


@pytest.mark.thorough
def test_the_tests_own_failures_stand(checked: str) -> None:
    """A test that fails shows its own failure."""
    assert "assert torch.Size([1]) == (7,)" in checked
    assert "suite::right: in 1 test" in checked.partition("checked operators")[2]


@pytest.mark.thorough
def test_a_run_without_operators_does_not_pass(tmp_path: Path) -> None:
    """Where no test calls an operator of the namespace, nothing was checked."""
    done = run(tmp_path, "--operators", "sweet", "-k", "right")
    assert done.returncode == 5, done.stdout + done.stderr
    assert "no test called an operator of sweet" in done.stdout
