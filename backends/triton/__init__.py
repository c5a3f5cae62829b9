"""The Triton backend: kernels as Triton source, for a GPU, or for Triton's interpreter where there is none.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> from backends.triton.launching import Launch
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s", lo=2)]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> program.outputs.append(program.stored(program.build.apply("exp", x), (s, program.build.one)))
    >>> launch = Launch(schedule(program)[0], program.decisions)
    >>> launch.kernel.buffers, launch.kernel.scalars
    ((made0: float32[b, s], x: float32[b, s]), (<b*s>,))
    >>> launch.plan((1_000_003,)).steps[0].grid
    977

A kernel has a few forms (`forms`): what the engine proves of its sizes (`facts`) leaves fewer of them, and what it
does not is looked at when the kernel is launched, never a guard. `emission` writes the text of a form, `compiling`
makes code of it for a device that may be elsewhere, `launching` and `calling` run it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Final

import torch

from backends.backend import Launch as BackendLaunch
from backends.decisions.questions import Decisions
from backends.loops.kernels import Kernel
from backends.triton.launching import Launch
from shapes.guards.toolchain import Unavailable


def _is_interpreted() -> bool:
    """Return True if TRITON_INTERPRET was set before Triton was loaded."""
    if find_spec("triton") is None:
        return False
    from triton import knobs

    return bool(knobs.runtime.interpret)


device: Final = "cpu" if _is_interpreted() else "cuda"
"""The device of the tensors that kernels take."""
_guards: Final = torch._C._dynamo.guards
allocate: Final = _guards._empty_strided_cpu if device == "cpu" else _guards._empty_strided_cuda
"""The fastest of torch's functions that allocate."""
large: Final = None
pooled: Final = None
"""Torch pools memory of a device by itself."""
combine: Final = None
operator: Final = None
threads: Final = None
interchanges: Final = False
"""Programs of a grid are independent, and have no accumulators in common."""


def driver_missing() -> str:
    """The reason that Triton cannot launch anything here; empty if it can. It builds a part of its driver in C."""
    from triton.runtime import driver

    try:
        driver.active.get_current_target()
    except Exception as error:
        return f"Triton's driver cannot be loaded: {str(error).strip().partition(chr(10))[0]}"
    return ""


def kernels(scheduled: Sequence[Kernel], decisions: Decisions) -> list[BackendLaunch] | Unavailable:
    """Calls that take the tensors of `Kernel.buffers`, then the `Kernel.scalars`.

    Text and code of a form are made when it is first needed; what the sizes at hand will need is begun at once, several
    kernels at a time.
    """
    if find_spec("triton") is None:
        return Unavailable("Triton is not installed: pip install 'symshape[triton]'")
    if device == "cuda" and not torch.cuda.is_available():
        return Unavailable("there is no GPU for Triton's kernels")
    if device == "cuda" and (reason := driver_missing()):
        return Unavailable(reason)
    launches = [Launch(kernel, decisions) for kernel in scheduled]
    for launch in launches if device == "cuda" else ():
        hints = [decisions.env.hint(number) for number in launch.kernel.scalars]
        known = [hint for hint in hints if hint is not None]
        if len(known) == len(hints):
            launch.begin(known, torch.cuda.current_device())
    return [launch.function for launch in launches]


__all__ = ["allocate", "combine", "device", "interchanges", "kernels", "large", "operator", "pooled", "threads"]
