"""Functions of tensors with named sizes as kernels in C, and some of them that every model has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch

from backends.cpu import kernels
from backends.decisions.questions import Decisions
from backends.interpreter import Interpreted
from backends.loops.affine import packed
from backends.loops.kernels import Kernel
from backends.loops.nodes import Memory, Tensor
from backends.loops.program import Program
from backends.loops.schedule import schedule
from backends.loops.tensors import Expressions
from backends.program.host import Host
from shapes import ShapeEnv
from shapes.guards.toolchain import Unavailable

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
            strides = packed(extents)
            if strided:
                names = " ".join(f"t{place}_{axis}" for axis in range(len(extents)))
                strides = tuple([size.expr for size in env.sizes(names)])
            memories.append(self.program.input(f"x{place}", dtype, extents, strides))
        results = build(expressions, *memories)
        for result in [results] if isinstance(results, Tensor) else results:
            self.program.outputs.append(self.program.stored(result, packed(result.sizes)))
        self.steps = schedule(self.program, interchanges=True)
        self.kernels = [step for step in self.steps if isinstance(step, Kernel)]
        launches = kernels(self.kernels, self.decisions)
        if isinstance(launches, Unavailable):
            pytest.skip(launches.reason)
        self.host = Host(self.program, self.steps, launches, Interpreted(threads=torch.get_num_threads))

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


SIZES = [(0, 4), (3, 0), (1, 1), (2, 15), (3, 16), (5, 17), (2, 63), (4, 64), (3, 65), (2, 200), (2, 1000), (3, 4500)]
