"""The functions whose kernels are measured, each at six sizes, odd ones among them.

>>> softmax = next(program for program in PROGRAMS if program.name == "softmax")
>>> [tuple(x.shape) for (x,) in softmax.inputs()][:2]
[(8, 128, 768), (1, 1, 4096)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch.nn import functional

from benchmarks.kernels.chains import random_chain

Make = Callable[..., tuple[torch.Tensor, ...]]

ROWS: Final = ((8, 128, 768), (1, 1, 4096), (1, 32, 1000), (4, 1536, 128), (64, 168, 56), (7, 127, 769))
IMAGES: Final = ((8, 32, 28, 28), (2, 64, 7, 7), (1, 32, 1, 1), (4, 16, 56, 56), (3, 24, 13, 17), (16, 8, 33, 31))
HEADS: Final = ((2, 12, 128, 64), (1, 4, 1, 128), (4, 8, 100, 32), (1, 7, 127, 70), (8, 2, 33, 48), (2, 12, 512, 64))
CLASSES: Final = ((1024, 1000), (7, 50257), (32, 1000), (512, 33), (4096, 10), (129, 767))


@dataclass(frozen=True)
class Program:
    """One function.

    Attributes:
        make: the arguments for one of the sizes; those that are floating have a gradient in the backward.
    """

    name: str
    function: Callable[..., torch.Tensor]
    make: Make
    sizes: Sequence[tuple[int, ...]]

    def inputs(self) -> Iterator[tuple[torch.Tensor, ...]]:
        """The arguments at each of the sizes."""
        torch.manual_seed(0)
        for size in self.sizes:
            yield self.make(*size)


def gelu_with_bias(x, bias):
    return functional.gelu(x + bias)


def softmax(x):
    return functional.softmax(x, -1)


def layer_norm(x, weight, bias):
    return functional.layer_norm(x, (x.shape[-1],), weight, bias)


def masked_softmax(x, mask):
    return functional.softmax((x * 0.125).masked_fill(mask, float("-inf")), -1)


def column_sum(x):
    return x.sum((0, 1))


def rms_norm_with_residual(x, residual, weight):
    x = x + residual
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight


def rotary(x, cosine, sine):
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat((-second, first), -1) * sine


def cross_entropy(x, target):
    return functional.cross_entropy(x, target)


def dropout_with_residual(x, residual):
    return functional.dropout(x, 0.1, training=True) + residual


def group_norm(x, weight, bias):
    return functional.group_norm(x, 4 if x.shape[1] % 8 else 8, weight, bias)


def rows(*extra: str) -> Make:
    """A tensor of the size, and more of them: "same", or "last" for one along the last axis."""

    def make(*size: int) -> tuple[torch.Tensor, ...]:
        shapes = {"same": size, "last": size[-1:]}
        return torch.randn(size), *[torch.randn(shapes[name]) for name in extra]

    return make


def with_mask(*size: int) -> tuple[torch.Tensor, ...]:
    mask = torch.rand(size) < 0.3
    mask[..., 0] = False
    return torch.randn(size), mask


def with_angles(*size: int) -> tuple[torch.Tensor, ...]:
    return torch.randn(size), torch.randn(size[-2:]), torch.randn(size[-2:])


def with_target(count: int, classes: int) -> tuple[torch.Tensor, ...]:
    return torch.randn(count, classes), torch.randint(0, classes, (count,))


def image(*size: int) -> tuple[torch.Tensor, ...]:
    return torch.randn(size), torch.randn(size[1]), torch.randn(size[1])


PROGRAMS: Final = (
    Program("gelu with bias", gelu_with_bias, rows("last"), ROWS),
    Program("softmax", softmax, rows(), ROWS),
    Program("layer norm", layer_norm, rows("last", "last"), ROWS),
    Program("masked softmax", masked_softmax, with_mask, ROWS),
    Program("column sum", column_sum, rows(), ROWS),
    Program("RMS norm with residual", rms_norm_with_residual, rows("same", "last"), ROWS),
    Program("rotary embedding", rotary, with_angles, HEADS),
    Program("cross entropy", cross_entropy, with_target, CLASSES),
    Program("dropout with residual", dropout_with_residual, rows("same"), ROWS),
    Program("group norm", group_norm, image, IMAGES),
)

CUBES: Final = ((8, 128, 768), (7, 127, 33), (1, 64, 1000), (64, 56, 56))


def chains(count: int) -> Iterator[Program]:
    """A number of random chains, each at four sizes."""
    for seed in range(count):
        chain = random_chain(seed)
        yield Program(f"chain {seed}", chain.function, chain.inputs, CUBES)
