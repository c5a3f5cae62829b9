"""Layouts of the results of batch norm."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import compile

LAYOUTS = {
    "channels last": lambda x: x.contiguous(memory_format=torch.channels_last),
    "turned": lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
    "batches inside": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    "repeated": lambda x: x[:1].expand(2, 4, 6, 8),
    "every second": lambda x: torch.cat([x, x], 3)[..., ::2],
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_layout(layout, training):
    """The predicted layout of a result is that of the argument, gaps and overlaps included."""
    norm = torch.nn.BatchNorm2d(4).train(training)
    compiled = compile(lambda x: norm(x) + 1, backend="cpu", dynamic=True)
    x = layout(torch.randn(2, 4, 6, 8))
    with torch.no_grad():
        found, expected = compiled(x), norm(x) + 1
    torch.testing.assert_close(found, expected)
    assert found.stride() == expected.stride()
    assert not compiled.fallbacks


def test_rows_with_channels_inside():
    """Sizes that are symbols are multiplied with numbers of torch's, and the program breaks."""
    norm = torch.nn.BatchNorm1d(4)
    compiled = compile(lambda x: norm(x.transpose(1, 2)) + 1, backend="cpu", dynamic=True)
    for length in (5, 7):
        x = torch.randn(3, length, 4)
        found, expected = compiled(x), norm(x.transpose(1, 2)) + 1
        torch.testing.assert_close(found, expected)
        assert found.stride() == expected.stride()
    assert not compiled.fallbacks
