"""Functions with a gradient of their own."""

import torch
from torch.autograd import Function

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("autograd functions")
stateful, table = FAMILY.stateful, FAMILY.table


class Doubled(Function):
    """A gradient that is twice the true one."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * x.cos() * 2


class Pair(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, first, second):
        x, y = ctx.saved_tensors
        return first * y + second, first * x + second


class Sorted(Function):
    @staticmethod
    def forward(ctx, x):
        order = x.argsort(-1)
        positive = x > 0
        ctx.mark_non_differentiable(order, positive)
        ctx.save_for_backward(order)
        return x.sort(-1).values, order, positive

    @staticmethod
    def backward(ctx, gradient, _, __):
        (order,) = ctx.saved_tensors
        return torch.zeros_like(gradient).scatter(-1, order, gradient)


class Power(Function):
    @staticmethod
    def forward(x, exponent):
        return x**exponent

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.exponent = inputs[1]

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * ctx.exponent * x ** (ctx.exponent - 1), None


class Kept(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = x * 2
        ctx.others = {"rows": [x.shape[0]]}
        return x.cos()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.kept * ctx.others["rows"][0]


class Checkpointed(Function):
    @staticmethod
    def forward(ctx, function, x):
        ctx.function = function
        ctx.save_for_backward(x)
        with torch.no_grad():
            return function(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.function(x)
        return None, torch.autograd.grad(y, x, gradient)[0]


table(
    {
        "with gradients and without": lambda x: (torch.no_grad()(Doubled.apply)(x), Doubled.apply(x)),
        "one of two results": lambda x: Pair.apply(x, x + 1)[0],
        "results without gradients": Sorted.apply,
        "context apart": lambda x: Power.apply(x, 3) + Power.apply(x, 2),
        "attributes of the context": Kept.apply,
        "a checkpoint of its own": lambda x: Checkpointed.apply(lambda y: y.sin().exp(), x) * 2,
    },
    "n m",
)


@stateful("n m")
def function_that_counts():
    seen = []

    class Counted(Function):
        @staticmethod
        def forward(ctx, x):
            seen.append("forward")
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            seen.append("backward")
            return gradient * 2

    return lambda x: Counted.apply(x) + 1, seen
