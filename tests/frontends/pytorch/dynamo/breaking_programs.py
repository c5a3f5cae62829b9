"""Programs with a branch on data, a loop on data or a print, and what changes around them between two calls."""

from __future__ import annotations

import functools
import logging
import math
import types
from collections.abc import Callable
from typing import Any, Final

import torch
from torch import nn
from torch.nn import functional

Program = Callable[..., Any]
Change = Callable[[int], None]
Made = tuple[Program, Change]
PROGRAMS: Final[dict[str, Callable[[], Made]]] = {}
FACTOR = 2.0
FACTORS: Final = [1.0, 2.0]
LOG: Final = logging.getLogger("tests.breaking")
DRAWN: Final = torch.ones(4)


def stays(number: int) -> None:
    """Nothing changes."""


def program(function: Program) -> Program:
    """A program around which nothing changes."""
    PROGRAMS[function.__name__] = lambda: (function, stays)
    return function


def changing(make: Callable[[], Made]) -> Callable[[], Made]:
    """What makes a program, and what is changed before a call."""
    PROGRAMS[make.__name__] = make
    return make


@program
def branches(x: torch.Tensor) -> Any:
    y = torch.relu(x)
    if y.sum() > 6:
        y = y / 2
    return y * x


@program
def branches_on_a_number(x: torch.Tensor) -> Any:
    total = x.sum().item()
    if total > 2:
        return x * total, total
    return x - total, -total


@program
def branches_twice(x: torch.Tensor) -> Any:
    if (x > 0).any():
        x = x + 1
    if torch.isnan(x).any() or x.max() > 2:
        x = x.clamp(max=2)
    return x, x.t(), x.shape[0]


@program
def loops(x: torch.Tensor) -> Any:
    count = 0
    while x.abs().sum() < 100:
        x = x * 1.7 + 0.1
        count += 1
    return x, count


@program
def loops_over_a_number(x: torch.Tensor) -> Any:
    found = []
    for number in range(int(x.abs().sum()) % 4 + 1):
        found.append(x * number)
    return found


@program
def takes_a_part(x: torch.Tensor) -> Any:
    last = int(x.flatten().argmax()) % x.shape[1]
    return x[:, last:] * 2, x[:, :last].sum()


@program
def prints(x: torch.Tensor) -> Any:
    y = x * 2
    print("sizes", x.shape, x.shape[0], f"{x.shape[1]}|{x.shape[0] / 3}")
    print(f"{y.sum().item() > 0}", end=";")
    return y.exp()


@program
def prints_a_number_in_short(x: torch.Tensor) -> Any:
    print(f"{x.sum().item():.3f}")
    return x.exp()


@program
def prints_sizes_as_numbers(x: torch.Tensor) -> Any:
    print(f"{x.shape[1]:04d}|{x.shape[0] / 3:.2f}|")
    return x.exp()


@program
def prints_in_a_loop(x: torch.Tensor) -> Any:
    for number in range(3):
        x = x + number
        print(f"{number}: {float(x.sum()):.3f}")
    return x


@program
def prints_a_tensor(x: torch.Tensor) -> Any:
    print(x)
    print(x.sum(), x.dtype, list(x.shape))
    return x.neg()


@program
def logs(x: torch.Tensor) -> Any:
    y = x.sin()
    LOG.warning("sum %.3f of %d rows", y.sum(), x.shape[0])
    return y + 1


