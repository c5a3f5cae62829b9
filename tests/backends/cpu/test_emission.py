"""Kernels in C against eager torch, at sizes where vectors are full, empty, or cut off."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

import pytest
import torch

from backends.cpu import kernels
from backends.cpu.compiler import sanitizer_environment
from backends.cpu.emission import file_source
from backends.cpu.vector import AVX2, PLAIN, InstructionSet, catalogue, instruction_set, machine
from backends.decisions import Decisions
from backends.host import Host
from backends.loops.kernels import Kernel
from backends.loops.program import Program
from backends.loops.schedule import contiguous, schedule
from backends.loops.tensors import Expressions, Memory, Taken, Tensor
from shapes import ShapeEnv
from shapes.toolchain import Unavailable

Build = Callable[..., Tensor | Sequence[Tensor]]
DTYPES = {
    torch.float32: "float32",
    torch.float64: "float64",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.int64: "int64",
    torch.int32: "int32",
    torch.uint8: "uint8",
    torch.bool: "bool",
}


class Compiled:
    """A function of tensors whose sizes are named, as kernels."""

    def __init__(self, build: Build, *inputs: tuple[str, str], strided: bool = False) -> None:
        """`inputs` are the names of the sizes and the dtype of each."""
        env = ShapeEnv(origin=lambda: None)
        names = dict.fromkeys(name for sizes, _ in inputs for name in sizes.split() if not name.isdigit())
        sizes = {name: size.expr for name, size in zip(names, env.sizes(" ".join(names)))} if names else {}
        self.decisions = Decisions(env)
        self.program = Program(self.decisions)
        expressions = self.program.build
        memories: list[Memory] = []
        for place, (text, dtype) in enumerate(inputs):
            extents = tuple([sizes[name] if name in sizes else expressions.lift(int(name)) for name in text.split()])
            strides = contiguous(expressions, extents)
            if strided:
                names = " ".join(f"t{place}_{axis}" for axis in range(len(extents)))
                strides = tuple([size.expr for size in env.sizes(names)])
            memories.append(self.program.input(f"x{place}", dtype, extents, strides))
        results = build(expressions, *memories)
        for result in [results] if isinstance(results, Tensor) else results:
            self.program.outputs.append(self.program.stored(result, contiguous(expressions, result.sizes)))
        self.steps = schedule(self.program, crosses=True)
        self.kernels = [step for step in self.steps if isinstance(step, Kernel)]
        launches = kernels(self.kernels, self.decisions)
        if isinstance(launches, Unavailable):
            pytest.skip(launches.reason)
        self.host = Host(self.program, self.steps, launches, last=torch.get_num_threads)

    def __call__(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        return self.host.function(tensors)


def check(compiled: Compiled, reference: Callable[..., object], *tensors: torch.Tensor, **tolerance: float) -> None:
    found = compiled(*tensors)
    expected = reference(*tensors)
    for got, wanted in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        torch.testing.assert_close(got, wanted, equal_nan=True, **tolerance)


def over(build: Expressions, operation: str, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """A reduction, as large as what is reduced."""
    return build.expand(build.reduce(operation, x, axes, keepdim=True), x.sizes)


def softmax(build: Expressions, x: Tensor, axis: int) -> Tensor:
    exponential = build.apply("exp", build.apply("sub", x, over(build, "maximum", x, (axis,))))
    return build.apply("div", exponential, over(build, "sum", exponential, (axis,)))


def mean(build: Expressions, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    count = build.one
    for axis in axes:
        count = count * x.sizes[axis]
    return build.apply("div", over(build, "sum", x, axes), build.number(count, x.dtype))


def layer_norm(build: Expressions, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    axis = (x.rank - 1,)
    centred = build.apply("sub", x, mean(build, x, axis))
    variance = mean(build, build.apply("mul", centred, centred), axis)
    inverse = build.apply("rsqrt", build.apply("add", variance, build.number(1e-5, x.dtype)))
    normal = build.apply("mul", centred, inverse)
    scaled = build.apply("mul", normal, build.expand(weight, x.sizes))
    return build.apply("add", scaled, build.expand(bias, x.sizes))


def gelu(build: Expressions, x: Tensor) -> Tensor:
    half = build.apply("mul", x, build.number(0.5, x.dtype))
    error = build.apply("erf", build.apply("mul", x, build.number(0.5**0.5, x.dtype)))
    return build.apply("mul", half, build.apply("add", error, build.number(1.0, x.dtype)))


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


SIZES = [(0, 4), (3, 0), (1, 1), (2, 15), (3, 16), (5, 17), (2, 63), (4, 64), (3, 65), (2, 200), (2, 1000), (3, 4500)]


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


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_pointwise_with_broadcast(dtype: str) -> None:
    """If this fails, a type is loaded or stored wrongly, or a broadcast row."""

    def build(build: Expressions, x: Tensor, bias: Tensor, scale: Tensor) -> Tensor:
        kind = "float64" if dtype == "float64" else "float32"
        x, bias, scale = [build.cast(each, kind) for each in (x, bias, scale)]
        moved = build.apply("add", x, build.expand(bias, x.sizes))
        return build.cast(build.apply("mul", gelu(build, moved), build.expand(scale, x.sizes)), dtype)

    kind = getattr(torch, dtype)
    compiled = Compiled(build, ("r c", dtype), ("c", dtype), ("r 1", dtype))

    def reference(x: torch.Tensor, bias: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        wide = torch.float64 if dtype == "float64" else torch.float32
        return (torch.nn.functional.gelu(x.to(wide) + bias.to(wide)) * scale.to(wide)).to(kind)

    for rows, columns in SIZES:
        x, bias = torch.randn(rows, columns).to(kind), torch.randn(columns).to(kind)
        check(compiled, reference, x, bias, torch.randn(rows, 1).to(kind))


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


def test_nothing_has_axes() -> None:
    """If this fails, kernels of single numbers are wrong."""
    compiled = Compiled(lambda build, x, y: build.apply("mul", x, y), ("", "float32"), ("", "float32"))
    check(compiled, lambda x, y: x * y, torch.tensor(3.0), torch.tensor(0.5))


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


def test_bools_are_masks_until_they_are_stored() -> None:
    """If this fails, conditions of different widths are combined wrongly."""

    def build(build: Expressions, x: Tensor, m: Tensor, k: Tensor) -> list[Tensor]:
        positive = build.apply("gt", x, build.number(0.0, "float32"))
        odd = build.cast(build.apply("bitand", k, build.number(1, "int64")), "bool")
        both = build.apply("bitand", build.apply("bitor", positive, m), build.apply("bitnot", odd))
        chosen = build.apply("select", both, x, build.cast(k, "float32"))
        number = build.apply("add", build.cast(m, "int64"), build.cast(positive, "int64"))
        unset = build.apply("bitnot", m)
        return [both, chosen, number, build.reduce("any", both, (1,)), build.reduce("all", unset, (0,))]

    def reference(x: torch.Tensor, m: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, ...]:
        both = ((x > 0) | m) & ~(k % 2 != 0)
        return both, torch.where(both, x, k.float()), m.long() + (x > 0).long(), both.any(1), (~m).all(0)

    compiled = Compiled(build, ("a b", "float32"), ("a b", "bool"), ("a b", "int64"))
    for sizes in [(3, 5), (2, 16), (9, 77)]:
        x, m, k = torch.randn(sizes), torch.rand(sizes) > 0.8, torch.randint(-50, 50, sizes)
        check(compiled, reference, x, m, k)


def test_integers_wrap_and_divide_as_torch_does() -> None:
    """If this fails, integer arithmetic differs from torch's."""

    def build(build: Expressions, x: Tensor, y: Tensor) -> list[Tensor]:
        names = ("add", "sub", "mul", "floordiv", "truncdiv", "remainder", "fmod", "minimum", "bitxor", "lt")
        shifted = build.apply("shl", x, build.apply("bitand", y, build.number(7, x.dtype)))
        return [*[build.apply(name, x, y) for name in names], shifted, build.apply("neg", x), build.apply("abs", y)]

    def reference(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        divided = x // y, torch.div(x, y, rounding_mode="trunc"), x % y, torch.fmod(x, y)
        return x + y, x - y, x * y, *divided, torch.minimum(x, y), x ^ y, x < y, x << (y & 7), -x, y.abs()

    for dtype in (torch.int64, torch.int32):
        compiled = Compiled(build, ("n", DTYPES[dtype]), ("n", DTYPES[dtype]))
        for count in (1, 7, 8, 100):
            y = torch.randint(1, 1 << 20, (count,)) * (2 * torch.randint(0, 2, (count,)) - 1)
            check(compiled, reference, torch.randint(-(1 << 30), 1 << 30, (count,)).to(dtype), y.to(dtype))


def test_places_are_numbers() -> None:
    """If this fails, what is made from an index, such as a causal mask, is wrong."""

    def causal(build: Expressions, x: Tensor) -> Tensor:
        row, column = build.position(x.sizes, 0), build.position(x.sizes, 1)
        hidden = build.apply("select", build.apply("le", column, row), x, build.number(float("-inf"), "float32"))
        return softmax(build, hidden, 1)

    compiled = Compiled(causal, ("a b", "float32"))
    for sizes in [(5, 5), (1, 1), (40, 33), (70, 100)]:
        x = torch.randn(sizes)
        hidden = torch.ones(sizes, dtype=torch.bool).triu(1)
        expected = x.masked_fill(hidden, float("-inf")).softmax(1)
        torch.testing.assert_close(compiled(x)[0], expected)


def test_places_are_compared_as_lanes() -> None:
    """If this fails, a mask is wrong where the bound is among the lanes, before or behind them."""
    names = ("lt", "le", "gt", "ge", "eq", "ne")

    def build(build: Expressions, x: Tensor, bound: Tensor) -> list[Tensor]:
        place = build.apply("sub", build.position(x.sizes, 1), build.number(3, "int64"))
        limit = build.expand(bound, x.sizes)
        masks = [build.apply(name, place, limit) for name in names]
        masks += [build.apply(name, limit, place) for name in names]
        return [build.apply("select", mask, x, build.number(0.0, "float32")) for mask in masks]

    def reference(x: torch.Tensor, bound: torch.Tensor) -> tuple[torch.Tensor, ...]:
        place = torch.arange(x.shape[1])[None] - 3
        masks = [getattr(torch, name)(place, bound) for name in names]
        masks += [getattr(torch, name)(bound, place.expand(x.shape)) for name in names]
        return tuple([torch.where(mask, x, 0.0) for mask in masks])

    compiled = Compiled(build, ("a b", "float32"), ("a 1", "int64"))
    assert "i64v lane_i64" not in file_source(compiled.kernels, compiled.decisions)
    bounds = torch.tensor([-(1 << 63), -4, -3, -2, 0, 12, 13, 14, 28, 29, 30, 60, 61, 62, 70, (1 << 63) - 1])
    check(compiled, reference, torch.randn(len(bounds), 64), bounds[:, None])
    check(compiled, reference, torch.randn(len(bounds), 37), bounds[:, None])


def test_elements_are_taken_from_computed_places() -> None:
    """If this fails, a row is taken from the wrong place, or single elements are."""

    def rows(build: Expressions, table: Memory, index: Tensor) -> Tensor:
        sizes = (index.sizes[0], table.sizes[1])
        place = build.view(index, sizes, (build.axis(0),))
        return build.apply("neg", Taken(sizes, table.dtype, table, (place, build.axis(1))))

    def elements(build: Expressions, table: Memory, index: Tensor) -> Tensor:
        rows = build.axis(0)
        return build.apply("neg", Taken(index.sizes, table.dtype, table, (rows, index)))

    for sizes in [(3, 5), (9, 16), (40, 70)]:
        table = torch.randn(sizes)
        index = torch.randint(0, sizes[0], (21,))
        check(Compiled(rows, ("a b", "float32"), ("n", "int64")), lambda t, i: -t[i], table, index)
        index = torch.randint(0, sizes[1], (sizes[0], 19))
        check(Compiled(elements, ("a b", "float32"), ("a n", "int64")), lambda t, i: -t.gather(1, i), table, index)


def test_strides_that_only_the_run_tells() -> None:
    """If this fails, one of the two versions of a kernel is wrong."""

    def build(build: Expressions, x: Tensor, y: Tensor) -> list[Tensor]:
        return [build.apply("add", x, y), softmax(build, x, 1)]

    compiled = Compiled(build, ("a b", "float32"), ("a b", "float32"), strided=True)
    assert any(decision.added == "branch" for decision in compiled.decisions.log)
    for a, b in [(3, 5), (20, 33), (70, 64)]:
        plain, other = torch.randn(a, b), torch.randn(b, a).t()
        for x in (plain, other, torch.randn(a, 3 * b)[:, ::3], torch.randn(a, 1).expand(a, b)):
            for y in (plain, torch.randn(1, b).expand(a, b), x):
                check(compiled, lambda x, y: (x + y, x.softmax(1)), x, y)


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


def test_transposed_tensors() -> None:
    """If this fails, kernels whose loops are exchanged store elements elsewhere, or take sizes for others."""

    def build(build: Expressions, x: Tensor, y: Tensor) -> list[Tensor]:
        moved = build.permute(x, (0, 2, 1))
        return [build.apply("neg", moved), build.apply("add", y, moved)]

    compiled = Compiled(build, ("a b c", "float32"), ("a c b", "float32"))
    for a, b, c in [(1, 1, 1), (2, 5, 16), (3, 16, 7), (2, 40, 33), (1, 0, 4), (2, 200, 130)]:
        x, y = torch.randn(a, b, c), torch.randn(a, c, b)
        check(compiled, lambda x, y: (-x.transpose(1, 2).contiguous(), y + x.transpose(1, 2)), x, y)


@pytest.mark.parametrize("dtype", [torch.int16, torch.int8, torch.uint8])
def test_short_integers(dtype: torch.dtype) -> None:
    """If this fails, vectors of many short elements are compared, converted or chosen wrongly."""
    name = str(dtype).removeprefix("torch.")
    operations = ("add", "mul", "minimum", "lt", "ge", "bitand", "floordiv", "remainder")

    def build(build: Expressions, x: Tensor, y: Tensor, z: Tensor) -> list[Tensor]:
        wide = build.cast(x, "float32")
        chosen = build.apply("select", build.apply("lt", x, y), z, wide)
        found = [build.apply(operation, x, y) for operation in operations]
        return [*found, chosen, build.cast(z, name), build.cast(x, "int64"), build.reduce("maximum", x, (1,))]

    def reference(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = x + y, x * y, torch.minimum(x, y), x < y, x >= y, x & y, x // y, x % y
        return *found, torch.where(x < y, z, x.float()), z.to(dtype), x.long(), x.amax(1)

    compiled = Compiled(build, ("a b", name), ("a b", name), ("a b", "float32"))
    for sizes in [(3, 5), (2, 64), (7, 130)]:
        x = torch.randint(0 if dtype == torch.uint8 else -100, 100, sizes).to(dtype)
        check(compiled, reference, x, torch.randint(1, 50, sizes).to(dtype), torch.rand(sizes) * 90)


@pytest.mark.parametrize("instructions", [AVX2, PLAIN], ids=lambda instructions: instructions.name)
def test_shorter_vectors(instructions: InstructionSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, kernels are wrong on processors with shorter vectors."""
    if not instructions.flags <= instruction_set().flags:
        pytest.skip("the processor has no such instructions")
    for module in (machine, catalogue):
        monkeypatch.setattr(module, "instruction_set", lambda: instructions)
    rows = Compiled(lambda build, x: softmax(build, x, 1), ("r c", "float32"))
    columns = Compiled(lambda build, x: softmax(build, x, 0), ("r c", "float32"))
    for sizes in SIZES:
        x = torch.randn(sizes)
        check(rows, lambda x: x.softmax(1), x)
        check(columns, lambda x: x.softmax(0), x)


@pytest.mark.slow
def test_nothing_outside_of_tensors_is_touched() -> None:
    """If this fails, a tail or a kept value is read or written outside of its memory, or arithmetic is undefined."""
    variables = sanitizer_environment()
    if isinstance(variables, Unavailable):
        pytest.skip(variables.reason)
    chosen = "row_softmax or column_softmax or strides or middle or taken or transposed or compared"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-k", chosen, "-m", "not slow", __file__]
    ran = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True)
    assert ran.returncode == 0 and " passed" in ran.stdout, ran.stdout + ran.stderr
