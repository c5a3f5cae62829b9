"""The Triton backend: kernels as Triton source, for devices, and for Triton's interpreter where there is none.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> from backends.triton import kernels
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s", lo=2)]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> program.outputs.append(program.stored(program.build.apply("exp", x), (s, program.build.one)))
    >>> (launch,) = kernels(schedule(program), program.decisions)
    >>> launch.kernel.buffers, launch.kernel.numbers
    ((made0: float32[b, s], x: float32[b, s]), (<b*s>,))

A launch is called with the tensors and then the numbers, in these orders. Each kernel has a few forms
(`backends.triton.forms`): what the engine proves of the sizes leaves fewer of them, and what it does not is looked at
when the kernel is launched, never a guard.
"""

from __future__ import annotations

from collections.abc import Iterable

from backends.decisions import Decisions
from backends.loops.kernels import Kernel
from backends.triton.launching import Launch


def kernels(kernels: Iterable[Kernel], decisions: Decisions) -> list[Launch]:
    """The launches of these kernels; text and code are made when they are first needed."""
    return [Launch(kernel, decisions) for kernel in kernels]
