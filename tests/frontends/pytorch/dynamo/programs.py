"""Programs whose graphs Dynamo captures in ways of its own: modes, functions among the arguments, breaks, state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

Program = Callable[[torch.Tensor, torch.Tensor], Any]
PROGRAMS: Final[dict[str, Program]] = {}
BLOCK: Final = torch.nn.Sequential(torch.nn.Dropout(0.25), torch.nn.Tanh())
"""A number of its own, which Dynamo hands over as a tensor."""


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


@program
def writes_to_an_argument(x: torch.Tensor, y: torch.Tensor) -> Any:
    y.mul_(2)
    return x.sum() + y.sum()


@program
def returns_views_of_arguments(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x, x.t(), y[1:]


@program
def returns_numbers(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x.shape[0] * 2, x * x.shape[0]


@program
def draws_random_numbers(x: torch.Tensor, y: torch.Tensor) -> Any:
    return functional.dropout(x, 0.5) + torch.rand(4) + torch.randn_like(x)


@program
def branches_on_data(x: torch.Tensor, y: torch.Tensor) -> Any:
    if x.sum() > 0:
        return x * 2
    return y - 1


@program
def prints_in_the_middle(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x * 2
    print("between two graphs")
    return z + y


@program
def sizes_by_data(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x[y > 0] * 2


@program
def a_number_out_of_data(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x * y.detach().sum().item()


class Doubled(torch.autograd.Function):
    """An exponential with twice its gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return gradient * x.exp() * 2


@program
def a_gradient_of_its_own(x: torch.Tensor, y: torch.Tensor) -> Any:
    return Doubled.apply(x) + y


@program
def computes_again_in_the_backward(x: torch.Tensor, y: torch.Tensor) -> Any:
    return checkpoint(lambda a, b: torch.tanh(a * b), x, y, use_reentrant=False)


@program
def branches_in_the_graph(x: torch.Tensor, y: torch.Tensor) -> Any:
    return torch.cond(x.sum() > 0, lambda a, b: a * 2 + b, lambda a, b: a - b * a.shape[0], (x, y))


@program
def a_backward_inside(x: torch.Tensor, y: torch.Tensor) -> Any:
    w = torch.ones(4, requires_grad=True)
    (w * x.detach()).sum().backward()
    return w.grad


@program
def a_checkpoint_with_dropout(x: torch.Tensor, y: torch.Tensor) -> Any:
    return checkpoint(BLOCK, x * y, use_reentrant=False)


@program
def a_checkpoint_in_another(x: torch.Tensor, y: torch.Tensor) -> Any:
    return checkpoint(lambda a: checkpoint(BLOCK, a * 2, use_reentrant=False) + y, x, use_reentrant=False)
