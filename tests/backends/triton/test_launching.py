"""The arguments of a launch: with a device that only notes them, as there may be none."""

from __future__ import annotations

import inspect
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from io import StringIO
from time import sleep
from types import SimpleNamespace

import pytest
import torch

from backends import progress, triton
from backends.decisions.questions import Decisions
from backends.loops.kernels import Kernel
from backends.loops.program import Program
from backends.loops.schedule import schedule
from backends.triton import calling, launching
from backends.triton.emission import Source
from backends.triton.launching import Launch
from shapes import ShapeEnv
from shapes.guards.toolchain import Unavailable

STREAM = 7


@dataclass
class Device:
    """Notes what is compiled and what is run."""

    compiled: list[Source] = field(default_factory=list)
    runs: list[tuple[object, ...]] = field(default_factory=list)
    current: int = 0

    def compile(self, source: Source, target: object = None) -> SimpleNamespace:
        self.compiled.append(source)
        number = len(self.compiled)
        return SimpleNamespace(run=self.run, function=f"code {number}", packed_metadata="packed")

    def run(self, *arguments: object) -> None:
        self.runs.append(arguments)


@dataclass
class Address:
    """As much of a tensor on a device as a launch looks at."""

    pointer: int
    device: int = 0

    def data_ptr(self) -> int:
        return self.pointer

    def get_device(self) -> int:
        return self.device

    def new_empty(self, count: int, dtype: torch.dtype) -> Address:
        return Address(0x9000)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    noting = Device()
    active = SimpleNamespace(
        get_current_stream=lambda device: STREAM,
        get_current_device=lambda: noting.current,
        get_current_target=lambda: "target",
    )
    monkeypatch.setattr(calling, "compiled", noting.compile)
    monkeypatch.setattr(calling, "driver", SimpleNamespace(active=active))
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    return noting


def launch_of(operation: str | None = None) -> Launch:
    """exp of every element, or rows reduced."""
    env = ShapeEnv(origin=lambda: None)
    b, s = [size.expr for size in env.sizes("b s", lo=2)]
    program = Program(Decisions(env))
    build = program.build
    x = program.input("x", "float32", (b, s), (s, build.one))
    y = build.reduce(operation, x, (1,)) if operation else build.apply("exp", x)
    program.outputs.append(program.stored(y, (build.one,) if operation else (s, build.one)))
    (kernel,) = schedule(program)
    assert isinstance(kernel, Kernel)
    return Launch(kernel, program.decisions)


def test_arguments_arrive_in_order(device: Device) -> None:
    """A device is given the grid, addresses and sizes that the kernel was compiled for."""
    launch_of()(Address(0x1000), Address(0x2000), 3000)
    assert device.runs == [(24, 1, 1, STREAM, "code 1", "packed", None, None, None, 0x1000, 0x2000, 3000)]
    assert list(device.compiled[0].signature.items()) == [("p0", "*fp32"), ("p1", "*fp32"), ("n0", "i32")]


@pytest.mark.parametrize("name", ["nvidia.driver.CudaLauncher", "amd.driver.HIPLauncher"])
def test_launchers_take_what_they_are_given(name: str) -> None:
    """The launchers of this version of Triton take the arguments in our order."""
    module, _, launcher = name.rpartition(".")
    call = getattr(import_module(f"triton.backends.{module}"), launcher).__call__
    names = list(inspect.signature(call).parameters)[1:]
    assert names[:4] == ["gridX", "gridY", "gridZ", "stream"]
    assert names[4:] == [
        "function",
        "kernel_metadata",
        "launch_metadata",
        "launch_enter_hook",
        "launch_exit_hook",
        "args",
    ]


def test_forms_are_compiled_once(device: Device) -> None:
    """Each form is compiled once, and decisions are not made again."""
    launch = launch_of()
    for count in (3000, 3000, 2000, 3008, 2008, 3024, 3000):
        launch(Address(0x1000), Address(0x2000), count)
    assert len(device.runs) == 7
    assert [source.form.is_aligned for source in device.compiled] == [False, True]


def test_what_is_begun_is_not_compiled_again(device: Device) -> None:
    """Kernels whose compilation has begun are not compiled again, and the first call waits for all together."""
    launch = launch_of()
    launch.begin((3008,), 0)
    launch(Address(0x1000), Address(0x2000), 3008)
    assert [source.form.is_aligned for source in device.compiled] == [True]
    launch(Address(0x1000, 1), Address(0x2000, 1), 3008)
    assert [run[4] for run in device.runs] == ["code 1", "code 2"]


