"""Conversions, masks, choosing, reductions over lanes, and the arithmetic of integers, against torch."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch

from backends.cpu.vector import InstructionSet, lanes_for, source
from backends.cpu.vector.elements import BITS, ELEMENTS, FLOATS, INTEGERS
from tests.backends.cpu.vector.vectors import (
    HERE,
    KINDS,
    Form,
    assert_same,
    call,
    compiled,
    evaluators,
    needs_compiler,
    pairs,
    special,
)

pytestmark = [needs_compiler, pytest.mark.parametrize("instructions", HERE, ids=lambda found: found.name)]
WIDTHS = [4, 8]
ARGUMENTS = "(void *const *p, const int64_t *s)"


@pytest.mark.parametrize("widest", WIDTHS)
def test_conversions(instructions: InstructionSet, widest: int) -> None:
    """A failure: a value is converted otherwise than torch's `.to`, also outside the range of the type."""
    kinds = [kind for kind, element in ELEMENTS.items() if element.size <= widest or widest == 4]
    forms: dict[str, Form] = {
        f"{one}_to_{other}": ((one,), other, f"convert_{one}_{other}({{0}})") for one, other in permutations(kinds, 2)
    }
    run = evaluators(forms, lanes_for(widest, instructions), instructions)
    for name, (inputs, output, _) in forms.items():
        x = special(inputs[0])
        if inputs[0] in FLOATS:
            x = torch.cat([x, torch.tensor([-1.5, 300.3, -70000, 2**33 + 77, -(2**40) - 4099], dtype=x.dtype)])
        assert_same(run[name](x), x.to(KINDS[output]), x)


def test_half_and_bfloat16(instructions: InstructionSet) -> None:
    """A failure: one of all 65,536 values is read wrongly, or a float is not rounded to nearest even."""
    kinds = ("f16", "bf16")
    forms: dict[str, Form] = {f"from_{kind}": ((kind,), "f32", "{0}") for kind in kinds}
    forms |= {f"to_{kind}": (("f32",), kind, "{0}") for kind in kinds}
    forms |= {f"round_{kind}": (("f32",), "f32", f"round_{kind}({{0}})") for kind in kinds}
    run = evaluators(forms, lanes_for(4, instructions), instructions)
    every = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    for kind in kinds:
        x = every.view(KINDS[kind])
        assert_same(run[f"from_{kind}"](x), x.float(), x)
        wide = x.float()
        between = torch.cat([wide, (wide[:-1].double() + wide[1:].double()).div(2).float(), special("f32")])
        near = torch.cat([between, between.nextafter(torch.tensor(9.0)), between.nextafter(torch.tensor(-9.0))])
        assert_same(run[f"to_{kind}"](near), near.to(KINDS[kind]), near)
        assert_same(run[f"round_{kind}"](near), near.to(KINDS[kind]).float(), near)


def test_masks_and_choosing(instructions: InstructionSet) -> None:
    """A failure: `where` takes the other side, or a mask loses lanes between widths."""
    forms: dict[str, Form] = {}
    for kind, element in ELEMENTS.items():
        bits = 8 * element.size
        forms[f"select_{kind}"] = (("bool", kind, kind), kind, f"select_{kind}(m{bits}_bool({{0}}), {{1}}, {{2}})")
        forms[f"less_{kind}"] = ((kind, kind), "bool", f"bool_m{bits}({{0}} < {{1}})")
    for one, other in permutations(BITS, 2):
        forms[f"mask_{one}_{other}"] = (("bool",), "bool", f"bool_m{other}(m{other}_m{one}(m{one}_bool({{0}})))")
    run = evaluators(forms, lanes_for(4, instructions), instructions)
    for kind in ELEMENTS:
        x, y = pairs(special(kind))
        chosen = torch.rand(x.shape) < 0.5
        assert_same(run[f"select_{kind}"](chosen, x, y), torch.where(chosen, x, y), chosen, x, y)
        assert_same(run[f"less_{kind}"](x, y), x < y, x, y)
    chosen = torch.rand(99) < 0.5
    for one, other in permutations(BITS, 2):
        assert_same(run[f"mask_{one}_{other}"](chosen), chosen, chosen)


IN_ALL_LANES = {"sum": "total", "min": "least", "max": "greatest"}
"""The names of the reductions of floats that leave the result in all lanes."""


