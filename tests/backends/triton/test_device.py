"""Kernels on a GPU beside eager; skipped where there is none."""

from __future__ import annotations

import pytest
import torch

from benchmarks.kernels.programs import PROGRAMS, Program
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
    """If it fails, a fused kernel is wrong on a device."""
    assert list(wrong(case, "cuda", SIZES)) == []


@pytest.mark.parametrize("case", list(operations()), ids=lambda case: case.name)
def test_operations_are_as_eager(case: Case) -> None:
    """If it fails, an operation means something else on a device than in torch."""
    assert list(wrong(case, "cuda", [{"b": 1, "s": 400}])) == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_functions_are_as_eager(program: Program) -> None:
    """If it fails, `compile(backend="triton")` gives wrong outputs or gradients on a device, or makes no kernels."""
    assert whole.wrong(program, "cuda") == []


def test_addresses_that_are_not_aligned() -> None:
    """If it fails, a view that starts at an odd place is read in wide steps: a misaligned address."""
    case = next(case for case in CASES if case.name == "softmax")
    host = host_of(case, "cuda")
    for start in (0, 1, 3, 4):
        x = torch.randn(1 + 64 * 1024, device="cuda")[start : start + 63 * 1024].view(63, 1024)
        torch.testing.assert_close(host.function([x])[0], x.softmax(1))


def test_more_elements_than_32_bits_count() -> None:
    """If it fails, indices wrap around in large tensors."""
    case = next(case for case in COMMON if case.name == "pointwise")
    if torch.cuda.mem_get_info()[0] < 24 * 2**30:
        pytest.skip("the GPU has too little memory")
    x, y = torch.randn(70_000, 35_000, device="cuda"), torch.randn(35_000, device="cuda")
    found = host_of(case, "cuda").function([x, y])[0]
    torch.testing.assert_close(found[-1], (x[-1] + y).exp())
