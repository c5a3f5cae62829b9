"""Programs that use autograd inside of themselves, or that autograd sees from outside."""

from __future__ import annotations

import torch
from torch import nn

from tests.frontends.pytorch.observed import Program, Programs

PROGRAMS = Programs()
program, stateful = PROGRAMS.program, PROGRAMS.stateful


def learned(n: int) -> tuple[torch.Tensor, ...]:
    return (torch.randn(n, 4, requires_grad=True),)


def two_learned(n: int) -> tuple[torch.Tensor, ...]:
    return torch.randn(n, 4, requires_grad=True), torch.randn(n, 4, requires_grad=True)


def plain(n: int) -> tuple[torch.Tensor, ...]:
    return (torch.randn(n, 4),)


def both(n: int) -> tuple[torch.Tensor, ...]:
    return torch.randn(n, 4), torch.randn(n, 4, requires_grad=True)


def two_plain(n: int) -> tuple[torch.Tensor, ...]:
    return torch.randn(n, 4), torch.randn(n, 4)


def with_gradient(n: int) -> tuple[torch.Tensor, ...]:
    """An argument that has a gradient already."""
    w = torch.randn(n, 4, requires_grad=True)
    w.grad = torch.ones(n, 4)
    return (w,)


def of_inference(n: int) -> tuple[torch.Tensor, ...]:
    with torch.inference_mode():
        return torch.randn(n, 4), torch.randn(n, 4)


def first_written(fn, args):
    """The caller writes to the first of two results."""
    first, second = fn(*args)
    first.mul_(3)
    return first, second


def inner(n: int) -> tuple[torch.Tensor, ...]:
    """An argument that is no leaf."""
    leaf = torch.randn(n, 4, requires_grad=True)
    return (leaf * 1,)


# ---------------------------------------------------------------------- backward inside


@program(learned)
def backward_twice_accumulates(w):
    (w * 2).sum().backward()
    (w * w).sum().backward()
    return w.grad * 3


@stateful
def backward_of_module():
    torch.manual_seed(0)
    module = nn.Linear(4, 2)

    def f(x):
        module(x).sum().backward()
        return x + 1

    return Program(f, plain, lambda: list(module.parameters()))


@program(learned)
def backward_twice_without_retained_graph(w):
    loss = w.pow(3).sum()
    loss.backward()
    loss.backward()
    return w.grad.clone()


@program(plain)
def autograd_grad_of_intermediate(x):
    y = x.detach().clone().requires_grad_()
    (g,) = torch.autograd.grad((y**3).sum(), y)
    return g + x


