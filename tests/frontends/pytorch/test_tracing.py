"""What a trace leaves behind and what others see of it; numbers of an environment that others have declared."""

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
from torch.utils.checkpoint import checkpoint

from backends import cpu, eager
from backends.backend import AnyBackend
from frontends.pytorch import Variant, trace
from frontends.pytorch.errors import EscapedTensor, GraphBreak
from frontends.pytorch.recording.inputs import Choice, Dynamism
from frontends.pytorch.recording.torch_internals import REPLACED
from frontends.pytorch.symbolic.policy import general_path
from frontends.pytorch.symbolic.tensor import Traced
from frontends.pytorch.tracing import OPERATORS
from shapes import ShapeEnv
from shapes.errors import ShapeError
from shapes.symbolic.numbers import SymBool, SymFloat, SymInt
from solver.floats.ordinals import pattern
from solver.floats.values import from_pattern

layer = torch.nn.Linear(4, 2)


def tensors_of_traces() -> int:
    gc.collect()
    return sum(type(each) is Traced for each in gc.get_objects())


def branches(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))


def raises(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    raise KeyError(y.shape)


KEPT = {
    "layer": lambda x: layer(x),
    "views": lambda x: (x, x[1:], x.t()),
    "data": lambda x: x[x > 0] * 2,
    "branches": branches,
    "draws": lambda x: checkpoint(torch.dropout, x, 0.5, True, use_reentrant=False),
    "raises": raises,
    "refused": lambda x: x if x.sum() > 0 else -x,
}


@pytest.mark.parametrize("name", KEPT)
def test_no_tensor_is_left(name: str) -> None:
    """If it fails, a variant or an ended trace holds tensors without memory."""
    before = tensors_of_traces()
    try:
        variant: Variant | None = trace(KEPT[name], (torch.randn(3, 4, requires_grad=True),), gradients=True)
    except Exception:
        variant = None
    assert tensors_of_traces() == before
    assert (variant is None) is (name in ("raises", "refused"))


def test_a_tensor_that_is_kept() -> None:
    """If it fails, using a tensor that outlives its trace crashes or computes something."""
    kept = []
    trace(lambda x: kept.append(x * 2), (torch.ones(3),))
    with pytest.raises(EscapedTensor, match="belongs to a trace that has ended"):
        kept[0] + 1
    with pytest.raises(ShapeError, match=r"sizes of two environments|a tensor of another trace"):
        trace(lambda x: x + kept[0], (torch.ones(3),)).graph


def test_sizes_are_returned_as_sizes() -> None:
    """If it fails, a returned `torch.Size` is a tuple."""
    variant = trace(lambda x: {"y": x.shape, "z": [x.shape[:1], (1, 2)]}, (torch.ones(3, 2),))
    found = variant.assembled(variant.graph(torch.ones(5, 4)))
    assert found == {"y": torch.Size([5, 4]), "z": [torch.Size([5]), (1, 2)]}
    assert [type(found["y"]), *map(type, found["z"])] == [torch.Size, torch.Size, tuple]


def seen() -> dict[str, object]:
    """What a thread sees of the process besides torch's internals."""
    names: dict[str, object] = {"profile": sys.getprofile(), "trace": sys.gettrace(), "freeze": gc.get_freeze_count()}
    for owner in (builtins, math, importlib, importlib._bootstrap, torch.Tensor, torch.SymInt, torch.autograd):
        names |= {f"{owner.__name__}.{name}": value for name, value in vars(owner).items()}
    return {**names, "code": branches.__code__, "modes": torch._C._len_torch_dispatch_stack()}


def in_another_thread(call: Callable[[], object]) -> object:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    return found[0]


def test_another_thread_sees_nothing() -> None:
    """If it fails, what a trace replaces is replaced for the whole process."""
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
    """If it fails, torch's own tracers give another graph while a trace runs in another thread."""
    expected, during = of_torch(), []
    trace(lambda x: during.append(in_another_thread(of_torch)), (torch.ones(3),))
    assert during == [expected]


def test_everything_is_put_back() -> None:
    """If it fails, a trace that ends by an error leaves parts of torch replaced."""
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
    return torch.dropout(checkpoint(twice, x.exp(), use_reentrant=False).sin(), 0.3, True)


def test_a_trace_draws_nothing() -> None:
    """If it fails, tracing changes the random numbers of what runs after it."""
    state = torch.get_rng_state()
    trace(nested, (torch.randn(3, 2, requires_grad=True),), gradients=True)
    torch.set_rng_state(state)
    x = torch.ones(3, 2, requires_grad=True)
    trace(nested, (x,), gradients=True)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_block_that_draws_otherwise() -> None:
    """If it fails, a block that draws other numbers when it is computed again has a wrong gradient."""
    count = [0]

    def block(x: torch.Tensor) -> torch.Tensor:
        count[0] += 1
        return torch.dropout(x.exp(), 0.1 * count[0], True).exp()

    with pytest.raises(GraphBreak, match="draws other random numbers than the first time"):
        x = torch.randn(3, requires_grad=True)
        trace(lambda x: checkpoint(block, x, use_reentrant=False), (x,), gradients=True)


# ---------------------------------------------------------------------- an environment of others


class Known(Dynamism):
    """The numbers of `test_numbers_of_another_environment`."""

    def __init__(self, numbers: dict[tuple[str, int], SymInt], factor: SymFloat, truth: SymBool) -> None:
        super().__init__(lambda name, axis, size: False)
        self.numbers, self.factor, self.flag = numbers, factor, truth

    def choose(self, name: str, axis: int, size: int) -> Choice | SymInt:
        found = self.numbers.get((name, axis))
        return super().choose(name, axis, size) if found is None else found

    def is_varying(self, name: str, value: float) -> bool | SymFloat:
        return self.factor

    def truth(self, name: str, value: bool) -> SymBool | None:
        return self.flag


@pytest.mark.parametrize("backend", [eager, cpu], ids=["eager", "cpu"])
def test_numbers_of_another_environment(backend: AnyBackend) -> None:
    """If it fails, sizes that are expressions over others are symbols of their own, which need guards; or the graph
    reads a number where it is not."""
    env = ShapeEnv(origin=lambda: None, policy=general_path)
    b, n = env.symbol("b", lo=1, hint=3), env.symbol("n", hint=5)
    flag = env.symbol("flag", lo=0, hi=1, hint=1)
    bits = env.symbol("factor", lo=0, hi=2**64 - 1, hint=pattern(0.5))
    factor = SymFloat(env, from_pattern(bits.expr), bits.domain)
    numbers = {("x", 0): 2 * b, ("y", 0): b, ("n", -1): n, ("m", -1): n + 1, ("again", -1): n}
    fork = env.fork()

    def program(x, y, n, m, again, factor, flag):
        joined = torch.cat([y, y]) * factor + x * m
        return joined, x.shape[0] + again, torch.sym_ite(flag, n, m), flag

    arguments = torch.ones(6, 4), torch.ones(3, 4), 5, 6, 5, 0.5, True
    variant = trace(program, arguments, dynamic=Known(numbers, factor, flag == 1), env=fork)
    assert variant.env is fork and variant.guards == env.guards() == ()
    assert [each.symbols[0] for each in variant.inputs] == [("x_size1", (".shape", 1)), ("b", (".shape", 0))]
    assert [each.symbol for each in variant.integers if each.is_read] == ["n", "factor", "flag"]
    assert [each.symbol for each in variant.integers if each.computed] == ["n + 1", "n"]
    run = variant.run_by(backend)
    for given in (arguments, (torch.randn(4, 4), torch.randn(2, 4), 7, 8, 7, -1.25, False)):
        found = variant.assembled(run([given[place] for place in variant.places]))
        torch.testing.assert_close(found, program(*given))


def test_a_branch_on_a_number_of_another_environment() -> None:
    """If it fails, a branch on such a size is a guard nowhere, or of the environment that was forked."""
    env = ShapeEnv(origin=lambda: None, policy=general_path)
    b = env.symbol("b", lo=1, hint=3)
    fork = env.fork()

    class OfB(Dynamism):
        def choose(self, name: str, axis: int, size: int) -> Choice | SymInt:
            return 2 * b

    variant = trace(lambda x: x * 2 if x.shape[0] > 5 else x, (torch.ones(6),), dynamic=OfB(lambda *_: True), env=fork)
    assert [str(guard) for guard in variant.guards] == ["b >= 3"] and env.guards() == ()
