"""`explain`: the same report for both spellings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
import torch

from frontends.pytorch import Policy, compile, explain
from shapes.errors import ShapeError


def spelled(program: Any, **options: Any) -> tuple[Any, Any]:
    """The program by both spellings."""
    torch._dynamo.reset()
    own = compile(program, dynamic=True, backend="cpu", **options)
    return own, torch.compile(program, dynamic=True, backend="symshape", options={"kernels": "cpu", **options})


def branches(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    return y / 2 if y.sum() > 4 else y * 3


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(2, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x).relu() if x.shape[0] > 2 else self.inner(x)


def halves(x: torch.Tensor) -> torch.Tensor:
    return branches(x * 2) + 1


def conditional(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 4, lambda x: x * 2, lambda x: x + 1, (x,))


@pytest.mark.parametrize("program", [branches, conditional, Layer()], ids=["break", "cond", "module"])
@pytest.mark.parametrize("kernels", [False, True])
def test_both_spellings_have_the_same_report(program: Callable[..., object], kernels: bool) -> None:
    own, torchs = spelled(program)
    for rows in (3, 4, 1):
        own(torch.ones(rows, 2)), torchs(torch.ones(rows, 2))
    text = explain(torchs, kernels=kernels)
    assert explain(own, kernels=kernels) == own.explain(kernels=kernels)
    # the branches of `torch.cond` stand in the order in which they were taken
    assert sorted(text.splitlines()) == sorted(explain(own, kernels=kernels).splitlines())
    assert "variant 0: first call" in text


def test_functions_that_are_called_between_graphs_are_reported() -> None:
    for each in spelled(halves):
        each(torch.ones(3))
        assert "in branches" in explain(each)
        assert "mul_tensor = torch.ops.aten.mul.Tensor(x, 2)" in explain(each)


def test_an_exhausted_limit_is_reported_in_the_same_words() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        for step in range(x.shape[0]):
            x = x * step
        return x

    own, torchs = spelled(program, policy=Policy(recompile_limit=1))
    for rows in (2, 3, 4, 5):
        own(torch.ones(rows, 2)), torchs(torch.ones(rows, 2))
    assert explain(torchs) == explain(own)
    assert "no variant where: 1 recompilations for the same question" in explain(own)


def test_each_module_of_a_class_has_its_own_report() -> None:
    torch._dynamo.reset()
    first, second = [torch.compile(Layer(), backend="symshape", dynamic=True) for _ in range(2)]
    first(torch.ones(3, 2))
    assert [explain(each).splitlines()[0] for each in (first, second)] == ["Layer: 1 variant", "Layer: 0 variants"]


def test_a_module_that_is_compiled_in_place_has_a_report() -> None:
    torch._dynamo.reset()
    layer = Layer()
    layer.compile(backend="symshape", dynamic=True)
    layer(torch.ones(3, 2))
    assert explain(layer).splitlines()[0] == "Layer: 1 variant"


def test_equal_settings_of_one_function_share_graphs() -> None:
    torch._dynamo.reset()
    first, second = [torch.compile(branches, backend="symshape", dynamic=True) for _ in range(2)]
    first(torch.ones(3))
    assert explain(second) == explain(first)


OTHERS: Final = [branches, torch.compile(branches, backend="eager"), torch._dynamo.disable(branches), 3, Layer()]


@pytest.mark.parametrize("other", OTHERS)
def test_what_this_backend_has_not_compiled_is_an_error(other: Any) -> None:
    with pytest.raises(ShapeError, match="expected a compiled function"):
        explain(other)
