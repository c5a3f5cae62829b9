"""The fused kernels that this project is about, forward and backward, as handwritten programs."""

from __future__ import annotations

import torch

from backends.loops.nodes import Gather
from tests.backends.programs import Case, mean, normalized, softmax

EDGES = (0, 1, 33, 128, 129)


def scaled(b, x, factor):
    return b.apply("mul", x, b.number(factor, x.dtype))


def gelu_with_bias(b, x, bias):
    x = b.apply("add", x, b.expand(bias, x.sizes))
    bent = b.apply("add", b.apply("erf", scaled(b, x, 0.5**0.5)), b.number(1.0, "float32"))
    return [b.apply("mul", scaled(b, x, 0.5), bent)]


def gelu_backward(b, gradient, x):
    bent = scaled(b, b.apply("add", b.apply("erf", scaled(b, x, 0.5**0.5)), b.number(1.0, "float32")), 0.5)
    bell = scaled(b, b.apply("exp", scaled(b, b.apply("mul", x, x), -0.5)), 0.3989422804014327)
    return [b.apply("mul", gradient, b.apply("add", bent, b.apply("mul", x, bell)))]


def layer_norm(b, x, weight, bias):
    whole, factor = normalized(b, x, 1)
    scaled_whole = b.apply("mul", whole, b.expand(weight, x.sizes))
    return [b.apply("add", scaled_whole, b.expand(bias, x.sizes)), b.squeeze(factor, (1,))]


def layer_norm_backward(b, gradient, whole, factor, weight):
    scaled_gradient = b.apply("mul", gradient, b.expand(weight, gradient.sizes))
    along = b.expand(mean(b, b.apply("mul", scaled_gradient, whole), 1), whole.sizes)
    centred = b.apply("sub", scaled_gradient, b.expand(mean(b, scaled_gradient, 1), whole.sizes))
    rest = b.apply("sub", centred, b.apply("mul", whole, along))
    return [
        b.apply("mul", rest, b.expand(b.unsqueeze(factor, 1), rest.sizes)),
        b.reduce("sum", b.apply("mul", gradient, whole), (0,)),
        b.reduce("sum", gradient, (0,)),
    ]


def layer_norm_backward_eager(gradient, whole, factor, weight):
    inside = gradient * weight
    rest = inside - inside.mean(1, True) - whole * (inside * whole).mean(1, True)
    return [rest * factor[:, None], (gradient * whole).sum(0), gradient.sum(0)]


def masked_softmax(b, x, mask):
    return [softmax(b, b.apply("select", mask, x, b.number(float("-inf"), "float32")), 1)]


def softmax_backward(b, gradient, y):
    product = b.apply("mul", gradient, y)
    total = b.expand(b.reduce("sum", product, (1,), keepdim=True), y.sizes)
    return [b.apply("sub", product, b.apply("mul", y, total))]


def rms_norm_with_residual(b, x, residual, weight):
    x = b.apply("add", x, residual)
    factor = b.apply("rsqrt", b.apply("add", mean(b, b.apply("mul", x, x), 1), b.number(1e-6, "float32")))
    whole = b.apply("mul", x, b.expand(factor, x.sizes))
    return [b.apply("mul", whole, b.expand(weight, x.sizes)), x]


def rms_eager(x, residual, weight):
    x = x + residual
    return [x * (x.pow(2).mean(1, True) + 1e-6).rsqrt() * weight, x]


def rotary(b, x, cosine, sine):
    """x as (batch, tokens, 2, half): both halves are turned."""
    first, second = [b.select(x, 2, b.lift(side)) for side in (0, 1)]
    c, s = [b.expand(each, first.sizes) for each in (cosine, sine)]
    return [
        b.apply("sub", b.apply("mul", first, c), b.apply("mul", second, s)),
        b.apply("add", b.apply("mul", second, c), b.apply("mul", first, s)),
    ]


def cross_entropy(b, logits, target):
    top = b.expand(b.reduce("maximum", logits, (1,), keepdim=True), logits.sizes)
    total = b.reduce("sum", b.apply("exp", b.apply("sub", logits, top)), (1,))
    place = b.apply("remainder", target, b.number(logits.sizes[1], "int64"))
    chosen = Gather(target.sizes, "float32", logits, (b.axis(0), place))
    largest = b.reduce("maximum", logits, (1,))
    each = b.apply("sub", b.apply("add", b.apply("log", total), largest), chosen)
    return [mean(b, each, 0, keepdim=False)]


