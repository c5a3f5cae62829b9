"""Masked updates and reductions as programs write them: functions of a tensor, a mask and another tensor.

>>> import torch
>>> FORMS["sum"](torch.tensor([[1.0, 2.0]]), torch.tensor([[True, False]]), torch.zeros(1, 2))
tensor(1.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch.nn import functional as F

Tensor = torch.Tensor
Form = Callable[[Tensor, Tensor, Tensor], Tensor]


def updated(update: Callable[[Tensor, Tensor, Tensor], object]) -> Form:
    """A form that updates a copy in place."""

    def form(x: Tensor, m: Tensor, z: Tensor) -> Tensor:
        y = x * 1
        update(y, m, z)
        return y

    return form


def number(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[m] = 2.0


def scalar(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[m] = z.sum()


def other(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[m] = z[m]


def added(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[m] += 1.0


def multiplied(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[m] *= 2.0


def subtracted(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[m] -= z[m]


def exponential(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[m] = torch.exp(y[m])


def clamped(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[m] = y[m].clamp(-1, 1)


def mean(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[m] = z[m].mean()


def normalized(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[m] = (y[m] - y[m].mean()) / (y[m].std() + 1e-5)


def softmax(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[m] = y[m].softmax(0)


def rows(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[m[:, 0]] = z[m[:, 0]]


def added_rows(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[m[:, 0]] += z[0]


def columns(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[:, m[0]] = z[:, m[0]] * 2


def opposite(y: Tensor, m: Tensor, z: Tensor) -> None:
    y[~m] = z[~m] + 1


UPDATES: Final[dict[str, Form]] = {
    "a number": updated(number),
    "a scalar": updated(scalar),
    "another's elements": updated(other),
    "add a number": updated(added),
    "multiply by a number": updated(multiplied),
    "subtract another's": updated(subtracted),
    "exponential": updated(exponential),
    "clamp": updated(clamped),
    "the mean": updated(mean),
    "normalize": updated(normalized),
    "softmax": updated(softmax),
    "rows": updated(rows),
    "add to rows": updated(added_rows),
    "columns": updated(columns),
    "the others": updated(opposite),
    "index_put_": updated(lambda y, m, z: y.index_put_((m,), z[m] * 2, accumulate=True)),
    "masked_fill_": updated(lambda y, m, z: y.masked_fill_(m, 0.5)),
    "masked_scatter_": updated(lambda y, m, z: y.masked_scatter_(m, z[m])),
    "masked_fill": lambda x, m, z: x.masked_fill(m, 0.5),
    "masked_scatter": lambda x, m, z: x.masked_scatter(m, z[m]),
}
REDUCTIONS: Final[dict[str, Form]] = {
    "sum": lambda x, m, z: x[m].sum(),
    "mean": lambda x, m, z: x[m].mean(),
    "prod": lambda x, m, z: x[m].prod(),
    "max": lambda x, m, z: x[m].max(),
    "min": lambda x, m, z: x[m].min(),
    "amax": lambda x, m, z: x[m].amax(),
    "any": lambda x, m, z: (x[m] > 0).any() * x.sum(),
    "all": lambda x, m, z: (x[m] > 0).all() * x.sum(),
    "norm": lambda x, m, z: x[m].norm(),
    "var": lambda x, m, z: x[m].var(),
    "std": lambda x, m, z: x[m].std(),
    "logsumexp": lambda x, m, z: x[m].logsumexp(0),
    "count": lambda x, m, z: (x[m] > 0).sum() * x.mean(),
    "masked_select": lambda x, m, z: x.masked_select(m).sum(),
    "torch.where": lambda x, m, z: x[torch.where(x > 0)].sum(),
    "nonzero": lambda x, m, z: x[(x[:, 0] > 0).nonzero().squeeze(1)].mean(),
    "squared error": lambda x, m, z: F.mse_loss(x[m], z[m]),
    "absolute error": lambda x, m, z: F.l1_loss(x[m], z[m]),
    "smooth error": lambda x, m, z: F.smooth_l1_loss(x[m], z[m]),
    "Huber": lambda x, m, z: F.huber_loss(x[m], z[m], reduction="sum"),
    "cross entropy of logits": lambda x, m, z: F.binary_cross_entropy_with_logits(x[m], z[m].sigmoid()),
    "binary cross entropy": lambda x, m, z: F.binary_cross_entropy(x[m].sigmoid(), z[m].sigmoid()),
    "cross entropy": lambda x, m, z: F.cross_entropy(x[m[:, 0]], z.argmax(-1)[m[:, 0]]),
    "likelihood": lambda x, m, z: -x.log_softmax(-1)[m].mean(),
    "entropy": lambda x, m, z: -(z[m].sigmoid() * x[m]).sum(),
    "mean by a count": lambda x, m, z: (x[m] * z[m]).sum() / m.sum(),
    "mean by numel": lambda x, m, z: x[m].sum() / x[m].numel(),
    "masks computed twice": lambda x, m, z: x[x > 0].sum() - z[x > 0].sum(),
    "the others": lambda x, m, z: x[~m].abs().sum(),
    "sum of rows": lambda x, m, z: x[m[:, 0]].sum(0),
    "mean of rows": lambda x, m, z: x[m[:, 0]].mean(0),
    "amax of rows": lambda x, m, z: x[m[:, 0]].amax(0),
    "norm of rows": lambda x, m, z: F.normalize(x[m[:, 0]], dim=-1).sum(0),
    "mean along rows": lambda x, m, z: x[m[:, 0]].mean(-1).sum(),
    "views of rows": lambda x, m, z: x[m[:, 0]].unsqueeze(1).transpose(1, 2).sum(0),
    "flattened rows": lambda x, m, z: x[m[:, 0]].unsqueeze(2).flatten(1).sum(0),
    "sum of columns": lambda x, m, z: x[:, m[0]].sum(1),
}
FORMS: Final = {**{f"update: {name}": form for name, form in UPDATES.items()}, **REDUCTIONS}
STAY: Final[dict[str, Form]] = {
    "returned": lambda x, m, z: x[m],
    "cumsum": lambda x, m, z: x[m].cumsum(0).pow(2).sum(),
    "argmax": lambda x, m, z: x[m].argmax() * x.sum(),
    "max of rows": lambda x, m, z: x[m[:, 0]].max(0).values,
    "product": lambda x, m, z: (x[m[:, 0]] @ z.t()).sum(),
    "joined": lambda x, m, z: torch.cat([x[m], z[m]]).sum(),
    "sorted": lambda x, m, z: (x[m].sort().values * 2).sum(),
}
"""Forms whose selections stay."""
