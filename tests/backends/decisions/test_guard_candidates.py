"""Guards for kernels: none unless a policy says how a variant is used, only those that pay, and never wrong results."""

from __future__ import annotations

import itertools
import random

import pytest
import torch

from backends import cpu
from backends.cpu.emission import file_source
from backends.decisions.costs import Costs, Expected, guard_candidates
from backends.decisions.questions import KINDS, Choice, Decisions
from backends.loops.kernels import Kernel
from backends.loops.schedule import schedule
from frontends.pytorch import Policy, compile, mark_dynamic, trace
from frontends.pytorch.graphs.functional import functional, functional_joint
from frontends.pytorch.lowering import LOWERINGS, lower
from shapes import ShapeEnv
from solver.errors import ShapeError
from tests.frontends.pytorch.lowering.lowered_functions import FLOATS, GRADIENTS, INTEGERS, special

OFTEN = Expected(calls=1e12, misses=0.5)
"""A number of calls at which any saving pays."""
PROGRAMS = {
    "softmax": (lambda x: torch.softmax(x * 2, -1), lambda b, s: (torch.randn(b, s),)),
    "group norm": (
        lambda x: torch.nn.functional.group_norm(x, 2),
        lambda b, s: (torch.randn(b, 4, s, s),),
    ),
    "rows that are not one behind the other": (
        lambda x: torch.exp(x) + 1,
        lambda b, s: (torch.randn(b, 2 * s)[:, :s],),
    ),
    "layer norm and product": (
        lambda x, w: torch.nn.functional.layer_norm(x @ w, (w.shape[1],)).sum(0),
        lambda b, s: (torch.randn(b, 6), torch.randn(6, s)),
    ),
}


@pytest.fixture(params=["as measured", "every kind"])
def costs(request, monkeypatch):
    """The saving of facts: as it was measured, or a microsecond per iteration."""
    if request.param == "every kind":
        made = Costs((0.1, 0.01, 0.01), dict.fromkeys(KINDS, ((1, 1e-6),)))
        monkeypatch.setattr(Costs, "measured", lambda device: made)
    return request.param


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_made_for_a_guard_run_only_where_it_holds(name, costs):
    """A kernel that was made for one size runs for another, and reads or leaves out what it should not."""
    function, make = PROGRAMS[name]
    compiled = compile(function, backend="cpu", dynamic=True, policy=Policy(guards=OFTEN))
    sizes = list(itertools.product((1, 2, 3, 5, 16), (1, 2, 7, 8, 16, 17, 33)))
    random.Random(0).shuffle(sizes)
    with torch.no_grad():
        for size in [(5, 16), *sizes, *sizes]:
            given = make(*size)
            torch.testing.assert_close(compiled(*given), function(*given), rtol=1e-4, atol=1e-5)
    assert not compiled.fallbacks
    if costs == "every kind":
        assert any(variant.running.bought for variant in compiled.variants)


def test_a_guard_that_does_not_hold_costs_one_variant():
    """A guard that only saves time makes a function recompile again and again, or run operator by operator."""
    compiled = compile(PROGRAMS["softmax"][0], backend="cpu", dynamic=True, policy=Policy(guards=OFTEN))
    with torch.no_grad():
        for size in (48, 48, 25, 26, 27, 28, 1000, 48):
            compiled(torch.randn(64, size))
    special, general = compiled.variants
    assert "x.shape[1] == 48" in [str(guard) for guard in special.guards]
    assert not any("x.shape[1]" in str(guard) for guard in general.guards)
    assert "x.shape[1] == 48" in general.cause
    assert not compiled.fallbacks


def test_guards_are_in_the_entry_in_c():
    """Calls in C run a kernel that was made for another size."""
    compiled = compile(PROGRAMS["softmax"][0], backend="cpu", dynamic=True, policy=Policy(guards=OFTEN))
    with torch.no_grad():
        compiled(torch.randn(64, 48))
        entry = compiled.graphs[0].compiled.entry
        assert entry((torch.randn(3, 48),), {}) is not NotImplemented
        assert entry((torch.randn(3, 25),), {}) is NotImplemented


def test_backward_rests_on_the_same_guards():
    """Gradients are computed by kernels for another size."""
    function = PROGRAMS["softmax"][0]
    compiled = compile(function, backend="cpu", dynamic=True, policy=Policy(guards=OFTEN))
    for size in (48, 25, 48, 7):
        x = torch.randn(64, size, requires_grad=True)
        weight = torch.randn(64, size)
        (found,) = torch.autograd.grad((compiled(x) * weight).sum(), x)
        (expected,) = torch.autograd.grad((function(x) * weight).sum(), x)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert len(compiled.variants) == 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_guard_without_a_policy(name):
    """A kernel makes a function recompile, though nobody asked for it."""
    function, make = PROGRAMS[name]
    inputs = make(64, 48)
    plain, through = trace(function, inputs), trace(function, inputs)
    through.run_by(cpu)
    assert [str(guard) for guard in through.guards] == [str(guard) for guard in plain.guards]
    assert not through.running.bought and not through.running.guard_candidates


