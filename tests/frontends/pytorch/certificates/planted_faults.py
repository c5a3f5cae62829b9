"""Programs with faults planted in them: a size that becomes a constant, a range that is cut, 32-bit indices, an
alignment, an equality of two inputs. The line of each ends in `# fault` and its kind.

Each is given ranges in which nothing else of it fails, and `SOUND` ones under which nothing fails at all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

Sizes = dict[str, Any]
INT32 = 2**31 - 1


@dataclass(frozen=True)
class Planted:
    """A function or module, its arguments, the ranges in which it fails, and those in which it does not."""

    program: Callable[..., object]
    arguments: Callable[[], Sequence[Tensor]]
    failing: Sizes
    sound: Sizes

    @property
    def source(self) -> Callable[..., object]:
        return type(self.program).forward if isinstance(self.program, nn.Module) else self.program

    def lines(self) -> dict[int, str]:
        """The lines with a fault, and its kind."""
        lines, first = inspect.getsourcelines(self.source)
        marked = [(first + place, line.partition("# fault")[2].strip()) for place, line in enumerate(lines)]
        return {number: kind for number, kind in marked if kind}


def randoms(*shapes: tuple[int, ...]) -> Callable[[], Sequence[Tensor]]:
    def made() -> Sequence[Tensor]:
        generator = torch.Generator().manual_seed(0)
        return [torch.randn(shape, generator=generator) for shape in shapes]

    return made


def only_one(x: Tensor) -> Tensor:
    return x * 2 if x.shape[0] == 1 else x + 1  # fault a size of 1


def unrolled(x: Tensor) -> Tensor:
    total = x.sum(0)
    for step in range(x.shape[0]):  # fault a constant
        total = total + x[step]
    return total


def short_rows(x: Tensor) -> Tensor:
    y = x.relu()
    if y.shape[1] <= 2048:  # fault a range
        return y.softmax(-1)
    return y.exp()


def narrow_numel(x: Tensor) -> Tensor:
    if x.numel() > INT32:  # fault an index width
        raise RuntimeError("too large")
    return x.flatten().cumsum(0)


def added(x: Tensor, y: Tensor) -> Tensor:
    return x + y  # fault an equality


def asserted(x: Tensor, y: Tensor) -> Tensor:
    left, right = x.relu(), y.exp()
    assert left.shape[0] == 2 * right.shape[0]  # fault an equality
    return left.sum() + right.sum()


def two_of_them(x: Tensor, y: Tensor) -> Tensor:
    if x.shape[0] <= 512:  # fault a range
        x = x * 2
    if y.shape[1] % 8 == 0:  # fault an alignment
        y = y + 1
    return x.sum() + y.sum()


class Attention(nn.Module):
    """Self-attention with a table of positions."""

    def __init__(self) -> None:
        super().__init__()
        self.heads, self.width = 2, 16
        self.qkv = nn.Linear(16, 48)
        self.positions = nn.Parameter(torch.zeros(256, 16))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        x = x + self.positions[:length]  # fault a range
        q, k, v = self.qkv(x).view(batch, length, self.heads, -1).transpose(1, 2).chunk(3, -1)
        weights = (q @ k.transpose(-1, -2)).softmax(-1)
        return (weights @ v).transpose(1, 2).reshape(batch, length, width)


ANY = (2, None)
PROGRAMS: dict[str, Planted] = {
    "only_one": Planted(only_one, randoms((1, 3)), {"x.0": (1, 64), "x.1": ANY}, {"x.0": 1, "x.1": ANY}),
    "unrolled": Planted(unrolled, randoms((3, 5)), {"x.0": (2, 8), "x.1": ANY}, {"x.0": 3, "x.1": ANY}),
    "short_rows": Planted(
        short_rows, randoms((3, 5)), {"x.0": ANY, "x.1": (2, 16384)}, {"x.0": ANY, "x.1": (2, 2048)}
    ),
    "narrow_numel": Planted(
        narrow_numel, randoms((3, 5)), {"x.0": (2, 65536), "x.1": (2, 65536)}, {"x.0": (2, 65535), "x.1": (2, 32768)}
    ),
    "added": Planted(added, randoms((4, 6), (4, 6)), {"x.0": (2, 64), "x.1": 6, "y.0": (2, 64), "y.1": 6}, {}),
    "asserted": Planted(
        asserted, randoms((8, 6), (4, 5)), {"x.0": (2, 64), "x.1": ANY, "y.0": (2, 64), "y.1": ANY}, {}
    ),
    "two_of_them": Planted(
        two_of_them,
        randoms((3, 5), (7, 8)),
        {"x.0": (2, 8192), "x.1": ANY, "y.0": ANY, "y.1": (2, 64)},
        {"x.0": (2, 512), "x.1": ANY, "y.0": ANY, "y.1": (8, 64, 8)},
    ),
    "Attention": Planted(
        Attention(),
        randoms((2, 5, 16)),
        {"x.0": ANY, "x.1": (2, 4096), "x.2": 16},
        {"x.0": ANY, "x.1": (2, 255), "x.2": 16},
    ),
}
"""The programs by name."""
FACTS = {"added": "x.0 == y.0", "asserted": "x.0 == 2 * y.0"}
"""Facts that programs with two matching inputs need besides."""

__all__ = ["FACTS", "PROGRAMS", "Planted"]
