"""Channels-last images between convolutions: results equal eager's, layouts included."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from frontends.pytorch import compile

aten = torch.ops.aten
Program = Callable[..., object]


def made(module: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    return module


class Resized(nn.Module):
    """Down and up again, with what went past joined; two results."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(4, 8)
        self.second, self.third = nn.Conv2d(8, 12, 3, padding=1), nn.Conv2d(20, 5, 3, stride=2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        outer = torch.relu(self.norm(self.first(x)))
        inner = torch.relu(self.second(functional.max_pool2d(outer, 2)))
        grown = functional.interpolate(inner, size=outer.shape[-2:], mode="bilinear")
        near = functional.interpolate(inner, size=outer.shape[-2:])
        return self.third(torch.cat([grown + near, outer], 1)), inner


class Separate(nn.Module):
    """Channels of their own, transposed, averaged, flattened."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.each = nn.Conv2d(3, 6, 5, padding=2), nn.Conv2d(6, 6, 3, padding=1, groups=6)
        self.grown, self.norm = nn.ConvTranspose2d(6, 4, 3, stride=2), nn.BatchNorm2d(4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.grown(functional.gelu(self.each(self.first(x)))))
        return functional.avg_pool2d(functional.max_pool2d(y, 3, 2, 1), 2).flatten(1)


def gradients(program: Program, module: nn.Module, x: Tensor) -> list[Tensor]:
    results = program(x)
    results = [results] if isinstance(results, Tensor) else list(results)
    loss = torch.stack([(result * result.detach().cos()).sum() for result in results]).sum()
    return [*results, *torch.autograd.grad(loss, [x, *module.parameters()])]


@pytest.mark.parametrize("kind", [Resized, Separate])
@pytest.mark.parametrize("form", [torch.contiguous_format, torch.channels_last], ids=["packed", "channels last"])
def test_as_eager(kind: type[nn.Module], form: torch.memory_format) -> None:
    """Elements are read at wrong addresses, or a result has an unexpected layout."""
    module = made(kind())
    compiled = compile(module, backend="cpu", dynamic=True)
    for sizes in ((2, 3, 9, 12), (3, 3, 16, 8), (1, 3, 8, 8), (2, 3, 8, 33)):
        x = torch.randn(sizes).contiguous(memory_format=form).requires_grad_()
        found, expected = [gradients(each, module, x) for each in (compiled, module)]
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=2e-3, atol=2e-3)
            assert form is torch.channels_last or one.stride() == other.stride()


NORMS = ((1, torch.float32), (2, torch.float32), (6, torch.float32), (2, torch.float64), (2, torch.bfloat16))


@pytest.mark.parametrize(("groups", "dtype"), NORMS, ids=str)
def test_norms_of_groups(groups: int, dtype: torch.dtype) -> None:
    """Statistics are of another group's channels, or are shown to them."""
    weight, bias = torch.randn(6, dtype=dtype), torch.randn(6, dtype=dtype)

    def program(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        return functional.group_norm(x * 2, groups, weight, bias).relu()

    tolerances = {"rtol": 3e-2, "atol": 3e-2} if dtype is torch.bfloat16 else {"rtol": 1e-4, "atol": 1e-5}
    for vectors in ((weight, bias), (None, None)):
        compiled = compile(program, backend="cpu", dynamic=True)
        for sizes in ((2, 6, 5, 7), (3, 6, 2, 4), (4, 6, 17, 33)):
            x = torch.randn(sizes).add(3).to(dtype).contiguous(memory_format=torch.channels_last).requires_grad_()
            leaves = [x, *[vector.requires_grad_() for vector in vectors if vector is not None]]
            # eager sums channels-last images less exactly
            results = [compiled(x, *vectors), program(x.contiguous(), *vectors)]
            torch.testing.assert_close(*results, **tolerances)
            # rounding decides the sign of a value next to the corner of relu
            grad = torch.randn(sizes, dtype=dtype) * (results[0].sign() == results[1].sign())
            found, expected = [torch.autograd.grad(result, leaves, grad) for result in results]
            for one, other in zip(found, expected):
                torch.testing.assert_close(one, other, **{**tolerances, "atol": 20 * tolerances["atol"]})


def test_what_is_kept_and_returned_lies_as_eager_has_it() -> None:
    """Saved tensors may have any layout, but not if the program returns them too."""
    first, second = torch.randn(8, 3, 3, 3, requires_grad=True), torch.randn(8, 8, 3, 3, requires_grad=True)

    def program(x: Tensor) -> tuple[Tensor, Tensor]:
        inner = functional.conv2d(x, first).relu()
        return inner, functional.conv2d(inner, second)

    compiled = compile(program, backend="cpu", dynamic=True)
    x = torch.randn(2, 3, 9, 8)
    for one, other in zip(compiled(x), program(x)):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
        assert one.stride() == other.stride()
