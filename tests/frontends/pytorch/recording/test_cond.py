"""`torch.cond`: both branches in the graph, each with its own facts, right whichever is taken."""

from __future__ import annotations

import pytest
import torch
from torch._higher_order_ops import utils as higher_order

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import TraceError
from frontends.pytorch.graphs.joint import runner
from tests.frontends.pytorch.against_eager import Program, agrees, run

randn = torch.randn
torch.manual_seed(0)
weight = torch.nn.Parameter(randn(3, 3))


@pytest.fixture(autouse=True)
def plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a trace, `torch.cond` is the branch that is taken."""

    def taken(fn, args, kwargs=None):
        return (args[1] if args[0] else args[2])(*args[3])

    monkeypatch.setattr(higher_order, "_hop_compile_and_call", taken)


def of_data(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))


def of_sizes(x):
    return torch.cond(x.shape[0] > 4, lambda x: x[:4] + 1, lambda x: x.sum(0, keepdim=True), (x,))


def padded_or_cut(x):
    def cut(x):
        return x[:4]

    def padded(x):
        return torch.nn.functional.pad(x, (0, 0, 0, 4 - x.shape[0]))

    return torch.cond(x.shape[0] > 4, cut, padded, (x,)) * 1


def sizes_differ(x):
    return torch.cond(x.sum() > 0, lambda x: x[: x.shape[0] // 2], lambda x: x[x[:, 0] > 0], (x,)) * 2


def closed_over(x):
    y = x * 2
    return torch.cond(x.sum() > 0, lambda: (x @ weight.detach() + y).sin(), lambda: y.cos() + 1)


def nested(x):
    def deep():
        return torch.cond(x[0, 0] > 0, lambda: x + 1, lambda: x[:1] * 3)

    return torch.cond(x.sum() > 0, deep, lambda: x * x)


def several(x):
    a, (b, n) = torch.cond(
        x.sum() > 0, lambda: (x + 1, (x.sum(), x.shape[0])), lambda: (x[1:] * 2, (x.mean(), x.shape[0] + 1))
    )
    return a, b, torch.ones(n)


def strides_differ(x):
    return torch.cond(x.sum() > 0, lambda: (x @ x.t()).t(), lambda: (x @ x.t()) + 1).sum(0)


def own_changes_in_place(x):
    def then():
        y = x.clone()
        y[0] = 1.0
        return y

    return torch.cond(x.sum() > 0, then, lambda: x + 1)


def after_a_change(x):
    x.add_(1)
    return torch.cond(x.sum() > 0, lambda: x + 1, lambda: x - 1)


def with_gradient(x):
    x = x.detach().requires_grad_()
    y = x * 2
    out = torch.cond(x.sum() > 0, lambda: (x @ weight + y).sin()[1:], lambda: (x @ weight) * y)
    return out.detach(), *torch.autograd.grad((out * out).sum(), [x, weight])


def with_gradient_by_sizes(x):
    x = x.detach().requires_grad_()
    out = torch.cond(x.shape[0] > 4, lambda x: x[:4].sin(), lambda x: x.exp(), (x,))
    return out.detach(), *torch.autograd.grad((out * out).sum(), x)


def with_counted_gradient(x):
    x = x.detach().requires_grad_()
    out = torch.cond(x.sum() > 0, lambda x: x[x > 0].sin(), lambda x: x.reshape(-1) * 1, (x,))
    return out.detach(), *torch.autograd.grad((out * out).sum(), x)


PROGRAMS = [of_data, of_sizes, padded_or_cut, sizes_differ, closed_over, nested, several, strides_differ]
PROGRAMS += [own_changes_in_place, after_a_change, with_gradient, with_gradient_by_sizes, with_counted_gradient]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("traced", [0, 1, 2])
def test_right_whichever_branch_is_taken(program: Program, traced: int) -> None:
    """Fails when the branch that was not taken while tracing, or a size that only it gives, is wrong."""
    samples = [(randn(3, 3).abs(),), (-randn(6, 3).abs(),), (randn(7, 3),), (torch.eye(5, 3) - 0.5,), (randn(4, 3),)]
    agrees(program, samples.pop(traced), *samples)


def test_facts_stay_in_their_branch() -> None:
    """Fails when a check of one branch is asked of a run that takes the other, or its facts are believed outside."""

    def program(x):
        def then():
            n = (x > 0).nonzero().shape[0]
            torch._check(n <= 2)
            return x[:n]

        return torch.cond(x.shape[0] > 4, then, lambda: x * 2)

    variant = trace(program, (randn(3),))
    assert not any("<= 2" in check.text for check in variant.runtime_asserts)
    assert variant.guards == ()
    torch.testing.assert_close(run(variant, (torch.ones(4),)), torch.ones(4) * 2)
    torch.testing.assert_close(run(variant, (-torch.ones(6),)), torch.ones(0))
    with pytest.raises(RuntimeError, match="<= 2"):
        run(variant, (torch.ones(6),))


def test_a_guard_of_one_branch_is_the_variants() -> None:
    """Fails when the branch that was not taken relies on sizes that nobody checks."""

    def program(x, y):
        return torch.cond(x.sum() > 0, lambda: x + y, lambda: x)

    variant = trace(program, (randn(3), randn(3)))
    assert [str(guard) for guard in variant.guards] == ["x_size0 == y_size0"]


def test_a_dead_branch_is_left_away() -> None:
    """Fails when a branch that the facts rule out is traced, under facts that contradict each other."""

    def program(x):
        return torch.cond(x.shape[0] >= 1, lambda: x + 1, lambda: x.view(-5))

    variant = trace(program, (randn(3),))
    assert not any("cond" in node.name for node in variant.graph.graph.nodes)


def changes_outside(x):
    return torch.cond(x.sum() > 0, lambda: x.add_(1), lambda: x)


def changes_view_of_outside(x):
    return torch.cond(x.sum() > 0, lambda: x.view(-1)[1:].mul_(2), lambda: x.view(-1)[1:])


def other_dtype(x):
    return torch.cond(x.sum() > 0, lambda: x, lambda: x.double())


def other_rank(x):
    return torch.cond(x.sum() > 0, lambda: x, lambda: x.sum())


def other_structure(x):
    return torch.cond(x.sum() > 0, lambda: (x, x), lambda: x)


def other_values(x):
    return torch.cond(x.sum() > 0, lambda: (x, "a"), lambda: (x, "b"))


def random_and_learned(x):
    x = x.detach().requires_grad_()
    return torch.cond(x.sum() > 0, lambda: torch.nn.functional.dropout(x), lambda: x)


REFUSED = {
    changes_outside: "in place",
    changes_view_of_outside: "in place",
    other_dtype: "same dtype",
    other_rank: "number of axes",
    other_structure: "different structures",
    other_values: "'a' and 'b'",
    random_and_learned: "random numbers",
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda each: each.__name__)
def test_refused(program: Program) -> None:
    """Fails when branches that can not be joined are, or the message does not say why."""
    with pytest.raises(TraceError, match=REFUSED[program]):
        trace(program, (randn(3, 3),))


def test_forward_and_backward_graphs() -> None:
    """Fails when the gradient of a choice does not come through the joint graphs."""

    def program(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x * 3, (x,))

    variant = trace(program, (randn(4, requires_grad=True),), gradients=True)
    call = runner(variant)
    for start in (torch.ones(5), -torch.ones(3)):
        x = start.clone().requires_grad_()
        (y,) = call([x])
        y.sum().backward()
        torch.testing.assert_close(x.grad, start.cos() if start.sum() > 0 else torch.full_like(start, 3))


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


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("program", [in_both, three_deep])
def test_gradients_of_a_choice_within_a_choice(program: Program, backend: str) -> None:
    """Fails when the gradient of an inner branch is that of a tensor outside of the outer one, or of another trace."""
    compiled = compile(program, dynamic=True, fullgraph=True, backend=backend)
    generator = torch.Generator().manual_seed(0)
    for start, rows in ((2.0, 3), (0.3, 5), (-0.5, 4), (-3.0, 6), (5.0, 2)):
        x = torch.rand(rows, 3, generator=generator).add_(start).requires_grad_()
        got, wanted = compiled(x), program(x)
        torch.testing.assert_close(got, wanted)
        ours, theirs = [torch.autograd.grad((each * each).sum(), x)[0] for each in (got, wanted)]
        torch.testing.assert_close(ours, theirs)
    assert len(compiled.variants) == 1
