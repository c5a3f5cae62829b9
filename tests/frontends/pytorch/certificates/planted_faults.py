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
from torch.nn import functional

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


def empty(x: Tensor) -> Tensor:
    return x + 1 if x.shape[0] == 0 else x * 2  # fault a size of 0


def unrolled(x: Tensor) -> Tensor:
    total = x.sum(0)
    for step in range(x.shape[0]):  # fault a constant
        total = total + x[step]
    return total


def table_of(x: Tensor) -> Tensor:
    y = x.relu()
    return y * 3 if y.shape[1] == 12 else y  # fault a constant


def short_rows(x: Tensor) -> Tensor:
    y = x.relu()
    if y.shape[1] <= 8192:  # fault a range
        return y.softmax(-1)
    return y.exp()




def narrow_indices(x: Tensor) -> Tensor:
    elements = x.shape[0] * x.shape[1]
    kind = torch.int32 if elements <= INT32 else torch.int64  # fault an index width
    return torch.arange(x.shape[0], dtype=kind) + x.sum(1)


def narrow_numel(x: Tensor) -> Tensor:
    if x.numel() > INT32:  # fault an index width
        raise RuntimeError("too large")
    return x.flatten().cumsum(0)


def aligned(x: Tensor) -> Tensor:
    if x.shape[1] % 16 == 0:  # fault an alignment
        return x.view(x.shape[0], -1, 16).sum(-1)
    return x.sum(-1, keepdim=True)


def paired(x: Tensor) -> Tensor:
    y = x * 3
    return y.view(-1, 2).sum(-1)  # fault an alignment


def added(x: Tensor, y: Tensor) -> Tensor:
    return x + y  # fault an equality


def asserted(x: Tensor, y: Tensor) -> Tensor:
    left, right = x.relu(), y.exp()
    assert left.shape[0] == 2 * right.shape[0]  # fault an equality
    return left.sum() + right.sum()


def joined(x: Tensor, y: Tensor) -> Tensor:
    both = torch.cat([x, y])  # fault an equality
    return both.relu()


def two_of_them(x: Tensor, y: Tensor) -> Tensor:
    if x.shape[0] <= 4096:  # fault a range
        x = x * 2
    if y.shape[1] % 8 == 0:  # fault an alignment
        y = y + 1
    return x.sum() + y.sum()


def three_of_them(x: Tensor, y: Tensor) -> Tensor:
    x, y = x.relu(), y.relu()
    if x.shape[1] % 4 == 0:  # fault an alignment
        x = x * 2
    if x.shape[0] * x.shape[1] < 2**31:  # fault an index width
        x = x + 1
    assert y.shape[1] == 12  # fault a constant
    return x.sum() + y.sum()


class Attention(nn.Module):
    """Self-attention with a table of positions."""

    def __init__(self) -> None:
        super().__init__()
        self.heads, self.width = 2, 16
        self.qkv = nn.Linear(16, 48)
        self.positions = nn.Parameter(torch.zeros(2048, 16))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        x = x + self.positions[:length]  # fault a range
        q, k, v = self.qkv(x).view(batch, length, self.heads, -1).transpose(1, 2).chunk(3, -1)
        weights = (q @ k.transpose(-1, -2)).softmax(-1)
        return (weights @ v).transpose(1, 2).reshape(batch, length, width)


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(8, 32), nn.Linear(32, 8)

    def forward(self, x: Tensor) -> Tensor:
        hidden = functional.gelu(self.up(x))  # fault a constant
        return self.down(hidden)


class Convolutions(nn.Module):
    """A classifier of images of one size."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3, padding=1)
        self.classes = nn.Linear(4 * 6 * 6, 5)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.max_pool2d(self.convolution(x), 2)
        assert y.shape[2] == 6 and y.shape[3] == 6  # fault a constant
        return self.classes(y.flatten(1))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        return self.norm(x) + skip  # fault an equality


class Windows(nn.Module):
    """Attention in windows of four."""

    def forward(self, x: Tensor) -> Tensor:
        windows = x.unflatten(1, (-1, 4))  # fault an alignment
        return windows.mean(2)


class Recurrent(nn.Module):
    """A cell of a recurrent layer, over as many steps as it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(6 + 4, 4)

    def forward(self, x: Tensor) -> Tensor:
        state = x.new_zeros(x.shape[0], 4)
        for step in x.unbind(1):  # fault a constant
            state = self.cell(torch.cat([step, state], 1)).tanh()
        return state


class Sparse(nn.Module):
    """Rows taken by 32-bit positions."""

    def forward(self, x: Tensor, table: Tensor) -> Tensor:
        rows = x.sum(1)
        if table.shape[0] * table.shape[1] > INT32:  # fault an index width
            return rows
        return rows.sum() + table.to(torch.float64).sum()