@program
def raises(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        raise ValueError(f"{x.shape[0]} rows, sum {x.sum().item():.2f}")
    return x + 1


@program
def raises_of_itself(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        x = x + 1
    return x @ x


@program
def asserts(x: torch.Tensor) -> Any:
    assert (x > -0.1).all(), "negative"
    return x.sqrt()


@program
def draws(x: torch.Tensor) -> Any:
    y = functional.dropout(x, 0.5)
    if y.sum() > 0:
        y = y + torch.rand_like(x)
    return y + torch.randn(x.shape[0], 1)


@program
def changes_its_argument(x: torch.Tensor) -> Any:
    x.mul_(2)
    if x.sum() > 0:
        x.add_(1)
    return x


@program
def changes_a_view(x: torch.Tensor) -> Any:
    y = x * 1
    z = y[0]
    if x.sum() > 0:
        z.add_(1)
    y.mul_(2)
    return y, z


@program
def gives_back_what_it_is_given(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        return x
    return x, x[0], x.t()


@program
def without_gradients_for_a_while(x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = x * 2
        if y.sum() > 0:
            y = y + 1
    return x * y


@program
def numbers_of_sizes(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        x = x / math.sqrt(x.shape[-1])
    return x * (x.shape[0] / 3), x.shape[0] // 2, x.shape[0] * 0.5, len(x), x.numel(), x.size()


@program
def compares_sizes(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        x = x + 1
    return x, x.shape[0] in (3, 4), max(x.shape[0], 3.0), x.shape[0] == 3, x.shape == (3, 4)


@program
def largest_of_two(x: torch.Tensor) -> Any:
    return max(x.sum(), x.mean()) * x


@program
def numpy_in_between(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        x = x + 1
    return x.detach().numpy().sum(), x


@program
def calls_others(x: torch.Tensor) -> Any:
    def inner(y: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
        return y * factor if y.mean() > 0 else y / factor

    return inner(x) + inner(x, factor=3.0) + branches(x)


@program
def calls_itself(x: torch.Tensor) -> Any:
    return calls_itself(x / 2) if x.abs().max() > 0.5 else x


@program
def catches(x: torch.Tensor) -> Any:
    try:
        y = x.view(-1, 7)
    except RuntimeError as error:
        y = x * len(type(error).__name__)
    if y.sum() > 0:
        y = y + 1
    return y


@program
def generates(x: torch.Tensor) -> Any:
    parts = (row * 2 for row in x)
    total = sum(parts)
    return total if total.sum() > 0 else -total


@program
def makes_a_dictionary(x: torch.Tensor) -> Any:
    found = {"b": x, "a": x * 2}
    if x.sum() > 0:
        found["c"] = x + 1
    return found


@program
def rows_changed_in_place(x: torch.Tensor) -> Any:
    first, *rest = x.unbind()
    first.add_(1)
    return first if first.sum() > 0 else rest


@program
def backward_inside(x: torch.Tensor) -> Any:
    w = torch.ones(x.shape[1], requires_grad=True)
    loss = (w * x.detach()).sum()
    if loss > 0:
        loss = loss * 2
    loss.backward()
    return w.grad


@changing
def a_global() -> Made:
    def run(x: torch.Tensor) -> Any:
        return x * FACTOR if x.sum() > 0 else x / FACTOR + DRAWN[: x.shape[1]]

    def change(number: int) -> None:
        globals().update(FACTOR=2.0 + number // 2, DRAWN=torch.full((8,), float(number)))

    return run, change


@changing
def items_of_a_list() -> Made:
    factors = [1.0, 2.0]

    def run(x: torch.Tensor) -> Any:
        return x * factors[-1] * len(factors) if x.sum() > 0 else x + factors[0]

    return run, lambda number: factors.append(number + 0.5) if number > 1 else factors.reverse()


@changing
def a_closure() -> Made:
    factor = 1.0

    def run(x: torch.Tensor) -> Any:
        return x * factor if x.sum() > 0 else x + factor

    def change(number: int) -> None:
        nonlocal factor
        factor = number * 0.5 + 1

    return run, change


@changing
def a_counter_in_a_closure() -> Made:
    count = 0

    def run(x: torch.Tensor) -> Any:
        nonlocal count
        count += 1
        return x * count if x.sum() > 0 else x - count

    return run, stays


@changing
def a_list_that_grows() -> Made:
    seen: list[Any] = []

    def run(x: torch.Tensor) -> Any:
        seen.append(x.shape[0])
        return x * sum(seen) if x.sum() > 0 else (x, list(seen))

    return run, stays


@changing
def results_that_are_remembered() -> Made:
    @functools.lru_cache
    def scale(rows: int) -> float:
        calls.append(rows)
        return rows * 0.5

    calls: list[int] = []

    def run(x: torch.Tensor) -> Any:
        return (x * scale(int(x.shape[0])) if x.sum() > 0 else x), len(calls)

    return run, stays


class Net(nn.Module):
    """Layers with a branch on data."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.layer = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.5)
        self.scale = 1.0
        self.register_buffer("seen", torch.ones(4))

    def forward(self, x: torch.Tensor) -> Any:
        x = x[:, :4] if x.shape[1] >= 4 else functional.pad(x, (0, 4 - x.shape[1]))
        y = self.norm(self.layer(x)) * self.scale + self.seen
        if y.sum() > 0:
            y = self.drop(y)
        return self.layer(y).relu()


def net() -> Net:
    torch.manual_seed(0)
    return Net()


@changing
def a_module() -> Made:
    return net(), stays


@changing
def a_module_that_is_changed() -> Made:
    module = net()

    def change(number: int) -> None:
        torch.manual_seed(number)
        if number == 1:
            module.eval()
        elif number == 2:
            module.scale = 3.0
            module.layer.weight.requires_grad_(False)
        elif number == 3:
            module.train()
            module.layer = nn.Linear(4, 4, bias=False)
        elif number == 4:
            module.seen = torch.zeros(4)

    return module, change


@changing
def a_hook() -> Made:
    module = net()
    module.eval()

    def change(number: int) -> None:
        if number == 1:
            module.layer.register_forward_hook(lambda layer, given, made: made * 2)
        elif number == 3:
            module.layer._forward_hooks.clear()

    return module, change


@changing
def a_parameter_in_place() -> Made:
    module = net()
    module.eval()

    def change(number: int) -> None:
        if number == 2:
            module.layer.weight.requires_grad_(False)
            module.layer.bias.requires_grad_(False)
            module.norm.requires_grad_(False)
        elif number == 4:
            module.seen.resize_(1)
            module.seen.fill_(2.0)

    return module, change


@changing
def defaults() -> Made:
    def run(x: torch.Tensor, factor: float = 2.0) -> Any:
        return x * factor if x.sum() > 0 else x - factor

    def change(number: int) -> None:
        run.__defaults__ = (2.0 + number // 3,)

    return run, change


@changing
def another_method() -> Made:
    module = net()
    module.eval()

    def forward(self: Net, x: torch.Tensor) -> Any:
        return x.neg() if x.sum() > 0 else x

    def change(number: int) -> None:
        if number == 2:
            module.forward = types.MethodType(forward, module)

    return module, change


@changing
def a_counter_of_a_module() -> Made:
    class Counts(nn.Module):
        calls = 0

        def forward(self, x: torch.Tensor) -> Any:
            self.calls += 1
            return x * self.calls if x.sum() > 0 else x

    return Counts(), stays


@changing
def a_function_of_another() -> Made:
    scope: dict[str, Any] = {}
    exec("def inner(x): return x * 2\ndef run(x): return inner(x) if x.sum() > 0 else inner(-x)", scope)

    def change(number: int) -> None:
        if number == 2:
            exec("def inner(x): return x + 100", scope)

    return scope["run"], change


@changing
def modes_around() -> Made:
    def run(x: torch.Tensor) -> Any:
        y = x * 2
        return y if y.sum() > 0 else y.exp()

    return run, lambda number: torch.set_grad_enabled(number != 2)
