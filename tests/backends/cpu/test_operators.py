"""Operators as kernels of the CPU backend beside eager: all that are lowered, on what is out of the ordinary."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import pytest
import torch
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves

from frontends.pytorch import compile
from tests.frontends.pytorch.lowering.lowered_functions import FLOATS, INTEGERS, special

Function = Callable[..., object]
TOGETHER = 12
"""Functions that are compiled as one program."""
GROUPS = [list(FLOATS)[start : start + TOGETHER] for start in range(0, len(FLOATS), TOGETHER)]
EITHER_ZERO = ("softshrink", "batch norm", "gelu", "gelu by tanh")
"""Functions that give a zero of either sign in eager: as the number of elements is, as they sum up, or as the
instructions are that torch found."""


def compiled(functions: Sequence[Function]) -> Function:
    """These functions as one program of kernels."""
    return compile(lambda *inputs: [each(*inputs) for each in functions], backend="cpu", dynamic=True, fullgraph=True)


def same(name: str, found: object, wanted: object, *, rtol: float | None = None, atol: float | None = None) -> None:
    """The same numbers, zeros of the same sign, nan where nan is."""
    for one, other in zip(tree_leaves(found), tree_leaves(wanted), strict=True):
        torch.testing.assert_close(
            one, other, equal_nan=True, rtol=rtol, atol=atol, msg=lambda text, name=name: f"{name}: {text}"
        )
        if other.is_floating_point() and name not in EITHER_ZERO:
            zeros = (one == 0) & (other == 0)
            assert torch.equal(one[zeros].signbit(), other[zeros].signbit()), f"{name}: the sign of a zero"


def holds_floats(name: str) -> bool:
    """Return True if a function takes tensors of float32."""
    return name in ("layer norm", "batch norm")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_special_values(names: Sequence[str], dtype: torch.dtype) -> None:
    """Kernels agree with torch on nan, infinities, zeros of both signs, and in tails."""
    names = [name for name in names if dtype is torch.float32 or not holds_floats(name)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = compiled([FLOATS[name] for name in names])
        for rows in (4, 1, 2, 33):
            x = special(rows).to(dtype)
            for name, found in zip(names, run(x), strict=True):
                same(name, found, FLOATS[name](x))


INTEGRAL = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8]


@pytest.mark.parametrize("dtype", INTEGRAL, ids=str)
def test_integers_that_overflow(dtype: torch.dtype) -> None:
    """Integers of every width wrap around as torch's do."""
    run = compiled(list(INTEGERS.values()))
    limits = torch.iinfo(dtype)
    for rows in (3, 1, 40):
        x = torch.randint(limits.min, limits.max, (rows, 5), dtype=dtype)
        x[0, :3] = torch.tensor([limits.min, limits.max, 0])
        y = x.flip(0, 1)
        for (name, function), found in zip(INTEGERS.items(), run(x, y), strict=True):
            same(name, found, function(x, y))


BOOLS: dict[str, Function] = {
    "logic": lambda x, y: (x & y) | ~(x ^ y),
    "arithmetic": lambda x, y: x * y + x.sum(-1, keepdim=True),
    "counts": lambda x, y: (x.sum(0), y.sum(), x.any(1), y.all(0), x.count_nonzero(1)),
    "compare": lambda x, y: (x < y, x == y, torch.maximum(x, y), x.amax(1)),
    "choose": lambda x, y: torch.where(x, y.float(), -1.5) * x + y.int() - x.to(torch.uint8),
    "move": lambda x, y: (torch.cat([x, y], 1), x.t().contiguous(), F.pad(y, (1, 2), value=True), x.flip(1)),
    "running": lambda x, y: x.cumsum(1) * y,
}


def test_bools() -> None:
    """A bool is a byte of value 0 or 1, and a number where one is needed."""
    run = compiled(list(BOOLS.values()))
    for rows, columns in ((4, 5), (1, 1), (3, 70)):
        x, y = torch.rand(rows, columns) > 0.4, torch.rand(rows, columns) > 0.7
        for (name, function), found in zip(BOOLS.items(), run(x, y), strict=True):
            same(name, found, function(x, y))


