"""Interleaved kernels: which are, and that each reads what the one before stores in the same iteration."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from backends import cpu
from backends.cpu.launcher.program import make_native
from backends.cpu.launcher.whole_graph import described
from backends.decisions.questions import Decisions
from backends.loops.kernels import Kernel
from backends.loops.program import Program
from backends.loops.schedule import schedule
from backends.program.host import hosted
from backends.program.launch_groups import interleaved_counts
from backends.program.memory import plan
from shapes import ShapeEnv


class Made:
    """A program of one input of three axes, and what torch computes for it."""

    def __init__(self, permutation=(0, 1, 2)):
        env = ShapeEnv(origin=lambda: None)
        sizes = [size.expr for size in env.sizes("a b c", hints=(6, 50, 40))]
        self.program = Program(Decisions(env))
        self.build = self.program.build
        a, b, c = sizes
        x = self.program.input("x", "float32", (a, b, c), (b * c, c, self.build.one))
        self.x = self.build.permute(x, permutation)

    def taken(self, x, axis, *, is_turned=False):
        """The elements minus their sum along an axis; in memory, maybe with the first two axes interchanged."""
        build = self.build
        total = build.expand(build.reduce("sum", x, (axis,), keepdim=True), x.sizes)
        a, b, c = x.sizes
        return self.program.stored(
            build.apply("sub", x, total), (c, a * c, build.one) if is_turned else (b * c, c, build.one)
        )

    def kernels(self):
        return [step for step in schedule(self.program, interchanges=True) if isinstance(step, Kernel)]


def taken(x, *axes):
    for axis in axes:
        x = x - x.sum(axis, keepdim=True)
    return x


def test_kernels_that_share_their_leading_axis_run_turn_by_turn():
    """Each kernel goes through all memory before the next does."""
    made = Made()
    made.program.outputs.append(made.taken(made.taken(made.taken(made.x, 1), 2), 1))
    kernels = made.kernels()
    assert len(kernels) == 3 and kernels[0].interleaved is not None
    group = kernels[0].interleaved
    assert group.iterations is made.x.sizes[0] and {each.interleaved for each in kernels} == {group}
    assert "interleaved: a common iterations, one of 3 kernels" in str(kernels[1])


@pytest.mark.parametrize("axes", [(1, 2, 0), (0, 2)], ids=str)
def test_a_kernel_that_reads_what_other_turns_store_waits_for_all_of_them(axes):
    """A sum over the leading axis is taken before the other turns have stored their part of it."""
    made = Made()
    x = made.x
    for axis in axes:
        x = made.taken(x, axis)
    made.program.outputs.append(x)
    *before, last = made.kernels()
    assert last.interleaved is None or before[-1].interleaved is not last.interleaved


def test_what_is_read_at_computed_places_is_there_before():
    """An element of any turn is read before it is stored."""
    made = Made()
    first = made.taken(made.x, 1)
    places = made.program.input("places", "int64", made.x.sizes[:1], (made.build.one,))
    inside = made.build.apply("ge", places, made.build.number(0, "int64"))
    found = made.build.gather(first, made.x.sizes[:1], (places, *[made.build.axis(0) * made.build.zero] * 2), inside)
    made.program.outputs.append(made.program.stored(found, (made.build.one,)))
    assert all(kernel.interleaved is None for kernel in made.kernels())


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(
    "sizes", [(6, 5, 4), (1, 3, 2), (0, 3, 2), (3, 0, 2), (3, 2, 0), (40, 90, 70), (3, 300, 130), (300, 1, 17)], ids=str
)
@pytest.mark.parametrize("permutation", [(0, 1, 2), (0, 2, 1)], ids=str)
def test_turn_by_turn_computes_what_torch_does(sizes, permutation, threads):
    """A turn is left out, done twice, or done before what it needs is there; with several threads only, or where one
    block has several turns."""
    made = Made(permutation)
    between = made.taken(made.taken(made.x, 1), 2)
    made.program.outputs += [made.taken(between, 1), between]
    host = hosted(made.program, cpu)
    kernels = [step for step in host.steps if isinstance(step, Kernel)]
    assert interleaved_counts(kernels, host.memory)[0] > 1, host.source
    given = torch.rand(sizes)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = host.function([given])
    finally:
        torch.set_num_threads(before)
    wanted = given.double().permute(permutation)
    scale = 1e-6 * max(1, given.numel())
    for one, axes in zip(found, ((1, 2, 1), (1, 2))):
        torch.testing.assert_close(one.double(), taken(wanted, *axes), atol=scale, rtol=1e-4)
    assert torch.equal(host.function([given])[0], found[0]), "the result depends on the number of threads"


@pytest.mark.parametrize("sizes", [(6, 5, 4), (0, 3, 2), (30, 90, 70), (2, 500, 300)], ids=str)
def test_a_whole_graph_runs_turn_by_turn(sizes):
    """The launcher and the host side in Python run a whole graph in the same order."""
    made = Made()
    made.program.outputs.append(made.taken(made.taken(made.x, 1), 2))
    description = described(hosted(made.program, cpu))
    assert [launch.kernels for launch in description.launches] == [2, 1]
    assert not description.scratch, "a slot that is returned is no temporary, for C as for Python"
    given = torch.rand(sizes)
    (found,) = make_native(description)(given)
    scale = 1e-6 * max(1, given.numel())
    torch.testing.assert_close(found.double(), taken(given.double(), 1, 2), atol=scale, rtol=1e-4)


@pytest.mark.parametrize("is_turned", [False, True])
def test_buffers_that_are_one_place_in_memory(is_turned):
    """A kernel stores in one iteration where another reads in the next; or kernels that may be interleaved are not,
    because memory is reused."""
    made = Made()
    first = made.taken(made.x, 1)
    result = made.taken(made.taken(first, 2), 1, is_turned=is_turned)
    made.program.outputs.append(result)
    kernels = made.kernels()
    assert len(kernels) == 3 and kernels[0].interleaved.kernels == 3
    memory = plan(made.program, kernels)
    assert interleaved_counts(kernels, replace(memory, slots={}))[0] == 3
    seen = replace(memory, slots={result.buffer: made.x.buffer}, views={first.buffer: {made.x.buffer}})
    assert interleaved_counts(kernels, seen)[0] == 1, "an operator's result is a view of what the last kernel stores to"
    in_one_place = replace(memory, slots={result.buffer: first.buffer})
    assert interleaved_counts(kernels, in_one_place)[0] == (1 if is_turned else 3)
