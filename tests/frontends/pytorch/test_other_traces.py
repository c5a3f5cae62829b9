"""Programs in which torch traces, differentiates forward, or transforms what a graph can not hold: they run as they
are."""

from collections.abc import Callable

import pytest
import torch
from torch.autograd import forward_ad
from torch.autograd.graph import saved_tensors_hooks
from torch.func import jacfwd, jvp, linearize, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from frontends.pytorch import compile


def shifted(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


class Doubled(saved_tensors_hooks):
    def __init__(self) -> None:
        super().__init__(lambda tensor: tensor, lambda tensor: tensor * 2)


class Named(torch.Tensor):
    pass


def hooked(x):
    with Doubled():
        return x * x.sin()


def dual(x):
    with forward_ad.dual_level():
        return tuple(forward_ad.unpack_dual(forward_ad.make_dual(x, torch.ones_like(x)).sin()))


def slope(x):
    value, along = linearize(torch.sin, x)
    return value, along(torch.ones_like(x))


def named(x):
    return (x.as_subclass(Named) * 2).as_subclass(torch.Tensor)


PROGRAMS = {
    # for a tensor of other sizes than the argument's: those would be in the graph
    "make_fx of a constant": lambda x: make_fx(shifted)(torch.ones(2))(x),
    "make_fx": lambda x: make_fx(shifted)(x)(x * 2),
    "linearize": slope,
    "jvp": lambda x: jvp(shifted, (x,), (torch.ones_like(x),)),
    "dual numbers": dual,
    "hooks of a class": hooked,
    "cond in vmap": lambda x: vmap(lambda row: torch.cond(row.sum() > 0, torch.sin, torch.cos, (row,)))(x),
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_it_runs_as_it_is(name: str, backend: str) -> None:
    """If it fails, what another trace or a transform made of tensors is a constant of the graph."""
    program = PROGRAMS[name]
    compiled = compile(program, backend=backend, dynamic=True)
    for rows in (3, 5, 2):
        x = torch.linspace(-1.0, 2.0, rows * 4).reshape(rows, 4)
        torch.testing.assert_close(compiled(x), program(x))


def test_gradients_of_hooks_of_a_class() -> None:
    """If it fails, what a subclass of `saved_tensors_hooks` does to saved tensors is done once, or not at all."""
    compiled = compile(hooked)
    for rows in (3, 5, 2):
        x = torch.linspace(-1.0, 2.0, rows).requires_grad_()
        found, expected = (torch.autograd.grad(each(x).sum(), x) for each in (compiled, hooked))
        torch.testing.assert_close(found, expected)


def test_jacobians() -> None:
    """If it fails, forward differentiation under `vmap` differs from eager or raises."""
    program: Callable[..., object] = jacfwd(lambda x: x.sum(0).sin())
    compiled = compile(program, dynamic=True)
    for rows in (3, 5, 2):
        x = torch.linspace(-1.0, 2.0, rows * 4).reshape(rows, 4)
        torch.testing.assert_close(compiled(x), program(x))


@pytest.mark.filterwarnings("ignore")
def test_a_tensor_of_another_class() -> None:
    """If it fails, a call that a trace does not see is lost."""
    x = torch.linspace(-1.0, 2.0, 3)
    torch.testing.assert_close(compile(named)(x), x * 2)