def dropout_with_residual(b, x, mask, residual):
    kept = b.apply("mul", x, b.cast(mask, "float32"))
    return [b.apply("add", scaled(b, kept, 1 / 0.9), residual)]


def group_norm(b, x, weight):
    """x as (batch, 4 groups, channels of a group, places)."""
    count = b.number(x.sizes[2] * x.sizes[3], "float32")
    average = b.apply("div", b.reduce("sum", x, (2, 3), keepdim=True), count)
    centred = b.apply("sub", x, b.expand(average, x.sizes))
    squares = b.reduce("sum", b.apply("mul", centred, centred), (2, 3), keepdim=True)
    factor = b.apply("rsqrt", b.apply("add", b.apply("div", squares, count), b.number(1e-5, "float32")))
    whole = b.apply("mul", centred, b.expand(factor, x.sizes))
    return [b.apply("mul", whole, b.expand(b.unsqueeze(weight, 2), x.sizes))]


def fmax_and_comparison(b, x, y):
    return [b.apply("fmax", x, b.expand(y, x.sizes)), b.apply("gt", x, b.expand(b.apply("abs", y), x.sizes))]


def group_norm_eager(x, weight):
    flat = torch.nn.functional.group_norm(x.flatten(1, 2), 4, weight.flatten())
    return [flat.view_as(x)]


CASES = [
    Case(
        "gelu with bias",
        ("b s", "s"),
        gelu_with_bias,
        lambda x, bias: [torch.nn.functional.gelu(x + bias)],
    ),
    Case("softmax", ("b s",), lambda b, x: [softmax(b, x, 1)], lambda x: [x.softmax(1)]),
    Case(
        "layer norm",
        ("b s", "s", "s"),
        layer_norm,
        lambda x, w, v: [
            torch.nn.functional.layer_norm(x, w.shape, w, v),
            (x.var(1, unbiased=False) + 1e-5).rsqrt(),
        ],
    ),
    Case(
        "masked softmax",
        ("b s", "bool:b s"),
        masked_softmax,
        lambda x, mask: [x.masked_fill(~mask, float("-inf")).softmax(1)],
    ),
    Case("column sum", ("b s",), lambda b, x: [b.reduce("sum", x, (0,))], lambda x: [x.sum(0)]),
    Case("RMS norm with residual", ("b s", "b s", "s"), rms_norm_with_residual, rms_eager),
    Case(
        "rotary",
        ("b 3 2 s", "3 s", "3 s"),
        rotary,
        lambda x, c, s: [x[:, :, 0] * c - x[:, :, 1] * s, x[:, :, 1] * c + x[:, :, 0] * s],
    ),
    Case(
        "cross entropy",
        ("b s", "int64:b"),
        cross_entropy,
        lambda x, target: [torch.nn.functional.cross_entropy(x, target % x.shape[1])],
        kernels=2,
    ),
    Case(
        "dropout with residual",
        ("b s", "bool:b s", "b s"),
        dropout_with_residual,
        lambda x, mask, residual: [x * mask / 0.9 + residual],
    ),
    Case("group norm", ("b 4 3 s", "4 3"), group_norm, group_norm_eager),
    Case(
        "gelu, backward",
        ("b s", "b s"),
        gelu_backward,
        lambda g, x: [torch.ops.aten.gelu_backward(g, x)],
    ),
    Case(
        "softmax, backward",
        ("b s", "b s"),
        softmax_backward,
        lambda g, y: [torch.ops.aten._softmax_backward_data(g, y, 1, torch.float32)],
    ),
    Case(
        "layer norm, backward",
        ("b s", "b s", "b", "s"),
        layer_norm_backward,
        layer_norm_backward_eager,
        kernels=2,
    ),
    Case(
        "a number in memory",
        ("s", ""),
        fmax_and_comparison,
        lambda x, y: [torch.fmax(x, y), x > y.abs()],
        kernels=2,
    ),
    Case(
        "numbers in memory",
        ("", ""),
        lambda b, x, y: [b.apply("select", b.apply("gt", x, y), b.apply("neg", x), y)],
        lambda x, y: [torch.where(x > y, -x, y)],
    ),
    Case(
        "bfloat16 softmax",
        ("bfloat16:b s",),
        lambda b, x: [b.cast(softmax(b, b.cast(x, "float32"), 1), "bfloat16")],
        lambda x: [x.softmax(1)],
    ),
]
