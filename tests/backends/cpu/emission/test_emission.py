"""Kernels in C against eager torch, at sizes where vectors are full, empty, or cut off."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from backends.cpu.compiler import sanitizer_environment
from backends.cpu.emission import file_source
from backends.cpu.vector import AVX2, PLAIN, InstructionSet, catalogue, instruction_set, machine
from backends.loops.nodes import Gather, Memory, Tensor
from backends.loops.tensors import Expressions
from shapes.guards.toolchain import Unavailable
from tests.backends.cpu.emitted import DTYPES, SIZES, Compiled, check, gelu, softmax


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


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


def test_nothing_has_axes() -> None:
    """If this fails, kernels of single numbers are wrong."""
    compiled = Compiled(lambda build, x, y: build.apply("mul", x, y), ("", "float32"), ("", "float32"))
    check(compiled, lambda x, y: x * y, torch.tensor(3.0), torch.tensor(0.5))


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
        row, column = build.iota(x.sizes, 0), build.iota(x.sizes, 1)
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
        place = build.apply("sub", build.iota(x.sizes, 1), build.number(3, "int64"))
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
        return build.apply("neg", Gather(sizes, table.dtype, table, (place, build.axis(1))))

    def elements(build: Expressions, table: Memory, index: Tensor) -> Tensor:
        rows = build.axis(0)
        return build.apply("neg", Gather(index.sizes, table.dtype, table, (rows, index)))

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


def test_nothing_outside_of_tensors_is_touched() -> None:
    """If this fails, a tail or a kept value is read or written outside of its memory, or arithmetic is undefined."""
    variables = sanitizer_environment()
    if isinstance(variables, Unavailable):
        pytest.skip(variables.reason)
    chosen = "row_softmax or column_softmax or strides or middle or taken or transposed or compared"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-k", chosen, __file__]
    ran = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True)
    assert ran.returncode == 0 and " passed" in ran.stdout, ran.stdout + ran.stderr
