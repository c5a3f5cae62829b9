"""Layouts of results of image kernels: as in eager, channels-last or not, for any layout of the arguments."""

from __future__ import annotations

from typing import Final

import pytest
import torch
from torch.nn import functional

from frontends.pytorch import compile

LAYOUTS: Final = ("packed", "by channel", "cut out", "turned", "expanded")
torch.manual_seed(0)


def laid(sizes: tuple[int, ...], layout: str) -> torch.Tensor:
    images, channels, height, width = sizes
    match layout:
        case "by channel":
            return torch.randn(sizes).to(memory_format=torch.channels_last)
        case "cut out":
            return torch.randn(images, channels, height + 1, width).to(memory_format=torch.channels_last)[:, :, 1:]
        case "turned":
            return torch.randn(images, height, channels, width).transpose(1, 2)
        case "expanded":
            return torch.randn(1, channels, height, width).to(memory_format=torch.channels_last).expand(sizes)
    return torch.randn(sizes)


@pytest.mark.parametrize("of_weight", LAYOUTS[:2])
@pytest.mark.parametrize("layout", LAYOUTS[:4])
def test_gradients_lie_as_eagerly(layout: str, of_weight: str) -> None:
    """A gradient of a convolution has other strides than eagerly."""
    compiled = compile(functional.conv2d, backend="cpu", dynamic=True)
    for sizes in ((2, 4, 8, 10), (3, 4, 6, 8)):
        given = [laid(sizes, layout).requires_grad_(), laid((6, 4, 3, 3), of_weight).requires_grad_()]
        expected = torch.autograd.grad(functional.conv2d(*given).sin().sum(), given)
        for found, other in zip(torch.autograd.grad(compiled(*given).sin().sum(), given), expected, strict=True):
            torch.testing.assert_close(found, other, rtol=1e-4, atol=1e-4)
            assert found.stride() == other.stride()
