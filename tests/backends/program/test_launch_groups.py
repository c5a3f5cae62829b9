"""Kernels that one call launches: the same results, in less time for small tensors, with no more memory for large."""

from __future__ import annotations

import pytest
import torch

from backends import cpu
from backends.decisions.questions import Decisions
from backends.interpreter import interpreted
from backends.loops.kernels import Kernel
from backends.loops.program import Call, Program
from backends.program.host import Host, hosted
from shapes import ShapeEnv


def program():
    """Nothing, and two sizes."""
    env = ShapeEnv(origin=lambda: None)
    b, s = [size.expr for size in env.sizes("b s", hints=(30, 50))]
    return Program(Decisions(env)), b, s


def taken(made, x):
    """Two kernels: from all rows what each column sums to, and then from all columns what each row sums to."""
    build = made.build
    for axis in (0, 1):
        total = build.expand(build.reduce("sum", x, (axis,), keepdim=True), x.sizes)
        x = made.stored(build.apply("sub", x, total), x.buffer.strides)
    return x


def expected(given):
    given = given - given.sum(0)
    return given - given.sum(1, keepdim=True)


def launched(host):
    """The lines that launch."""
    return [line for line in host.source.splitlines() if line.strip().startswith("k")]


@pytest.mark.parametrize("consuming", [False, True])
@pytest.mark.parametrize("sizes", [(3, 5), (1, 1), (0, 4), (2000, 70)], ids=str)
def test_kernels_that_follow_each_other_are_one_call(consuming, sizes):
    """Small tensors wait for Python between kernels; or a kernel is given the memory of another."""
    made, b, s = program()
    x = made.input("x", "float32", (b, s), (s, made.build.one))
    first = taken(made, x)
    made.outputs += [taken(made, first), made.stored(made.build.reduce("sum", first, (1,)), (made.build.one,))]
    host = hosted(made, cpu, consuming=consuming)
    assert len([step for step in host.steps if isinstance(step, Kernel)]) > 2
    assert len(launched(host)) == 1, host.source
    given = torch.rand(sizes, dtype=torch.float64)
    wanted = expected(given)
    found, rows = host.function([given.float()])
    torch.testing.assert_close(found, expected(wanted).float(), atol=1e-6 * max(given.numel(), 1), rtol=1e-3)
    torch.testing.assert_close(rows, wanted.sum(1).float(), atol=1e-6 * max(given.numel(), 1), rtol=1e-3)


def test_a_step_in_between_comes_in_between():
    """An operator runs before the kernel that makes what it reads."""
    made, b, s = program()
    x = made.input("x", "float32", (b, s), (s, made.build.one))
    first = taken(made, x)
    turned = made.buffer("float32", (b, s), (s, made.build.one))
    made.steps.append(Call(torch.neg, (first,), {}, (turned,), has_layout=True))
    made.outputs.append(taken(made, made.build.memory(turned)))
    host = hosted(made, cpu)
    assert len(launched(host)) == 2, host.source
    given = torch.rand(4, 6)
    torch.testing.assert_close(host.function([given])[0], expected(-expected(given)), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("is_large", [False, True])
def test_memory_that_is_let_go_of_between_kernels(is_large):
    """One call for kernels that need much memory one after the other needs it all at once."""
    made, b, s = program()
    build = made.build
    x = made.input("x", "float32", (b, s), (s, build.one))
    between = taken(made, x)
    total = build.reduce("sum", taken(made, between), (1,))
    made.outputs.append(made.stored(build.cast(total, "float64"), (build.one,)))
    if is_large:
        shown = build.expand(build.cast(build.unsqueeze(total, 1), "float64"), (b, s * 2))
        made.outputs.append(made.stored(shown, (s * 2, build.one)))
    host = hosted(made, cpu)
    assert (len(launched(host)) > 1) == is_large, host.source
    given = torch.rand(4, 6)
    wanted = expected(expected(given)).sum(1).double()
    found = host.function([given])
    torch.testing.assert_close(found[0], wanted, atol=1e-2, rtol=1e-4)
    if is_large:
        torch.testing.assert_close(found[1], wanted.unsqueeze(1).expand(4, 12), atol=1e-2, rtol=1e-4)


def test_without_a_function_that_joins_them_kernels_are_called_by_themselves():
    """A backend that launches kernel by kernel gets one with the arguments of several."""
    made, b, s = program()
    x = made.input("x", "float32", (b, s), (s, made.build.one))
    made.outputs.append(taken(made, x))
    steps = hosted(made, cpu).steps
    host = Host(made, steps, interpreted([step for step in steps if isinstance(step, Kernel)]))
    assert len(launched(host)) == 2, host.source
    given = torch.rand(4, 6)
    torch.testing.assert_close(host.function([given])[0], expected(given), atol=1e-4, rtol=1e-4)
