"""What autograd counts of tensors that a program with graph breaks writes, and of which it gives views."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import compile


def written_around_a_break(x, p):
    p.add_(1)
    if p.numpy().sum() > 0:
        p.mul_(2)
    return x + p.sum()


def made_and_written(x, p):
    y = x.clone()
    y.add_(1)
    y.numpy()
    y.mul_(2)
    return y, [y.sum()]


def a_view_of_an_argument(x, p):
    view = p.view(-1)
    view.add_(1)
    view.numpy()
    p.mul_(2)
    return view


def a_view_of_what_is_made(x, p):
    y = x * 2
    y.numpy()
    view = y.t()
    view.add_(1)
    return {"view": view, "whole": y}


def without_counting(x, p):
    x.numpy()
    p.data.add_(1)
    p.detach().mul_(2)
    return p * 1


def into_what_is_given(x, p):
    out = torch.empty(3)
    torch.add(torch.ones(3), 2, out=out)
    out.numpy()
    torch.mul(out, 2, out=out)
    return out


def several_at_once(x, p):
    torch._foreach_add_([p, x], 1.0)
    x.numpy()
    torch._foreach_mul_([p, x], 2.0)
    return torch.stack([p.sum(), x.sum()])


def drawn(x, p):
    x.numpy()
    return torch.zeros(3).normal_().copy_(p[:3])


def resized(x, p):
    x.numpy()
    y = torch.zeros(4)
    y.resize_(6).fill_(x.sum())
    return y


PROGRAMS = (
    *(written_around_a_break, made_and_written, a_view_of_an_argument, a_view_of_what_is_made, without_counting),
    *(into_what_is_given, several_at_once, drawn),
    pytest.param(
        resized, marks=pytest.mark.xfail(strict=True, reason="a tensor that waits is another one once it is resized")
    ),
)


def seen(call, size: int) -> list[object]:
    torch.manual_seed(0)
    given = torch.linspace(-1, 1, 3 * size).reshape(size, 3).cos(), torch.ones(size + 1)
    found = [*torch.utils._pytree.tree_leaves(call(*given)), *given]
    seen = [(each, each._version, each._is_view(), each.grad_fn is None) for each in found]
    # a later write to one of them is seen by all that share its memory
    found[0].detach().add_(1)
    return [*seen, [each._version for each in found]]


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_counted(program, backend: str) -> None:
    """If it fails, autograd refuses a backward that eager torch computes, or computes one that eager torch refuses."""
    compiled = compile(program, dynamic=True, backend=backend)
    for size in (3, 4, 4, 5, 2, 4):
        torch.testing.assert_close(seen(compiled, size), seen(program, size))
    assert compiled.broken is not None and compiled.broken.graphs


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_a_backward_behind_it(backend: str) -> None:
    """If it fails, what is saved for a backward counts as changed where it is not."""
    weight = torch.nn.Parameter(torch.ones(4))

    def update(x):
        if x.numpy().sum() > 0:
            weight.data.add_(x.sum())
        return x * 2

    compiled = compile(update, dynamic=True, backend=backend)
    for size in (2, 4, 4, 3, 4):
        loss = (weight * weight).sum()
        compiled(torch.ones(size))
        loss.backward()
