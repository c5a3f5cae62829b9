"""Kernels on a GPU beside eager; skipped where there is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from benchmarks.kernels.programs import PROGRAMS, Program
from frontends.pytorch import compile
from tests.backends.programs import CASES as COMMON
from tests.backends.programs import Case
from tests.backends.triton import whole
from tests.backends.triton.cases import CASES, EDGES
from tests.backends.triton.checking import host_of, wrong
from tests.backends.triton.operating import operations, reductions

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU: only the interpreter ran")

SIZES = [{"b": 4, "s": edge} for edge in EDGES]
SIZES += [{"b": 0, "s": 5}, {"b": 129, "s": 2}, {"b": 1000, "s": 1024}, {"b": 33, "s": 20_000}, {"b": 20_000, "s": 17}]


@pytest.mark.parametrize("case", [*COMMON, *CASES, *reductions()], ids=lambda case: case.name)
def test_fused_kernels_are_as_eager(case: Case) -> None:
    """Fused kernels agree with eager on a device."""
    assert list(wrong(case, "cuda", SIZES)) == []


@pytest.mark.parametrize("case", list(operations()), ids=lambda case: case.name)
def test_operations_are_as_eager(case: Case) -> None:
    """Operations agree with torch on a device."""
    assert list(wrong(case, "cuda", [{"b": 1, "s": 400}])) == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_functions_are_as_eager(program: Program) -> None:
    """`compile(backend="triton")` runs kernels on a device, and its outputs and gradients agree with eager."""
    assert whole.wrong(program, "cuda") == []


def test_addresses_that_are_not_aligned() -> None:
    """A view at an unaligned address is not read in wide steps."""
    case = next(case for case in CASES if case.name == "softmax")
    host = host_of(case, "cuda")
    for start in (0, 1, 3, 4):
        x = torch.randn(1 + 64 * 1024, device="cuda")[start : start + 63 * 1024].view(63, 1024)
        torch.testing.assert_close(host.function([x])[0], x.softmax(1))


def test_more_elements_than_32_bits_count() -> None:
    """Indices do not wrap around in large tensors."""
    case = next(case for case in COMMON if case.name == "pointwise")
    if torch.cuda.mem_get_info()[0] < 24 * 2**30:
        pytest.skip("the GPU has too little memory")
    x, y = torch.randn(70_000, 35_000, device="cuda"), torch.randn(35_000, device="cuda")
    found = host_of(case, "cuda").function([x, y])[0]
    torch.testing.assert_close(found[-1], (x[-1] + y).exp())


SCALE = torch.tensor(0.5)


def first_column_set(x: torch.Tensor) -> torch.Tensor:
    y = x * SCALE
    y[:, 0] = 5
    return y


@pytest.mark.parametrize(
    "function",
    [
        first_column_set,
        lambda x: x + torch.arange(x.shape[1], device="cuda"),
        lambda x: x.sin() * (x.shape[0] ** 0.5) + x.sum(1, keepdim=True),
        lambda x: (x.cpu(), torch.ones(3), x * 2),
        lambda x: torch.nn.functional.interpolate(x[None, None], scale_factor=2, mode="bilinear"),
    ],
    ids=["numbers on the CPU", "a device without a number", "a float of the run", "results on both", "resampled"],
)
def test_programs_are_where_eager_is(function: Callable[[torch.Tensor], object]) -> None:
    """Kernels read memory of their own device, and results are where eager's are."""
    compiled = compile(function, backend="triton", dynamic=True)
    for sizes in ((5, 7), (33, 130)):
        results = []
        for call in (compiled, function):
            x = torch.linspace(-0.1, 0.1, sizes[0] * sizes[1], device="cuda").view(sizes).requires_grad_()
            made = call(x)
            tensors = made if isinstance(made, tuple) else (made,)
            sum(each.cpu().pow(2).sum() for each in tensors if each.requires_grad).backward()
            results.append([*tensors, x.grad])
        torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)
        assert [each.device for each in results[0]] == [each.device for each in results[1]]


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there is one GPU")
def test_another_device_than_the_current_one() -> None:
    """Kernels run, and memory is allocated, on the device of the tensors."""
    compiled = compile(lambda x: (x * 2).softmax(-1), backend="triton", dynamic=True)
    for device in ("cuda:1", "cuda:0", "cuda:1"):
        x = torch.randn(5, 300, device=device)
        found = compiled(x)
        assert found.device == x.device
        torch.testing.assert_close(found, (x * 2).softmax(-1))


def test_another_stream_and_a_captured_graph() -> None:
    """Kernels run in the order of the current stream."""
    compiled = compile(lambda x: x.exp().sum(), backend="triton", dynamic=True)  # in two launches
    x = torch.zeros(4_000_000, device="cuda")
    torch.testing.assert_close(compiled(x), x.exp().sum())
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)
        x.fill_(1)
        found = compiled(x)
    torch.cuda.current_stream().wait_stream(stream)
    torch.testing.assert_close(found, x.exp().sum())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = compiled(x)
    x.fill_(0)
    graph.replay()
    torch.testing.assert_close(captured, x.exp().sum())


@pytest.mark.parametrize("columns", [10_000, 50_257])
def test_rows_of_infinities(columns: int) -> None:
    """Sums below a maximum that is not finite yet, or nowhere, are those of torch."""
    host = host_of(next(case for case in CASES if case.name == "softmax"), "cuda")
    x = torch.randn(6, columns, device="cuda")
    x[0], x[1, 3], x[2, -1], x[3, :-1] = float("-inf"), float("nan"), float("inf"), float("-inf")
    x[4, : columns // 2] = float("-inf")
    torch.testing.assert_close(host.function([x])[0], x.softmax(1), equal_nan=True)