@program(learned)
def autograd_grad_create_graph(w):
    (g,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
    return (g * g).sum()


@program(two_learned)
def autograd_grad_allow_unused(w, v):
    first, second = torch.autograd.grad(w.sin().sum(), [w, v], allow_unused=True)
    return first, second is None


@program(learned)
def backward_under_no_grad(w):
    with torch.no_grad():
        y = (w * 2).sum()
    y.backward()
    return w


@program(lambda n: with_gradient(n) if n % 2 else learned(n))
def gradient_sometimes_there(w):
    return w * 2 if w.grad is None else w.grad * 3


# ---------------------------------------------------------------------- what requires a gradient


@program(plain)
def requires_grad_of_inner_used(x):
    y = (x * 2).requires_grad_()
    return y, y * 3


@program(plain)
def requires_grad_of_inner_backward(x):
    y = (x * 2).requires_grad_()
    (y * y).sum().backward()
    return y.grad


@program(lambda n: learned(n) if n % 2 else inner(n))
def asks_is_leaf_sometimes(x):
    return x * 3 if x.is_leaf else x * 4


@program(lambda n: (torch.randn(n, 4),) if n % 2 else (torch.randn(n + 1, 4)[1:],))
def asks_base(x):
    return x * 3 if x._base is None else x._base * 4


# ---------------------------------------------------------------------- detached views


@program(learned)
def detached_views(a):
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


@program(learned)
def detached_parts(a):
    first, second = a.chunk(2, 1)
    third, fourth = a.split(2, 1)
    fifth, *_ = a.unbind(1)
    return first.detach(), second.data, third.detach(), fourth.data, fifth.detach(), second * 2


@program(learned)
def detached_needed_for_backward_written(a):
    y = a.exp()
    y.detach().add_(1)
    return y * 3


# ---------------------------------------------------------------------- versions


@program(plain)
def written_views(x):
    x[0].add_(1)
    x.t().mul_(2)
    x.view(-1)[2:].zero_()
    return x * 2


@program(two_plain)
def written_out(x, y):
    torch.add(x, 1, out=y)
    return y * 2


@stateful
def written_closure():
    buffer = torch.zeros(4)

    def f(x):
        buffer.add_(1)
        buffer.mul_(2)
        return x + buffer

    return Program(f, plain, lambda: [buffer, buffer._version])


@stateful
def batch_norm():
    module = nn.BatchNorm1d(4)

    def state():
        return [*module.parameters(), *module.buffers(), [each._version for each in module.buffers()]]

    return Program(module, learned, state)


@program(learned)
def written_under_no_grad(x):
    with torch.no_grad():
        x.add_(1)
    return x * 2


@stateful
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


@stateful
def written_after_compiled_saved_it():
    def f(x, w):
        return (x * w).sum()

    def within(fn, args):
        x, w = args
        loss = fn(x, w)
        x.add_(1)
        loss.backward()

    return Program(f, both, within=within)


@stateful
def output_written_after_compiled_saved_it():
    def f(w):
        return w.exp()

    def within(fn, args):
        y = fn(*args)
        y.add_(1)
        y.sum().backward()

    return Program(f, learned, within=within)


@program(learned)
def in_place_on_leaf(w):
    w.add_(1)
    return w


@program(learned)
def in_place_on_saved(w):
    y = w.exp()
    z = y * 2
    y.add_(1)
    return z + y


@stateful
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


@stateful
def closure_made_to_learn():
    buffer, weight = torch.ones(4), nn.Parameter(torch.full((4,), 2.0))

    def f(x):
        buffer.mul_(weight)
        return x * buffer

    return Program(f, plain, lambda: [buffer.requires_grad, buffer], sizes=(3,), backward=False)


@program(both)
def view_of_argument_made_to_learn(x, w):
    x[0].mul_(w[0])
    return x * 2


@program(learned, within=first_written)
def parts_of_inner_written_by_caller(w):
    y = w * 2
    return y[:, :3], y[:, 1:]


@stateful
def lone_view_written_by_caller():
    def f(w):
        return (w * 2).view(-1)

    def within(fn, args):
        y = fn(*args)
        y += 1
        return y * y

    return Program(f, learned, within=within)


@stateful
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


@stateful
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


@stateful
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


@program(both)
def plain_argument_made_to_learn(x, w):
    x.mul_(w)
    return x * 2


@program(plain)
def in_place_of_zero_elements(x):
    x[:0].add_(1)
    return x * 2


# ---------------------------------------------------------------------- views with many outputs


@program(plain, within=first_written)
def chunks_written_by_caller(x):
    return x.chunk(2, 1)


# ---------------------------------------------------------------------- modes inside


@program(learned)
def inference_inside(w):
    with torch.inference_mode():
        y = w * 2
    return y, w * 3


@program(learned, around=torch.inference_mode)
def inference_around(w):
    return w * 2, w[0], w.view(-1), w


@program(plain, around=torch.inference_mode)
def inference_around_writes(w):
    w.add_(1)
    return w * 2


@program(of_inference)
def given_inference_tensor_written(x, _):
    x.add_(1)
    return x * 2


@program(lambda n: of_inference(n)[:1] + learned(n))
def given_inference_tensor_saved(x, w):
    return x * w


@program(learned, around=torch.no_grad)
def no_grad_around(w):
    return w * 2, w[0], w.detach(), w.view(-1), w


@program(learned)
def outputs_learned(w):
    y = w * 2
    return y, y[0], w[0], w, y.t(), w.detach()


@stateful
def output_view_of_argument_written_by_caller():
    def f(w):
        return w[0]

    def within(fn, args):
        (x,) = args
        y = fn(x)
        y.mul_(2)
        return x, y

    return Program(f, inner, within=within)


@program(learned, within=first_written)
def outputs_share_memory_written_by_caller(w):
    y = w * 2
    return y, y[0]


@program(learned)
def no_grad_view_of_output(w):
    y = w * 2
    with torch.no_grad():
        v = y[0]
    return v, y


# ---------------------------------------------------------------------- twice


@stateful
def double_backward_by_caller():
    def f(w):
        return (w**3).sum()

    def within(fn, args):
        (w,) = args
        (g,) = torch.autograd.grad(fn(w), w, create_graph=True)
        return g.detach()

    return Program(f, learned, within=within)


@stateful
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


# ---------------------------------------------------------------------- hooks


@program(learned)
def hook_on_inner_changes(w):
    y = w * 2
    y.register_hook(lambda g: g * 10)
    return y * 3


@stateful
def saved_tensors_hooks_around():
    seen = []

    def around():
        return torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2)

    return Program(lambda w: (w * w).exp(), learned, lambda: seen, around=around)


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


class Viewing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.view(-1, 4) * 2


@program(learned)
def function_square(x):
    return Square.apply(x) + 1


@program(learned, ignored=("base",))
def function_view(x):
    return Viewing.apply(x)
