"""Loop order, and layouts of buffers between kernels."""

from __future__ import annotations

from math import prod

import pytest
import torch

from backends.decisions.questions import Decisions
from backends.interpreter import interpreted
from backends.loops.affine import is_one, packed
from backends.loops.kernels import Kernel, Load, walk
from backends.loops.program import Program
from backends.loops.schedule import schedule
from backends.program.host import Host
from shapes import ShapeEnv


@pytest.fixture
def program():
    return Program(Decisions(ShapeEnv(origin=lambda: None)))


def image(program, name="x"):
    """Three axes of any sizes, one behind the other."""
    sizes = tuple([size.expr for size in program.decisions.env.sizes("a b c")])
    return program.input(name, "float32", sizes, packed(sizes))


def loaded(kernel):
    return [value.offset for value in walk(kernel.roots()) if isinstance(value, Load)]


def kernels_of(program):
    steps = schedule(program)
    return steps, [step for step in steps if isinstance(step, Kernel)]


def test_what_lies_between_kernels_is_laid_out_as_what_it_is_made_of(program):
    """A turned tensor's temporaries are turned as well: each is written across and read across again."""
    build, x = program.build, image(program)
    turned = build.permute(build.apply("log1p", x), (2, 1, 0))
    small = build.apply("sub", turned, build.expand(build.reduce("maximum", turned, (1,), keepdim=True), turned.sizes))
    high = build.expand(build.reduce("maximum", small, (0,), keepdim=True), small.sizes)
    back = build.permute(build.apply("exp", build.apply("sub", small, high)), (2, 1, 0))
    program.outputs.append(program.stored(back, packed(back.sizes)))
    steps, kernels = kernels_of(program)
    for kernel in kernels:
        offsets = [*[store.offset for store in kernel.stores], *loaded(kernel)]
        along = [offset.coefficient(kernel.lanes) for offset in offsets]
        assert all(step is None or is_one(step) for step in along), kernel
    for sizes in ((3, 4, 5), (1, 2, 3), (4, 1, 1)):
        (given,) = torch.randn(1, *sizes).abs()
        expected = given.log1p() - given.log1p().amax(1, keepdim=True)
        expected = (expected - expected.amax(2, keepdim=True)).exp()
        (found,) = Host(program, steps, interpreted(kernels)).function((given,))
        torch.testing.assert_close(found, expected)


def test_what_is_seen_as_one_axis_lies_in_order(program):
    """A flattened tensor is read as if it lay in order, though it was laid out as what it is made of."""
    build, x = program.build, image(program)
    turned = build.apply("exp", build.permute(x, (2, 0, 1)))
    count = prod(turned.sizes, start=build.one)
    flat = build.reshape(turned, (count,))
    half = build.slice(flat, 0, build.one, 1, count - build.one)
    program.outputs.append(program.stored(build.apply("add", half, half), (build.one,)))
    steps, kernels = kernels_of(program)
    given = torch.randn(3, 4, 5)
    (found,) = Host(program, steps, interpreted(kernels)).function((given,))
    torch.testing.assert_close(found, given.permute(2, 0, 1).exp().flatten()[1:] * 2)


def test_axes_that_are_one_and_apart_again_are_what_they_were(program):
    """Flattening and its way back put a tensor into memory that one kernel could do without."""
    build, x = program.build, image(program)
    turned = build.permute(x, (2, 1, 0))
    flat = build.reshape(turned, (prod(turned.sizes, start=build.one),))
    back = build.reshape(build.apply("mul", flat, flat), turned.sizes)
    program.outputs.append(program.stored(build.reduce("sum", back, (2,)), packed(back.sizes[:2])))
    steps, (kernel,) = kernels_of(program)
    given = torch.randn(3, 4, 5)
    (found,) = Host(program, steps, interpreted([kernel])).function((given,))
    torch.testing.assert_close(found, given.permute(2, 1, 0).square().sum(2))


def test_lanes_run_along_what_is_stored_and_next_to_it_goes_what_is_loaded(program):
    """A transposing kernel stores far apart, which takes several times as long as loading so; or comes back to a line
    of memory only after all others."""
    build, x = program.build, image(program)
    y = image(program, "y")
    value = build.permute(build.apply("add", x, y), (2, 0, 1))
    program.outputs.append(program.stored(value, packed(value.sizes)))
    _, (kernel,) = kernels_of(program)
    (store,) = kernel.stores
    assert is_one(store.offset.coefficient(kernel.lanes)), kernel
    assert all(is_one(offset.coefficient(kernel.lanes - 1)) for offset in loaded(kernel)), kernel
