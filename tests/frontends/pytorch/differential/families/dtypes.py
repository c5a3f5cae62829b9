"""Dtypes: promotion, casts, whole numbers, complex ones, special values, states of torch."""

import math

import numpy
import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("dtypes")
program = FAMILY.program

FAMILY.table(
    {
        "float times integer": lambda x, n: x * n,
        "integer divided": lambda x, n: n / 2,
        "integer floor divided": lambda x, n: n // 2 - (-n) // 2,
        "remainders": lambda x, n: (n % 3, -n % 3, torch.fmod(-n, 3), x % 0.7),
        "float and double": lambda x, n: x + torch.tensor(1.0, dtype=torch.float64),
        "float and double vector": lambda x, n: x + torch.ones(x.shape[-1], dtype=torch.float64),
        "brain float": lambda x, n: x.bfloat16().sum(-1) / 8,
        "comparison": lambda x, n: (x > 0) & (n < 3),
        "truths are summed": lambda x, n: (x > 0).sum() + (x > 0).float().mean(),
        "scalar wins not": lambda x, n: n + 2.5,
        "small integers": lambda x, n: n.to(torch.uint8) * 100 + n.to(torch.int8),
        "shifts": lambda x, n: (n << 2) >> 1 ^ 5,
        "rounding": lambda x, n: (x.round(), x.floor(), x.ceil(), x.trunc(), (x * 100).round(decimals=1)),
        "to integers": lambda x, n: (x * 10).long() + (x * 10).int(),
        "special values": lambda x, n: (x / 0, 0 / (x * 0), (x * math.inf).clamp(-1, 1)),
        "nan is kept": lambda x, n: torch.maximum(x * math.nan, x),
        "nan to number": lambda x, n: torch.nan_to_num(x / (n - 1)),
        "complex": lambda x, n: (torch.complex(x, x + 1).abs(), torch.polar(x.abs(), x).real),
        "fourier": lambda x, n: torch.fft.rfft(x).abs(),
        "sorted": lambda x, n: torch.sort(x, dim=-1, stable=True),
        "unique counts": lambda x, n: torch.unique(n, return_counts=True),
        "histogram": lambda x, n: torch.bincount(n.flatten(), minlength=6),
        "argmax of ties": lambda x, n: (n.argmax(), n.float().argmin(-1)),
        "cumulative": lambda x, n: (x.cumsum(0), n.cumprod(1), x.cummax(1), x.logcumsumexp(0)),
        "mean of integers": lambda x, n: n.float().mean(),
        "var and std": lambda x, n: (x.var(-1), x.std(unbiased=False), torch.var_mean(x, 0)),
        "quantile": lambda x, n: torch.quantile(x, 0.5, dim=-1),
        "new of": lambda x, n: x.new_full((2,), 3) + n.new_tensor([1, 2]),
        "type conversion": lambda x, n: n.type_as(x) + x.type(torch.float64),
        "scalar tensors": lambda x, n: x + torch.scalar_tensor(2) * torch.tensor(3),
        "one hot": lambda x, n: torch.nn.functional.one_hot(n, 5).sum(0),
        "where scalars": lambda x, n: torch.where(x > 0, 1.0, -1),
        "powers": lambda x, n: (x**2, x.abs() ** 0.5, 2**n, n**2, x**-1.0),
        "bit counts": lambda x, n: torch.bitwise_and(n, 3) | torch.bitwise_not(n),
        "result type": lambda x, n: (torch.result_type(x, n), torch.can_cast(torch.int, torch.float)),
        "lerp": lambda x, n: torch.lerp(x, x * 2, 0.25),
        "softmax in double": lambda x, n: x.softmax(-1, dtype=torch.float64),
        "sum in double": lambda x, n: x.sum(dtype=torch.float64) + n.sum(dtype=torch.float32),
        "python scalars": lambda x, n: x * 3 + 0.1 + True,
        "a bool is subtracted": lambda x, n: x - True,
        "booleans from one": lambda x, n: 1 - (x > 0),
        "math of sizes": lambda x, n: x * math.sqrt(x.shape[0]) / math.log(x.shape[1] + 1) + math.ceil(x.shape[0] / 2),
        "einsum": lambda x, n: torch.einsum("ab,cb->ac", x, x * 2),
    },
    "n m",
    "int64: n m",
)


@program("n m", learned=False)
def half(x):
    return x.half() * 3, (x.half() + 1).float().half()


@program("n m")
def default_dtype_changes(x):
    torch.set_default_dtype(torch.float64)
    try:
        return x + torch.ones(x.shape[1]), torch.get_default_dtype()
    finally:
        torch.set_default_dtype(torch.float32)


@program("n m")
def autocast_inside(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.t()
    return y.dtype, y.float() * 0 + 1


@program("n m")
def finfo(x):
    return x.clamp(min=torch.finfo(x.dtype).eps) + torch.iinfo(torch.int8).max


@program("n m", learned=False)
def through_numpy(x):
    array = x.numpy()
    return torch.from_numpy(numpy.sin(array) + 1)


@program("n m", learned=False)
def listed(x):
    return x.tolist(), x[0, 0].item()


@program("float16: n m", learned=False)
def halves(x):
    return x.softmax(-1) + x.sum(), x.cumsum(0)


@program("bfloat16: n m")
def brain_floats(x):
    return (x * 2).relu().mean(-1)


@program("float64: n m")
def doubles(x):
    return torch.linalg.norm(x, dim=1), x.exp().log1p()


@program("uint8: n m", learned=False)
def bytes_overflow(x):
    return x * 100, x - 3, ~x


@program("complex64: n m")
def complex_products(x):
    return (x @ x.mH).abs(), x.angle()
