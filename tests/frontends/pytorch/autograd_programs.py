"""Programs that use autograd inside of themselves, or that autograd sees from outside."""

from __future__ import annotations

import torch
import torch.nn.functional as F
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


def gradient_of(number: int):
    """The caller uses one of the results."""

    def within(fn, args):
        fn(*args)[number].sum().backward()
        return args[0].grad.clone()

    return within


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


@program(with_gradient)
def backward_into_gradient_that_is_there(w):
    (w * 2).sum().backward()
    return w * 1


@stateful
def backward_of_module():
    torch.manual_seed(0)
    module = nn.Linear(4, 2)

    def f(x):
        module(x).sum().backward()
        return x + 1

    return Program(f, plain, lambda: list(module.parameters()))


@stateful
def backward_and_zero():
    torch.manual_seed(0)
    module = nn.Linear(4, 2)

    def f(x):
        module.zero_grad()
        loss = module(x).pow(2).sum()
        loss.backward()
        return loss.detach()

    return Program(f, plain, lambda: list(module.parameters()))


@program(learned)
def backward_twice_without_retained_graph(w):
    loss = w.pow(3).sum()
    loss.backward()
    loss.backward()
    return w.grad.clone()


@program(two_learned)
def backward_with_gradient(w, g):
    (w * w).backward(g.detach())
    return w.grad * 1


@program(two_learned)
def backward_for_some_inputs(w, v):
    (w * v).sum().backward(inputs=[w])
    return w.detach() * 2


@program(plain)
def autograd_grad_of_intermediate(x):
    y = x.detach().clone().requires_grad_()
    (g,) = torch.autograd.grad((y**3).sum(), y)
    return g + x


@program(learned)
def autograd_grad_create_graph(w):
    (g,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
    return (g * g).sum()


@stateful
def gradient_penalty():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))

    def f(x):
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(module(x).sum(), x, create_graph=True)
        return (g.norm(dim=-1) - 1).pow(2).mean()

    return Program(f, plain, lambda: list(module.parameters()))


@program(two_learned)
def autograd_grad_allow_unused(w, v):
    first, second = torch.autograd.grad(w.sin().sum(), [w, v], allow_unused=True)
    return first, second is None


@program(two_learned)
def autograd_grad_unused_raises(w, v):
    return torch.autograd.grad(w.sin().sum(), [w, v])


@program(two_learned)
def autograd_grad_materialized(w, v):
    return torch.autograd.grad(w.sin().sum(), [w, v], allow_unused=True, materialize_grads=True)


@program(learned)
def backward_under_no_grad(w):
    with torch.no_grad():
        y = (w * 2).sum()
    y.backward()
    return w


@program(inner)
def backward_of_what_is_no_leaf(x):
    (x * 2).sum().backward()
    return x * 1


@program(learned)
def gradient_assigned(w):
    w.grad = torch.ones_like(w)
    return w * 2


@program(lambda n: with_gradient(n) if n % 2 else learned(n))
def gradient_sometimes_there(w):
    return w * 2 if w.grad is None else w.grad * 3


@stateful
def gradient_changed_in_place():
    w = nn.Parameter(torch.ones(4))
    w.grad = torch.ones(4)

    def f(x):
        w.grad.mul_(0.5)
        return x + 1

    return Program(f, plain, lambda: w)


# ---------------------------------------------------------------------- what requires a gradient


@program(plain)
def requires_grad_of_argument_returned(x):
    return x.requires_grad_()


@program(learned)
def requires_grad_taken_away_and_back(x):
    x.requires_grad_(False)
    y = x * 2
    x.requires_grad_(True)
    return x * 3 + y


@program(plain)
def requires_grad_of_inner_used(x):
    y = (x * 2).requires_grad_()
    return y, y * 3


@program(plain)
def requires_grad_of_inner_backward(x):
    y = (x * 2).requires_grad_()
    (y * y).sum().backward()
    return y.grad


@stateful
def requires_grad_of_closure():
    w = torch.ones(4)

    def f(x):
        w.requires_grad_()
        return x * w

    return Program(f, plain, lambda: w)


@stateful
def freezes_module():
    module = nn.Linear(4, 2)
    with torch.no_grad():
        module.weight.fill_(0.5)
        module.bias.fill_(0.25)

    def f(x):
        module.requires_grad_(False)
        return module(x)

    return Program(f, plain, lambda: list(module.parameters()))


@program(plain)
def requires_grad_where_integers(x):
    return x.long().requires_grad_()


@program(plain)
def made_that_require_grad(x):
    a = torch.zeros(x.shape[0], requires_grad=True)
    b = torch.ones_like(x, requires_grad=True)
    c = torch.tensor([1.0, 2.0], requires_grad=True)
    d = torch.full((2,), 3.0, requires_grad=True)
    e = x.new_zeros(2, requires_grad=True)
    g = torch.empty(0, requires_grad=True)
    h = torch.arange(3.0, requires_grad=True)
    return a, b, c, d, e, g, h, (a.sum() + (b * x).sum() + c.sum())


