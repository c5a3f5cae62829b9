"""State that a trace leaves behind, and that others see of it; numbers of an environment that others have declared."""

from __future__ import annotations

import builtins
import gc
import importlib
import math
import sys
import threading
from collections.abc import Callable

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from frontends.pytorch import Variant, trace
from frontends.pytorch.errors import EscapedTensor
from frontends.pytorch.recording.randomness import checkpointed
from frontends.pytorch.recording.torch_internals import OPERATORS, REPLACED
from shapes.errors import ShapeError
from tests.frontends.pytorch.observed import left_behind

layer = torch.nn.Linear(4, 2)


def raises(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    raise KeyError(y.shape)


KEPT = {
    "layer": lambda x: layer(x),
    "views": lambda x: (x, x[1:], x.t()),
    "data": lambda x: x[x > 0] * 2,
    "draws": lambda x: checkpointed(torch.dropout, x, 0.5, True, use_reentrant=False),
    "raises": raises,
    "refused": lambda x: x if x.sum() > 0 else -x,
}


@pytest.mark.parametrize("name", KEPT)
def test_no_tensor_is_left(name: str) -> None:
    """Neither a variant nor an ended trace holds tensors without memory."""
    before = len(left_behind())
    try:
        variant: Variant | None = trace(KEPT[name], (torch.randn(3, 4, requires_grad=True),), gradients=True)
    except Exception:
        variant = None
    assert len(left_behind()) == before
    assert (variant is None) is (name in ("raises", "refused"))


def test_a_tensor_that_is_kept() -> None:
    """Using a tensor that outlives its trace is an error."""
    kept = []
    trace(lambda x: kept.append(x * 2), (torch.ones(3),))
    with pytest.raises(EscapedTensor, match="belongs to a trace that has ended"):
        kept[0] + 1
    with pytest.raises(ShapeError, match=r"sizes of two environments|a tensor of another trace"):
        trace(lambda x: x + kept[0], (torch.ones(3),)).graph


def seen() -> dict[str, object]:
    """A thread's view of the process besides torch's internals."""
    names: dict[str, object] = {"profile": sys.getprofile(), "trace": sys.gettrace(), "freeze": gc.get_freeze_count()}
    for owner in (builtins, math, importlib, importlib._bootstrap, torch.Tensor, torch.SymInt, torch.autograd):
        names |= {f"{owner.__name__}.{name}": value for name, value in vars(owner).items()}
    return {**names, "code": raises.__code__, "modes": torch._C._len_torch_dispatch_stack()}


def in_another_thread(call: Callable[[], object]) -> object:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    return found[0]


def test_another_thread_sees_nothing() -> None:
    """A trace replaces nothing in other threads."""
    trace(lambda x: x, (torch.ones(3),))
    before, during = seen(), []
    trace(lambda x: during.append(in_another_thread(seen)), (torch.ones(3),))
    assert during == [before] == [seen()]


def of_torch() -> list[str]:
    """Graphs that torch traces, of operators and functions that are replaced while a trace of ours runs."""

    def program(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.kron(x, x).cumprod(0)
        z = torch.nn.functional.adaptive_max_pool2d(x[None], (2, 2)).sum()
        return y, torch.autograd.grad(y.sum() + z, x)[0], torch.nn.functional.glu(x)

    x = torch.arange(16.0).view(4, 4).requires_grad_()
    return [make_fx(program, tracing_mode=mode)(x).code for mode in ("fake", "symbolic")]


def test_torch_traces_in_another_thread() -> None:
    """Torch's own tracers give the same graph while a trace runs in another thread."""
    expected, during = of_torch(), []
    trace(lambda x: during.append(in_another_thread(of_torch)), (torch.ones(3),))
    assert during == [expected]


def test_everything_is_put_back() -> None:
    """A trace that ends by an error restores all of torch."""
    places = lambda: [getattr(module, name) for module, name, _ in REPLACED]  # noqa: E731
    kernels = lambda: [dict(operator.py_kernels) for operator in OPERATORS]  # noqa: E731
    before = places(), kernels(), torch.is_autocast_cache_enabled(), torch.is_grad_enabled()
    with pytest.raises(KeyError):
        trace(raises, (torch.ones(3),))
    assert before == (places(), kernels(), torch.is_autocast_cache_enabled(), torch.is_grad_enabled())


# ---------------------------------------------------------------------- random numbers under checkpointing


def twice(x: torch.Tensor) -> torch.Tensor:
    return torch.dropout(x, 0.5, True) * torch.rand_like(x)


def nested(x: torch.Tensor) -> torch.Tensor:
    return torch.dropout(checkpointed(twice, x.exp(), use_reentrant=False).sin(), 0.3, True)


def test_a_trace_draws_nothing() -> None:
    """Tracing does not change the state of random numbers."""
    state = torch.get_rng_state()
    trace(nested, (torch.randn(3, 2, requires_grad=True),), gradients=True)
    torch.set_rng_state(state)
    x = torch.ones(3, 2, requires_grad=True)
    trace(nested, (x,), gradients=True)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("dim", [None, 0, (0, 1)])
def test_a_size_that_may_be_dropped_is_a_branch(dim: object) -> None:
    """Fails when a trace for larger sizes is taken for one of size 1, where `squeeze` gives fewer axes."""
    variant = trace(lambda x: x.squeeze() if dim is None else x.squeeze(dim), (torch.ones(2, 3),))
    assert "x.shape[0] != 1" in map(str, variant.guards)


def test_sizes_are_sizes() -> None:
    """A `torch.Size` among the arguments or results becomes a tuple."""

    def program(x: torch.Tensor, sizes: torch.Size) -> object:
        return x.reshape(sizes.numel()), [sizes], {"all": torch.broadcast_shapes(sizes, (1,))}

    x = torch.ones(2, 3)
    variant = trace(program, (x, x.shape))
    _, (sizes,), named = variant.assembled(variant.graph(x))
    assert type(sizes) is type(named["all"]) is torch.Size
    assert sizes == named["all"] == x.shape
