"""Transforms of `torch.func` over compiled code and in it, and control flow as operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops.map import map as mapped
from torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)

from tests.frontends.pytorch.real_programs.running import Call, Compiling, program

transforms = program("transforms")
control = program("control flow")


def score(x: torch.Tensor) -> torch.Tensor:
    return (torch.tanh(x) * x).sum()


def rows(compiled: Callable[..., Any]) -> Call:
    return lambda size: compiled(torch.randn(size, 4))


INSIDE: dict[str, Callable[[torch.Tensor], Any]] = {
    "vmap": lambda x: vmap(score)(x),
    "vmap with an axis": lambda x: vmap(lambda a, b: a * b.sum(), in_dims=(1, None), out_dims=1)(x, x),
    "nested vmap": lambda x: vmap(lambda row: vmap(lambda a: row + a.sin())(row))(x).sum((1, 2)),
    "grad": lambda x: grad(score)(x),
    "grad and value": lambda x: grad_and_value(score)(x),
    "gradients of each row": lambda x: vmap(grad(score))(x),
    "jvp": lambda x: jvp(score, (x,), (torch.ones_like(x),)),
    "vjp": lambda x: vjp(torch.tanh, x)[1](x),
    "jacrev": lambda x: vmap(jacrev(torch.sin))(x),
    "jacfwd": lambda x: vmap(jacfwd(torch.sin))(x),
    "hessian": lambda x: vmap(hessian(score))(x),
    "functionalize": lambda x: torch.func.functionalize(lambda a: a.clone().add_(1))(x),
}  # fmt: skip


def inside(name: str) -> None:
    def made(compiling: Compiling) -> Call:
        function = INSIDE[name]
        return rows(compiling(lambda x: function(x)))

    made.__name__ = f"{name} in what is compiled"
    transforms(made)


for name in INSIDE:
    inside(name)

OVER: dict[str, Callable[[Callable[..., Any], torch.Tensor], Any]] = {
    "vmap": lambda f, x: vmap(f)(x),
    "grad": lambda f, x: grad(f)(x),
    "gradients of each row": lambda f, x: vmap(grad(f))(x),
    "jvp": lambda f, x: jvp(f, (x,), (torch.ones_like(x),)),
    "vjp": lambda f, x: vjp(f, x)[1](torch.ones(())),
    "jacrev": lambda f, x: jacrev(f)(x),
    "hessian": lambda f, x: hessian(f)(x[0]),
}


def over(name: str) -> None:
    def made(compiling: Compiling) -> Call:
        compiled = compiling(score)
        return lambda size: OVER[name](compiled, torch.randn(size, 4))

    made.__name__ = f"{name} over what is compiled"
    transforms(made)


for name in OVER:
    over(name)


@transforms
def weights_that_are_given(compiling: Compiling) -> Call:
    net = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
    compiled = compiling(lambda weights, x: functional_call(net, weights, (x,)))

    def call(size: int) -> object:
        weights = {name: each * 2 for name, each in net.named_parameters()}
        return compiled(weights, torch.randn(size, 4))

    return call


@transforms
def an_ensemble(compiling: Compiling) -> Call:
    nets = [nn.Linear(4, 3) for _ in range(3)]
    weights, buffers = stack_module_state(nets)
    base = nets[0]

    def forward(x: torch.Tensor) -> torch.Tensor:
        return vmap(lambda w, b: functional_call(base, (w, b), (x,)))(weights, buffers)

    return rows(compiling(forward))


@transforms
def gradients_by_sample(compiling: Compiling) -> Call:
    net = nn.Linear(4, 1)
    weights = {name: each.detach() for name, each in net.named_parameters()}

    def loss(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return functional_call(net, weights, (x,)).square().sum()

    return rows(compiling(lambda x: vmap(grad(loss), in_dims=(None, 0))(weights, x)))


@transforms
def an_inner_step_of_learning(compiling: Compiling) -> Call:
    """Learning to learn: a loss after a step of gradient descent, and its gradient."""
    weight = nn.Parameter(torch.ones(4))

    def outer(x: torch.Tensor) -> torch.Tensor:
        def inner(w: torch.Tensor) -> torch.Tensor:
            return (x @ w).square().mean()

        return inner(weight - 0.1 * grad(inner)(weight))

    compiled = compiling(outer)

    def call(size: int) -> object:
        weight.grad = None
        loss = compiled(torch.randn(size, 4))
        loss.backward()
        return loss, weight.grad

    return call


# ---------------------------------------------------------------------- control flow


@control
def cond(compiling: Compiling) -> Call:
    def step(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, (x,))

    return rows(compiling(step))


@control
def cond_that_learns(compiling: Compiling) -> Call:
    def step(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda a: a.sin() * 2, lambda a: a.cos() - 1, (x,))

    compiled = compiling(step)

    def call(size: int) -> object:
        x = torch.randn(size, 4, requires_grad=True)
        compiled(x).square().sum().backward()
        return x.grad

    return call


@control
def cond_with_the_weights_of_modules(compiling: Compiling) -> Call:
    one, other = nn.Linear(4, 4), nn.Linear(4, 4)

    def step(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda a: one(a), lambda a: other(a).relu(), (x,))

    return rows(compiling(step))


@control
def a_while_loop(compiling: Compiling) -> Call:
    def step(x: torch.Tensor) -> Any:
        def goes_on(count: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
            return (value.max() > 0.5) & (count < 20)

        def body(count: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return count + 1, value * 0.5

        return while_loop(goes_on, body, (torch.zeros((), dtype=torch.long), x.abs()))

    return rows(compiling(step))


@control
def a_scan(compiling: Compiling) -> Call:
    def step(x: torch.Tensor) -> Any:
        def body(carry: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            following = torch.tanh(carry + row)
            return following, following * 2

        return scan(body, torch.zeros(4), x, dim=0)

    return rows(compiling(step))


@control
def an_associative_scan(compiling: Compiling) -> Call:
    return rows(compiling(lambda x: associative_scan(lambda a, b: a + b, x, dim=0, combine_mode="generic")))


@control
def a_map(compiling: Compiling) -> Call:
    return rows(compiling(lambda x: mapped(lambda row: torch.sin(row) * 2, x)))


@control
def a_recurrence_as_a_loop(compiling: Compiling) -> Call:
    cell = nn.RNNCell(4, 4)

    def step(x: torch.Tensor) -> torch.Tensor:
        hidden = torch.zeros(1, 4)
        for row in x[:2]:
            hidden = cell(row[None], hidden)
        return hidden

    return rows(compiling(step))