@program(plain)
def made_parameter(x):
    w = nn.Parameter(torch.ones(4))
    return (x * w).sum(), w


@program(plain)
def made_that_requires_grad_under_no_grad(x):
    with torch.no_grad():
        w = torch.ones(4, requires_grad=True)
        y = w * 2
    return w * x, y


@program(lambda n: (torch.randn(n, 4, requires_grad=n % 2 == 0),))
def asks_requires_grad(x):
    y = x * 2
    return x * 3 if y.requires_grad else x * 4


@program(lambda n: learned(n) if n % 2 else inner(n))
def asks_is_leaf_sometimes(x):
    return x * 3 if x.is_leaf else x * 4


@program(lambda n: (torch.randn(n, 4),) if n % 2 else (torch.randn(n + 1, 4)[1:],))
def asks_base(x):
    return x * 3 if x._base is None else x._base * 4


@stateful
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
def detached_of_inner(a):
    y = a * 2
    return y, y.detach(), y[0].detach(), y.t().data, y.detach().t()


@program(learned)
def detached_view_and_view(a):
    view = a[0]
    return view, view.detach(), view.detach() * 2


@program(learned)
def detached_in_place(a):
    y = a * 2
    y.detach_()
    return y, a * 3


@program(inner)
def detached_in_place_of_argument(a):
    a.detach_()
    return a * 3


@program(learned)
def detached_then_written(a):
    y = a * 2
    z = y.detach()
    z.add_(1)
    return y * 3


@program(learned)
def detached_needed_for_backward_written(a):
    y = a.exp()
    y.detach().add_(1)
    return y * 3


@program(learned)
def data_assigned(a):
    a.data = torch.ones_like(a)
    return a * 3


@stateful
def data_of_parameter_written():
    w = nn.Parameter(torch.ones(4))

    def f(x):
        w.data.mul_(0.5)
        return x * w

    return Program(f, plain, lambda: w)


# ---------------------------------------------------------------------- versions


@program(plain)
def written_views(x):
    x[0].add_(1)
    x.t().mul_(2)
    x.view(-1)[2:].zero_()
    return x * 2


@stateful
def written_twice_same_memory():
    def f(x, y):
        x.add_(1)
        y.mul_(2)
        return x + y

    def arguments(n):
        x = torch.randn(2 * n, 4)
        return x[:n], x[n:]

    return Program(f, arguments)


@program(two_plain)
def written_out(x, y):
    torch.add(x, 1, out=y)
    return y * 2


@program(plain)
def written_and_returned(x):
    return x.add_(1)


@program(two_plain)
def written_by_copy(x, y):
    x.copy_(y)
    x.fill_(2)
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


@stateful
def output_not_needed_written():
    def f(w):
        return w * 2

    def within(fn, args):
        y = fn(*args)
        y.add_(1)
        y.sum().backward()
        return y

    return Program(f, learned, within=within)


@program(learned)
def in_place_on_leaf(w):
    w.add_(1)
    return w


@program(learned)
def in_place_on_view_of_leaf(w):
    w[0].add_(1)
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


@stateful
def data_of_parameter_assigned():
    w = nn.Parameter(torch.ones(4))

    def f(x):
        w.data = x[0] * 2
        return x * w

    return Program(f, plain, lambda: w)


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


@stateful
def gradient_by_way_of_an_argument():
    """The argument comes from what the gradient is asked for."""
    w = nn.Parameter(torch.ones(4))

    def f(x):
        (g,) = torch.autograd.grad((x * w).sum(), w, retain_graph=True)
        return g

    return Program(
        f, lambda n: (w.detach().expand(n, 4).clone() * 1,), lambda: w, within=lambda fn, args: fn(w * args[0])
    )


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


@program(learned)
def split_written(w):
    a, b = (w * 2).split(2, 1)
    a.add_(1)
    return a, b


@program(plain, within=first_written)
def chunks_written_by_caller(x):
    return x.chunk(2, 1)


@program(learned, within=first_written)
def chunks_written_by_caller_with_gradient(w):
    return (w * 2).chunk(2, 1)


@program(learned)
def unbound_under_no_grad_written(w):
    with torch.no_grad():
        first, *rest = w.unbind(1)
        first.add_(1)
    return rest[0] + 1


@program(plain)
def split_inner_written_without_gradient(x):
    y = x * 2
    a, b = y.split(2, 1)
    a.mul_(3)
    return y, a, b


@program(learned)
def view_under_no_grad_written(w):
    y = w * 2
    with torch.no_grad():
        v = y[0]
    v.add_(1)
    return y


# ---------------------------------------------------------------------- the generator


@program(plain)
def dropout_of_everything(x):
    return F.dropout(x, 1.0, True), F.dropout(x, 0.0, True), F.dropout(x, 0.5, False)


@program(plain)
def dropouts(x):
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


