"""Autograd inside of a program and around it."""

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("gradients")
program = FAMILY.program
stateful = FAMILY.stateful


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
def gradient_of_the_argument(x):
    (gradient,) = torch.autograd.grad((x**2).sum(), x, create_graph=True)
    return gradient


@program("n m")
def backward_inside(x):
    leaf = torch.ones(x.shape[1], requires_grad=True)
    (x.detach() * leaf).sum().backward()
    return leaf.grad, x * leaf.detach()


@stateful("n 4")
def accumulated_gradients():
    model = torch.nn.Linear(4, 3)

    def step(x):
        for part in x.detach().split(2):
            (model(part).sum() / 2).backward()
        return x + 1

    return step, model


@program("n m")
def custom_function_with_two_results(x):
    values, places = TwoResults.apply(x)
    return values * 2, places


@stateful("n m")
def hook_that_counts():
    seen = []

    def step(x):
        y = x * 2
        if y.requires_grad:
            y.register_hook(lambda gradient: seen.append(gradient.shape[0]))
        return y.exp()

    return step, seen


@program("n m", "m")
def mapped_with_gradient(x, weight):
    def loss(w, row):
        return (row * w).sum().square()

    return torch.vmap(torch.func.grad(loss), (None, 0))(weight.detach(), x.detach())


@program("n m")
def inference_inside(x):
    with torch.inference_mode():
        y = (x * 2).sum()
    return float(y) * x


@program("n m", learned=False)
def version_counts(x):
    before = x._version
    x.add_(1)
    x[0].mul_(2)
    return x._version - before


FAMILY.table(
    {
        "custom function in place": lambda x: InPlace.apply(x * 1),
        "jacobian": lambda x: torch.func.jacrev(lambda row: row.sin() * row)(x[0].detach()),
    },
    "n m",
)
