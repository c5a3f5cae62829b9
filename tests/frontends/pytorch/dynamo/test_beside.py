"""Programs that Dynamo runs for us, beside what the process does with Dynamo of its own: neither changes the other."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch._C._dynamo.eval_frame import set_eval_frame
from torch._dynamo import config, convert_frame

from frontends.pytorch import compile

SIZES = ((3, 4), (5, 2), (1, 1), (2, 0))


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    torch.compiler.reset()


def made() -> Callable[[torch.Tensor], torch.Tensor]:
    def run(x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x) * 2
        if y.sum() > 6:
            y = y / 2
        return y + 1

    return run


def agree(compiled: Callable[..., Any], function: Callable[..., Any], *sizes: tuple[int, ...], seed: int = 0) -> None:
    generator = torch.Generator().manual_seed(seed)
    for size in sizes or SIZES:
        x = torch.randn(size, generator=generator) * 3
        torch.testing.assert_close(compiled(x), function(x))


def test_nothing_of_the_process_is_changed() -> None:
    """Settings, hooks, filters and advice of Dynamo are unchanged for others."""

    def run(x: torch.Tensor) -> torch.Tensor:
        total = x.sum().item()
        return x * total if total > 0 else x - total

    settings = dict(config._get_dict())
    compiled = compile(run, backend="eager", dynamic=True)
    agree(compiled, run)
    assert compiled.graphs
    assert {name: value for name, value in config._get_dict().items() if settings[name] != value} == {}
    assert set_eval_frame(None) is None and not convert_frame._bytecode_hooks


def test_dynamo_is_reset() -> None:
    """`torch.compiler.reset()` leaves no stale answer and no error in our programs."""
    function = made()
    compiled = compile(function, backend="eager", dynamic=True)
    for _ in range(3):
        agree(compiled, function)
        torch.compiler.reset()
    assert compiled.graphs


def test_the_program_is_compiled_by_torch_as_well() -> None:
    """torch.compile of the same function captures once, and runs its own graphs."""
    graphs: list[object] = []

    def backend(module: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        graphs.append(module)
        return module.forward

    function = made()
    theirs = torch.compile(function, backend=backend, dynamic=True)
    ours = compile(function, backend="cpu", dynamic=True)
    agree(theirs, function)
    captured = len(graphs)
    agree(ours, function)
    agree(theirs, function)
    assert captured == len(graphs) > 0 and ours.graphs

WHOLE_OR_NOTHING = """
import torch
from frontends.pytorch import compile
from tests.frontends.pytorch.dynamo.test_beside import agree, made
whole = made()
agree(compile(whole, backend="eager", dynamic=True), whole)
try:
    torch.compile(whole, backend="eager", fullgraph=True)(torch.ones(3, 4))
except torch._dynamo.exc.Unsupported:
    print("refused")
"""


def test_torch_compile_may_still_be_told_not_to_break() -> None:
    """`fullgraph` still reaches torch.compile. In a process of its own: after an error inside Dynamo, torch evaluates
    every frame in C until the process ends."""
    found = subprocess.run([sys.executable, "-c", WHOLE_OR_NOTHING], capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["refused"], found.stderr[-2000:]


@pytest.mark.parametrize("stance", ["force_eager", "eager_on_recompile"])
def test_what_torch_compile_is_told_to_do(stance: str) -> None:
    """A stance of torch.compile is obeyed, and no error of ours."""
    function = made()
    compiled = compile(function, backend="eager", dynamic=True)
    agree(compiled, function, (3, 4))
    with torch.compiler.set_stance(stance):
        agree(compiled, function)
        agree(compile(function, backend="eager", dynamic=True), function)
    agree(compiled, function)
    assert compiled.graphs


@pytest.mark.parametrize(
    "settings",
    [
        {"capture_scalar_outputs": True, "nested_graph_breaks": True},
        {"suppress_errors": True, "recompile_limit": 1, "accumulated_recompile_limit": 1},
        {"fail_on_recompile_limit_hit": True},
        {"disable": True},
        {"error_on_recompile": True},
    ],
    ids=str,
)
def test_settings_of_torch_compile(settings: dict[str, object]) -> None:
    """Settings of torch.compile change no result of our programs."""
    function = made()
    with config.patch(settings):
        agree(compile(function, backend="eager", dynamic=True), function)


def test_threads() -> None:
    """Threads that call a program for the first time at once all get their own results."""
    function, errors = made(), list[BaseException]()
    compiled = compile(function, backend="eager", dynamic=True)

    def call(seed: int) -> None:
        try:
            for _ in range(4):
                agree(compiled, function, seed=seed)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors and compiled.graphs
