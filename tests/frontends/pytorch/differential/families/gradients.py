"""Autograd inside of a program and around it."""

import torch
import torch.nn.functional as F

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("gradients")
program = FAMILY.program
stateful = FAMILY.stateful


class Doubled(torch.autograd.Function):
    """A backward that is not the forward's derivative, so that it is seen which one runs."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * scale

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * ctx.scale * 10 + x, None


class TwoResults(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        places = x.argmax(-1)
        ctx.mark_non_differentiable(places)
        ctx.sizes = x.shape
        return x.amax(-1), places

    @staticmethod
    def backward(ctx, gradient, _):
        return gradient.unsqueeze(-1).expand(ctx.sizes) / ctx.sizes[-1]


class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


@program("n m")
def gradient_inside(x):
    y = x.detach().requires_grad_()
    (gradient,) = torch.autograd.grad((y**3).sum(), y)
    return gradient + x


@program("n m")
def gradient_of_the_argument(x):
    (gradient,) = torch.autograd.grad((x**2).sum(), x, create_graph=True)
    return gradient


@program("n m")
def backward_inside(x):
    leaf = torch.ones(x.shape[1], requires_grad=True)
    (x.detach() * leaf).sum().backward()
    return leaf.grad, x * leaf.detach()


@stateful("n 4")
def backward_to_a_parameter():
    weight = torch.nn.Parameter(torch.ones(4))

    def step(x):
        (x.detach() * weight * 2).sum().backward()
        return x * 1

    return step, [weight]


@stateful("n 4")
def training_step():
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = model(x.detach()).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, model


@stateful("n 4")
def accumulated_gradients():
    model = torch.nn.Linear(4, 3)

    def step(x):
        for part in x.detach().split(2):
            (model(part).sum() / 2).backward()
        return x + 1

    return step, model


@program("n m")
def without_gradients_inside(x):
    with torch.no_grad():
        y = x * 2
    return y, y.requires_grad, x * y


@program("n m")
def gradients_switched_on_again(x):
    with torch.no_grad(), torch.enable_grad():
        y = x * 2
    return y


@program("n m")
def switched_by_a_call(x):
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(True)
    return y + x, torch.is_grad_enabled()


@program("n m")
def decorated_without_gradients(x):
    @torch.no_grad()
    def mean(value):
        return value.mean()

    return x - mean(x)


@program("n m")
def data_of_a_result(x):
    y = x * 2
    y.data.mul_(3)
    return y


@program("n m")
def custom_function_with_two_results(x):
    values, places = TwoResults.apply(x)
    return values * 2, places


@program("n m")
def hook_on_a_value(x):
    y = x * 2
    if y.requires_grad:
        y.register_hook(lambda gradient: gradient * 3)
    return y.sin()


@stateful("n m")
def hook_that_counts():
    seen = []

    def step(x):
        y = x * 2
        if y.requires_grad:
            y.register_hook(lambda gradient: seen.append(gradient.shape[0]))
        return y.exp()

    return step, seen


@program("n m")
def made_with_gradient(x):
    weight = torch.linspace(0, 1, x.shape[1], requires_grad=True)
    return x * weight, weight.requires_grad, weight.is_leaf


@program("n m")
def required_inside(x):
    y = x.detach()
    y.requires_grad_()
    return y.requires_grad, y.is_leaf


@program("n m")
def second_derivative(x):
    y = x.detach().requires_grad_()
    (first,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), y)
    return second


@program("n m", "m")
def mapped_with_gradient(x, weight):
    def loss(w, row):
        return (row * w).sum().square()

    return torch.vmap(torch.func.grad(loss), (None, 0))(weight.detach(), x.detach())


@program("n m")
def written_to_after_use_of_a_copy(x):
    y = x.sigmoid()
    z = y * 2
    y = y.clone()
    y[0] = 0
    return y + z


@program("n m")
def version_that_autograd_minds(x):
    y = x.exp()
    y.add_(1)
    return y * y


@program("n m")
def unused_and_partly_used(x):
    a, _ = x.chunk(2, 1)
    return a * 2


@program("n m", "int64: n", learned=True)
def cross_entropy(x, target):
    return F.cross_entropy(x, target % x.shape[1], label_smoothing=0.1)


@program("n m")
def clipped_norm(x):
    norm = x.norm()
    return x * (1.0 / (norm + 1e-6)).clamp(max=1.0)


@program("n m")
def inference_inside(x):
    with torch.inference_mode():
        y = (x * 2).sum()
    return float(y) * x


@program("n m")
def leaf_and_need(x):
    y = x * 2
    return y.is_leaf, y.requires_grad, x.detach().is_leaf, y.grad_fn is None


@program("n m", learned=False)
def version_counts(x):
    before = x._version
    x.add_(1)
    x[0].mul_(2)
    return x._version - before


@program("n m")
def saved_tensor_hooks(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved * 2, lambda saved: saved / 2):
        return (x * x).sin()


FAMILY.table(
    {
        "detached": lambda x: (x.detach() * 2, x * 2),
        "detached views": lambda x: (x[0].detach(), x.t().detach(), x[0].data, x.detach()[1] * x[1]),
        "straight through": lambda x: x + (x.round() - x).detach(),
        "custom function": lambda x: Doubled.apply(x, 3.0).sin(),
        "custom function in place": lambda x: InPlace.apply(x * 1),
        "jacobian": lambda x: torch.func.jacrev(lambda row: row.sin() * row)(x[0].detach()),
        "gradient by functions": lambda x: torch.func.grad(lambda value: (value**2).sum())(x.detach()),
        "mapped over rows": lambda x: torch.vmap(lambda row: row.softmax(0) * row.sum())(x),
    },
    "n m",
)