ANY = (2, None)
PROGRAMS: dict[str, Planted] = {
    "only_one": Planted(only_one, randoms((1, 3)), {"x.0": (1, 64), "x.1": ANY}, {"x.0": 1, "x.1": ANY}),
    "empty": Planted(empty, randoms((0, 3)), {"x.0": (0, 64), "x.1": ANY}, {"x.0": 0, "x.1": ANY}),
    "unrolled": Planted(unrolled, randoms((3, 5)), {"x.0": (2, 8), "x.1": ANY}, {"x.0": 3, "x.1": ANY}),
    "table_of": Planted(table_of, randoms((3, 12)), {"x.0": ANY, "x.1": (2, 16)}, {"x.0": ANY, "x.1": 12}),
    "short_rows": Planted(
        short_rows, randoms((3, 5)), {"x.0": ANY, "x.1": (2, 16384)}, {"x.0": ANY, "x.1": (2, 8192)}
    ),
    "narrow_indices": Planted(
        narrow_indices, randoms((3, 5)), {"x.0": (2, 65536), "x.1": (2, 65536)}, {"x.0": (2, 65535), "x.1": (2, 32768)}
    ),
    "narrow_numel": Planted(
        narrow_numel, randoms((3, 5)), {"x.0": (2, 65536), "x.1": (2, 65536)}, {"x.0": (2, 65535), "x.1": (2, 32768)}
    ),
    "aligned": Planted(
        aligned, randoms((3, 32)), {"x.0": ANY, "x.1": (32, 512, 8)}, {"x.0": ANY, "x.1": (32, 512, 16)}
    ),
    "paired": Planted(paired, randoms((4, 6)), {"x.0": (4, 64), "x.1": 7}, {"x.0": (4, 64, 2), "x.1": 7}),
    "added": Planted(added, randoms((4, 6), (4, 6)), {"x.0": (2, 64), "x.1": 6, "y.0": (2, 64), "y.1": 6}, {}),
    "asserted": Planted(
        asserted, randoms((8, 6), (4, 5)), {"x.0": (2, 64), "x.1": ANY, "y.0": (2, 64), "y.1": ANY}, {}
    ),
    "joined": Planted(joined, randoms((4, 6), (3, 6)), {"x.0": ANY, "x.1": (2, 64), "y.0": ANY, "y.1": (2, 64)}, {}),
    "two_of_them": Planted(
        two_of_them,
        randoms((3, 5), (7, 8)),
        {"x.0": (2, 8192), "x.1": ANY, "y.0": ANY, "y.1": (2, 64)},
        {"x.0": (2, 4096), "x.1": ANY, "y.0": ANY, "y.1": (8, 64, 8)},
    ),
    "three_of_them": Planted(
        three_of_them,
        randoms((3, 8), (5, 12)),
        {"x.0": (2, 2**20), "x.1": (2, 2**20), "y.0": ANY, "y.1": (2, 64)},
        {"x.0": (2, 2**10), "x.1": (4, 2**20, 4), "y.0": ANY, "y.1": 12},
    ),
    "Attention": Planted(
        Attention(),
        randoms((2, 5, 16)),
        {"x.0": ANY, "x.1": (2, 4096), "x.2": 16},
        {"x.0": ANY, "x.1": (2, 2047), "x.2": 16},
    ),
    "Perceptron": Planted(Perceptron(), randoms((3, 8)), {"x.0": ANY, "x.1": (2, 8)}, {"x.0": ANY, "x.1": 8}),
    "Convolutions": Planted(
        Convolutions(),
        randoms((2, 3, 12, 13)),
        {"x.0": (2, 8), "x.1": 3, "x.2": (12, 64), "x.3": 13},
        {"x.0": (2, 8), "x.1": 3, "x.2": 12, "x.3": 13},
    ),
    "Residual": Planted(
        Residual(), randoms((3, 8), (3, 8)), {"x.0": (2, 9), "x.1": 8, "skip.0": (2, 9), "skip.1": 8}, {}
    ),
    "Windows": Planted(
        Windows(),
        randoms((3, 8, 5)),
        {"x.0": ANY, "x.1": (8, 64), "x.2": ANY},
        {"x.0": ANY, "x.1": (8, 64, 4), "x.2": ANY},
    ),
    "Recurrent": Planted(
        Recurrent(), randoms((3, 5, 6)), {"x.0": ANY, "x.1": (2, 64), "x.2": 6}, {"x.0": ANY, "x.1": 5, "x.2": 6}
    ),
    "Sparse": Planted(
        Sparse(),
        randoms((3, 5), (7, 9)),
        {"x.0": ANY, "x.1": ANY, "table.0": (2, 2**20), "table.1": (2, 2**12)},
        {"x.0": ANY, "x.1": ANY, "table.0": (2, 2**19 - 1), "table.1": (2, 2**12)},
    ),
}
"""By name."""
FACTS = {"added": "x.0 == y.0", "asserted": "x.0 == 2 * y.0", "joined": "x.1 == y.1", "Residual": "x.0 == skip.0"}
"""What has to be known besides, of programs with two inputs that have to fit."""

__all__ = ["FACTS", "PROGRAMS", "Planted"]