def test_complex_numbers_stay_with_torch() -> None:
    """Programs with complex parts between kernels lose none of them."""

    def program(x, y):
        z = torch.complex(x.exp(), y) * 2
        return (z * z.conj()).real.sqrt() + z.abs().sum(-1, keepdim=True), torch.view_as_real(z).softmax(0), z.mean()

    run = compile(program, backend="cpu", dynamic=True, fullgraph=True)
    for rows in (3, 1, 20):
        x, y = torch.randn(rows, 7), torch.randn(rows, 7)
        same("complex", run(x, y), program(x, y))


HALVES = (
    "gelu",
    "softmax",
    "mean",
    "rms norm",
    "rsub",
    "amax",
    "where",
    "log softmax",
    "tanh",
    "cat",
    "sum",
    "softplus",
)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_halves(dtype: torch.dtype) -> None:
    """Halves are rounded where torch rounds them, and keep their dtype."""
    run = compiled([FLOATS[name] for name in HALVES])
    rounding = torch.finfo(dtype).eps
    for rows in (4, 1, 33):
        x = special(rows).to(dtype)
        for name, found in zip(HALVES, run(x), strict=True):
            same(name, found, FLOATS[name](x), rtol=4 * rounding, atol=4 * rounding)


LYING: dict[str, Callable[[int], torch.Tensor]] = {
    "turned": lambda rows: torch.randn(16, rows).t(),
    "every second, from the third on": lambda rows: torch.randn(rows * 32 + 2)[2:].view(rows, 32)[:, ::2],
    "one row": lambda rows: torch.randn(1, 16).expand(rows, -1),
    "one column": lambda rows: torch.randn(rows, 1).expand(-1, 16),
    "one number": lambda rows: torch.randn(()).expand(rows, 16),
    "overlapping": lambda rows: torch.randn(rows + 15).unfold(0, 16, 1),
}
READING = (
    "softmax",
    "softmax over rows",
    "sum",
    "mean",
    "cat",
    "flip",
    "diagonal",
    "amax",
    "layer norm",
    "roll",
    "rsub",
)


@pytest.mark.parametrize("name", LYING)
def test_arguments_that_lie_otherwise(name: str) -> None:
    """Kernels read an argument by its own strides and offset."""
    run = compiled([FLOATS[each] for each in READING])
    for rows in (5, 1, 40):
        x = LYING[name](rows)
        # sums may cancel
        atol = max(1e-5, 2e-7 * float(x.abs().sum()))
        for each, found in zip(READING, run(x), strict=True):
            same(each, found, FLOATS[each](x), rtol=1.3e-6, atol=atol)


EMPTY = (
    "softmax",
    "softmax over rows",
    "sum",
    "cat",
    "flip",
    "roll",
    "layer norm",
    "prod",
    "any",
    "count nonzero",
    "pad",
    "gelu",
    "cos",
)


def test_empty_tensors() -> None:
    """Kernels access nothing of empty tensors, and an empty sum is zero."""
    run = compiled([FLOATS[name] for name in EMPTY])
    for x in (torch.randn(4, 16), torch.randn(0, 16)):
        for name, found in zip(EMPTY, run(x), strict=True):
            same(name, found, FLOATS[name](x))
    sums = compile(lambda x: (x.sum(1), x.sum(0), x.prod(), x.softmax(1), x.exp()), backend="cpu", dynamic=True)
    for sizes in ((3, 4), (0, 4), (4, 0), (0, 0)):
        same("sums", sums(torch.ones(sizes)), sums.fn(torch.ones(sizes)))


def test_threads_do_not_change_a_program() -> None:
    """The results of a program of several kernels do not depend on the number of threads."""
    run = compile(
        lambda x, w: (F.layer_norm(x, (x.shape[1],), w), x.softmax(0), (x * w).sum(0), x.var(), x.t().contiguous()),
        backend="cpu",
        dynamic=True,
    )
    before = torch.get_num_threads()
    try:
        for rows, columns in ((2048, 257), (3, 200_003), (300_007, 2)):
            x, w = torch.randn(rows, columns), torch.randn(columns)
            torch.set_num_threads(1)
            alone = run(x, w)
            for threads in (2, 3):
                torch.set_num_threads(threads)
                for one, other in zip(alone, run(x, w), strict=True):
                    assert torch.equal(one, other)
    finally:
        torch.set_num_threads(before)
