"""Kernels in C that reduce, against eager torch, at sizes where vectors are full, empty, or cut off."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from backends.loops.nodes import Tensor
from backends.loops.tensors import Expressions
from tests.backends.cpu.emitted import DTYPES, SIZES, Compiled, check, gelu, layer_norm, mean, softmax


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def test_a_row_softmax_has_three_passes() -> None:
    """If this fails, reductions over lanes, tails or kept values are wrong."""
    compiled = Compiled(lambda build, x: softmax(build, x, 1), ("r c", "float32"))
    assert len(compiled.kernels) == 1 and compiled.kernels[0].kept
    for rows, columns in SIZES:
        check(compiled, lambda x: x.softmax(1), torch.randn(rows, columns))


def test_a_column_softmax_has_lanes_outside() -> None:
    """If this fails, reductions per lane are wrong."""
    compiled = Compiled(lambda build, x: softmax(build, x, 0), ("r c", "float32"))
    assert compiled.kernels[0].lanes == 0
    for rows, columns in SIZES:
        check(compiled, lambda x: x.softmax(0), torch.randn(rows, columns))


def test_layer_norm_uses_what_is_the_same_along_a_row() -> None:
    """If this fails, values of a row or broadcast weights are wrong."""
    compiled = Compiled(layer_norm, ("r c", "float32"), ("c", "float32"), ("c", "float32"))
    assert len(compiled.kernels) == 1
    for rows, columns in SIZES:
        if columns:
            x, weight, bias = torch.randn(rows, columns), torch.randn(columns), torch.randn(columns)
            reference = lambda x, w, b: torch.nn.functional.layer_norm(x, x.shape[1:], w, b)  # noqa: E731
            check(compiled, reference, x, weight, bias, rtol=1e-4, atol=1e-5)


def test_lanes_along_the_last_axis_but_reduced_over_the_middle() -> None:
    """If this fails, inner loops around or beside the lanes are wrong."""

    def both(build: Expressions, x: Tensor) -> list[Tensor]:
        return [build.reduce("sum", x, (1,)), build.reduce("maximum", x, (0, 2)), mean(build, x, (1,))]

    def reference(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.sum(1), x.amax((0, 2)), x.mean(1, keepdim=True).expand(x.shape).contiguous()

    compiled = Compiled(both, ("a b c", "float32"))
    for sizes in [(2, 3, 5), (1, 1, 1), (3, 7, 16), (2, 300, 70), (4, 1, 33), (3, 50, 130)]:
        check(compiled, reference, torch.randn(sizes), rtol=1e-5, atol=1e-4)


def test_a_whole_tensor_becomes_a_number() -> None:
    """If this fails, kernels without outer axes are wrong."""

    def reduced(build: Expressions, x: Tensor) -> list[Tensor]:
        return [build.reduce(name, x, (0, 1)) for name in ("sum", "minimum", "maximum")]

    compiled = Compiled(reduced, ("a b", "float64"))
    for sizes in [(1, 1), (3, 5), (40, 33), (100, 1000)]:
        check(compiled, lambda x: (x.sum(), x.amin(), x.amax()), torch.randn(sizes, dtype=torch.float64))


def test_empty_reductions_give_what_they_start_from() -> None:
    """If this fails, a reduction of nothing leaves memory unset, or something is read that is not there."""
    build = lambda build, x: [build.reduce(name, x, (1,)) for name in ("sum", "product")]  # noqa: E731
    for dtype in (torch.float32, torch.int64):
        compiled = Compiled(build, ("a b", DTYPES[dtype]))
        check(compiled, lambda x: (x.sum(1), x.prod(1)), torch.ones(5, 0, dtype=dtype))
        check(compiled, lambda x: (x.sum(1), x.prod(1)), torch.ones(0, 5, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8])
def test_reductions_of_each_type(dtype: torch.dtype) -> None:
    """If this fails, a reduction is wrong in tails, or over lanes."""
    names = ("sum", "product", "minimum", "maximum")
    rows = Compiled(lambda build, x: [build.reduce(name, x, (1,)) for name in names], ("a b", DTYPES[dtype]))
    columns = Compiled(lambda build, x: [build.reduce(name, x, (0,)) for name in names], ("a b", DTYPES[dtype]))

    def reference(axis: int) -> Callable[[torch.Tensor], tuple[torch.Tensor, ...]]:
        return lambda x: (
            x.sum(axis, dtype=dtype),
            x.prod(axis, dtype=dtype),
            x.amin(axis),
            x.amax(axis),
        )

    for sizes in [(3, 5), (17, 16), (2, 77), (65, 129)]:
        x = torch.randn(sizes).mul(3).to(dtype) if dtype.is_floating_point else torch.randint(0, 9, sizes).to(dtype)
        check(rows, reference(1), x, rtol=1e-5, atol=1e-4)
        check(columns, reference(0), x, rtol=1e-5, atol=1e-4)


def test_minimum_and_maximum_pass_nan_on() -> None:
    """If this fails, a NaN is lost where torch gives it."""
    pairs = [(name, axis) for name in ("minimum", "maximum") for axis in (0, 1)]
    compiled = Compiled(lambda build, x: [build.reduce(name, x, (axis,)) for name, axis in pairs], ("a b", "float32"))
    for place in (0, 15, 16, 60, 69):
        x = torch.randn(70, 70)
        x[place, 3] = x[5, place] = float("nan")
        check(compiled, lambda x: (x.amin(0), x.amin(1), x.amax(0), x.amax(1)), x)


def test_long_sums_keep_their_digits() -> None:
    """If this fails, sums of many numbers are worse than eager's by more than a small factor."""
    x = torch.rand(1 << 20) + 1e-3
    exact = x.double().sum()
    whole = Compiled(lambda build, x: build.reduce("sum", x, (0,)), ("n", "float32"))
    column = Compiled(lambda build, x: build.reduce("sum", x, (0,)), ("n m", "float32"))
    eager = abs(x.sum().double() - exact) + exact * 1e-7
    assert abs(whole(x)[0].double() - exact) <= 4 * eager
    assert abs(column(x[:, None].expand(-1, 3).contiguous())[0].double() - exact).max() <= 4 * eager


def test_threads_do_not_change_a_result() -> None:
    """If this fails, ranges of turns overlap, are left out, or sums depend on how many threads there are."""

    def build(build: Expressions, x: Tensor) -> list[Tensor]:
        return [gelu(build, x), softmax(build, x, 1)]

    before = torch.get_num_threads()
    functions = [
        Compiled(build, ("a b", "float32")),
        Compiled(lambda build, x: build.reduce("sum", x, (0,)), ("a b", "float32")),
        Compiled(lambda build, x: build.reduce("sum", x, (0, 1)), ("a b", "float32")),
        Compiled(lambda build, x: build.reduce("sum", x, (1,)), ("a b c", "float32")),
    ]
    try:
        for compiled in functions:
            rank = len(compiled.program.inputs[0].sizes)
            for sizes in [(997, 1003, 1), (3, 40000, 5), (100003, 7, 1)]:
                x = torch.randn(sizes[:rank])
                torch.set_num_threads(1)
                alone = compiled(x)
                for threads in (2, 3):
                    torch.set_num_threads(threads)
                    for first, second in zip(alone, compiled(x), strict=True):
                        assert torch.equal(first, second)
    finally:
        torch.set_num_threads(before)
