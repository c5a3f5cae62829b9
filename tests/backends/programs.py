"""Handwritten programs against torch: one for each form of loop nest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from backends.decisions.questions import Decisions
from backends.loops.affine import packed
from backends.loops.nodes import Memory, Rows, Tensor
from backends.loops.program import Program
from shapes import ShapeEnv


@dataclass(frozen=True)
class Case:
    """A tensor expression to build from inputs of these dimensions, and torch's result.

    Attributes:
        inputs: for each input, its dimensions by name, or numbers; a dtype and a colon may come before them.
        kernels: how many kernels it becomes.
        crossed: how many where kernels that go by rows may sum over rows; as many, if not given.
    """

    name: str
    inputs: tuple[str, ...]
    build: Callable[..., Sequence[Tensor]]
    eager: Callable[..., Sequence[torch.Tensor]]
    kernels: int = 1
    interchanged: int | None = None

    def program(self) -> Program:
        env = ShapeEnv(origin=lambda: None)
        names = sorted({word for _, words in self.spelled for word in words if not word.isdigit()})
        symbols = {name: size.expr for name, size in zip(names, env.sizes(" ".join(names)))}
        program = Program(Decisions(env))
        made: list[Memory] = []
        for place, (dtype, words) in enumerate(self.spelled):
            sizes = tuple([symbols[word] if word in symbols else program.build.lift(int(word)) for word in words])
            made.append(program.input(f"x{place}", dtype, sizes, packed(sizes)))
        for value in self.build(program.build, *made):
            program.outputs.append(program.stored(value, packed(value.sizes)))
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


def ragged(x, offsets, width=None):
    """Rows that offsets tell, which may be any numbers."""
    return Rows(offsets, offsets.sizes[0] - 1, x.sizes[0], width)


def pieces(x, offsets, width=None):
    """The same rows as tensors: bounds are clamped, and what a row would have before its beginning it has not."""
    bounds = [min(max(place, 0), len(x)) for place in offsets.tolist()]
    return [x[first : max(first, last)][:width] for first, last in pairwise(bounds)]


def by_row(b, x, rows):
    """For each element, the value of its row."""
    sizes = (rows.total, *x.sizes[1:])
    row = b.view(b.row_of(rows), sizes, (b.axis(0),))
    return b.gather(x, sizes, (row, *b.axes(len(sizes))[1:]))


def ragged_exponentials(b, x, offsets):
    """The maximum of each row, and the sum of the exponentials below it."""
    rows = ragged(x, offsets)
    top = b.reduce_rows("maximum", x, rows)
    return [top, b.reduce_rows("sum", b.apply("exp", b.apply("sub", x, by_row(b, top, rows))), rows)]


def exponentials_of_pieces(x, offsets):
    tops = [
        piece.amax(0) if len(piece) else torch.full(x.shape[1:], float("-inf")) for piece in pieces(x, offsets)
    ]
    return [torch.stack(tops), torch.stack([(p - top).exp().sum(0) for p, top in zip(pieces(x, offsets), tops)])]


def padded_rows(b, x, offsets):
    """Rows padded to seven elements each: the tensor, its sums, and those of a function that padding adds to."""
    width = b.lift(7)
    padded = b.padded(x, ragged(x, offsets, width), width, b.number(0.5, "float32"))
    return [padded, b.reduce("sum", padded, (1,)), b.reduce("sum", b.apply("exp", padded), (1, 2))]


def padded_pieces(x, offsets):
    padded = torch.full((len(offsets) - 1, 7, *x.shape[1:]), 0.5)
    for place, piece in enumerate(pieces(x, offsets, 7)):
        padded[place, : len(piece)] = piece
    return [padded, padded.sum(1), padded.exp().sum((1, 2))]


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


def rows_times(b, x, weight):
    return b.apply("mul", x, b.expand(weight, x.sizes))


def norm_gradients(b, gradient, x, weight, mean, factor):
    centred = b.apply("sub", x, b.expand(mean, x.sizes))
    normal = b.apply("mul", centred, b.expand(factor, x.sizes))
    scaled = rows_times(b, gradient, weight)
    both = [scaled, b.apply("mul", scaled, normal)]
    sums = [b.expand(b.reduce("sum", each, (1,), keepdim=True), x.sizes) for each in both]
    inside = b.apply("sub", b.apply("sub", scaled, sums[0]), b.apply("mul", normal, sums[1]))
    of_weight = b.reduce("sum", b.apply("mul", gradient, normal), (0,))
    return b.apply("mul", inside, b.expand(factor, x.sizes)), of_weight, b.reduce("sum", gradient, (0,))


def eager_norm_gradients(gradient, x, weight, mean, factor):
    normal = (x - mean) * factor
    scaled = gradient * weight
    inside = scaled - scaled.sum(1, True) - normal * (scaled * normal).sum(1, True)
    return inside * factor, (gradient * normal).sum(0), gradient.sum(0)


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
        interchanged=1,
    ),
    Case(
        "columns first, of several axes",
        ("b 3 s", "s"),
        lambda b, x, w: [b.reduce("sum", rows_times(b, x, w), (0, 1)), b.reduce("sum", rows_times(b, x, w), (2,))],
        lambda x, w: [(x * w).sum((0, 1)), (x * w).sum(2)],
        kernels=2,
        interchanged=1,
    ),
    Case(
        "gradients of a norm",
        ("b s", "b s", "s", "b 1", "b 1"),
        norm_gradients,
        eager_norm_gradients,
        kernels=2,
        interchanged=1,
    ),
    Case(
        "costly elements and their sum over rows",
        ("b s", "s"),
        lambda b, x, w: [
            b.apply("exp", rows_times(b, x, w)),
            b.reduce("sum", b.apply("exp", rows_times(b, x, w)), (0,)),
        ],
        lambda x, w: [(x * w).exp(), (x * w).exp().sum(0)],
        interchanged=1,
    ),
    Case(
        "rows that need the sum over rows",
        ("b s",),
        lambda b, x: [b.reduce("sum", b.apply("mul", x, b.expand(b.reduce("sum", x, (0,)), x.sizes)), (1,))],
        lambda x: [(x * x.sum(0)).sum(1)],
        kernels=2,
    ),
    Case(
        "a mean over rows beside one along them",
        ("b s",),
        lambda b, x: [mean(b, x, 0, False), mean(b, x, 1, False)],
        lambda x: [x.mean(0), x.mean(1)],
        kernels=2,
    ),
    Case(
        "rows and columns, along the columns",
        ("b s",),
        lambda b, x: [b.reduce("sum", b.permute(x, (1, 0)), (0,)), b.reduce("sum", x, (0,))],
        lambda x: [x.sum(1), x.sum(0)],
        kernels=2,
        interchanged=1,
    ),
    Case(
        "group norm, centred",
        ("n 6 h", "6"),
        group_norm,
        lambda x, w: [(x.view(len(x), 2, -1) - x.view(len(x), 2, -1).mean(2, True)).view_as(x) * w[:, None]],
    ),
    Case(
        "sums of two tensors that one kernel leaves",
        ("b s 5",),
        lambda b, x: [
            b.reduce("sum", b.reduce("sum", x, (2,)), (0,)),
            b.reduce("sum", b.reduce("maximum", x, (2,)), (0,)),
        ],
        lambda x: [x.sum(2).sum(0), x.amax(2).sum(0)],
        kernels=2,
    ),
    Case(
        "a softmax of column sums",
        ("b s",),
        lambda b, x: [softmax(b, b.unsqueeze(b.reduce("sum", x, (0,)), 0), 1)],
        lambda x: [x.sum(0, True).softmax(1)],
        kernels=2,
    ),
    Case(
        "ragged rows of columns",
        ("s 5", "int64: 6"),
        lambda b, x, offsets: ragged_exponentials(b, x, offsets),
        exponentials_of_pieces,
    ),
    Case(
        "ragged rows",
        ("s", "int32: 4"),
        lambda b, x, offsets: ragged_exponentials(b, x, offsets),
        exponentials_of_pieces,
    ),
    Case(
        "ragged rows reduced with the axis behind",
        ("s 3", "int64: 5"),
        lambda b, x, offsets: [b.reduce_rows("sum", b.apply("mul", x, x), ragged(x, offsets), (0, 1))],
        lambda x, offsets: [torch.stack([(piece * piece).sum() for piece in pieces(x, offsets)])],
    ),
    Case("padded rows", ("s 3", "int64: 5"), padded_rows, padded_pieces, kernels=3),
]
