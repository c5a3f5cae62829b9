"""The schedules of programs, run by the interpreter of kernels."""

from __future__ import annotations

import pytest
import torch

from backends import cpu
from backends.decisions.questions import Decisions
from backends.interpreter import Interpreted, interpreted
from backends.loops.kernels import Kernel
from backends.loops.program import Call, Program
from backends.loops.schedule import schedule
from backends.program.host import Host
from shapes import ShapeEnv
from tests.backends.programs import CASES


@pytest.mark.parametrize("interchanges", [False, True], ids=["", "crosswise"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kernels_compute_what_torch_does(case, interchanges):
    """A fused kernel is wrong: a pass, a forwarded value or an offset."""
    program = case.program()
    steps = schedule(program, interchanges=interchanges)
    kernels = [step for step in steps if isinstance(step, Kernel)]
    wanted = case.interchanged if interchanges and case.interchanged is not None else case.kernels
    assert len(kernels) == wanted, "\n".join(map(str, steps))
    host = Host(program, steps, interpreted(kernels))
    for sizes in ({"b": 4, "s": 7}, {"b": 1, "s": 5}, {"b": 6, "s": 1}):
        inputs = case.tensors(n=sizes["b"], h=sizes["s"], **sizes)
        found = host.function(inputs)
        for one, other in zip(found, case.eager(*inputs), strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_lanes_run_along_what_is_read_and_not_along_what_is_stored_once():
    """Lanes run along the reduced axis, whose stride is large, as the few results are transposed."""
    env = ShapeEnv(origin=lambda: None)
    a, b, c = [size.expr for size in env.sizes("a b c")]
    program = Program(Decisions(env))
    build = program.build
    x = build.permute(program.input("x", "float32", (a, b, c), (b * c, c, build.one)), (0, 2, 1))
    scaled = build.apply("div", x, build.expand(build.reduce("maximum", x, (0,), keepdim=True), x.sizes))
    program.outputs.append(program.stored(build.reduce("sum", scaled, (0,)), (b, build.one)))
    for kernel in schedule(program):
        assert kernel.lanes < kernel.outer, kernel


def with_bias():
    """A program that is given a bias with the heads innermost; the sizes and strides of scores of a batch."""
    env = ShapeEnv(origin=lambda: None)
    b, s = [size.expr for size in env.sizes("b s")]
    program = Program(Decisions(env))
    one, heads = program.build.one, program.build.lift(4)
    bias = program.input("bias", "float32", (s, s, heads), (s * heads, heads, one))
    return program, bias, (b, heads, s, s), (heads * s * s, s * s, s, one)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("changes", [False, True], ids=["", "changed"])
def test_what_is_read_across_for_each_row_is_laid_out_once(layers, changes):
    """A bias with the heads innermost is gathered for every row of every batch; or its copy is of what it was."""
    program, bias, sizes, strides = with_bias()
    build, (_, heads, s, _) = program.build, sizes
    for layer in range(layers):
        scores = program.input(f"x{layer}", "float32", sizes, strides)
        shown = build.expand(build.permute(bias, (2, 0, 1)), sizes)
        value = build.apply("exp", build.apply("add", scores, shown))
        program.outputs.append(program.stored(build.reduce("sum", value, (3,)), (heads * s, s, build.one)))
        if changes:
            program.assign(bias, build.apply("neg", bias))
    steps = schedule(program)
    kernels = [step for step in steps if isinstance(step, Kernel)]
    copies = [each for each in kernels if each.stores[0].buffer.sizes == (heads, s, s)]
    assert len(copies) == (not changes)
    for batch, length in ((3, 5), (1, 4), (2, 1)):
        bias, *scores = torch.randn(length, length, 4), *torch.randn(layers, batch, 4, length, length)
        expected = [
            (x + (-1) ** (layer * changes) * bias.permute(2, 0, 1)).exp().sum(3) for layer, x in enumerate(scores)
        ]
        for one, other in zip(
            Host(program, steps, interpreted(kernels)).function((bias, *scores)), expected, strict=True
        ):
            torch.testing.assert_close(one, other)


def test_what_is_read_across_is_returned_as_well():
    """A result that is what is shown to each row is never written, as it is read from the copy."""
    program, bias, sizes, strides = with_bias()
    build = program.build
    scores = program.input("scores", "float32", sizes, strides)
    shown = build.expand(build.permute(bias, (2, 0, 1)), sizes)
    program.outputs += [program.stored(build.apply("add", scores, shown), strides), program.stored(shown, strides)]
    steps = schedule(program)
    bias, scores = torch.randn(5, 5, 4), torch.randn(3, 4, 5, 5)
    kernels = [step for step in steps if isinstance(step, Kernel)]
    first, second = Host(program, steps, interpreted(kernels)).function((bias, scores))
    expected = bias.permute(2, 0, 1).expand(3, 4, 5, 5)
    torch.testing.assert_close(first, scores + expected)
    torch.testing.assert_close(second, expected)


def test_what_is_made_of_inputs_waits_until_it_is_read():
    """Tensors computed from inputs are not in memory before the call that reads them."""
    env = ShapeEnv(origin=lambda: None)
    (n,) = [size.expr for size in env.sizes("n")]
    program = Program(Decisions(env))
    build = program.build
    x, y = [program.input(name, "float32", (n,), (build.one,)) for name in "xy"]
    waiting = program.stored(build.apply("exp", y), (build.one,))
    for given in (x, waiting):
        made = program.buffer("float32", (n,), (build.one,))
        program.steps.append(Call(torch.sort, (given,), {}, (made, None), is_list=True, is_fresh=True))
        program.outputs.append(build.memory(made))
    kinds = [type(step) for step in schedule(program)]
    assert kinds == [Call, Kernel, Call]


def test_axes_of_size_one_around_what_is_merged():
    """A group norm of one image of one point computes its result twice over: a kernel more, that only copies."""
    program = Program(Decisions(ShapeEnv(origin=lambda: None)))
    build = program.build
    sizes, groups = [tuple(map(build.lift, each)) for each in ((1, 32, 1, 1), (1, 8, 4, 1))]
    x = program.input("x", "float32", sizes, tuple(map(build.lift, (32, 1, 1, 1))))
    weight = program.input("weight", "float32", sizes[1:2], (build.one,))
    inside = build.reshape(x, groups)
    centred = build.apply("sub", inside, build.expand(build.reduce("sum", inside, (2, 3), keepdim=True), groups))
    weights = build.unsqueeze(build.unsqueeze(weight, 1), 2)
    weighted = build.apply("mul", build.reshape(centred, sizes), build.expand(weights, sizes))
    total = build.reduce("sum", weighted, (0, 2, 3))
    program.outputs += [program.stored(weighted, x.buffer.strides), program.stored(total, (build.one,))]
    steps = schedule(program, interchanges=True)
    assert len(steps) == 1, "\n".join(map(str, steps))
    given = torch.randn(1, 32, 1, 1), torch.randn(32)
    found, summed = Host(program, steps, interpreted(steps)).function(given)
    groups = given[0].view(1, 8, 4, 1)
    expected = (groups - groups.sum((2, 3), keepdim=True)).view(1, 32, 1, 1) * given[1].view(32, 1, 1)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(summed, expected.view(32))


def run_in_c(program, inputs):
    """The kernels of a program, and what it gives by the CPU backend."""
    steps = schedule(program, interchanges=cpu.interchanges)
    kernels = [step for step in steps if isinstance(step, Kernel)]
    host = Host(program, steps, cpu.kernels(kernels, program.decisions), Interpreted(threads=cpu.threads))
    return kernels, host.function(inputs)


@pytest.mark.parametrize("ahead", [0, 1])
def test_memory_that_is_written_twice_has_the_later_elements(ahead):
    """Two stores to the same places are one loop, so that the earlier one of a later turn wins."""
    program = Program(Decisions(ShapeEnv(origin=lambda: None)))
    (n,) = [size.expr for size in program.decisions.env.sizes("n")]
    build, one = program.build, program.build.one
    x, y = [program.input(name, "float32", (n,), (one,)) for name in "xy"]
    whole = build.memory(program.buffer("float32", (n + ahead,), (one,)))
    program.assign(build.slice(whole, 0, build.zero, 1, n), build.apply("exp", x))
    program.assign(build.slice(whole, 0, build.lift(ahead), 1, n), build.apply("add", x, y))
    program.outputs.append(whole)
    x, y = torch.randn(50), torch.randn(50)
    _, (found,) = run_in_c(program, (x, y))
    torch.testing.assert_close(found[ahead:], x + y)
    torch.testing.assert_close(found[:ahead], x.exp()[:ahead])


def test_an_argument_is_not_changed_between_two_passes():
    """A kernel overwrites a row in its first pass that the second reads."""
    program = Program(Decisions(ShapeEnv(origin=lambda: None)))
    b, s = [size.expr for size in program.decisions.env.sizes("b s")]
    build = program.build
    x = program.input("x", "float32", (b, s), (s, build.one))
    largest = build.expand(build.reduce("maximum", x, (1,), keepdim=True), (b, s))
    value = build.apply("exp", build.apply("sub", x, largest))
    program.outputs.append(program.stored(build.reduce("sum", value, (1,)), (build.one,)))
    program.assign(x, build.apply("neg", x))
    given = torch.randn(5, 70)
    changed = given.clone()
    _, (found,) = run_in_c(program, (changed,))
    torch.testing.assert_close(found, (given - given.amax(1, keepdim=True)).exp().sum(1))
    torch.testing.assert_close(changed, -given)


@pytest.mark.parametrize(("operation", "count"), [("exp", 2), ("neg", 1)])
def test_what_is_costly_is_not_computed_for_every_row_again(operation, count):
    """An exponential of a row is computed as often as there are rows, or what costs nothing is put into memory."""
    program = Program(Decisions(ShapeEnv(origin=lambda: None)))
    b, s = [size.expr for size in program.decisions.env.sizes("b s")]
    build, one = program.build, program.build.one
    x, row = program.input("x", "float32", (b, s), (s, one)), program.input("row", "float32", (s,), (one,))
    shown = build.expand(build.apply(operation, row), (b, s))
    program.outputs.append(program.stored(build.apply("add", x, shown), (s, one)))
    x, row = torch.randn(5, 70), torch.randn(70)
    kernels, (found,) = run_in_c(program, (x, row))
    assert len(kernels) == count
    torch.testing.assert_close(found, x + getattr(torch, operation)(row))