@program(plain, ignored=("is_view", "base"))
def dropout_in_attention(x):
    q = x[None]
    return F.scaled_dot_product_attention(q, q, q, dropout_p=0.0)


# ---------------------------------------------------------------------- modes inside


@program(learned)
def no_grad_inside(w):
    with torch.no_grad():
        y = w * 2
    return y, y * w


@program(learned, around=torch.no_grad)
def enable_grad_inside_of_no_grad(w):
    with torch.enable_grad():
        y = w * 2
    return y, w * 3


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


@program(plain, around=torch.inference_mode)
def inference_left_inside(w):
    with torch.inference_mode(False):
        y = w.clone() * 2
    return y, w * 2


@program(of_inference)
def given_inference_tensor_written(x, _):
    x.add_(1)
    return x * 2


@program(lambda n: of_inference(n)[:1] + learned(n))
def given_inference_tensor_saved(x, w):
    return x * w


@program(lambda n: of_inference(n) if n % 2 else two_plain(n))
def given_inference_or_not(x, _):
    return x * 3 if x.is_inference() else x * 2


@program(learned, around=torch.no_grad)
def no_grad_around(w):
    return w * 2, w[0], w.detach(), w.view(-1), w


@program(plain)
def outputs_plain(w):
    y = w * 2
    return y, y[0], w[0], w, y.t(), w.detach()


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
def same_output_twice(w):
    y = w * 2
    return y, y, [y], {"a": y}


@program(learned)
def expanded_output(w):
    return w.sum().expand(3), w[:, :1].expand(-1, 5)


@program(learned)
def no_grad_view_of_output(w):
    y = w * 2
    with torch.no_grad():
        v = y[0]
    return v, y


@program(plain)
def plain_view_made_to_learn(x):
    return x[0].requires_grad_()


@program(learned)
def nothing_learned(w):
    return w.argmax(-1), w > 0, w.long()


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


@stateful
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


@program(learned)
def hook_on_inner_changes(w):
    y = w * 2
    y.register_hook(lambda g: g * 10)
    return y * 3


@stateful
def hook_on_argument_inside():
    seen = []

    def f(w):
        w.register_hook(lambda g: seen.append(tuple(g.shape)))
        return w * 3

    return Program(f, learned, lambda: seen)


@stateful
def hook_on_argument_inside_backward():
    seen = []

    def f(w):
        handle = w.register_hook(lambda g: seen.append(tuple(g.shape)))
        (w * 2).sum().backward()
        handle.remove()
        return w.grad * 1

    return Program(f, learned, lambda: seen)


@stateful
def hook_on_argument_outside():
    seen = []

    def arguments(n):
        w = torch.randn(n, 4, requires_grad=True)
        w.register_hook(lambda g: g * 10)
        w.register_hook(lambda g: seen.append(tuple(g.shape)))
        return (w,)

    return Program(lambda w: w * 3, arguments, lambda: seen)


@stateful
def hook_after_accumulation_on_parameter():
    seen = []
    w = nn.Parameter(torch.ones(4))
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.sum().item()))
    return Program(lambda x: x * w, plain, lambda: [seen, w])


@stateful
def hook_on_function():
    seen = []

    def f(w):
        y = w * 2
        y.grad_fn.register_hook(lambda *g: seen.append(1))
        return y * 3

    return Program(f, learned, lambda: seen)


@program(learned)
def retained_gradient(w):
    y = w * 2
    y.retain_grad()
    return y, y * 3


@stateful
def saved_tensors_hooks_inside():
    seen = []

    def f(w):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t):
            return (w * w).exp()

    return Program(f, learned, lambda: seen)


@stateful
def saved_tensors_hooks_around():
    seen = []

    def around():
        return torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2)

    return Program(lambda w: (w * w).exp(), learned, lambda: seen, around=around)


@program(learned)
def saved_on_cpu(w):
    with torch.autograd.graph.save_on_cpu():
        return (w * w).exp()


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


@program(learned)
def function_square(x):
    return Square.apply(x) + 1


@program(learned)
def function_square_backward_inside(x):
    Square.apply(x).sum().backward()
    return x.grad * 2


@program(learned)
def function_dirty(x):
    return Adds.apply(x * 2) + 1


@program(inner)
def function_dirty_argument(x):
    return Adds.apply(x)


@program(learned, within=gradient_of(0))
def function_unmaterialized_both(x):
    return Unmaterialized.apply(x)


@program(learned, within=gradient_of(1))
def function_materialized(x):
    return Materialized.apply(x)


@program(both)
def function_needs(x, y):
    return Needs.apply(x, y)


@program(learned, ignored=("base",))
def function_identity_returned(x):
    return Identity.apply(x)


@program(learned, ignored=("base",))
def function_view(x):
    return Viewing.apply(x)


@program(learned)
def function_once(x):
    return OnceOnly.apply(x)


@program(learned, around=torch.autograd.detect_anomaly)
def anomalies_around(x):
    return x.exp() * 2