@pytest.mark.parametrize("widest", WIDTHS)
def test_reductions_over_lanes(instructions: InstructionSet, widest: int) -> None:
    """A failure: a lane is left out or taken twice, a NaN does not win, or one lane of a mask is overlooked."""
    lanes = lanes_for(widest, instructions)
    text = ""
    for kind, element in ELEMENTS.items():
        for name in ("sum", "product", "min", "max"):
            found = f"{name}_{kind}(load_{kind}(p[0], N))"
            if element.is_float and name in IN_ALL_LANES:
                found = f"{IN_ALL_LANES[name]}_{kind}(load_{kind}(p[0], N))[N - 1]"
            text += f"void {name}_of_{kind}{ARGUMENTS} {{ write_{kind}(p[1], {found}); }}\n"
        bits = 8 * element.size
        text += f"void mask_of_{kind}{ARGUMENTS} {{ {element.mask} m = load_{kind}(p[0], N) != 0;"
        text += f" write_u8(p[1], any_m{bits}(m)); write_u8((char *)p[1] + 1, all_m{bits}(m)); }}\n"
    library = compiled(source([(lanes, text)], instructions), instructions)
    references = {"sum": torch.sum, "product": torch.prod, "min": torch.amin, "max": torch.amax}
    for kind, element in ELEMENTS.items():
        dtype = KINDS[kind]
        for lane in range(lanes):
            x = torch.ones(lanes, dtype=dtype)
            x[lane], x[(lane + 1) % lanes] = 3, 0 if lane % 2 else 2
            rows = [x]
            if element.is_float:
                rows += [x.clone().index_fill(0, torch.tensor([lane]), value) for value in (float("nan"), float("inf"))]
            for row in rows:
                for name, reference in references.items():
                    if name in ("min", "max") and row.isnan().any():
                        continue  # of floats these see no NaN
                    found = torch.empty(1, dtype=dtype)
                    call(library, f"{name}_of_{kind}", row, found, numbers=[])
                    expected = reference(row, 0).to(dtype)
                    assert_same(found, expected[None], row[None])
            for value, expected in [(0, [lanes > 1, False]), (1, [True, True])]:
                mask, found = torch.ones(lanes, dtype=dtype), torch.empty(2, dtype=torch.uint8)
                mask[lane] = value
                call(library, f"mask_of_{kind}", mask, found, numbers=[])
                assert found.tolist() == expected
            one, found = torch.zeros(lanes, dtype=dtype), torch.empty(2, dtype=torch.uint8)
            call(library, f"mask_of_{kind}", one, found, numbers=[])
            assert found.tolist() == [0, 0]
            one[lane] = 1
            call(library, f"mask_of_{kind}", one, found, numbers=[])
            assert found.tolist() == [1, 0]


def test_lane_numbers_and_first_lanes(instructions: InstructionSet) -> None:
    """A failure: the mask of a tail has a lane too many or too few."""
    for lanes in (4, lanes_for(4, instructions), lanes_for(1, instructions)):
        text = ""
        for bits in BITS:
            text += f"void lane_{bits}{ARGUMENTS} {{ store_i{bits}(p[0], lane_i{bits}(), N); }}\n"
            text += f"void first_{bits}{ARGUMENTS} {{ store_bool(p[0], bool_m{bits}(first_m{bits}(s[0])), N); }}\n"
        library = compiled(source([(lanes, text)], instructions), instructions)
        for bits in BITS:
            numbers = torch.empty(lanes, dtype=KINDS[f"i{bits}"])
            call(library, f"lane_{bits}", numbers, numbers=[])
            assert numbers.tolist() == list(range(lanes))
            for n in [*range(lanes + 2), -1, -(2**62), 2**62, 256]:
                first = torch.empty(lanes, dtype=torch.bool)
                call(library, f"first_{bits}", first, numbers=[n])
                assert first.tolist() == [lane < n for lane in range(lanes)], (bits, n)


def divide(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.div(x, y, rounding_mode="trunc")


def floor_divide(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.div(x, y, rounding_mode="floor")


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers(instructions: InstructionSet, kind: str) -> None:
    """A failure: an operation on integers rounds, wraps or shifts otherwise than torch's, or stops the process."""
    divisions = {"floor_divide": floor_divide, "divide": divide, "remainder": torch.remainder, "fmod": torch.fmod}
    others = {"minimum": torch.minimum, "maximum": torch.maximum}
    others |= {"shift_left": torch.bitwise_left_shift, "shift_right": torch.bitwise_right_shift}
    single = {"abs": torch.abs, "sign": torch.sign}
    forms: dict[str, Form] = {
        name: ((kind, kind), kind, f"{name}_{kind}({{0}}, {{1}})") for name in divisions | others
    }
    forms |= {name: ((kind,), kind, f"{name}_{kind}({{0}})") for name in single}
    forms["add"] = ((kind, kind), kind, "{0} + {1}")
    forms["multiply"] = ((kind, kind), kind, "{0} * {1}")
    run = evaluators(forms, lanes_for(ELEMENTS[kind].size, instructions), instructions)
    x, y = pairs(special(kind))
    least = torch.iinfo(KINDS[kind]).min
    for name, reference in divisions.items():
        divisible = (y != 0) & ~((x == least) & (y == -1) & (least < 0))
        a, b = x[divisible], y[divisible]
        assert_same(run[name](a, b), reference(a, b), a, b)
    zero = torch.zeros_like(x)
    assert_same(run["divide"](x, zero), zero, x)
    assert_same(run["floor_divide"](x, zero), zero, x)
    assert_same(run["remainder"](x, zero), x, x)
    assert_same(run["fmod"](x, zero), x, x)
    if least < 0:
        assert_same(run["divide"](zero + least, zero - 1), zero + least, zero)
        assert_same(run["remainder"](zero + least, zero - 1), zero, zero)
    for name, reference in others.items():
        assert_same(run[name](x, y), reference(x, y), x, y)
    for name, reference in single.items():
        assert_same(run[name](x), reference(x), x)
    assert_same(run["add"](x, y), x + y, x, y)
    assert_same(run["multiply"](x, y), x * y, x, y)
