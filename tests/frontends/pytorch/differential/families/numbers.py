"""Memory under other strides and types, arithmetic of every kind of number, pools and other sizes."""

import torch
import torch.nn.functional as F

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("numbers")
program, table = FAMILY.program, FAMILY.table


table(
    {
        "strided": lambda x: x.as_strided((2, 2), (1, 2)) + torch.as_strided(x * 2, (2, 2), (1, 1), 1),
        "strided of a view": lambda x: x[1:].as_strided((2, 2), (1, 2)) * 2,
        "strided and written": lambda x: (x.as_strided((2, 2), (1, 2)).mul_(3), x * 1)[1],
        "diagonal strided and written": lambda x: (x.diagonal().as_strided((2,), (1,), 0).add_(1), x * 1)[1],
        "result in turned memory": lambda x: torch.abs(x, out=torch.zeros(x.shape[::-1]).T),
        "result in empty memory": lambda x: torch.sigmoid(x, out=torch.empty(0)),
        "other bits": lambda x: [x.view(torch.int32) + 1, x.view(torch.int16).sum(), (x * 2).view(torch.int32)],
        "other bits written": lambda x: (x.view(torch.int32).add_(1), x * 1)[1],
        "axis put in": lambda x: (lambda y: (y.unsqueeze_(1), torch.cat([y], 1).view(x.shape[0], -1)))(x.clone()),
        "attribute of a result": lambda x: (lambda y: (setattr(y, "tag", 3), y)[1])(x * 2),
    },
    "n m",
    learned=False,
)


@program("complex64:n n")
def marks_of_complex_numbers(x):
    return [x.conj().imag, x.mH @ x, x.conj() * 2, x.neg().real, torch.view_as_real(x.conj().resolve_conj())]


def of_integers(x, y):
    one = y + 1
    return [
        *(x + y, x - y, x * y * 300, -x, x.square(), x**3, x + 1, x * 2.5, 3 - x, x + True, x.sum(), x.prod(0)),
        *(x // one, x % one, x / one, torch.fmod(x, one), torch.div(x, one, rounding_mode="trunc"), x // 2.5),
        *(torch.div(x, one, rounding_mode="floor"), torch.gcd(x, y), x & y, x | y, x ^ y, ~x, x << 2, x >> 1),
        *(x < y, x != 2.5, torch.maximum(x, y), x.clamp(1, 3), torch.where(x > y, x, 1), x.bool(), x.logical_xor(y)),
        *(x.cumsum(0), x.amax(0), x.argmax(0), x.sort(dim=0, stable=True), x.count_nonzero(0), x.float(), x.sin()),
    ]


for dtype in ("int8", "uint8", "int16", "int32", "int64"):
    table({f"arithmetic of {dtype}": of_integers}, f"{dtype}:n m", f"{dtype}:n m")


def of_special_values(x):
    values = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, -1e30])
    one, other = values[:, None] + 0 * x.sum().nan_to_num(), values
    return [
        *(torch.maximum(one, other), torch.fmin(one, other), one / other, torch.atan2(one, other), one < other),
        *(torch.remainder(one, other), torch.fmod(one, other), torch.copysign(one, other), torch.hypot(one, other)),
        *(values.relu(), values.sign(), values.sigmoid(), values.tanh(), values.round(), values.nan_to_num()),
        *(values.amax(), values.argmin(), values.nansum(), values.cummax(0), values.sort(), values.clamp(-1, 1)),
    ]


table(
    {
        "special values": of_special_values,
        "line": lambda x: [torch.linspace(0, 1, x.shape[0]), torch.linspace(2, 5, x.shape[0] - x.shape[0] + 1)],
        "to integers": lambda x: [(x * 3).to(kind) for kind in (torch.int8, torch.int16, torch.int32, torch.int64)],
        "ties": lambda x: [(x > 0).float().max(1), (x > 0).float().argmin(0), (x > 0).float().sort(dim=1, stable=True)],
        "far from zero": lambda x: [(x.double() + 1e4).var(), (x.double() + 1e4).std(0, correction=0)],
        "nothing to sum": lambda x: [x[:0].sum(0), x[:, :0].prod(1), x[:0].any(0), x[:0].logsumexp(0), x[:0].cumsum(0)],
        "nothing to compare": lambda x: x[:0].amax(),
        "of one axis each": lambda x: [x.norm(p, 1) for p in (0, 1, 2, 3, float("inf"))],
    },
    "n m",
    learned=False,
)


def pooled(x):
    y = F.pad(x, (2, 2, 2, 2))
    return [
        *(F.max_pool2d(y, 3, 2, 1), F.max_pool2d(y, 2, ceil_mode=True), F.max_pool2d(y, 3, 2, 1, 2)),
        *(F.avg_pool2d(y, 3, 2, 1), F.avg_pool2d(y, 3, 2, 1, ceil_mode=True, divisor_override=5)),
        *(F.avg_pool2d(y, 3, 2, 1, count_include_pad=False), F.adaptive_avg_pool2d(y, (2, 3))),
        *(F.adaptive_max_pool2d(y, (2, 3)), F.unfold(y, 2, dilation=2), F.lp_pool2d(y.abs() + 1, 2, 2)),
    ]


def resized(x):
    return [
        *(F.interpolate(x, scale_factor=2.0), F.interpolate(x, size=(5, 3), mode="nearest-exact")),
        *(F.interpolate(x, scale_factor=(0.6, 1.7), mode="bilinear"), F.interpolate(x, size=(3, 3), mode="bicubic")),
        *(F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True), F.interpolate(x, size=2, mode="area")),
    ]


table({"pools": pooled, "other sizes": resized}, "2 2 n m")
