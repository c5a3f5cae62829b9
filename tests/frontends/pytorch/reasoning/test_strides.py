"""Strides of index expressions beside those that Inductor finds by simplifying."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final

import pytest
import sympy
import torch
from torch._inductor import compile_fx, sizevars
from torch._inductor.codegen import cpp
from torch._inductor.utils import fresh_cache, run_and_get_code
from torch.nn import functional
from torch.utils._sympy.functions import FloorDiv, ModularIndexing

from frontends.pytorch import reasoner
from frontends.pytorch.reasoning.comparing import Comparison
from frontends.pytorch.reasoning.installing import INSTALLATION
from frontends.pytorch.reasoning.strides import coefficient

X0, X1, X2 = VARIABLES = [sympy.Symbol(f"x{k}", integer=True, nonnegative=True) for k in range(3)]
S0, S1 = SIZES = [sympy.Symbol(f"s{k}", integer=True, positive=True) for k in range(2)]
READ_OFF: Final = [
    X0,
    S0 + 3,
    sympy.Integer(0),
    -X0 + X1,
    64 * S0 * X0 + 16 * S0 * X1 + X2 - 1,
    4 * S0**2 * X0 + S0 * S1 * X1 + X2,
    X0 + 8 * FloorDiv(X1, 3) * S0,
    S0 * X0 + ModularIndexing(X1, 2, 7),
    X0 * X1 + X1,
]
"""Indices; of `x0`, what it is multiplied with is the stride."""
OPEN: Final = [
    FloorDiv(X0, 3) + X0,
    X1 + ModularIndexing(X0, 1, 16),
    X0**2 + X1,
    X0 * (S0 + 1) + X1,
    X0 * S0 + 2 * X0,
    X0 * FloorDiv(S0, 2),
    sympy.Min(X0, 7),
]
"""Of these, it is Inductor's to say."""
UNCACHED: Final = {name: getattr(sizevars, name).__wrapped__ for name in ("stride_at", "stride_at_vec_range")}


def drawn(seed: int) -> sympy.Expr:
    """An index as Inductor has them: variables times sizes and integers, and what is not linear beside them."""
    draw = random.Random(seed)
    index = sympy.Integer(draw.randint(-1, 1))
    for variable in draw.sample(VARIABLES, draw.randint(1, 3)):
        index += variable * draw.choice([1, 2, 64]) * sympy.Mul(*draw.choices([*SIZES, 1], k=draw.randint(0, 2)))
    if not seed % 4:
        index += draw.choice([FloorDiv(X2, 3), ModularIndexing(X1, 1, 16), S0 * FloorDiv(S1, 2)])
    return index


@pytest.mark.parametrize("index", [*READ_OFF, *map(drawn, range(16))], ids=str)
def test_strides_are_inductors(index: sympy.Expr) -> None:
    """If it fails, a loop is vectorized as if its memory lay elsewhere, or nothing is read off."""
    answers = 0
    for variable in VARIABLES:
        found = coefficient(index, variable)
        if found is None:
            continue
        answers += 1
        for stride in (
            UNCACHED["stride_at"](index, variable),
            UNCACHED["stride_at_vec_range"](index, variable, 16),
            UNCACHED["stride_at_vec_range"](index, variable),
        ):
            assert (type(found), found) == (type(stride), stride)
    assert answers
    if index in READ_OFF:
        assert coefficient(index, X0) is not None


@pytest.mark.parametrize("index", OPEN, ids=str)
def test_what_is_no_coefficient_is_left_to_inductor(index: sympy.Expr) -> None:
    """If it fails, what changes with a variable otherwise than by a factor is given a stride."""
    assert coefficient(index, X0) is None


def test_truths_are_left_to_inductor() -> None:
    """If it fails, an index that is a truth is taken for a number."""
    assert coefficient(X0 < S0, X0) is None


# ---------------------------------------------------------------------- on and off


def test_inductor_is_changed_when_it_compiles_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, Inductor simplifies every index inside of the block, or reads strides off after it."""
    places = [(sizevars, "stride_at"), (sizevars, "stride_at_vec_range"), (cpp, "stride_at_vec_range")]
    before = [getattr(*place) for place in places]
    seen: list[list[Any]] = []

    def stub(*_: object, **__: object) -> None:
        seen.append([getattr(*place) for place in places])

    monkeypatch.setattr(compile_fx, "compile_fx", stub)
    compiler: Any = torch._TorchCompileInductorWrapper("default", None, True)
    assert INSTALLATION.count == 0
    compiler(None, [])
    for _ in "ab":
        with reasoner():
            compiler(None, [])
            compiler(None, [])
            assert sizevars.stride_at_vec_range(7 * S0 * X0, X0, 16) == 7 * S0
        assert [getattr(*place) for place in places] == before
    assert seen[0] == before
    for inside in seen[1:]:
        assert all(x is not y for x, y in zip(inside, before, strict=True))
        assert inside[1] is inside[2]


def test_strides_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, the comparison reports no strides."""
    monkeypatch.setattr(compile_fx, "compile_fx", lambda *_, **__: None)
    compiler: Any = torch._TorchCompileInductorWrapper("default", None, True)
    with reasoner(compare=True) as comparison:
        compiler(None, [])
        assert cpp.stride_at_vec_range(5 * X0 + X1, X0, 16) == 5
    assert isinstance(comparison, Comparison)
    assert comparison.compared["stride_at_vec_range"] == 1
    assert comparison.differences == []


def attention(x: torch.Tensor) -> torch.Tensor:
    b, s, d = x.shape
    heads = x.view(b, s, 2, d // 2).transpose(1, 2)
    return (torch.softmax(heads @ heads.transpose(-1, -2), -1) @ heads).transpose(1, 2).reshape(b, s, d)


def normalized(x: torch.Tensor) -> torch.Tensor:
    b, s, d = x.shape
    return functional.layer_norm(functional.gelu(x.transpose(1, 2).reshape(b, s, d)), (d,)) * x.flip(1)


@pytest.mark.thorough
@pytest.mark.parametrize("function", [attention, normalized])
def test_inductors_code_is_the_same(function: Callable[..., torch.Tensor]) -> None:
    """If it fails, Inductor writes other code, or results differ."""
    x = torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(0))
    found = []
    for within in (nullcontext(), reasoner()):
        torch.compiler.reset()
        with fresh_cache(), within:
            result, code = run_and_get_code(torch.compile(function, dynamic=True), x)
        # without their first line, which counts the graphs of the process
        found.append((result, [text.partition("\n")[2] for text in code]))
    torch.compiler.reset()
    assert found[0][1] and all("kernel" in text for text in found[0][1])
    assert found[1][1] == found[0][1]
    torch.testing.assert_close(found[1][0], found[0][0], rtol=0, atol=0)
