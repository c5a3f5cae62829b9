"""Random chains of elementwise operators, broadcasts, reductions, views, joins and gathers, each from a seed.

    >>> chain = random_chain(3)
    >>> print(chain.text)
    def chain(x, y):
        i = (x.detach() > 0).long().amax(0, keepdim=True) * (x.shape[0] - 1)
        x = x - torch.sigmoid(x).gather(0, i)
        x = x - y.unsqueeze(-1).unsqueeze(-1)
        x = torch.relu(x)
        x = torch.nn.functional.pad(x, (1, 2))[..., 2:-1] * 2
        x = x.amin(0)
        return x
    <BLANKLINE>
    >>> [tuple(tensor.shape) for tensor in chain.inputs(2, 3, 5)]
    [(2, 3, 5), (2,)]

x has three axes of any sizes; y is as long as one of them. A reduction may be combined with its operand, as in a norm.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch

ELEMENTWISE: Final = (
    "torch.relu(x)", "torch.tanh(x)", "torch.sigmoid(x)", "torch.exp(-x.abs())", "x * 0.5 + 1", "x * x",
    "x.clamp(-1, 2)", "torch.where(x > 0, x, 0.1 * x)", "torch.nn.functional.gelu(x)", "torch.sqrt(x.abs() + 0.1)",
    "torch.sin(x)", "torch.nn.functional.silu(x)", "torch.log1p(x * x)", "x / (1 + x.abs())",
    "torch.maximum(x, -x * 0.3)",
)  # fmt: skip
NORMS: Final = (
    "x - x.mean({axis}, keepdim=True)",
    "torch.softmax(x, {axis})",
    "x * torch.rsqrt(x.square().mean({axis}, keepdim=True) + 1e-5)",
    "x / (1 + x.abs().amax({axis}, keepdim=True))",
)
JOINS: Final = (
    (
        "h, n = x.shape[{axis}] // 2, x.shape[{axis}]",
        "x = torch.cat((-x.narrow({axis}, h, n - h), x.narrow({axis}, 0, h)), {axis})",
    ),
    ("x = x + torch.cat((x[:1], torch.tanh(x)[:-1]), 0)",),
    ("x = torch.nn.functional.pad(x, (1, 2))[..., 2:-1] * 2",),
)
TAKE: Final = (
    "i = (x.detach() > 0).long().amax({axis}, keepdim=True) * (x.shape[{axis}] - 1)",
    "x = x - torch.sigmoid(x).gather({axis}, i)",
)
REDUCTIONS: Final = ("x.sum({axis})", "x.mean({axis})", "x.amax({axis})", "x.amin({axis})")


@dataclass(frozen=True)
class Chain:
    """A function as text.

    Attributes:
        along: which of the axes of x, as it is given, y is as long as.
    """

    text: str
    along: int

    @property
    def function(self) -> Callable[..., torch.Tensor]:
        scope: dict[str, object] = {"torch": torch}
        exec(self.text, scope)
        return scope["chain"]

    def inputs(self, *sizes: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(sizes), torch.randn(sizes[self.along])


def random_chain(seed: int, length: int = 5) -> Chain:
    """A chain of this many steps."""
    draw = random.Random(seed)
    axes = [0, 1, 2]
    """The axis of the input that each axis of x is."""
    along = draw.randrange(3)
    lines: list[str] = []
    used = False
    kinds = ("elementwise", "elementwise", "norm", "reduce", "permute", "broadcast", "reshape", "join", "take")
    for _ in range(length):
        kind = draw.choice(kinds)
        axis = draw.randrange(len(axes))
        if kind == "permute" and len(axes) > 1:
            order = draw.sample(range(len(axes)), len(axes))
            axes = [axes[place] for place in order]
            lines.append(f"x = x.permute({', '.join(map(str, order))})")
        elif kind == "broadcast" and along in axes:
            behind = len(axes) - 1 - axes.index(along)
            y = "y" + ".unsqueeze(-1)" * behind
            lines.append(f"x = x {draw.choice('+-*')} {y}")
            used = True
        elif kind == "reduce" and len(axes) > 1:
            lines.append(f"x = {draw.choice(REDUCTIONS).format(axis=axis)}")
            del axes[axis]
        elif kind == "join":
            lines += [line.format(axis=axis) for line in draw.choice(JOINS)]
        elif kind == "take":
            lines += [line.format(axis=axis) for line in TAKE]
        elif kind == "norm":
            lines.append(f"x = {draw.choice(NORMS).format(axis=axis)}")
        elif kind == "reshape" and len(axes) > 1:
            flat = draw.choice(ELEMENTWISE).replace("x", "z").replace("ezp", "exp").replace("mazimum", "maximum")
            lines += ["z = x.flatten()", f"z = {flat}", "x = z.view(x.shape)"]
        else:
            lines.append(f"x = {draw.choice(ELEMENTWISE)}")
    if not used and along in axes:
        lines.append("x = x * y" + ".unsqueeze(-1)" * (len(axes) - 1 - axes.index(along)))
    body = "\n".join([f"    {line}" for line in [*lines, "return x"]])
    return Chain(f"def chain(x, y):\n{body}\n", along)