def test_addresses_are_looked_at_in_every_call(device: Device) -> None:
    """Addresses are tested at every call: a view at an unaligned one is not read in wide steps."""
    launch = launch_of()
    for address in (0x1000, 0x2004, 0x2010):
        launch(Address(0x1000), Address(address), 3008)
    assert [run[4] for run in device.runs] == ["code 1", "code 2", "code 1"]
    assert [bool(source.aligned) for source in device.compiled] == [True, False]


def test_nothing_is_launched_for_nothing(device: Device) -> None:
    """An empty tensor launches nothing."""
    launch_of()(Address(0), Address(0), 0)
    assert not device.runs


def test_parts_share_memory_of_their_own(device: Device) -> None:
    """The second launch of a sum in parts reads what the first has written."""
    launch_of("sum")(Address(0x1000), Address(0x2000), 2, 10_000_000)
    first, second = device.runs
    assert first[9:12] == second[9:12] == (0x1000, 0x2000, 0x9000)
    assert (first[0], second[0]) == (490, 1)


def test_ends_of_parts_do_not_wrap_around() -> None:
    """The end of the last part of a row of nearly 2**31 elements does not wrap around."""
    long, short = [launch_of("sum").plan((1, columns)).steps for columns in (2**31 - 2**20, 2**30)]
    assert [step.aligned.form.bits for step in long] == [64, 64]
    assert [step.aligned.form.bits for step in short] == [32, 32]


def test_another_device_has_code_of_its_own(device: Device) -> None:
    """Code that is loaded on one device is not called on another."""
    launch = launch_of()
    for current in (0, 1, 1):
        launch(Address(0x1000, current), Address(0x2000, current), 3008)
    assert [run[4] for run in device.runs] == ["code 1", "code 2", "code 2"]


@pytest.mark.parametrize("function", ["loaded", "compiled", "source"])
def test_what_does_not_compile_runs_by_operators(
    function: str, device: Device, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A kernel that does not compile runs by operators, with one warning."""

    def fails(*arguments: object) -> None:
        raise RuntimeError("`ptxas` failed with error code 255\nand so on")

    if function == "compiled":
        monkeypatch.setattr(torch.Tensor, "get_device", lambda tensor: 0)
    monkeypatch.setattr(launching if function == "source" else calling, function, fails)
    launch = launch_of("sum")
    launch.begin((4, 4), 0)
    for rows in (4, 4, 2):
        made = torch.empty(rows)
        launch(made, torch.ones(rows, 4), rows, 4)
        assert made.tolist() == [4.0] * rows
    assert not device.runs
    assert set(caplog.messages) == {"k0 runs operator by operator: RuntimeError: `ptxas` failed with error code 255"}
    assert len(caplog.messages) <= 2


def test_tensors_of_the_cpu_are_left_to_operators(caplog: pytest.LogCaptureFixture) -> None:
    """Tensors of the CPU are left to operators."""
    made = torch.empty(4)
    launch_of("sum")(made, torch.ones(4, 3), 4, 3)
    assert made.tolist() == [3.0] * 4
    assert "tensors on a GPU" in caplog.text


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a C compiler, which Triton builds its driver with, runs eager."""

    def fails() -> None:
        raise RuntimeError("Failed to find C compiler.\nPlease specify")

    monkeypatch.setattr(triton, "device", "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    active = SimpleNamespace(get_current_target=fails)
    monkeypatch.setattr("triton.runtime.driver._active", active, raising=False)
    assert triton.kernels([], Decisions(ShapeEnv())) == Unavailable(
        "Triton's driver cannot be loaded: Failed to find C compiler."
    )


class Terminal(StringIO):
    """Where a progress bar would be shown."""

    def isatty(self) -> bool:
        return True


def test_progress_while_kernels_are_compiled(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is shown while many kernels are compiled for the first call."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    quick = calling.compiled
    monkeypatch.setattr(calling, "compiled", lambda *arguments: sleep(0.2) or quick(*arguments))
    launches = [launch_of(), launch_of("sum")]
    for launch in launches:
        launch.begin((4, 4) if len(launch.kernel.scalars) == 2 else (16,), 0)
    launches[1](Address(0x1000), Address(0x2000), 4, 4)
    assert "compiling kernels" in shown.getvalue()
    assert len(device.compiled) == 2
