"""Programs written by hand against what torch computes: one for each way in which loops are put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from backends.decisions import Decisions
from backends.loops.program import Program
from backends.loops.schedule import contiguous
from backends.loops.tensors import Memory, Tensor
from shapes import ShapeEnv


@dataclass(frozen=True)
class Case:
    """What to build from inputs of these dimensions, and what torch says.

    Attributes:
        inputs: for each input, its dimensions by name, or numbers; a dtype and a colon may come before them.
        kernels: how many kernels it becomes.
    """

    name: str
    inputs: tuple[str, ...]
    build: Callable[..., Sequence[Tensor]]
    eager: Callable[..., Sequence[torch.Tensor]]
    kernels: int = 1

    def program(self) -> Program:
        env = ShapeEnv(origin=lambda: None)
        names = sorted({word for _, words in self.spelled for word in words if not word.isdigit()})
        symbols = {name: size.expr for name, size in zip(names, env.sizes(" ".join(names)))}
        program = Program(Decisions(env))
        made: list[Memory] = []
        for place, (dtype, words) in enumerate(self.spelled):
            sizes = tuple([symbols[word] if word in symbols else program.build.lift(int(word)) for word in words])
            made.append(program.input(f"x{place}", dtype, sizes, contiguous(program.build, sizes)))
        for value in self.build(program.build, *made):
            program.outputs.append(program.stored(value, contiguous(program.build, value.sizes)))
        return program

    def tensors(self, **sizes: int) -> list[torch.Tensor]:
        return [
            random(dtype, [sizes[word] if word in sizes else int(word) for word in words])
            for dtype, words in self.spelled
        ]

    @property
    def spelled(self) -> list[tuple[str, list[str]]]:
        """The dtype and the dimensions of each input."""
        parts = [given.rpartition(":") for given in self.inputs]
        return [(dtype or "float32", words.split()) for dtype, _, words in parts]


def random(dtype: str, sizes: Sequence[int]) -> torch.Tensor:
    """Normal numbers, or small ones where they are whole."""
    kind = getattr(torch, dtype)
    if kind.is_floating_point:
        return torch.randn(sizes).to(kind)
    return torch.randint(0, 2 if dtype == "bool" else 9, sizes).to(kind)


def mean(b, x, axis, keepdim=True):
    return b.apply("div", b.reduce("sum", x, (axis,), keepdim=keepdim), b.number(x.sizes[axis], x.dtype))


def softmax(b, x, axis):
    shifted = b.apply("sub", x, b.expand(b.reduce("maximum", x, (axis,), keepdim=True), x.sizes))
    exponential = b.apply("exp", shifted)
    return b.apply("div", exponential, b.expand(b.reduce("sum", exponential, (axis,), keepdim=True), x.sizes))


def normalized(b, x, axis):
    centred = b.apply("sub", x, b.expand(mean(b, x, axis), x.sizes))
    variance = mean(b, b.apply("mul", centred, centred), axis)
    factor = b.apply("rsqrt", b.apply("add", variance, b.number(1e-5, "float32")))
    return b.apply("mul", centred, b.expand(factor, x.sizes)), factor


def layer_norm(b, x, weight):
    whole, factor = normalized(b, x, 1)
    return b.apply("mul", whole, b.expand(weight, x.sizes)), b.squeeze(factor, (1,))


def group_norm(b, x, weight):
    n, c, h = x.sizes
    grouped = b.reshape(x, (n, b.lift(2), b.lift(3), h))
    total = b.reduce("sum", grouped, (2, 3), keepdim=True)
    centred = b.apply("sub", grouped, b.expand(b.apply("div", total, b.number(h * 3, "float32")), grouped.sizes))
    back = b.reshape(centred, (n, c, h))
    return [b.apply("mul", back, b.expand(b.unsqueeze(weight, 1), x.sizes))]


CASES = [
    Case(
        "pointwise",
        ("b s", "s"),
        lambda b, x, y: [b.apply("exp", b.apply("add", x, b.expand(y, x.sizes)))],
        lambda x, y: [(x + y).exp()],
    ),
    Case(
        "transposed",
        ("b s", "s b"),
        lambda b, x, y: [b.apply("mul", x, b.permute(y, (1, 0)))],
        lambda x, y: [x * y.t()],
    ),
    Case("softmax", ("b s",), lambda b, x: [softmax(b, x, 1)], lambda x: [x.softmax(1)]),
    Case("softmax, middle", ("b s 5",), lambda b, x: [softmax(b, x, 1)], lambda x: [x.softmax(1)]),
    Case("softmax, first", ("b s",), lambda b, x: [softmax(b, x, 0)], lambda x: [x.softmax(0)]),
    Case(
        "layer norm",
        ("b s", "s"),
        layer_norm,
        lambda x, w: [
            torch.nn.functional.layer_norm(x, w.shape, w),
            (x.var(1, unbiased=False) + 1e-5).rsqrt(),
        ],
    ),
    Case(
        "columns",
        ("b s",),
        lambda b, x: [b.reduce("sum", x, (0,))],
        lambda x: [x.sum(0)],
    ),
    Case("total", ("b s",), lambda b, x: [b.reduce("sum", x, (0, 1))], lambda x: [x.sum()]),
    Case(
        "rows and columns",
        ("b s",),
        lambda b, x: [b.reduce("sum", x, (0,)), b.reduce("sum", x, (1,))],
        lambda x: [x.sum(0), x.sum(1)],
        kernels=2,
    ),
    Case(
        "group norm, centred",
        ("n 6 h", "6"),
        group_norm,
        lambda x, w: [(x.view(len(x), 2, -1) - x.view(len(x), 2, -1).mean(2, True)).view_as(x) * w[:, None]],
    ),
    Case(
        "a softmax of column sums",
        ("b s",),
        lambda b, x: [softmax(b, b.unsqueeze(b.reduce("sum", x, (0,)), 0), 1)],
        lambda x: [x.sum(0, True).softmax(1)],
        kernels=2,
    ),
]
