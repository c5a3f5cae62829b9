"""Programs that use autograd inside of themselves, or that autograd sees from outside."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from tests.frontends.pytorch.observed import Program

PROGRAMS: dict[str, Callable[[], Program]] = {}


def program(make: Callable[[], Program]) -> Callable[[], Program]:
    PROGRAMS[make.__name__] = make
    return make


def learned(n: int) -> tuple[torch.Tensor, ...]:
    return (torch.randn(n, 4, requires_grad=True),)


def two_learned(n: int) -> tuple[torch.Tensor, ...]:
    return torch.randn(n, 4, requires_grad=True), torch.randn(n, 4, requires_grad=True)


def plain(n: int) -> tuple[torch.Tensor, ...]:
    return (torch.randn(n, 4),)


def both(n: int) -> tuple[torch.Tensor, ...]:
    return torch.randn(n, 4), torch.randn(n, 4, requires_grad=True)


def inner(n: int) -> tuple[torch.Tensor, ...]:
    """An argument that is no leaf."""
    leaf = torch.randn(n, 4, requires_grad=True)
    return (leaf * 1,)


# ---------------------------------------------------------------------- backward inside


@program
def backward_of_argument():
    def f(w):
        (w * 2).sum().backward()
        return w * 1

    return Program(f, learned)


@program
def backward_of_argument_and_nothing_else():
    def f(w):
        (w * 2).sum().backward()

    return Program(f, learned)


@program
def backward_twice_accumulates():
    def f(w):
        (w * 2).sum().backward()
        (w * w).sum().backward()
        return w.grad * 3

    return Program(f, learned)


@program
def backward_into_gradient_that_is_there():
    def arguments(n):
        w = torch.randn(n, 4, requires_grad=True)
        w.grad = torch.ones(n, 4)
        return (w,)

    def f(w):
        (w * 2).sum().backward()
        return w * 1

    return Program(f, arguments)


@program
def backward_reads_gradient():
    def f(w):
        (w.sin() * 2).sum().backward()
        return w.grad + 1

    return Program(f, learned)


@program
def backward_of_closure():
    w = nn.Parameter(torch.arange(4.0))

    def f(x):
        (x * w).sum().backward()
        return x + 1

    return Program(f, plain, lambda: w)


@program
def backward_of_module():
    torch.manual_seed(0)
    module = nn.Linear(4, 2)

    def f(x):
        module(x).sum().backward()
        return x + 1

    return Program(f, plain, lambda: list(module.parameters()))


@program
def backward_of_own_parameters():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.arange(4.0))

        def forward(self, x):
            y = (x * self.weight).sum()
            y.backward()
            return x * 2

    module = Own()
    return Program(module, plain, lambda: list(module.parameters()))


@program
def backward_and_zero():
    torch.manual_seed(0)
    module = nn.Linear(4, 2)

    def f(x):
        module.zero_grad()
        loss = module(x).pow(2).sum()
        loss.backward()
        return loss.detach()

    return Program(f, plain, lambda: list(module.parameters()))


@program
def training_step():
    torch.manual_seed(0)
    module = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)

    def f(x):
        optimizer.zero_grad()
        loss = module(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Program(f, plain, lambda: list(module.parameters()))


@program
def backward_with_retained_graph():
    def f(w):
        loss = w.pow(3).sum()
        loss.backward(retain_graph=True)
        loss.backward()
        return w.grad.clone()

    return Program(f, learned)


@program
def backward_twice_without_retained_graph():
    def f(w):
        loss = w.pow(3).sum()
        loss.backward()
        loss.backward()
        return w.grad.clone()

    return Program(f, learned)


@program
def backward_with_gradient():
    def f(w, g):
        (w * w).backward(g.detach())
        return w.grad * 1

    return Program(f, two_learned)


@program
def autograd_backward():
    def f(w, v):
        torch.autograd.backward([(w * v).sum(), w.sin().sum()])
        return w.detach() * 2

    return Program(f, two_learned)


@program
def backward_for_some_inputs():
    def f(w, v):
        (w * v).sum().backward(inputs=[w])
        return w.detach() * 2

    return Program(f, two_learned)


@program
def autograd_grad():
    def f(w):
        (g,) = torch.autograd.grad((w**3).sum(), w)
        return g * 2

    return Program(f, learned)


@program
def autograd_grad_of_intermediate():
    def f(x):
        y = x.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad((y**3).sum(), y)
        return g + x

    return Program(f, plain)


@program
def autograd_grad_create_graph():
    def f(w):
        (g,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
        return (g * g).sum()

    return Program(f, learned)


@program
def gradient_penalty():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))

    def f(x):
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(module(x).sum(), x, create_graph=True)
        return (g.norm(dim=-1) - 1).pow(2).mean()

    return Program(f, plain, lambda: list(module.parameters()))


@program
def autograd_grad_allow_unused():
    def f(w, v):
        first, second = torch.autograd.grad(w.sin().sum(), [w, v], allow_unused=True)
        return first, second is None

    return Program(f, two_learned)


@program
def autograd_grad_unused_raises():
    def f(w, v):
        return torch.autograd.grad(w.sin().sum(), [w, v])

    return Program(f, two_learned)


@program
def autograd_grad_materialized():
    def f(w, v):
        return torch.autograd.grad(w.sin().sum(), [w, v], allow_unused=True, materialize_grads=True)

    return Program(f, two_learned)


@program
def second_order_inside():
    def f(w):
        (g,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), w)
        return h

    return Program(f, learned)


@program
def backward_under_no_grad():
    def f(w):
        with torch.no_grad():
            y = (w * 2).sum()
        y.backward()
        return w

    return Program(f, learned)


@program
def backward_of_what_is_no_leaf():
    def f(x):
        (x * 2).sum().backward()
        return x * 1

    return Program(f, inner)


@program
def backward_after_return_value():
    w = nn.Parameter(torch.ones(4))

    def f(x):
        y = (x * w).sum()
        y.backward(retain_graph=True)
        return y

    return Program(f, plain, lambda: w)


@program
def gradient_set_to_none():
    def arguments(n):
        w = torch.randn(n, 4, requires_grad=True)
        w.grad = torch.ones(n, 4)
        return (w,)

    def f(w):
        w.grad = None
        return w * 2

    return Program(f, arguments)


@program
def gradient_assigned():
    def f(w):
        w.grad = torch.ones_like(w)
        return w * 2

    return Program(f, learned)


@program
def gradient_assigned_to_closure():
    w = nn.Parameter(torch.ones(4))

    def f(x):
        w.grad = x.sum(0)
        return x * 2

    return Program(f, plain, lambda: w)


@program
def gradient_of_argument_read():
    def arguments(n):
        w = torch.randn(n, 4, requires_grad=True)
        w.grad = torch.randn(n, 4)
        return (w,)

    def f(w):
        return w.grad * 2

    return Program(f, arguments)


@program
def gradient_of_argument_read_where_there_is_none():
    def f(w):
        return w * 2 if w.grad is None else w.grad

    return Program(f, learned)


@program
def gradient_sometimes_there():
    def arguments(n):
        w = torch.randn(n, 4, requires_grad=True)
        if n % 2:
            w.grad = torch.randn(n, 4)
        return (w,)

    def f(w):
        return w * 2 if w.grad is None else w.grad * 3

    return Program(f, arguments)


@program
def gradient_changed_in_place():
    w = nn.Parameter(torch.ones(4))
    w.grad = torch.ones(4)

    def f(x):
        w.grad.mul_(0.5)
        return x + 1

    return Program(f, plain, lambda: w)


@program
def clipped():
    w = nn.Parameter(torch.ones(4))
    w.grad = torch.full((4,), 9.0)

    def f(x):
        nn.utils.clip_grad_norm_([w], 1.0)
        return x + 1

    return Program(f, plain, lambda: w)


# ---------------------------------------------------------------------- what requires a gradient


@program
def requires_grad_of_argument():
    def f(x):
        x.requires_grad_()
        return x * 2

    return Program(f, plain)


@program
def requires_grad_of_argument_and_nothing_else():
    def f(x):
        x.requires_grad_()

    return Program(f, plain)


@program
def requires_grad_of_argument_returned():
    def f(x):
        return x.requires_grad_()

    return Program(f, plain)


@program
def requires_grad_assigned():
    def f(x):
        x.requires_grad = True
        return x * 2

    return Program(f, plain)


@program
def requires_grad_taken_away():
    def f(x):
        x.requires_grad_(False)
        return x * 2

    return Program(f, learned)


@program
def requires_grad_taken_away_and_back():
    def f(x):
        x.requires_grad_(False)
        y = x * 2
        x.requires_grad_(True)
        return x * 3 + y

    return Program(f, learned)


@program
def requires_grad_of_inner():
    def f(x):
        return (x * 2).requires_grad_()

    return Program(f, plain)


@program
def requires_grad_of_inner_used():
    def f(x):
        y = (x * 2).requires_grad_()
        return y, y * 3

    return Program(f, plain)


@program
def requires_grad_of_inner_not_returned():
    def f(x):
        y = (x * 2).requires_grad_()
        return y * 3

    return Program(f, plain)


@program
def requires_grad_of_inner_backward():
    def f(x):
        y = (x * 2).requires_grad_()
        (y * y).sum().backward()
        return y.grad

    return Program(f, plain)


@program
def requires_grad_of_closure():
    w = torch.ones(4)

    def f(x):
        w.requires_grad_()
        return x * w

    return Program(f, plain, lambda: w)


@program
def freezes_module():
    module = nn.Linear(4, 2)
    with torch.no_grad():
        module.weight.fill_(0.5)
        module.bias.fill_(0.25)

    def f(x):
        module.requires_grad_(False)
        return module(x)

    return Program(f, plain, lambda: list(module.parameters()))


@program
def requires_grad_where_integers():
    def f(x):
        return x.long().requires_grad_()

    return Program(f, plain)


@program
def requires_grad_false_of_what_is_no_leaf():
    def f(x):
        y = x * 2
        y.requires_grad_(False)
        return y

    return Program(f, learned)


@program
def random_that_requires_grad():
    def f(x):
        y = torch.rand(3, requires_grad=True)
        return y, (y * x.sum())

    return Program(f, plain)


@program
def made_that_require_grad():
    def f(x):
        a = torch.zeros(x.shape[0], requires_grad=True)
        b = torch.ones_like(x, requires_grad=True)
        c = torch.tensor([1.0, 2.0], requires_grad=True)
        d = torch.full((2,), 3.0, requires_grad=True)
        e = x.new_zeros(2, requires_grad=True)
        g = torch.empty(0, requires_grad=True)
        h = torch.arange(3.0, requires_grad=True)
        return a, b, c, d, e, g, h, (a.sum() + (b * x).sum() + c.sum())

    return Program(f, plain)


@program
def made_parameter():
    def f(x):
        w = nn.Parameter(torch.ones(4))
        return (x * w).sum(), w

    return Program(f, plain)


@program
def made_that_requires_grad_backward():
    def f(x):
        w = torch.ones(4, requires_grad=True)
        (w * x).sum().backward()
        return w.grad * 2

    return Program(f, plain)


@program
def made_that_requires_grad_under_no_grad():
    def f(x):
        with torch.no_grad():
            w = torch.ones(4, requires_grad=True)
            y = w * 2
        return w * x, y

    return Program(f, plain)


@program
def asks_requires_grad():
    def f(x):
        y = x * 2
        return x * 3 if y.requires_grad else x * 4

    return Program(f, lambda n: (torch.randn(n, 4, requires_grad=n % 2 == 0),))


@program
def asks_is_leaf_and_function():
    def f(x):
        y = x * 2
        return x * 3 if x.is_leaf and not y.is_leaf and y.grad_fn is not None else x * 4

    return Program(f, learned)


@program
def asks_is_leaf_of_inner_argument():
    def f(x):
        return x * 3 if x.is_leaf else x * 4

    return Program(f, lambda n: (torch.randn(n, 4, requires_grad=True) * (1 if n % 2 else 2),))


@program
def asks_is_leaf_sometimes():
    def f(x):
        return x * 3 if x.is_leaf else x * 4

    return Program(f, lambda n: learned(n) if n % 2 else inner(n))


@program
def asks_function_of_argument():
    def f(x):
        return x * 3 if x.grad_fn is None else x * 4

    return Program(f, lambda n: learned(n) if n % 2 else inner(n))


@program
def asks_name_of_function():
    def f(x):
        y = x * 2
        return x * 3 if "Mul" in y.grad_fn.name() else x * 4

    return Program(f, learned)


@program
def asks_whether_view():
    def f(x):
        return x * 3 if x._is_view() else x * 4

    return Program(f, lambda n: (torch.randn(n, 4),) if n % 2 else (torch.randn(4, n).t(),))


@program
def asks_base():
    def f(x):
        return x * 3 if x._base is None else x._base * 4

    return Program(f, lambda n: (torch.randn(n, 4),) if n % 2 else (torch.randn(n + 1, 4)[1:],))


@program
def asks_version():
    def f(x):
        before = x._version
        x.add_(1)
        return x * (x._version - before)

    return Program(f, plain)


@program
def asks_version_of_argument():
    def arguments(n):
        x = torch.zeros(n, 4)
        for _ in range(n):
            x.add_(1)
        return (x,)

    def f(x):
        return x * x._version

    return Program(f, arguments)


# ---------------------------------------------------------------------- detached views


@program
def detached_views():
    def f(a):
        return (
            a[0].detach(),
            a.t().detach(),
            a[0].data,
            a.view(-1).detach(),
            a[1:].detach(),
            a.unsqueeze(0).data,
            a.reshape(-1).detach(),
            a.detach()[0],
            a.data.t(),
            a * 2,
        )

    return Program(f, learned)


@program
def detached_parts():
    def f(a):
        first, second = a.chunk(2, 1)
        third, fourth = a.split(2, 1)
        fifth, *_ = a.unbind(1)
        return first.detach(), second.data, third.detach(), fourth.data, fifth.detach(), second * 2

    return Program(f, learned)


@program
def detached_only():
    def f(a):
        return a[0].detach(), a.detach(), a.data

    return Program(f, learned)


@program
def detached_of_inner():
    def f(a):
        y = a * 2
        return y, y.detach(), y[0].detach(), y.t().data, y.detach().t()

    return Program(f, learned)


@program
def detached_view_and_view():
    def f(a):
        view = a[0]
        return view, view.detach(), view.detach() * 2

    return Program(f, learned)


@program
def detached_in_place():
    def f(a):
        y = a * 2
        y.detach_()
        return y, a * 3

    return Program(f, learned)


@program
def detached_in_place_of_argument():
    def f(a):
        a.detach_()
        return a * 3

    return Program(f, inner)


@program
def detached_in_place_of_view():
    def f(a):
        y = a.view(-1)
        y.detach_()
        return y

    return Program(f, learned)


@program
def views_of_closure_detached():
    w = nn.Parameter(torch.arange(8.0).view(2, 4))

    def f(x):
        return w[0].detach(), w.t().data, x * w[1]

    return Program(f, plain, lambda: w)


@program
def detached_then_written():
    def f(a):
        y = a * 2
        z = y.detach()
        z.add_(1)
        return y * 3

    return Program(f, learned)


@program
def detached_argument_written():
    def f(a):
        a.detach().add_(1)
        return a * 3

    return Program(f, learned)


@program
def detached_needed_for_backward_written():
    def f(a):
        y = a.exp()
        y.detach().add_(1)
        return y * 3

    return Program(f, learned)


@program
def data_written():
    def f(a):
        a.data.add_(1)
        return a * 3

    return Program(f, learned)


@program
def data_assigned():
    def f(a):
        a.data = torch.ones_like(a)
        return a * 3

    return Program(f, learned)


@program
def data_of_parameter_written():
    w = nn.Parameter(torch.ones(4))

    def f(x):
        w.data.mul_(0.5)
        return x * w

    return Program(f, plain, lambda: w)


@program
def data_of_parameter_copied():
    w = nn.Parameter(torch.ones(4))

    def f(x):
        w.data.copy_(x[0])
        return x * w

    return Program(f, plain, lambda: w)


# ---------------------------------------------------------------------- versions


@program
def written_once():
    def f(x):
        x.add_(1)
        return x * 2

    return Program(f, plain)


@program
def written_three_times():
    def f(x):
        x.add_(1)
        x.mul_(2)
        x[0] = 3
        return x * 2

    return Program(f, plain)


@program
def written_views():
    def f(x):
        x[0].add_(1)
        x.t().mul_(2)
        x.view(-1)[2:].zero_()
        return x * 2

    return Program(f, plain)


@program
def written_twice_same_memory():
    def f(x, y):
        x.add_(1)
        y.mul_(2)
        return x + y

    def arguments(n):
        x = torch.randn(2 * n, 4)
        return x[:n], x[n:]

    return Program(f, arguments)


@program
def written_out():
    def f(x, y):
        torch.add(x, 1, out=y)
        return y * 2

    return Program(f, lambda n: (torch.randn(n, 4), torch.randn(n, 4)))


@program
def written_and_returned():
    def f(x):
        return x.add_(1)

    return Program(f, plain)


@program
def written_and_not_returned():
    def f(x):
        x.add_(1)

    return Program(f, plain)


@program
def written_by_copy():
    def f(x, y):
        x.copy_(y)
        x.fill_(2)
        return y * 2

    return Program(f, lambda n: (torch.randn(n, 4), torch.randn(n, 4)))


@program
def written_closure():
    buffer = torch.zeros(4)

    def f(x):
        buffer.add_(1)
        buffer.mul_(2)
        return x + buffer

    return Program(f, plain, lambda: [buffer, buffer._version])


@program
def batch_norm():
    module = nn.BatchNorm1d(4)

    def state():
        return [*module.parameters(), *module.buffers(), [each._version for each in module.buffers()]]

    return Program(module, learned, state)


@program
def written_under_no_grad():
    def f(x):
        with torch.no_grad():
            x.add_(1)
        return x * 2

    return Program(f, learned)


@program
def written_after_it_was_saved():
    """The first call saves its argument, the second one changes it."""

    def f(x, y):
        x.mul_(2)
        return y * 3

    def within(fn, args):
        x, y = args
        saved = (x * y).exp() * x
        fn(x, y)
        saved.sum().backward()

    return Program(f, both, within=within)


@program
def written_after_compiled_saved_it():
    def f(x, w):
        return (x * w).sum()

    def within(fn, args):
        x, w = args
        loss = fn(x, w)
        x.add_(1)
        loss.backward()

    return Program(f, both, within=within)


@program
def output_written_after_compiled_saved_it():
    def f(w):
        return w.exp()

    def within(fn, args):
        y = fn(*args)
        y.add_(1)
        y.sum().backward()

    return Program(f, learned, within=within)


@program
def output_not_needed_written():
    def f(w):
        return w * 2

    def within(fn, args):
        y = fn(*args)
        y.add_(1)
        y.sum().backward()
        return y

    return Program(f, learned, within=within)


@program
def in_place_on_leaf():
    def f(w):
        w.add_(1)
        return w

    return Program(f, learned)


@program
def in_place_on_view_of_leaf():
    def f(w):
        w[0].add_(1)
        return w

    return Program(f, learned)


@program
def in_place_on_inner_argument():
    def f(x):
        x.mul_(3)
        return x * x

    return Program(f, inner)


@program
def in_place_on_inner():
    def f(w):
        y = w * 2
        y.add_(w)
        y[0].mul_(3)
        return y

    return Program(f, learned)


@program
def in_place_on_saved():
    def f(w):
        y = w.exp()
        z = y * 2
        y.add_(1)
        return z + y

    return Program(f, learned)


@program
def in_place_on_inner_argument_used_later():
    def f(x):
        x.mul_(3)
        return x.detach() + 1

    def within(fn, args):
        (x,) = args
        y = fn(x)
        (x * x).sum().backward(retain_graph=True)
        return y

    def arguments(n):
        leaf = torch.randn(n, 4, requires_grad=True)
        kept.append(leaf)
        return (leaf * 1,)

    kept: list[torch.Tensor] = []
    return Program(f, arguments, lambda: kept[-1].grad, within=within)


@program
def closure_made_to_learn():
    buffer, weight = torch.ones(4), nn.Parameter(torch.full((4,), 2.0))

    def f(x):
        buffer.mul_(weight)
        return x * buffer

    return Program(f, plain, lambda: [buffer.requires_grad, buffer], sizes=(3,), backward=False)


@program
def view_of_argument_made_to_learn():
    def f(x, w):
        x[0].mul_(w[0])
        return x * 2

    return Program(f, both)


@program
def data_of_parameter_assigned():
    w = nn.Parameter(torch.ones(4))

    def f(x):
        w.data = x[0] * 2
        return x * w

    return Program(f, plain, lambda: w)


@program
def parts_of_inner_written_by_caller():
    def f(w):
        y = w * 2
        return y[:, :3], y[:, 1:]

    def within(fn, args):
        a, b = fn(*args)
        a.mul_(3)
        return a, b

    return Program(f, learned, within=within)


@program
def lone_view_written_by_caller():
    def f(w):
        return (w * 2).view(-1)

    def within(fn, args):
        y = fn(*args)
        y += 1
        return y * y

    return Program(f, learned, within=within)


@program
def view_of_parameter_written_by_caller():
    w = nn.Parameter(torch.arange(8.0).view(2, 4))

    def f(x):
        return w[0], x * 2

    def within(fn, args):
        view, _ = fn(*args)
        with torch.no_grad():
            view.add_(1)
        return w._version

    return Program(f, plain, lambda: w, within=within)


@program
def plain_outputs_share_memory_and_one_learns_later():
    def f(x):
        y = x * 2
        return y, y[0]

    def within(fn, args):
        x, w = args
        y, z = fn(x)
        y.mul_(w)
        return z * 3

    return Program(lambda x: f(x), both, within=within)


@program
def view_of_argument_saved_before():
    """What was saved of an argument is overwritten through a view that the call returned."""

    def f(x):
        return x[0]

    def within(fn, args):
        x, w = args
        loss = (x * w).sum()
        fn(x).add_(1)
        loss.backward()

    return Program(f, both, within=within)


@program
def gradient_by_way_of_an_argument():
    """The argument comes from what the gradient is asked for."""
    w = nn.Parameter(torch.ones(4))

    def f(x):
        (g,) = torch.autograd.grad((x * w).sum(), w, retain_graph=True)
        return g

    return Program(
        f, lambda n: (w.detach().expand(n, 4).clone() * 1,), lambda: w, within=lambda fn, args: fn(w * args[0])
    )


@program
def two_arguments_in_one_memory():
    def f(x, y):
        x.add_(1)
        y.mul_(2)
        y.add_(3)
        return x.sum() + y.sum()

    def arguments(n):
        x = torch.randn(2 * n, 4)
        return x, x[1:]

    return Program(f, arguments)


@program
def plain_argument_made_to_learn():
    def f(x, w):
        x.mul_(w)
        return x * 2

    return Program(f, both)


@program
def in_place_of_zero_elements():
    def f(x):
        x[:0].add_(1)
        return x * 2

    return Program(f, plain)


# ---------------------------------------------------------------------- views with many outputs


@program
def split_written():
    def f(w):
        a, b = (w * 2).split(2, 1)
        a.add_(1)
        return a, b

    return Program(f, learned)


@program
def chunks_written_by_caller():
    def f(x):
        return x.chunk(2, 1)

    def within(fn, args):
        a, b = fn(*args)
        a.add_(1)
        return a, b

    return Program(f, plain, within=within)


@program
def chunks_written_by_caller_with_gradient():
    def f(w):
        return (w * 2).chunk(2, 1)

    def within(fn, args):
        a, b = fn(*args)
        a.add_(1)
        return a, b

    return Program(f, learned, within=within)


@program
def unbound_written():
    def f(x):
        first, *rest = x.unbind(1)
        first.add_(1)
        return rest[0] + first

    return Program(f, plain)


@program
def unbound_under_no_grad_written():
    def f(w):
        with torch.no_grad():
            first, *rest = w.unbind(1)
            first.add_(1)
        return rest[0] + 1

    return Program(f, learned)


@program
def split_inner_written_without_gradient():
    def f(x):
        y = x * 2
        a, b = y.split(2, 1)
        a.mul_(3)
        return y, a, b

    return Program(f, plain)


@program
def view_under_no_grad_written():
    def f(w):
        y = w * 2
        with torch.no_grad():
            v = y[0]
        v.add_(1)
        return y

    return Program(f, learned)


# ---------------------------------------------------------------------- the generator


@program
def dropout_of_everything():
    def f(x):
        return F.dropout(x, 1.0, True), F.dropout(x, 0.0, True), F.dropout(x, 0.5, False)

    return Program(f, plain)


@program
def dropout_of_everything_learned():
    def f(x):
        return F.dropout(x, 1.0, True), F.dropout(x, 0.0, True), F.dropout(x, 0.5, False)

    return Program(f, learned)


@program
def dropout_in_place():
    def f(x):
        return F.dropout(x * 2, 1.0, True, inplace=True) + F.dropout(x * 3, 0.0, True, inplace=True)

    return Program(f, plain)


@program
def dropouts():
    def f(x):
        return (
            F.dropout(x, 0.5, True),
            F.alpha_dropout(x, 0.5, True),
            F.feature_dropout(x, 1.0, True) if hasattr(F, "feature_dropout") else x,
            F.dropout1d(x[None], 1.0, True),
            F.dropout2d(x[None, None], 0.0, True),
            F.alpha_dropout(x, 1.0, True),
            F.alpha_dropout(x, 0.0, True),
            torch.native_dropout(x, 1.0, True)[0],
            torch.native_dropout(x, 0.0, True)[0],
            F.rrelu(x, 0.1, 0.3, False),
        )

    return Program(f, plain)


@program
def dropout_of_nothing_there():
    def f(x):
        return F.dropout(x[:0], 0.5, True), torch.rand(2)

    return Program(f, plain)


@program
def dropout_module_evaluated():
    module = nn.Sequential(nn.Dropout(1.0), nn.Dropout(0.0)).eval()
    return Program(lambda x: module(x) + module.train()(x) if False else module(x), plain)


@program
def dropout_in_attention():
    def f(x):
        q = x[None]
        return F.scaled_dot_product_attention(q, q, q, dropout_p=0.0)

    # in eager torch the view is made below autograd
    return Program(f, plain, ignored=("is_view", "base"))


# ---------------------------------------------------------------------- modes inside


@program
def no_grad_inside():
    def f(w):
        with torch.no_grad():
            y = w * 2
        return y, y * w

    return Program(f, learned)


@program
def no_grad_decorated():
    @torch.no_grad()
    def f(w):
        return w * 2, w[0], w.detach()

    return Program(f, learned)


@program
def enable_grad_inside_of_no_grad():
    def f(w):
        with torch.enable_grad():
            y = w * 2
        return y, w * 3

    return Program(f, learned, around=torch.no_grad)


@program
def enable_grad_backward_inside_of_no_grad():
    def f(w):
        with torch.enable_grad():
            (g,) = torch.autograd.grad((w * w).sum(), w)
        return g

    return Program(f, learned, around=torch.no_grad)


@program
def inference_inside():
    def f(w):
        with torch.inference_mode():
            y = w * 2
        return y, w * 3

    return Program(f, learned)


@program
def inference_inside_saved():
    def f(w):
        with torch.inference_mode():
            y = w * 2
        return y * w

    return Program(f, learned)


@program
def inference_decorated():
    @torch.inference_mode()
    def f(w):
        return w * 2, w[0], w

    return Program(f, learned)


@program
def inference_around():
    def f(w):
        return w * 2, w[0], w.view(-1), w

    return Program(f, learned, around=torch.inference_mode)


@program
def inference_around_plain():
    def f(w):
        return w * 2, w[0], w.clone()

    return Program(f, plain, around=torch.inference_mode)


@program
def inference_around_writes():
    def f(w):
        w.add_(1)
        return w * 2

    return Program(f, plain, around=torch.inference_mode)


@program
def inference_left_inside():
    def f(w):
        with torch.inference_mode(False):
            y = w.clone() * 2
        return y, w * 2

    return Program(f, plain, around=torch.inference_mode)


@program
def given_inference_tensor():
    def arguments(n):
        with torch.inference_mode():
            return (torch.randn(n, 4),)

    def f(x):
        return x * 2, x[0]

    return Program(f, arguments)


@program
def given_inference_tensor_written():
    def arguments(n):
        with torch.inference_mode():
            return (torch.randn(n, 4),)

    def f(x):
        x.add_(1)
        return x * 2

    return Program(f, arguments)


@program
def given_inference_tensor_saved():
    def arguments(n):
        with torch.inference_mode():
            x = torch.randn(n, 4)
        return x, torch.randn(n, 4, requires_grad=True)

    def f(x, w):
        return x * w

    return Program(f, arguments)


@program
def given_inference_or_not():
    def arguments(n):
        with torch.inference_mode(n % 2 == 0):
            return (torch.randn(n, 4),)

    def f(x):
        return x * 3 if x.is_inference() else x * 2

    return Program(f, arguments)


@program
def no_grad_around():
    def f(w):
        return w * 2, w[0], w.detach(), w.view(-1), w

    return Program(f, learned, around=torch.no_grad)


@program
def no_grad_around_plain():
    def f(w):
        y = w * 2
        return y, y[0], w[0], w

    return Program(f, plain, around=torch.no_grad)


@program
def outputs_plain():
    def f(w):
        y = w * 2
        return y, y[0], w[0], w, y.t(), w.detach()

    return Program(f, plain)


@program
def outputs_learned():
    def f(w):
        y = w * 2
        return y, y[0], w[0], w, y.t(), w.detach()

    return Program(f, learned)


@program
def output_view_alone():
    def f(w):
        return (w * 2)[0]

    return Program(f, learned)


@program
def output_view_alone_plain():
    def f(w):
        return (w * 2)[0]

    return Program(f, plain)


@program
def output_view_of_argument_written_by_caller():
    def f(w):
        return w[0]

    def within(fn, args):
        (x,) = args
        y = fn(x)
        y.mul_(2)
        return x, y

    return Program(f, inner, within=within)


@program
def outputs_share_memory_written_by_caller():
    def f(w):
        y = w * 2
        return y, y[0]

    def within(fn, args):
        y, z = fn(*args)
        y.mul_(2)
        return y, z

    return Program(f, learned, within=within)


@program
def outputs_share_memory_written_by_caller_plain():
    def f(w):
        y = w * 2
        return y, y[0]

    def within(fn, args):
        y, z = fn(*args)
        y.mul_(2)
        return y, z

    return Program(f, plain, within=within)


@program
def same_output_twice():
    def f(w):
        y = w * 2
        return y, y, [y], {"a": y}

    return Program(f, learned)


@program
def expanded_output():
    def f(w):
        return w.sum().expand(3), w[:, :1].expand(-1, 5)

    return Program(f, learned)


@program
def set_grad_enabled_inside():
    def f(w):
        torch.set_grad_enabled(False)
        y = w * 2
        torch.set_grad_enabled(True)
        return y, w * 3

    return Program(f, learned)


@program
def grad_mode_asked():
    def f(w):
        y = w * 2 if torch.is_grad_enabled() else w * 3
        with torch.no_grad():
            z = w * 2 if torch.is_grad_enabled() else w * 3
        return y, z, torch.is_grad_enabled()

    return Program(f, learned)


@program
def output_requires_no_gradient_in_modes():
    def f(x):
        with torch.no_grad():
            a = x * 2
        b = x.detach() * 3
        return a, b, a + b, (a + x)

    return Program(f, learned)


@program
def no_grad_view():
    def f(w):
        with torch.no_grad():
            v = w[0]
        return v, w * 2

    return Program(f, learned)


@program
def no_grad_view_of_inner():
    def f(w):
        y = w * 2
        with torch.no_grad():
            v = y[0]
        return v

    return Program(f, learned)


@program
def no_grad_view_of_output():
    def f(w):
        y = w * 2
        with torch.no_grad():
            v = y[0]
        return v, y

    return Program(f, learned)


@program
def plain_view_made_to_learn():
    def f(x):
        return x[0].requires_grad_()

    return Program(f, plain)


@program
def nothing_learned():
    def f(w):
        return w.argmax(-1), w > 0, w.long()

    return Program(f, learned)


# ---------------------------------------------------------------------- twice


@program
def double_backward_by_caller():
    def f(w):
        return (w**3).sum()

    def within(fn, args):
        (w,) = args
        (g,) = torch.autograd.grad(fn(w), w, create_graph=True)
        return g.detach()

    return Program(f, learned, within=within)


@program
def backward_twice_by_caller():
    def f(w):
        return (w**3).sum()

    def within(fn, args):
        (w,) = args
        y = fn(w)
        y.backward(retain_graph=True)
        y.backward()
        return w.grad.clone()

    return Program(f, learned, within=within)


@program
def backward_twice_by_caller_raises():
    def f(w):
        return (w**3).sum()

    def within(fn, args):
        (w,) = args
        y = fn(w)
        y.backward()
        y.backward()

    return Program(f, learned, within=within)


# ---------------------------------------------------------------------- hooks


@program
def hook_on_inner():
    seen = []

    def f(w):
        y = w * 2
        y.register_hook(lambda g: seen.append(tuple(g.shape)))
        return y * 3

    return Program(f, learned, lambda: seen)


@program
def hook_on_inner_changes():
    def f(w):
        y = w * 2
        y.register_hook(lambda g: g * 10)
        return y * 3

    return Program(f, learned)


@program
def hook_on_argument_inside():
    seen = []

    def f(w):
        w.register_hook(lambda g: seen.append(tuple(g.shape)))
        return w * 3

    return Program(f, learned, lambda: seen)


@program
def hook_on_argument_inside_backward():
    seen = []

    def f(w):
        handle = w.register_hook(lambda g: seen.append(tuple(g.shape)))
        (w * 2).sum().backward()
        handle.remove()
        return w.grad * 1

    return Program(f, learned, lambda: seen)


@program
def hook_on_argument_outside():
    seen = []

    def arguments(n):
        w = torch.randn(n, 4, requires_grad=True)
        w.register_hook(lambda g: g * 10)
        w.register_hook(lambda g: seen.append(tuple(g.shape)))
        return (w,)

    return Program(lambda w: w * 3, arguments, lambda: seen)


@program
def hook_after_accumulation_outside():
    seen = []

    def arguments(n):
        w = torch.randn(n, 4, requires_grad=True)
        w.register_post_accumulate_grad_hook(lambda p: seen.append(tuple(p.grad.shape)))
        return (w,)

    return Program(lambda w: w * 3, arguments, lambda: seen)


@program
def hook_after_accumulation_on_parameter():
    seen = []
    w = nn.Parameter(torch.ones(4))
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.sum().item()))
    return Program(lambda x: x * w, plain, lambda: [seen, w])


@program
def hook_after_accumulation_inside():
    seen = []
    w = nn.Parameter(torch.ones(4))

    def f(x):
        handle = w.register_post_accumulate_grad_hook(lambda p: seen.append(tuple(p.shape)))
        (x * w).sum().backward()
        handle.remove()
        return x * w

    return Program(f, plain, lambda: [seen, w])


@program
def hook_on_parameter():
    seen = []
    w = nn.Parameter(torch.ones(4))
    w.register_hook(lambda g: seen.append(g.sum().item()))
    return Program(lambda x: x * w, plain, lambda: [seen, w])


@program
def hook_on_parameter_registered_inside():
    seen = []
    w = nn.Parameter(torch.ones(4))

    def f(x):
        w.register_hook(lambda g: seen.append(1))
        return x * w

    return Program(f, plain, lambda: [seen, w, len(w._backward_hooks or ())])


@program
def hook_on_function():
    seen = []

    def f(w):
        y = w * 2
        y.grad_fn.register_hook(lambda *g: seen.append(1))
        return y * 3

    return Program(f, learned, lambda: seen)


@program
def retained_gradient():
    def f(w):
        y = w * 2
        y.retain_grad()
        return y, y * 3

    return Program(f, learned)


@program
def retained_gradient_backward():
    def f(w):
        y = w * 2
        y.retain_grad()
        (y * y).sum().backward()
        return y.grad

    return Program(f, learned)


@program
def retained_gradient_of_argument():
    def f(w):
        w.retain_grad()
        return w * 2

    return Program(f, inner)


@program
def saved_tensors_hooks_inside():
    seen = []

    def f(w):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t):
            return (w * w).exp()

    return Program(f, learned, lambda: seen)


@program
def saved_tensors_hooks_around():
    seen = []

    def around():
        return torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2)

    return Program(lambda w: (w * w).exp(), learned, lambda: seen, around=around)


@program
def saved_on_cpu():
    def f(w):
        with torch.autograd.graph.save_on_cpu():
            return (w * w).exp()

    return Program(f, learned)


# ---------------------------------------------------------------------- custom functions


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * x * 10


class Adds(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 3


class Sorted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        values, places = x.sort(-1)
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(places)
        return values, places

    @staticmethod
    def backward(ctx, gradient, _):
        (places,) = ctx.saved_tensors
        return torch.zeros_like(gradient).scatter(-1, places, gradient)


class Unmaterialized(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, first, second):
        return (
            torch.full((1,), 7.0).expand(2, 4) * 0
            if first is None and second is None
            else (first * 2 if second is None else second * 30 if first is None else first + second)
        )


class Materialized(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, first, second):
        return first * 2 + second * 30


class WithSetup(torch.autograd.Function):
    @staticmethod
    def forward(x, k):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, k = inputs
        ctx.k = k

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.k * 5, None


class Needs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return (
            gradient * y * 2 if ctx.needs_input_grad[0] else None,
            gradient * x * 3 if ctx.needs_input_grad[1] else None,
        )


class Counts(torch.autograd.Function):
    calls: list[str] = []

    @staticmethod
    def forward(ctx, x):
        Counts.calls.append("forward")
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        Counts.calls.append("backward")
        return gradient * 2


class CountsBackward(torch.autograd.Function):
    calls: list[str] = []

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        CountsBackward.calls.append("backward")
        return gradient * 2


class Identity(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


class Viewing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.view(-1, 4) * 2


class OnceOnly(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * x.exp() * 2


@program
def function_square():
    return Program(lambda x: Square.apply(x) + 1, learned)


@program
def function_square_plain():
    return Program(lambda x: Square.apply(x) + 1, plain)


@program
def function_square_backward_inside():
    def f(x):
        Square.apply(x).sum().backward()
        return x.grad * 2

    return Program(f, learned)


@program
def function_dirty():
    return Program(lambda x: Adds.apply(x * 2) + 1, learned)


@program
def function_dirty_argument():
    return Program(lambda x: Adds.apply(x), inner)


@program
def function_dirty_plain_argument():
    return Program(lambda x: Adds.apply(x) * 2, plain)


@program
def function_not_differentiable():
    return Program(lambda x: Sorted.apply(x), learned)


@program
def function_unmaterialized_first():
    return Program(lambda x: Unmaterialized.apply(x)[0] * 1, learned)


@program
def function_unmaterialized_second():
    return Program(lambda x: Unmaterialized.apply(x)[1] * 1, learned)


@program
def function_unmaterialized_both():
    def within(fn, args):
        first, _ = fn(*args)
        first.sum().backward()
        return args[0].grad.clone()

    return Program(lambda x: Unmaterialized.apply(x), learned, within=within)


@program
def function_materialized():
    def within(fn, args):
        _, second = fn(*args)
        second.sum().backward()
        return args[0].grad.clone()

    return Program(lambda x: Materialized.apply(x), learned, within=within)


@program
def function_with_setup():
    return Program(lambda x: WithSetup.apply(x, 3), learned)


@program
def function_needs():
    return Program(lambda x, y: Needs.apply(x, y), both)


@program
def function_with_effects():
    Counts.calls = []
    return Program(lambda x: Counts.apply(x), learned, lambda: list(Counts.calls))


@program
def function_with_effects_in_backward():
    CountsBackward.calls = []
    return Program(lambda x: CountsBackward.apply(x) * 2, learned, lambda: list(CountsBackward.calls))


@program
def function_identity():
    return Program(lambda x: Identity.apply(x) * 2, learned)


@program
def function_identity_returned():
    return Program(lambda x: Identity.apply(x), learned, ignored=("base",))


@program
def function_view():
    return Program(lambda x: Viewing.apply(x), learned, ignored=("base",))


@program
def function_once():
    return Program(lambda x: OnceOnly.apply(x), learned)


@program
def function_under_no_grad():
    def f(x):
        with torch.no_grad():
            return Square.apply(x)

    return Program(f, learned)


@program
def module_copied_and_trained():
    torch.manual_seed(0)
    module = nn.Linear(4, 2)

    def f(x):
        other = copy.deepcopy(module)
        other(x).sum().backward()
        return other.weight.grad * 1

    return Program(f, plain, lambda: list(module.parameters()))


@program
def hessian_inside():
    def f(x):
        return torch.autograd.functional.hessian(lambda y: (y**3).sum(), x[0])

    return Program(f, plain)


@program
def jacobian_inside():
    def f(x):
        return torch.autograd.functional.jacobian(lambda y: y**2, x[0])

    return Program(f, plain)


@program
def func_grad_inside():
    def f(x):
        return torch.func.grad(lambda y: (y**3).sum())(x)

    return Program(f, plain)


@program
def anomalies_around():
    return Program(lambda x: x.exp() * 2, learned, around=torch.autograd.detect_anomaly)


@program
def profiled_inside():
    def f(x):
        with torch.autograd.profiler.record_function("part"):
            return x * 2

    return Program(f, learned)
