"""What a compiled function keeps alive: graphs and guards, never what went through a call; once it is gone, nothing."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from frontends.pytorch import compile


def program(x, y):
    inner = (x * 2).relu()
    return inner.sum(-1) + y, [inner]


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("gradients", [False, True])
def test_arguments_and_results_are_freed(backend: str, gradients: bool) -> None:
    """Fails when a variant holds the arguments that it was traced with, or what it gave."""
    f = compile(program, dynamic=True, backend=backend, fullgraph=True)
    held = []
    for rows in (3, 5, 1):
        x, y = torch.randn(rows, 4, requires_grad=gradients), torch.randn(rows)
        out, (inner,) = f(x, y)
        if gradients:
            out.sum().backward()
        held += [weakref.ref(each) for each in (x, y, out, inner)]
        del x, y, out, inner
    gc.collect()
    assert len(f.variants) in (1, 2) and [each() for each in held] == [None] * len(held)


def test_arguments_of_calls_with_breaks_are_freed() -> None:
    """Fails when what is kept of a program that breaks holds its arguments."""

    def breaking(x):
        y = x.exp()
        return y * 2 if y.sum().item() > 0 else y

    f = compile(breaking, dynamic=True)
    held = []
    for rows in (3, 5, 3):
        x = torch.randn(rows, 4)
        held.append(weakref.ref(x))
        f(x)
        del x
    gc.collect()
    assert f.fallbacks and [each() for each in held] == [None] * len(held)
