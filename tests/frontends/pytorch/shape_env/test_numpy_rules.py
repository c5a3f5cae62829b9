"""NumPy's functions of sizes and its scalars: graphs, with NumPy's types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

from frontends.pytorch import compile

no_entries = pytest.fixture(torch._dynamo.reset, autouse=True)

NUMBERS: dict[str, Callable[[torch.Tensor, int], Any]] = {
    "product": lambda x, n: numpy.prod(x.shape),
    "root": lambda x, n: numpy.sqrt(x.shape[0]),
    "constant root": lambda x, n: numpy.sqrt(64),
    "rounded": lambda x, n: numpy.ceil(x.shape[0] / 2),
    "of a product": lambda x, n: numpy.sqrt(numpy.prod(x.shape)),
    "product that wraps around": lambda x, n: numpy.prod([x.shape[0]] * 45),
    "root of a negative number": lambda x, n: numpy.sqrt(x.shape[0] - 4),
    "zero or more": lambda x, n: numpy.maximum(x.shape[0] - 5, 0),
    **{kind.__name__: lambda x, n: n for kind in (numpy.int64, numpy.float64, numpy.float32, numpy.int32)},
}
USES: dict[str, Callable[[Any, torch.Tensor], object]] = {
    "returned": lambda n, x: [n, type(n).__name__, isinstance(n, float), isinstance(n, int)],
    "branched on": lambda n, x: ("many" if n > 4 else "few", "some" if n else "none", not n),
    "an operand": lambda n, x: (x * n, n * x, x.long() * n, x / n, x > n, x.half() * n),
    "converted": lambda n, x: (float(n), bool(n), n is None, {"n": n}),
    "computed with": lambda n, x: (n * 2, 1 / (n + 1), x.shape[0] - n, 0.5 * n, n * n, n // 2, n**2, 2**n, -n, abs(n)),
    "compared": lambda n, x: (n == x.shape[0], x.shape[0] == n, 8 == n, n < 5, n in (3, 8), x.shape[0] in (1, n)),
    "an argument": lambda n, x: (torch.full((2,), n), torch.tensor(n), torch.add(x, x, alpha=n), x.clamp(max=n)),
    "as text": lambda n, x: (str(n), f"{n:.2f}", repr(n)),
    "a key": lambda n, x: ({8: "eight"}.get(n), sorted([n, 5, 1]), max(n, 4), min(3, n, x.shape[0])),
}


def shown(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {value.tolist()}"
    return f"[{', '.join(map(shown, value))}]" if isinstance(value, list | tuple) else f"{type(value)} {value!r}"


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", NUMBERS)
def test_numpy_scalars_are_those_of_python(name: str, use: str) -> None:
    """A NumPy scalar that is computed of sizes, or passed, is in all that is made of it what it is in Python."""

    def step(x: torch.Tensor, n: Any) -> object:
        return x + 1, USES[use](NUMBERS[name](x, n), x)

    for compiled in (compile(step, dynamic=True), torch.compile(step, backend="symshape")):
        for number, size in ((8, 4), (3, 3), (1, 6)):
            x = torch.arange(2.0 * size).reshape(size, 2)
            n = getattr(numpy, name, int)(number)
            assert shown(compiled(x, n)) == shown(step(x, n))


@pytest.mark.parametrize("name", list(NUMBERS)[:5])
@pytest.mark.parametrize("use", list(USES)[:3])
def test_numpy_scalars_are_part_of_a_graph(name: str, use: str) -> None:
    """NumPy's functions of sizes end no graph."""
    compile(lambda x: (x + 1, USES[use](NUMBERS[name](x, 0), x)), dynamic=True, fullgraph=True)(torch.ones(3, 2))


def test_torch_still_takes_scalars_for_tensors() -> None:
    """Once torch has mended it, these rules can go."""
    found = torch.compile(lambda x, n: (x + 1, isinstance(n, float), {3: 1}.get(n)), backend="eager")
    assert found(torch.ones(2), numpy.float64(3.0))[1:] == (False, None)
