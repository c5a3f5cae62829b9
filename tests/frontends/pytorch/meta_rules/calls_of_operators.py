"""Calls of operators, generated: the same call on tensors of a trace and on real ones of several sizes and layouts.

A call is a function of a `Maker`, which gives it sizes and tensors: symbolic ones, or real ones at some sizes. What
else it draws it draws from `maker.random`, which is seeded alike for both.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import torch

from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.symbolic.node import Nodes, value_of
from frontends.pytorch.symbolic.tensor import tensor_of
from shapes import ShapeEnv

aten: Final = torch.ops.aten
NAMES: Final = ("a", "b", "c", "d")
FLOATS: Final = (torch.float32, torch.float32, torch.float64, torch.bfloat16)
INTS: Final = (torch.int64, torch.int32, torch.bool)
LAYOUTS: Final = ("packed", "packed", "permuted", "gaps", "repeated")


class Maker:
    """Gives a call its sizes and tensors."""

    def __init__(self, seed: int, values: Mapping[str, int], recorder: Recorder | None = None) -> None:
        self.random = random.Random(seed)
        self.values = values
        self.recorder = recorder
        for name in NAMES:
            setattr(self, name, self.size(name))

    def size(self, name: str) -> object:
        if self.recorder is None:
            return self.values[name]
        env = self.recorder.env
        return self.recorder.nodes.wrap(env.symbol(name, lo=1, hint=self.values[name]))

    def dtype(self, *kinds: torch.dtype) -> torch.dtype:
        return self.random.choice(kinds or FLOATS)

    def dims(self, low: int = 1, high: int = 4) -> list[object]:
        """Some sizes, one of which may be 1."""
        rank = self.random.randint(low, high)
        return [self.random.choice((*[getattr(self, name) for name in NAMES], 1, 3)) for _ in range(rank)]

    def tensor(self, *sizes: object, dtype: torch.dtype = torch.float32, layout: str | None = None) -> torch.Tensor:
        """A tensor of these sizes in one of several layouts."""
        layout = layout or self.random.choice(LAYOUTS)
        order = list(range(len(sizes)))[::-1]
        if layout != "packed":
            self.random.shuffle(order)
        repeated = self.random.choice(order) if layout == "repeated" and order else None
        strides: list[object] = [0] * len(sizes)
        step: object = 1
        for place, axis in enumerate(order):
            if axis != repeated:
                strides[axis] = step
                step = step * (sizes[axis] + 2 if layout == "gaps" and place == 0 else sizes[axis])
        if self.recorder is None:
            made = torch.empty_strided(sizes, strides, dtype=dtype)
            if repeated is None:
                made.copy_(torch.randn(tuple(sizes)) if dtype.is_floating_point else torch.randint(0, 2, tuple(sizes)))
            else:
                made.select(repeated, 0).fill_(1)
            return made
        kinds = self.recorder.kinds
        kind = kinds.laid(
            [value_of(size) for size in sizes], [value_of(stride) for stride in strides], 0, dtype, torch.device("cpu")
        )
        return tensor_of(kind, self.recorder.recording.result(kind))

    def image(self, *sizes: object) -> torch.Tensor:
        """A tensor that mostly has a layout of images."""
        return self.tensor(*sizes, layout=self.pick("packed", "packed", "packed", "permuted"))

    def pick(self, *choices: object) -> object:
        return self.random.choice(choices)


Call = tuple[object, Sequence[object], Mapping[str, object]]
Calls = Callable[[Maker], Call]


def symbolic(calls: Calls, seed: int, values: Mapping[str, int]) -> tuple[Recorder, Call]:
    """A call on tensors of a trace of its own."""
    env = ShapeEnv(origin=lambda: None)
    recorder = Recorder(env, Nodes(env))
    return recorder, calls(Maker(seed, values, recorder))


def real(calls: Calls, seed: int, values: Mapping[str, int]) -> Call:
    """The same call on real tensors."""
    return calls(Maker(seed, values))


# ---------------------------------------------------------------------- element-wise


def pointwise(func: object, operands: int, *rest: object, kinds: Sequence[torch.dtype] = FLOATS) -> Calls:
    """Operands that broadcast: some sizes left out in front, some replaced by 1."""

    def calls(make: Maker) -> Call:
        sizes = make.dims(1, 4)
        tensors = []
        for place in range(operands):
            own = list(sizes)
            if place and make.random.random() < 0.5:
                own = own[make.random.randint(0, len(own)) :]
                own = [1 if make.random.random() < 0.3 else size for size in own]
            tensors.append(make.tensor(*own, dtype=make.dtype(*kinds)))
        if make.random.random() < 0.3:
            tensors.reverse()
        return func, [*tensors, *rest], {}

    return calls


def same_sizes(func: object, operands: int, *rest: object, dtype: torch.dtype = torch.float32) -> Calls:
    """Operands of the same sizes."""

    def calls(make: Maker) -> Call:
        sizes = make.dims(1, 4)
        return func, [*[make.tensor(*sizes, dtype=dtype) for _ in range(operands)], *rest], {}

    return calls


def where(make: Maker) -> Call:
    func, tensors, _ = pointwise(aten.where.self, 3)(make)
    shape = [*tensors[0].shape]
    return func, [make.tensor(*shape, dtype=torch.bool), *tensors[1:]], {}


def masked_fill(make: Maker) -> Call:
    func, tensors, _ = pointwise(aten.masked_fill.Scalar, 2)(make)
    mask = make.tensor(*tensors[1].shape, dtype=torch.bool)
    return func, [tensors[0], mask, 2.0], {}


# ---------------------------------------------------------------------- views


def view(make: Maker) -> Call:
    a, b, c = make.a, make.b, make.c
    old, new = make.pick(
        ([a, b, 6 * c], [a, b, c, 6]), ([a, b, 6 * c], [a * b, 6 * c]), ([a, b, 6 * c], [a, b, -1, 6]),
        ([a * b, c], [a, b, c]), ([a, b, c], [-1]), ([a, b, 1, c], [a, b, c]), ([a, b], [a, 1, b]), ([a, 4], [2, a, 2]),
    )  # fmt: skip
    return aten.view.default, [make.tensor(*old, layout=make.pick("packed", "gaps")), new], {}


def expand(make: Maker) -> Call:
    a, b, c = make.a, make.b, make.c
    old, new = make.pick(([a, 1], [a, b]), ([1, b], [c, -1, -1]), ([1], [a]), ([a, b], [2, -1, -1]))
    return aten.expand.default, [make.tensor(*old), new], {}


def axes(func: object, low: int, *choices: Callable[[int, random.Random], Sequence[object]]) -> Calls:
    """A tensor and arguments that depend on its rank."""

    def calls(make: Maker) -> Call:
        sizes = make.dims(low, 4)
        return func, [make.tensor(*sizes), *make.pick(*choices)(len(sizes), make.random)], {}

    return calls


def slices(make: Maker) -> Call:
    sizes = make.dims(1, 3)
    axis = make.random.randrange(len(sizes))
    start, end, step = make.pick((0, 2, 1), (1, None, 1), (None, None, 2), (-2, None, 1), (0, 2**63 - 1, 1), (1, -1, 1))
    return aten.slice.Tensor, [make.tensor(*sizes), axis, start, end, step], {}


def slice_backward(make: Maker) -> Call:
    size = make.a + 2
    return aten.slice_backward.default, [make.tensor(make.b, make.a), [make.b, size], 1, 0, size - 2, 1], {}


# ---------------------------------------------------------------------- products and reductions


def product(func: object, *shapes: Callable[[Maker], Sequence[object]]) -> Calls:
    def calls(make: Maker) -> Call:
        dtype = make.dtype(torch.float32, torch.float64)
        return func, [make.tensor(*shape(make), dtype=dtype) for shape in shapes], {}

    return calls


def reduction(func: object, *, several: bool = True, kinds: Sequence[torch.dtype] = FLOATS, **options: object) -> Calls:
    def calls(make: Maker) -> Call:
        sizes = make.dims(1, 4)
        rank = len(sizes)
        dims: object = make.random.sample(range(-rank, 0), make.random.randint(1, rank)) if several else -1
        args = [make.tensor(*sizes, dtype=make.dtype(*kinds)), dims, make.pick(True, False)]
        return func, args, dict(options)

    return calls


def whole(func: object, kinds: Sequence[torch.dtype] = FLOATS) -> Calls:
    def calls(make: Maker) -> Call:
        return func, [make.tensor(*make.dims(1, 4), dtype=make.dtype(*kinds))], {}

    return calls


def scan(func: object) -> Calls:
    return lambda make: (func, [make.tensor(*make.dims(1, 4), dtype=make.dtype(*FLOATS, *INTS)), -1], {})


def gather(make: Maker) -> Call:
    index = make.tensor(make.a, make.c, dtype=torch.int64)
    return aten.gather.default, [make.tensor(make.a, make.b + 2), 1, index], {}


def index_select(make: Maker) -> Call:
    index = make.tensor(make.c, dtype=torch.int64)
    return aten.index_select.default, [make.tensor(make.a, make.b + 2, make.d), 1, index], {}


# ---------------------------------------------------------------------- normalization and softmax


def layer_norm(make: Maker) -> Call:
    sizes = [*make.dims(1, 2), 8]
    bias = make.pick(None, torch.ones(8))
    return aten.native_layer_norm.default, [make.tensor(*sizes), [8], torch.ones(8), bias, 1e-5], {}


def layer_norm_backward(make: Maker) -> Call:
    a, b = make.a, make.b
    statistics = [make.tensor(a, b, 1, layout="packed") for _ in range(2)]
    args = [make.tensor(a, b, 8), make.tensor(a, b, 8), [8], *statistics, torch.ones(8), torch.ones(8)]
    return aten.native_layer_norm_backward.default, [*args, [True, make.pick(True, False), True]], {}


def group_norm(make: Maker) -> Call:
    x = make.tensor(make.a, 8, make.b, make.c)
    return aten.native_group_norm.default, [x, torch.ones(8), torch.ones(8), make.a, 8, make.b * make.c, 4, 1e-5], {}


def group_norm_backward(make: Maker) -> Call:
    a, b, c = make.a, make.b, make.c
    x = [make.tensor(a, 8, b, c, layout="packed") for _ in range(2)]
    statistics = [make.tensor(a, 4, layout="packed") for _ in range(2)]
    return aten.native_group_norm_backward.default, [*x, *statistics, torch.ones(8), a, 8, b * c, 4, [True] * 3], {}


def batch_norm(make: Maker) -> Call:
    sizes = make.pick([make.a, 4], [make.a, 4, make.b], [make.a, 4, make.b, make.c])
    training = make.pick(True, False)
    args = [make.image(*sizes), *[torch.ones(4) for _ in range(4)], training, 0.1, 1e-5]
    return aten._native_batch_norm_legit.default, args, {}


def batch_norm_backward(make: Maker) -> Call:
    x = [make.tensor(make.a + 1, 4, make.b, make.c, layout="packed") for _ in range(2)]
    return aten.native_batch_norm_backward.default, [*x, *[torch.ones(4) for _ in range(5)], True, 1e-5, [True] * 3], {}


def softmax(func: object, *rest: object) -> Calls:
    return lambda make: (func, [make.tensor(*make.dims(1, 4)), -1, *rest], {})


# ---------------------------------------------------------------------- tables, losses, images, joining


def embedding(make: Maker) -> Call:
    return aten.embedding.default, [torch.ones(7, 5), make.tensor(*make.dims(1, 3), dtype=torch.int64)], {}


def embedding_backward(make: Maker) -> Call:
    a, b = make.a, make.b
    grad, rows = make.tensor(a, b, 5), make.tensor(a, b, dtype=torch.int64, layout="packed")
    return aten.embedding_dense_backward.default, [grad, rows, 7, -1, False], {}


def nll_loss(make: Maker) -> Call:
    x, classes = make.tensor(make.a, 3), make.tensor(make.a, dtype=torch.int64, layout="packed")
    return aten.nll_loss_forward.default, [x, classes, None, make.pick(0, 1, 2), -100], {}


def nll_loss_backward(make: Maker) -> Call:
    x, classes = make.tensor(make.a, 3), make.tensor(make.a, dtype=torch.int64, layout="packed")
    one = make.tensor(layout="packed")
    return aten.nll_loss_backward.default, [one, x, classes, None, 1, -100, one], {}


def convolution(make: Maker) -> Call:
    transposed = make.pick(False, False, True)
    x = make.tensor(make.a, 4, make.b + 2, make.c + 2, layout=make.pick("packed", "packed", "permuted"))
    weight = torch.ones(4, 4, *make.pick((3, 3), (1, 1)))
    numbers = [[make.pick(1, 2)] * 2, [1, 1], [1, 1], transposed, [0, 0], 1]
    return aten.convolution.default, [x, weight, make.pick(None, torch.ones(4)), *numbers], {}


def convolution_backward(make: Maker) -> Call:
    a, b, c = make.a, make.b, make.c
    grad, x = make.tensor(a, 6, b, c, layout="packed"), make.tensor(a, 4, b, c, layout="packed")
    numbers = [[1, 1], [1, 1], [1, 1], False, [0, 0], 1, [make.pick(True, False), True, True]]
    return aten.convolution_backward.default, [grad, x, torch.ones(6, 4, 3, 3), [6], *numbers], {}


def max_pool(make: Maker) -> Call:
    x = make.image(make.a, 3, make.b + 2, make.c + 2)
    return aten.max_pool2d_with_indices.default, [x, [3, 3], [2, 2], [1, 1]], {}


def adaptive_pool(make: Maker) -> Call:
    return aten._adaptive_avg_pool2d.default, [make.image(make.a, 3, make.b, make.c), [make.pick(1, 2, make.d), 1]], {}


def resampled(make: Maker) -> Call:
    func, rest = make.pick((aten.upsample_nearest2d.default, []), (aten.upsample_bilinear2d.default, [False]))
    return func, [make.image(make.a, 3, make.b, make.c), [make.c, 2 * make.b], *rest], {}


def resampled_backward(make: Maker) -> Call:
    func, rest = make.pick(
        (aten.upsample_nearest2d_backward.default, []), (aten.upsample_bilinear2d_backward.default, [False])
    )
    a, b, c = make.a, make.b, make.c
    return func, [make.tensor(a, 3, 2 * b, c, layout="packed"), [2 * b, c], [a, 3, b, c], *rest], {}


def joined(func: object) -> Calls:
    def calls(make: Maker) -> Call:
        sizes = make.dims(1, 4)
        tensors = [make.tensor(*sizes, dtype=make.dtype()) for _ in range(make.random.randint(1, 3))]
        return func, [tensors, make.random.randrange(len(sizes))], {}

    return calls


def repeat(make: Maker) -> Call:
    return aten.repeat.default, [make.tensor(make.a, 1, make.b), make.pick([2, make.c, 1], [1, 3, 1, make.d])], {}


def padded(make: Maker) -> Call:
    return aten.constant_pad_nd.default, [make.tensor(*make.dims(2, 4)), make.pick([1, 0], [1, 2, 0, 3]), 0.5], {}


# ---------------------------------------------------------------------- fresh tensors


def copied(func: object, *rest: object, **options: Sequence[object]) -> Calls:
    def calls(make: Maker) -> Call:
        chosen = {name: make.pick(*values) for name, values in options.items()}
        return func, [make.tensor(*make.dims(1, 4)), *rest], {k: v for k, v in chosen.items() if v is not None}

    return calls


def fresh(func: object, *rest: object) -> Calls:
    return lambda make: (func, [make.dims(0, 3), *rest], {"dtype": make.pick(None, torch.float64, torch.int64)})


def new(func: object, *rest: object) -> Calls:
    return lambda make: (func, [make.tensor(make.a, dtype=make.dtype()), make.dims(0, 3), *rest], {})


def counted(make: Maker) -> Call:
    func, numbers = make.pick(
        (aten.arange.default, [make.a]), (aten.arange.start, [1, make.a + make.b]),
        (aten.arange.start_step, [0, make.a * make.b, make.c]),
    )  # fmt: skip
    return func, numbers, {}
