"""The behaviour required of every backend."""

from __future__ import annotations

import pytest
import torch

from backends.backend import AnyBackend, emits_kernels, missing_from, name_of
from backends.decisions.questions import Decisions
from backends.interpreter import Interpreted
from backends.loops.kernels import Kernel
from backends.loops.schedule import schedule
from backends.program.host import Host
from backends.testing.conformance.compiling import compiled, device_of, on
from backends.testing.conformance.programs import PROGRAMS, SIZES
from shapes import ShapeEnv
from shapes.guards.toolchain import Unavailable

TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def check(found: object, expected: torch.Tensor, what: str) -> None:
    """A result has the dtype, the sizes and, up to rounding, the elements that torch's has."""
    assert isinstance(found, torch.Tensor), f"{what}: {found!r} is no tensor"
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), what
    rtol = TOLERANCE.get(expected.dtype, 0)
    torch.testing.assert_close(
        found.cpu(), expected, rtol=rtol, atol=rtol, equal_nan=True, msg=lambda text: f"{what}: {text}"
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_computes_what_torch_computes(backend: AnyBackend, name: str) -> None:
    """Kernels compute the elements that torch computes, at the first and at later sizes."""
    lowered = PROGRAMS[name]
    run = compiled(lowered, backend)
    for sizes in SIZES:
        inputs = lowered.inputs(**sizes)
        found = run(on(device_of(backend), inputs))
        for each, expected in zip(found, lowered.oracle(inputs), strict=True):
            check(each, expected, f"{name} at {sizes}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_leaves_arguments_as_they_are(backend: AnyBackend, name: str) -> None:
    """Kernels write only to their outputs, and memory of an argument is not reused."""
    lowered = PROGRAMS[name]
    run = compiled(lowered, backend)
    inputs = lowered.inputs(b=33, s=130, n=9)
    given = on(device_of(backend), inputs)
    run(given)
    for each, before in zip(given, inputs, strict=True):
        assert torch.equal(each.cpu(), before), name


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_do_not_depend_on_earlier_calls(backend: AnyBackend, name: str) -> None:
    """Results share no memory with those of another call, and nothing that a buffer held before shows in them."""
    lowered = PROGRAMS[name]
    run = compiled(lowered, backend)
    small, large = [on(device_of(backend), lowered.inputs(**sizes)) for sizes in (SIZES[0], SIZES[-1])]
    other = on(device_of(backend), lowered.inputs(draw=1, **SIZES[-1]))
    first = [each.clone() for each in run(large) if isinstance(each, torch.Tensor)]
    kept = run(large)
    for inputs in (other, small, other):
        run(inputs)
    torch.testing.assert_close(list(kept), first, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(list(run(large)), first, rtol=0, atol=0, equal_nan=True)


def test_has_every_attribute(backend: AnyBackend) -> None:
    """Every attribute of the protocol is there, and of the right type."""
    assert not missing_from(backend), f"{name_of(backend)} lacks {missing_from(backend)}"
    if emits_kernels(backend):
        torch.empty(0, device=backend.device)
        assert isinstance(backend.interchanges, bool)
        assert backend.threads is None or backend.threads() >= 1
        assert backend.large is None or (backend.large[0] > 0 and callable(backend.large[1]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.bfloat16, torch.int64], ids=str)
def test_allocates_what_is_asked_for(backend: AnyBackend, dtype: torch.dtype) -> None:
    """Kernels access memory by the strides it has."""
    if not emits_kernels(backend):
        pytest.skip("it compiles no kernels")
    for sizes, strides in (((2, 3), (3, 1)), ((2, 3), (1, 2)), ((0, 4), (4, 1)), ((), ())):
        made = backend.allocate(sizes, strides, dtype)
        assert (tuple(made.shape), made.stride(), made.dtype) == (sizes, strides, dtype)
        assert made.device.type == backend.device
    if backend.large is not None:
        least, prepare = backend.large
        count = -(-least // dtype.itemsize)
        prepare(backend.allocate((count,), (1,), dtype))
        if backend.pooled is not None:
            pooled = backend.pooled(count * dtype.itemsize, (count,), (1,), dtype)
            assert (pooled.shape, pooled.stride(), pooled.dtype) == ((count,), (1,), dtype)
            pooled.fill_(1)


def test_a_launch_for_each_kernel(backend: AnyBackend) -> None:
    """Each kernel is launched as itself, and none of an earlier program is."""
    if not emits_kernels(backend):
        pytest.skip("it compiles no kernels")
    assert not backend.kernels([], Decisions(ShapeEnv(origin=lambda: None)))
    for name in ("several kernels", "softmax"):
        program = PROGRAMS[name].program()
        scheduled = [step for step in schedule(program) if isinstance(step, Kernel)]
        launches = backend.kernels(scheduled, program.decisions)
        assert not isinstance(launches, Unavailable) and len(launches) == len(scheduled)


@pytest.mark.parametrize("name", ["several kernels", "sums over rows, columns and all"])
def test_combined_launches_do_the_same(backend: AnyBackend, name: str) -> None:
    """Combined launches give the same results as one after the other."""
    if not emits_kernels(backend) or backend.combine is None:
        pytest.skip("it combines no launches")
    lowered = PROGRAMS[name]
    program = lowered.program()
    steps = schedule(program, interchanges=backend.interchanges)
    launches = backend.kernels([step for step in steps if isinstance(step, Kernel)], program.decisions)
    assert not isinstance(launches, Unavailable)
    separate, combined = [
        Host(program, steps, launches, Interpreted(backend.allocate, threads=backend.threads, combine=combine))
        for combine in (None, backend.combine)
    ]
    assert separate.source != combined.source
    for sizes in SIZES:
        given = on(backend.device, lowered.inputs(**sizes))
        torch.testing.assert_close(combined.function(given), separate.function(given), rtol=0, atol=0, equal_nan=True)
