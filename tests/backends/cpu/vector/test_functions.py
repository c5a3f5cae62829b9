"""The functions of the vector library against what IEEE 754 defines, and against mathematics."""

from __future__ import annotations

import mpmath
import pytest
import torch

from backends.cpu.compiler import compile_source
from backends.cpu.vector import PLAIN, InstructionSet, lanes_for, source
from benchmarks.vector_accuracy import FUNCTIONS, measured
from shapes.guards.toolchain import Unavailable
from tests.backends.cpu.vector.defined import OF_ONE, OF_TWO, QUESTIONS, applied, defined, mathematical
from tests.backends.cpu.vector.vectors import HERE, KINDS, Form, assert_same, evaluators, needs_compiler, pairs, special

pytestmark = [needs_compiler, pytest.mark.parametrize("instructions", HERE, ids=lambda found: found.name)]
FLOATS = ("f32", "f64")
EXACT = tuple(defined("f64"))
CLOSE = (*[name for name in OF_ONE if name not in EXACT], *OF_TWO)
PAIRS = {"minimum", "maximum", "fmin", "fmax", "fmod", "remainder", "floor_divide", "copysign", *OF_TWO}


def forms(kind: str) -> dict[str, Form]:
    """Every function of this type, each as a kernel."""
    bits = 8 * KINDS[kind].itemsize
    found: dict[str, Form] = {}
    for name in [*EXACT, *CLOSE]:
        arguments = "{0}, {1}" if name in PAIRS else "{0}"
        found[name] = ((kind,) * (1 + (name in PAIRS)), kind, f"{name}_{kind}({arguments})")
    for name in QUESTIONS:
        found[name] = ((kind,), "bool", f"bool_m{bits}({name}_{kind}({{0}}))")
    found["fma"] = ((kind,) * 3, kind, f"fma_{kind}({{0}}, {{1}}, {{2}})")
    return found


@pytest.mark.parametrize("kind", FLOATS)
def test_special_values(instructions: InstructionSet, kind: str) -> None:
    """A failure: NaN, an infinity, the sign of a zero, a subnormal or a huge number is not what is defined."""
    run = evaluators(forms(kind), lanes_for(KINDS[kind].itemsize, instructions), instructions)
    for name, reference in (defined(kind) | QUESTIONS).items():
        inputs = pairs(special(kind)) if name in PAIRS else (special(kind),)
        if name in ("minimum", "maximum", "fmin", "fmax"):  # of two zeros, either
            other = (inputs[0] == 0) & (inputs[1] == 0) & (inputs[0].signbit() != inputs[1].signbit())
            inputs = (inputs[0][~other], inputs[1][~other])
        found = run[name](*inputs)
        assert_same(found, applied(reference, *inputs).to(found.dtype), *inputs)
    for name in CLOSE:
        inputs = pairs(special(kind)) if name in PAIRS else (special(kind),)
        found = run[name](*inputs)
        expected = applied(OF_TWO.get(name) or mathematical(name), *inputs).to(found.dtype)
        tolerance = 4 * torch.finfo(found.dtype).eps
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=0, equal_nan=True, msg=name)


@pytest.mark.parametrize("kind", FLOATS)
def test_every_rounding_is_the_nearest(instructions: InstructionSet, kind: str) -> None:
    """A failure: a square root or a quotient is approximated, as some libraries and processors do."""
    run = evaluators(forms(kind), lanes_for(KINDS[kind].itemsize, instructions), instructions)
    generator = torch.Generator().manual_seed(5)
    x = torch.rand(20_003, dtype=KINDS[kind], generator=generator) * 4
    x = torch.cat([x, torch.ldexp(x[:999], torch.arange(999) % 120 - 60)])
    for name in ("sqrt", "reciprocal", "rsqrt"):
        assert_same(run[name](x), applied(defined(kind)[name], x).to(x.dtype), x)


def test_float32_within_one_and_a_half_units(instructions: InstructionSet) -> None:
    """A failure: a function has lost accuracy, or a special value is wrong (every float32: make vector-accuracy)."""
    for accuracy in measured(list(FUNCTIONS), instructions=instructions, step=9973):
        assert accuracy.worst <= 1.5 and accuracy.wrong == 0, accuracy


