"""A program of kernels as a person reads it: loops, calls, every decision with its reason, and memory at its peak.

>>> import torch
>>> from backends.program.host import Host
>>> from backends.loops.schedule import schedule
>>> from shapes import ShapeEnv
>>> from backends.decisions.questions import Decisions
>>> from backends.loops.program import Program
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = [size.expr for size in env.sizes("b s", hints=(4, 128))]
>>> program = Program(Decisions(env))
>>> x = program.input("x", "float32", (b, s), (s, program.build.one))
>>> program.outputs.append(program.stored(program.build.apply("exp", x), (s, program.build.one)))
>>> for line in lines(Host(program, schedule(program), [None])):
...     print(line)
k0: for i0 < b*s, lanes i0
    made0[i0] = exp(x[i0])
peak: 4*b*s bytes at step 0, 2048 where it was traced
  made0: float32[b, s], 4*b*s bytes
decided:
  size one: b == 1? depends: a loop; nothing added
  size one: s == 1? depends: a loop; nothing added
  order: s >= 1? depends: larger stride outside, as where it was traced; nothing added
  collapse: s == s? always: one loop; nothing added
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from backends.loops.kernels import Kernel
from backends.loops.program import Call

if TYPE_CHECKING:
    from backends.program.host import Host


def lines(host: Host) -> Iterator[str]:
    """Everything about a program that decides how it runs."""
    for step in host.steps:
        match step:
            case Kernel(origins=origins):
                yield from str(step).splitlines()
                yield from [f"    from {origin}" for origin in origins]
            case Call():
                yield str(step)
    yield from host.memory.lines(host.program.decisions.hints)
    yield "decided:"
    yield from [f"  {decision}" for decision in host.program.decisions.log]
