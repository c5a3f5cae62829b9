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


@program
def prints_expressions_of_sizes(x: torch.Tensor) -> Any:
    print(
        x.shape[0] // 2, x.shape[0] % 2, -x.shape[0], x.shape[0] ** 2, x.shape[0] / 2, 1 / x.shape[0], x.shape[0] * 1.0
    )
    return x


def helper_prints(y: torch.Tensor) -> Any:
    print(y)


@program
def prints_in_a_helper(x: torch.Tensor) -> Any:
    y = x * 2
    if y.sum() > 0:
        y = y * 1.5
    helper_prints(y)
    return y


@program
def branches_within_branches(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        if x.max() > 1:
            return x - 1
        return x + 1
    elif x.min() < -1:
        return x * 2
    return x.neg()


@program
def rows_by_data(x: torch.Tensor) -> Any:
    r = [row * 2 for row in x if row.sum() > 0]
    return r, len(r)


@program
def returns_views(x: torch.Tensor) -> Any:
    y = x.view(-1)
    if y.sum() > 0:
        return y, x.T, x[0]
    return y[::2]


@program
def changes_through_an_alias(x: torch.Tensor) -> Any:
    y = x.clone()
    z = y.t()
    if x.sum() > 0:
        z.add_(1)
    y.mul_(3)
    return z, y


@program
def writes_out(x: torch.Tensor) -> Any:
    y = torch.empty_like(x.detach())
    torch.add(x.detach(), 1, out=y)
    return y if y.sum() > 0 else -y


@program
def raises_after_a_change(x: torch.Tensor) -> Any:
    with torch.no_grad():
        x.add_(1)
    if x.sum() > -100:
        raise RuntimeError("after")
    return x


@program
def raises_of_sizes(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        return x @ torch.ones(3)
    return x


@program
def draws_in_all_ways(x: torch.Tensor) -> Any:
    y = torch.rand(x.shape[0])
    if y.sum() > x.shape[0] / 2:
        y = y + torch.randn(x.shape[0])
    z = functional.dropout(x, 0.3)
    return y, z, torch.randint(0, 10, (3,)), torch.randperm(x.shape[0]), torch.bernoulli(torch.full((3,), 0.5))


@program
def with_gradients_for_a_while(x: torch.Tensor) -> Any:
    with torch.no_grad():
        with torch.enable_grad():
            y = x * 2
        if y.sum() > 0:
            return y, y.requires_grad
    return y


@program
def casts_for_a_while(x: torch.Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.t()
        if y.sum() > 0:
            y = y @ y
    return y


@program
def arithmetic_of_sizes(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        x = x + 1
    n, m = x.shape
    return x, n / 2, n // 2, n % 3, -n, n**2, n * 0.5, n << 1, n & 1, n ^ 3, float(n), int(m), n - m, (n, m), [n]


@program
def root_of_a_size(x: torch.Tensor) -> Any:
    s = x.shape[0] ** 0.5
    if x.sum() > s:
        return x * s, s, 1 / s
    return x / s, -s


@program
def asks_for_sizes(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        x = x * 2
    return x.shape, x.size(), x.size(0), x.stride(), x.numel(), x.dim(), x.ndim, x.is_contiguous(), len(x)


@program
def truth_of_tensors(x: torch.Tensor) -> Any:
    a = (x > 0).any() and (x < 0).any()
    b = (x > 0).all() or x.shape[0]
    c = not (x > 9).any()
    return a, b, c


@program
def assigns_by_a_mask(x: torch.Tensor) -> Any:
    y = x.clone()
    y[y < 0] = 0
    return y if y.sum() > 0 else x


@program
def sorts(x: torch.Tensor) -> Any:
    v, i = x.sort(dim=1)
    if v[0, 0] < 0:
        v = v.abs()
    k = x.topk(2, dim=1)
    return v, i, k.values, k[1], k


@program
def stacks_rows(x: torch.Tensor) -> Any:
    return torch.stack([r if r.sum() > 0 else -r for r in x])


@program
def complex_numbers(x: torch.Tensor) -> Any:
    z = torch.complex(x, x)
    return z.abs() if z.real.sum() > 0 else z


@program
def compares_nan(x: torch.Tensor) -> Any:
    y = x / 0
    s = (y - y).sum().item()
    return (s == s), s != s, x if s > 0 else -x


@program
def large_integers(x: torch.Tensor) -> Any:
    n = int(x.numel()) * 10**12
    return n, n * n, x if x.sum() > 0 else -x


@program
def clamps_by_elements(x: torch.Tensor) -> Any:
    a = x[0, 0].item()
    b = x[-1, -1].item()
    return x.clamp(-abs(a), abs(b)), a if a > b else b


@program
def branches_in_a_list(x: torch.Tensor) -> Any:
    items = [x.sum() > 0, x.mean() > 1]
    return [1 if b else 0 for b in items]


@program
def prints_and_logs_in_order(x: torch.Tensor) -> Any:
    print("a")
    y = x + 1
    LOG.warning("b %s", y.shape[0])
    print("c")
    if y.sum() > 0:
        print("d")
    return y


@program
def expands(x: torch.Tensor) -> Any:
    y = x[0].expand(3, -1)
    return y if y.sum() > 0 else y.contiguous()


@program
def loops_over_a_size(x: torch.Tensor) -> Any:
    t = x
    for i in range(x.shape[0]):
        t = t + i
    return t if t.sum() > 0 else x


@program
def makes_tensors_of_sizes(x: torch.Tensor) -> Any:
    return x.new_zeros(x.shape[0], 2) if x.sum() > 0 else torch.full((x.shape[0],), 2.0)


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
