"""Running expressions of the vector library over tensors, on every set of instructions that this machine has."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable, Mapping
from functools import cache

import pytest
import torch

from backends.cpu.compiler import chosen_architecture, compile_source, load
from backends.cpu.vector import AVX2, AVX512, PLAIN, InstructionSet, instruction_set, source
from backends.cpu.vector.machine import SETS
from shapes.guards.toolchain import Unavailable

needs_compiler = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("cc", "gcc", "clang")), reason="no C compiler here"
)

HERE = [found for found in SETS[SETS.index(instruction_set()) :] if found in (AVX512, AVX2, PLAIN)]
"""The sets of this machine: its best one, and what it also has."""

KINDS = {
    "f32": torch.float32,
    "f64": torch.float64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "bool": torch.bool,
}

Form = tuple[tuple[str, ...], str, str]
"""The operands read, the one written, and the expression with `{0}`, `{1}`... for the vectors that were read. for the
vectors that were read.
"""


def architecture(instructions: InstructionSet) -> str:
    """The instruction sets that it needs, so that the compiler uses no more; the best one is compiled as kernels are.
    """
    return chosen_architecture() if instructions is HERE[0] else instructions.architecture


@cache
def compiled(text: str, instructions: InstructionSet) -> ctypes.CDLL:
    path = compile_source(text, architecture=architecture(instructions))
    assert not isinstance(path, Unavailable), path.reason
    return load(path)


def evaluators(
    forms: Mapping[str, Form], lanes: int, instructions: InstructionSet
) -> dict[str, Callable[..., torch.Tensor]]:
    """For each form a function of contiguous tensors; the last lanes are done as a tail."""
    kernels = []
    for name, (inputs, output, expression) in forms.items():
        places = [f"(char *)p[{place}] + i * {KINDS[kind].itemsize}" for place, kind in enumerate([*inputs, output])]
        loads = [f"load_{kind}({place}, n)" for kind, place in zip(inputs, places)]
        store = f"store_{output}({places[-1]}, {expression.format(*loads)}, n)"
        kernels.append(
            f"void run_{name}(void *const *p, const int64_t *s)\n"
            f"{{ for (int64_t i = 0; i < s[0]; i += N) {{ int64_t n = s[0] - i < N ? s[0] - i : N; {store}; }} }}\n"
        )
    library = compiled(source([(lanes, "".join(kernels))], instructions), instructions)

    def evaluator(name: str, output: str) -> Callable[..., torch.Tensor]:
        def evaluate(*tensors: torch.Tensor) -> torch.Tensor:
            result = torch.empty(tensors[0].shape, dtype=KINDS[output])
            call(library, f"run_{name}", *tensors, result, numbers=[tensors[0].numel()])
            return result

        return evaluate

    return {name: evaluator(name, output) for name, (_, output, _) in forms.items()}


def call(library: ctypes.CDLL, name: str, *tensors: torch.Tensor | int, numbers: list[int]) -> None:
    """Launch a kernel; an int is an address."""
    addresses = [tensor if isinstance(tensor, int) else tensor.data_ptr() for tensor in tensors]
    library[name]((ctypes.c_void_p * len(addresses))(*addresses), (ctypes.c_int64 * len(numbers))(*numbers))


def assert_same(found: torch.Tensor, expected: torch.Tensor, *inputs: torch.Tensor) -> None:
    """Equal bit for bit, but any NaN is any other NaN."""
    equal = found == expected
    if found.is_floating_point():
        equal = (equal & (found.signbit() == expected.signbit())) | (found.isnan() & expected.isnan())
    if not bool(equal.all()):
        place = int((~equal).nonzero()[0])
        wrong = int((~equal).sum())
        given = [tensor[place].item() for tensor in inputs]
        pytest.fail(f"{wrong} of {equal.numel()}; {given}: {found[place]} where {expected[place]} is right")


def pairs(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Every value with every value."""
    first, second = torch.meshgrid(values, values, indexing="ij")
    return first.flatten().contiguous(), second.flatten().contiguous()


def special(kind: str) -> torch.Tensor:
    """The values at which functions of this type differ."""
    dtype = KINDS[kind]
    if dtype.is_floating_point:
        limits = torch.finfo(dtype)
        values = [0.0, 0.5, 1.0, 1.5, 2.5, 3.7, 0.3, 7.0, 100.7, 2.0**23 + 1, 2.0**31, 2.0**33, 2.0**63, 1e10]
        values += [limits.tiny, limits.tiny / 8, limits.max, limits.eps, float("inf"), 0.49999997, 2.0**22 + 0.5]
        whole = torch.tensor([*values, float("nan")], dtype=torch.float64)
        return torch.cat([whole, -whole]).to(dtype)
    limits = torch.iinfo(dtype)
    values = {limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 100}
    values |= {-value for value in values}
    return torch.tensor(sorted(value for value in values if limits.min <= value <= limits.max), dtype=dtype)
