"""Kernels for where an axis has one element: chosen when they run, equal to what torch computes."""

from __future__ import annotations

import itertools

import pytest
import torch

from backends.cpu.emission import file_source
from backends.decisions.questions import Decisions
from backends.loops.kernels import Kernel, Load, walk
from backends.loops.program import Program
from backends.loops.schedule import schedule
from backends.loops.tensors import Expressions
from backends.loops.unit_axis import specialize_unit_axis, unit_axis_candidates
from frontends.pytorch import compile
from shapes import ShapeEnv


def last(x, axis):
    return (x > 0).long().amax(axis, keepdim=True) * (x.shape[axis] - 1)


def taken(x):
    return x - x.sin().gather(0, last(x, 0))


def taken_twice(x):
    x = x - x.sigmoid().gather(1, last(x, 1))
    return (x.flatten().relu().view(x.shape) - x.gather(0, last(x, 0))).cos()


def rolled_and_summed(x):
    return torch.nn.functional.pad(x.permute(2, 1, 0), (1, 2))[..., 2:-1].exp().sum(2)


def joined_and_reduced(x):
    return torch.cat((x[1:].exp(), x[:1]), 0).softmax(0).permute(2, 1, 0)


def turned(x):
    x = x.permute(0, 2, 1)
    return (x / (1 + x.abs().amax(0, keepdim=True))).sum(0) * torch.arange(x.shape[1])[:, None]


def taken_and_turned(x):
    return taken(x).permute(1, 2, 0) * 2


FUNCTIONS = (taken, taken_twice, rolled_and_summed, joined_and_reduced, turned, taken_and_turned)
SIZES = [*itertools.product((1, 3), (1, 4), (1, 19)), (8, 5, 70), (1, 33, 40)]


def kernels(compiled):
    (host,) = compiled.variants[0].running.hosts
    return [step for step in host.steps if isinstance(step, Kernel)], host.program.decisions


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_and_more(function):
    """The form for one element computes something else, or runs where there are more."""
    compiled = compile(function, backend="cpu", dynamic=True)
    for sizes in [(3, 4, 19), *SIZES]:
        x = torch.randn(sizes)
        torch.testing.assert_close(compiled(x), function(x), rtol=1e-5, atol=1e-5)
    found, decisions = kernels(compiled)
    assert "_one(void" in file_source(found, decisions)
    assert any(each.kind == "size one" and each.added == "branch" for each in decisions.log)


def test_nothing_is_looked_up_along_one_element():
    """A gather is left along an axis of one element, or a reduction."""
    compiled = compile(taken, backend="cpu", dynamic=True)
    compiled(torch.randn(3, 4, 5))
    (kernel,), decisions = kernels(compiled)
    (size,) = unit_axis_candidates(kernel)
    only = specialize_unit_axis(Expressions(decisions), kernel, size)
    assert kernel.reductions and not only.reductions
    loads = [value for value in walk(only.roots()) if isinstance(value, Load)]
    assert len(loads) == 1 and not loads[0].indirect


@pytest.mark.parametrize(("facts", "added"), [((), "branch"), (("r >= 2",), "nothing")], ids=["any", "more"])
def test_no_form_where_there_is_more_than_one(facts, added):
    """A form is made that never runs, or none where it would."""
    env = ShapeEnv(origin=lambda: None)
    r, c = [size.expr for size in env.sizes("r c")]
    for fact in facts:
        env.assume(fact)
    made = Program(Decisions(env))
    build = made.build
    x = made.input("x", "float32", (r, c), (c, build.one))
    positive = build.cast(build.apply("gt", x, build.number(0.0, "float32")), "int64")
    place = build.apply("mul", build.reduce("maximum", positive, (0,)), build.number(r - 1, "int64"))
    found = build.gather(x, (c,), (place, build.axis(0)))
    made.outputs.append(made.stored(found, (build.one,)))
    text = file_source(schedule(made), made.decisions)
    assert ("_one(void" in text) == (added == "branch")
    assert {each.added for each in made.decisions.log if each.where and each.kind == "size one"} == {added}
