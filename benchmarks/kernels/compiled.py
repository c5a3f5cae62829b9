"""Triton's compiled code for the kernels of a function, read without a GPU: registers, spills, width of accesses.

    >>> from benchmarks.kernels.programs import PROGRAMS
    >>> softmax = next(program for program in PROGRAMS if program.name == "softmax")
    >>> (kernel,) = kernels_of(softmax, (2, 3, 768))["forward"]
    >>> [step.grid for step in kernel.steps()]
    [6]
    >>> seen = read(kernel.steps()[0].aligned)
    >>> seen.spilled, seen.narrow_accesses
    (0, 0)

A function is traced with all sizes symbolic and run once by torch's operators, which tells with which sizes each kernel
is launched.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import torch
from torch._C._dynamo.guards import _empty_strided_cpu

from backends.decisions.questions import Decisions
from backends.interpreter import launch
from backends.loops.kernels import Kernel
from backends.triton.compiling import TARGETS, compiled
from backends.triton.emission import Source
from backends.triton.launching import Launch, Step
from benchmarks.kernels.programs import Program
from frontends.pytorch import trace


@dataclass(frozen=True, slots=True)
class Launched:
    """A kernel, and the numbers that it is launched with."""

    launch: Launch
    numbers: tuple[int, ...]

    def steps(self) -> tuple[Step, ...]:
        return self.launch.plan(self.numbers).steps


@dataclass(frozen=True, slots=True)
class Seen:
    """The properties of a compiled kernel on an sm_90.

    Attributes:
        spilled: bytes of a thread's local memory.
        wide_accesses: loads and stores of 16 bytes at once; `predicated`: those of any width under a predicate.
    """

    registers: int
    spilled: int
    shared: int
    wide_accesses: int
    narrow_accesses: int
    predicated: int
    instructions: int


def kernels_of(program: Program, size: Sequence[int]) -> dict[str, list[Launched]]:
    """The kernels of "forward" and "backward", as they are launched at one of its sizes."""
    found: list[Launched] = []

    def kernels(scheduled: Sequence[Kernel], decisions: Decisions) -> list[Callable[..., None]]:
        return [noted(kernel, decisions) for kernel in scheduled]

    def noted(kernel: Kernel, decisions: Decisions) -> Callable[..., None]:
        ours, run = Launch(kernel, decisions), launch(kernel)

        def call(*arguments: object) -> None:
            found.append(Launched(ours, tuple(arguments[len(kernel.buffers) :])))
            run(*arguments)

        return call

    noting = SimpleNamespace(
        kernels=kernels,
        allocate=_empty_strided_cpu,
        threads=None,
        device="cpu",
        interchanges=False,
        large=None,
        pooled=None,
        combine=None,
        operator=None,
    )
    leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in program.make(*size)]
    run = trace(program.function, leaves, gradients=True).run_by(noting)
    (result,) = run(leaves)
    forward, found = found[:], []
    torch.autograd.grad(result, [leaf for leaf in leaves if leaf.requires_grad], torch.ones_like(result))
    return {"forward": forward, "backward": found}


def read(source: Source) -> Seen:
    """Compile for an sm_90, and look."""
    made = compiled(source, TARGETS["sm_90"])
    text = made.asm["ptx"]
    body = text[text.index("{") :]
    accesses = re.findall(r"(@%p\d+ )?(?:ld|st)\.global\S*", body)
    wide = re.findall(r"(?:ld|st)\.global\S*\.(?:v4\.b32|v2\.b64)", body)
    used = resources(made.asm["cubin"])
    return Seen(
        registers=used["REG"],
        spilled=used["LOCAL"] + used["STACK"],
        shared=made.metadata.shared,
        wide_accesses=len(wide),
        narrow_accesses=len(accesses) - len(wide),
        predicated=len([predicate for predicate in accesses if predicate]),
        instructions=len(re.findall(r";\n", body)),
    )


def resources(cubin: bytes) -> dict[str, int]:
    """The resources that a kernel takes, by the assembler."""
    from triton import knobs

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        command = [knobs.nvidia.cuobjdump.path, "-res-usage", str(path)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name: int(number) for name, number in re.findall(r"\b(REG|STACK|LOCAL|SHARED):(\d+)", said)}