def test_float64_within_two_units(instructions: InstructionSet) -> None:
    """A failure: a function of float64 is only as accurate as that of float32."""
    run = evaluators(forms("f64"), lanes_for(8, instructions), instructions)
    torch.manual_seed(0)
    x = torch.cat([torch.randn(60, dtype=torch.float64) * scale for scale in (1e-9, 0.3, 1, 5, 40, 300)])
    with mpmath.workdps(40):
        for name in FUNCTIONS:
            given = x.abs() if name.startswith("log") and name != "log1p" or name == "rsqrt" else x
            given = given.clamp(min=-0.99) if name == "log1p" else given
            for value, found in zip(given.tolist(), run[name](given).tolist(), strict=True):
                right = OF_ONE[name](mpmath.mpf(value))
                unit = 2.0 ** -1074 if abs(right) < 2.0**-1022 else mpmath.mpf(2) ** (mpmath.frexp(right)[1] - 53)
                if abs(right) < 1.7e308:
                    assert abs(found - right) <= 2 * unit, (name, value, found, float(right))


def test_same_bits_as_the_widest(instructions: InstructionSet) -> None:
    """A failure: what a kernel computes depends on the processor that it runs on."""
    best = HERE[0]
    x = torch.cat([special("f32"), torch.randn(5000) * 10])
    names = list(FUNCTIONS)
    run = evaluators(forms("f32"), lanes_for(4, instructions), instructions)
    reference = evaluators(forms("f32"), lanes_for(4, best), best)
    for name in names:
        assert_same(run[name](x), reference[name](x), x)


@pytest.mark.parametrize("kind", FLOATS)
def test_multiplication_and_addition_in_one_rounding(instructions: InstructionSet, kind: str) -> None:
    """A failure: `fma` rounds twice, and every polynomial loses accuracy."""
    run = evaluators(forms(kind), lanes_for(KINDS[kind].itemsize, instructions), instructions)
    torch.manual_seed(1)
    x = torch.rand(999, dtype=KINDS[kind]) + 1
    product = x * x
    lost = run["fma"](x, x, -product)
    if kind == "f32":
        assert_same(lost, (x.double() * x.double() - product.double()).float(), x)
    assert bool((lost != 0).any()) and bool((lost.abs() <= torch.finfo(x.dtype).eps * 2).all())


@pytest.mark.parametrize("kind", FLOATS)
def test_vectors_of_other_widths(instructions: InstructionSet, kind: str) -> None:
    """A failure: a vector of several registers, or of a part of one, is computed wrongly."""
    x = torch.cat([special(kind), torch.randn(200, dtype=KINDS[kind]) * 5])
    names = ["exp", "log", "sigmoid", "tanh", "erf", "sin", "round", "minimum", "fma"]
    few = {name: forms(kind)[name] for name in names}
    reference = evaluators(forms(kind), lanes_for(KINDS[kind].itemsize, instructions), instructions)
    for lanes in (4, 2 * lanes_for(KINDS[kind].itemsize, instructions)):
        run = evaluators(few, lanes, instructions)
        for name, (inputs, _, _) in few.items():
            arguments = (x, x.flip(0), x.roll(1))[: len(inputs)]
            assert_same(run[name](*arguments), reference[name](*arguments), *arguments)


def test_no_calls_of_the_mathematical_library(instructions: InstructionSet) -> None:
    """A failure: a function that has a polynomial is computed lane by lane all the same, twenty times slower."""
    names = [name for name in FUNCTIONS if name not in ("sin", "cos")]  # which have to, for huge numbers
    if instructions is PLAIN:
        pytest.skip("it has no multiplication and addition in one instruction")
    calls = " ".join(f"x = {name}_f32(x);" for name in names)
    text = f"void work(float *p) {{ f32v x = load_f32(p, N); {calls} store_f32(p, x, N); }}"
    path = compile_source(source([(lanes_for(4, instructions), text)], instructions))
    assert not isinstance(path, Unavailable)
    content = path.read_bytes()
    assert b"work" in content
    for name in ("exp", "exp2", "expm1", "log", "log1p", "tanh", "erf", "fma", "sqrt"):
        assert b"\0" + name.encode() + b"f\0" not in content
