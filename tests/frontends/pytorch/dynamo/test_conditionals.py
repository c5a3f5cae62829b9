"""`torch.cond`: what is between conditionals is compiled and so are the branches, right whichever is taken."""

from __future__ import annotations

import copy

import pytest
import torch
from torch._higher_order_ops import utils as higher_order

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import TraceError
from tests.frontends.pytorch.against_eager import Program, same

randn = torch.randn
torch.manual_seed(0)
weight = torch.nn.Parameter(randn(3, 3))


@pytest.fixture
def plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """In eager, `torch.cond` is the branch that is taken."""

    def taken(fn, args, kwargs=None):
        return (args[1] if args[0] else args[2])(*args[3])

    monkeypatch.setattr(higher_order, "_hop_compile_and_call", taken)


def of_data(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))


def of_sizes(x):
    return torch.cond(x.shape[0] > 4, lambda x: x[:4] + 1, lambda x: x.sum(0, keepdim=True), (x,))


def sizes_differ(x):
    return torch.cond(x.sum() > 0, lambda x: x[: x.shape[0] // 2] * 1, lambda x: x[x[:, 0] > 0], (x,)) * 2


def closed_over(x):
    y = x * 2
    return torch.cond(x.sum() > 0, lambda: (x @ weight + y).sin(), lambda: y.cos() + 1)


def own_changes_in_place(x):
    def then():
        y = x.clone()
        y[0] = 1.0
        return y

    return torch.cond(x.sum() > 0, then, lambda: x + 1)


def after_a_change(x):
    y = x * 2
    y.add_(1)
    z = torch.cond(x.sum() > 0, lambda: y + 1, lambda: y - 1)
    y.mul_(3)
    return z, y


def several_and_modes(x):
    with torch.no_grad():
        z = x + 1
        a, b = torch.cond(x.sum() > 0, lambda: (x + z, x.sum() * 1), lambda: (x[1:] * 2, x.mean()))
    with torch.autocast("cpu"):
        c = torch.cond(x.sum() > 0, lambda: x @ weight, lambda: (x + 1) @ weight) @ weight
    return a @ weight, b, c, z


def in_both(x):
    def first(y):
        return torch.cond(y.mean() > 1, lambda z: z.sin(), lambda z: z.cos() * x, (y,))

    def second(y):
        return torch.cond(y.mean() > -1, lambda: y.exp(), lambda: (x * y).tanh())

    return torch.cond(x.sum() > 0, first, second, (x,))


def three_deep(x):
    y = x * 2

    def inner(z):
        return torch.cond(z.max() > 2, lambda: z * y, lambda: z + y) * z

    def middle(z):
        return torch.cond(z.min() > 0, inner, torch.sin, (z,))

    return torch.cond(x.sum() > 0, middle, lambda z: z @ weight, (x,))


PROGRAMS = [of_data, of_sizes, sizes_differ, closed_over, own_changes_in_place, after_a_change]
PROGRAMS += [several_and_modes, in_both, three_deep]


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.usefixtures("plain_python")
def test_right_whichever_branch_is_taken(program: Program, backend: str) -> None:
    """A result, a gradient or a mode behind a conditional is not eager's, or a part runs operator by operator."""
    compiled = compile(program, dynamic=True, fullgraph=True, backend=backend)
    for start, rows in ((2.0, 3), (0.3, 5), (-0.5, 4), (-3.0, 6), (5.0, 2), (0.5, 7)):
        x = (torch.rand(rows, 3) + start).requires_grad_()
        again = copy.deepcopy(x)
        got, wanted = compiled(x), program(again)
        same(got, wanted)
        assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")
        ours, theirs = [
            torch.autograd.grad(sum((y * y).sum() for y in tensors if y.requires_grad), given)[0]
            for tensors, given in ((got, x), (wanted, again))
            for tensors in [tensors if isinstance(tensors, tuple) else [tensors]]
        ]
        torch.testing.assert_close(ours, theirs)
    assert not compiled.fallbacks


def changed_after_a_branch(x):
    y = x * 2
    z = torch.cond(y.sum() > 0, lambda: (y + 1).sin(), lambda: y.cos())
    y.add_(1)
    return z + y


def changed_when_only_the_branch_read_it(x):
    y = x * 2
    z = torch.cond(x.sum() > 0, lambda: (y + 1).sin(), lambda: (y + 1).cos())
    y.add_(1)
    return z + y


@pytest.mark.parametrize("program", [changed_after_a_branch, changed_when_only_the_branch_read_it])
@pytest.mark.usefixtures("plain_python")
def test_changed_memory_runs_operator_by_operator(program: Program) -> None:
    """A compiled branch saves what eager does not, and the backward after a change to it is an error."""
    compiled = compile(program, dynamic=True, fullgraph=True)
    for rows in (3, 5):
        gradients = []
        for each in (compiled, program):
            x = torch.ones(rows, requires_grad=True)
            each(x).sum().backward()
            gradients.append(x.grad)
        torch.testing.assert_close(*gradients)
    assert "may have saved" in compiled.graphs[0].reason
    with torch.no_grad():
        torch.testing.assert_close(compiled(torch.ones(4)), program(torch.ones(4)))
    assert len(compiled.graphs) == 2 and not compiled.graphs[1].reason


def test_facts_stay_in_their_branch() -> None:
    """A check of one branch is asked of a call that takes the other."""

    def program(x):
        def then():
            n = (x > 0).nonzero().shape[0]
            torch._check(n <= 2)
            return x[:n] * 1

        return torch.cond(x.shape[0] > 4, then, lambda: x * 2)

    compiled = compile(program, dynamic=True, fullgraph=True)
    torch.testing.assert_close(compiled(torch.ones(4)), torch.ones(4) * 2)
    torch.testing.assert_close(compiled(-torch.ones(6)), torch.ones(0))
    with pytest.raises(RuntimeError, match="<= 2"):
        compiled(torch.ones(6))


def test_one_part_for_all_sizes() -> None:
    """A branch that is never taken is compiled, or another size compiles again."""

    def program(x):
        return torch.cond(x.sum() > 0, lambda: x * 2, lambda: x * 3) + 1

    compiled = compile(program, dynamic=True, fullgraph=True)
    for size in (3, 4, 5):
        compiled(torch.ones(size))
    assert [len(each.variants) for each in compiled.graphs] == [3]


def test_a_branch_that_changes_outer_state_is_an_error() -> None:
    """A branch changes a tensor from outside of it, and the other branch does not."""
    with pytest.raises(Exception, match=r"mutat|in-place"):
        compile(lambda x: torch.cond(x.sum() > 0, lambda: x.add_(1), lambda: x * 1), fullgraph=True)(torch.ones(3))


def test_a_trace_refuses() -> None:
    """A trace records the branch for the values at hand."""
    with pytest.raises(TraceError, match="that take functions"):
        trace(of_data, (randn(3, 3),))
