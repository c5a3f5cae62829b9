"""The lifetime of a compiled function's references: graphs and guards, never a call's values; once it is gone,
nothing."""

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


def test_state_of_an_optimizer_is_freed_with_it() -> None:
    """Fails when a graph of a step holds the optimizer's state, which torch's own frees without the collector."""
    weight = torch.ones(3, requires_grad=True)
    holder = [torch.optim.Adadelta([weight])]
    weight.sum().backward()
    torch.compile(lambda: holder[0].step(), backend="symshape", options={"kernels": "eager"})()
    state = weakref.ref(holder[0].state[weight]["square_avg"])
    gc.disable()
    try:
        holder.clear()
        assert state() is None
    finally:
        gc.enable()