def variants_of(table):
    """Traced operators of a table of functions, with the graphs that kernels are made of."""
    for name, function in {"floats": FLOATS, "integers": INTEGERS, "gradients": GRADIENTS}[table].items():
        if table == "gradients":
            variant = trace(function, (torch.randn(4, 8, requires_grad=True), torch.randn(8, 8)), gradients=True)
            joint = functional_joint(variant, LOWERINGS)
            yield name, variant, (joint.forward, joint.backward)
        else:
            given = (special(4),) if table == "floats" else (torch.randint(1, 9, (4, 5)), torch.randint(1, 5, (4, 5)))
            variant = trace(function, given)
            yield name, variant, (functional(variant),)


@pytest.mark.parametrize("table", ["floats", "integers", "gradients"])
@pytest.mark.filterwarnings("ignore")
def test_making_kernels_commits_to_nothing(table):
    """A question about kernels becomes a guard, a fact or a check of the program."""
    asked = 0
    for name, variant, forms in variants_of(table):
        before = variant.env.events
        for form in forms:
            decisions = Decisions(variant.env)
            kernels = [step for step in schedule(lower(form, variant.env, decisions)) if isinstance(step, Kernel)]
            file_source(kernels, decisions)
            asked += len(decisions.log)
            assert all(each.added in ("nothing", "branch") for each in decisions.log), name
        assert variant.env.events == before, name
    assert asked > 50


def test_a_guard_must_pay():
    """A guard costs more than it saves, or one that saves much is left out."""
    function, make = PROGRAMS["softmax"]
    few, many = [trace(function, make(64, 48)) for _ in range(2)]
    few.run_by(cpu, (), Expected(calls=10))
    many.run_by(cpu, (), OFTEN)
    assert few.running.guard_candidates and not few.running.bought
    assert many.running.bought
    assert not any(each.pays for each in few.running.guard_candidates)


def test_sizes_that_are_to_stay_dynamic():
    """A size that the user marked as dynamic becomes a number."""
    compiled = compile(PROGRAMS["softmax"][0], backend="cpu", policy=Policy(guards=OFTEN))
    x = torch.randn(64, 48)
    mark_dynamic(x, 1)
    with torch.no_grad():
        compiled(x)
    assert not any("x.shape[1]" in str(guard) for guard in compiled.variants[0].guards)


def test_sizes_that_only_a_run_tells_are_no_guards():
    """A guard is about a number that is not known before the program runs."""
    env = ShapeEnv(origin=lambda: None)
    rows = env.symbol("rows", hint=100).expr
    count = env.unbacked("count", lo=0).expr
    decisions = Decisions(env)
    costs = Costs((1.0, 0, 0), {"constant": ((1, 1.0),)})
    for question in (env.interner.eq(count, 3), env.interner.eq(rows, 99), env.interner.eq(rows, 100)):
        decisions.holds("constant", question, Choice("a number", "a size"), iterations=rows, length=rows)
    (found,) = guard_candidates([decisions], Expected(calls=1), costs, seconds=1.0)
    assert str(found.question) == "rows == 100" and found.pays


def test_explanation_shows_what_was_bought():
    """A person can not see why a guard is there, what it saves, or which line it comes from."""
    compiled = compile(PROGRAMS["softmax"][0], backend="cpu", dynamic=True, policy=Policy(guards=OFTEN))
    with torch.no_grad():
        compiled(torch.randn(64, 48))
    (guard,) = [line for line in compiled.report().variants[0].guards if "x.shape[1]" in line.text]
    assert "for kernels: saves" in guard.text
    assert "test_guard_candidates.py" in guard.place and "softmax" in guard.source
    text = compiled.explain(kernels=True)
    for words in ("guards that would save time:", "pays, added", "a number; guard added: saves"):
        assert words in text


@pytest.mark.parametrize("wrong", [{"calls": -1}, {"calls": 1, "misses": 2}, {"calls": float("nan")}])
def test_expectations_that_make_no_sense(wrong):
    """A chance that is none decides which guards are added."""
    with pytest.raises(ShapeError, match="expected a number"):
        Expected(**wrong)


def test_costs_between_what_was_measured():
    """A length that was not measured saves what no length does."""
    costs = Costs.measured("cpu")
    for kind, points in costs.saved.items():
        assert [length for length, _ in points] == sorted({length for length, _ in points})
        for length in (0, 1, 5, 24, 100, 10**9):
            assert 0 <= costs.of_iteration(kind, length) <= max(saved for _, saved in points)
    assert costs.of_iteration("nothing", 8) == 0
    assert all(figure > 0 for figure in costs.variant)
