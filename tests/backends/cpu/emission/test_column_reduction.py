"""Sums over rows kept by kernels that go by rows, in C, against eager torch."""

from __future__ import annotations

import pytest
import torch

from backends.cpu import kernels
from backends.interpreter import Interpreted
from backends.loops.kernels import Kernel
from backends.loops.schedule import schedule
from backends.program.host import Host
from shapes.guards.toolchain import Unavailable
from tests.backends.cpu.emitted import Compiled, check
from tests.backends.programs import CASES, Case, norm_gradients

CROSSED = [case for case in CASES if case.interchanged]
SIZES = [(0, 4), (3, 0), (1, 1), (1, 4096), (2, 15), (5, 17), (33, 64), (255, 65), (256, 3), (257, 129), (1000, 40)]


def hosted(case: Case, threads: int) -> Host:
    """A case whose kernels may use so many threads."""
    program = case.program()
    steps = schedule(program, interchanges=True)
    made = [step for step in steps if isinstance(step, Kernel)]
    assert any(kernel.accumulating for kernel in made)
    launches = kernels(made, program.decisions)
    if isinstance(launches, Unavailable):
        pytest.skip(launches.reason)
    return Host(program, steps, launches, Interpreted(threads=lambda: threads))


@pytest.mark.parametrize("case", CROSSED, ids=lambda case: case.name)
def test_sums_over_rows(case: Case) -> None:
    """If this fails, a row or a column is left out or added twice where blocks or vectors are cut off."""
    torch.manual_seed(0)
    host = hosted(case, 1)
    for rows, columns in SIZES:
        inputs = case.tensors(b=rows, s=columns)
        for found, expected in zip(host.function(inputs), case.eager(*inputs), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("case", CROSSED, ids=lambda case: case.name)
def test_results_do_not_depend_on_threads(case: Case) -> None:
    """If this fails, blocks are divided or added up by how many threads there are."""
    torch.manual_seed(0)
    inputs = case.tensors(b=1500, s=301)
    one, *others = [hosted(case, threads).function(inputs) for threads in (1, 2, 5)]
    for other in others:
        assert all(map(torch.equal, one, other))


@pytest.mark.parametrize("rows", [20_000, 300_000])
def test_long_sums_keep_their_digits(rows: int) -> None:
    """If this fails, sums of many rows lose digits that sums over a column by itself keep."""
    torch.manual_seed(0)
    case = next(case for case in CROSSED if case.name == "rows and columns")
    x = torch.rand(rows, 7)
    exact = x.double().sum(0)
    error = (hosted(case, 2).function([x])[0] - exact).abs().max() / exact.max()
    assert error < 3e-7


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_sums_of_each_type(dtype: str) -> None:
    """If this fails, sums are kept in another type than what is added, or stored in a wrong one."""

    def build(b, *inputs):
        kind = "float64" if dtype == "float64" else "float32"
        return [b.cast(each, dtype) for each in norm_gradients(b, *[b.cast(each, kind) for each in inputs])]

    def reference(gradient, x, weight, mean, factor):
        normal = (x.double() - mean.double()) * factor.double()
        scaled = gradient.double() * weight.double()
        inside = scaled - scaled.sum(1, True) - normal * (scaled * normal).sum(1, True)
        found = inside * factor.double(), (gradient.double() * normal).sum(0), gradient.double().sum(0)
        return tuple([each.to(gradient.dtype) for each in found])

    compiled = Compiled(build, *[(sizes, dtype) for sizes in ("b s", "b s", "s", "b 1", "b 1")])
    assert any(kernel.accumulating for kernel in compiled.kernels)
    tolerance = {"float64": 1e-10, "float16": 2e-3, "bfloat16": 1.6e-2}[dtype]
    torch.manual_seed(0)
    for rows, columns in [(1, 1), (3, 70), (300, 33)]:
        sizes = [(rows, columns), (rows, columns), (columns,), (rows, 1), (rows, 1)]
        inputs = [torch.randn(size, dtype=torch.float64).to(getattr(torch, dtype)) for size in sizes]
        check(compiled, reference, *inputs, rtol=tolerance, atol=tolerance)


def test_whole_numbers_are_summed() -> None:
    """If this fails, integers are added as floats are."""
    build = lambda b, x: [b.reduce("sum", x, (0,)), b.reduce("sum", x, (1,))]  # noqa: E731
    compiled = Compiled(build, ("a b", "int64"))
    assert len(compiled.kernels) == 1
    for rows, columns in SIZES:
        check(compiled, lambda x: (x.sum(0), x.sum(1)), torch.randint(-(1 << 62), 1 << 62, (rows, columns)))
