"""What the scheduler makes of programs, run by the interpreter of kernels."""

from __future__ import annotations

import pytest
import torch

from backends.decisions import Decisions
from backends.host import Host
from backends.interpreter import interpreted
from backends.loops.kernels import Kernel
from backends.loops.program import Program
from backends.loops.schedule import schedule
from shapes import ShapeEnv
from tests.backends.programs import CASES


@pytest.mark.parametrize("crosses", [False, True], ids=["", "crosswise"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kernels_compute_what_torch_does(case, crosses):
    """A fused kernel is wrong: a pass, a forwarded value or an offset."""
    program = case.program()
    steps = schedule(program, crosses=crosses)
    kernels = [step for step in steps if isinstance(step, Kernel)]
    wanted = case.crossed if crosses and case.crossed is not None else case.kernels
    assert len(kernels) == wanted, "\n".join(map(str, steps))
    host = Host(program, steps, interpreted(kernels))
    for sizes in ({"b": 4, "s": 7}, {"b": 1, "s": 5}, {"b": 6, "s": 1}):
        inputs = case.tensors(n=sizes["b"], h=sizes["s"], **sizes)
        found = host.function(inputs)
        for one, other in zip(found, case.eager(*inputs), strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_lanes_run_along_what_is_read_and_not_along_what_is_stored_once():
    """Lanes run along the axis that is summed, whose elements are far apart, as the few results lie turned."""
    env = ShapeEnv(origin=lambda: None)
    a, b, c = [size.expr for size in env.sizes("a b c")]
    program = Program(Decisions(env))
    build = program.build
    x = build.permute(program.input("x", "float32", (a, b, c), (b * c, c, build.one)), (0, 2, 1))
    scaled = build.apply("div", x, build.expand(build.reduce("maximum", x, (0,), keepdim=True), x.sizes))
    program.outputs.append(program.stored(build.reduce("sum", scaled, (0,)), (b, build.one)))
    for kernel in schedule(program):
        assert kernel.lanes < kernel.outer, kernel
