"""Kernels on a device, or in the interpreter, beside eager on the CPU."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch

from backends import triton
from backends.interpreter import Interpreted
from backends.loops.kernels import Kernel
from backends.loops.schedule import schedule
from backends.program.host import Host
from tests.backends.programs import Case
from tests.backends.triton.operating import Operating

TOLERANCE = {torch.bfloat16: 8e-3, torch.float16: 1e-3, torch.float32: 1e-4, torch.float64: 1e-10}


def host_of(case: Case, device: str, *, fill: bool = True) -> Host:
    """The program of a case, compiled; new memory is filled so that what is not written shows."""
    program = case.program()
    steps = schedule(program)
    launches = triton.kernels([step for step in steps if isinstance(step, Kernel)], program.decisions)

    def allocate(sizes: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        made = torch.empty_strided(sizes, strides, dtype=dtype, device=device)
        return made.fill_(math.nan if dtype.is_floating_point else 1) if fill else made

    return Host(program, steps, launches, Interpreted(allocate))


def wrong(case: Case, device: str, all_sizes: Sequence[dict[str, int]]) -> Iterator[tuple[str, str]]:
    """The differences from eager, by sizes."""
    host = host_of(case, device)
    for sizes in all_sizes:
        sizes = sizes | {"n": sizes["b"], "h": sizes["s"]}
        inputs = case.tensors(**sizes)
        try:
            expected = case.eager(*inputs)
        except (RuntimeError, ValueError, IndexError, ZeroDivisionError):
            continue  # eager refuses these sizes
        found = host.function([each.to(device) for each in inputs])
        for one, other in zip(found, expected, strict=True):
            rtol = TOLERANCE.get(other.dtype, 0)
            one = one.cpu()
            try:
                torch.testing.assert_close(one, other, atol=rtol / 10 * magnitude(other), rtol=rtol, equal_nan=True)
            except AssertionError as error:
                yield str(sizes), str(error)
            zero = (one == 0) & (other == 0) & (one.signbit() != other.signbit())
            if isinstance(case, Operating) and case.has_exact_zeros and zero.any():
                yield str(sizes), f"signs of zeros, from {[each[zero] for each in inputs]}"


def magnitude(values: torch.Tensor) -> float:
    """The largest finite absolute value, at least 1: sums in another order differ by so much where terms cancel."""
    finite = values[values.isfinite()] if values.dtype.is_floating_point else values[:0]
    return max(1.0, float(finite.abs().max())) if finite.numel() else 1.0
