"""Rows of a few vectors have functions of their own; a kernel chooses when it runs."""

import pytest
import torch

from backends.cpu.emission import file_source
from backends.loops.kernels import Kernel
from frontends.pytorch import compile

LENGTHS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100)
"""Around every multiple of a vector, of float32 and of float64, and some that are too long."""


def softmax(x, w):
    return torch.softmax(x * w, -1)


def norm(x, w):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), w)


def extremes(x, w):
    return x.amax(-1), (x * w).amin(-1), x - x.amax(-1, keepdim=True)


def counted(x, w):
    return (x > w).sum(-1), (x.to(torch.int32) * 3).sum(-1, keepdim=True) + x


@pytest.mark.parametrize("function", [softmax, norm, extremes, counted], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_rows_of_any_length_are_right(function, dtype):
    """If this fails, rows of some length are masked at the wrong place or read beyond their end."""
    compiled = compile(function, backend="cpu", dynamic=True)
    close = {"rtol": 2e-2, "atol": 2e-2} if dtype == torch.bfloat16 else {"rtol": 1e-5, "atol": 1e-5}
    for length in sorted(LENGTHS, key=lambda length: length < 2):
        x, w = torch.randn(5, length, dtype=dtype), torch.randn(length, dtype=dtype)
        torch.testing.assert_close(compiled(x, w), function(x, w), **close)
    assert len(compiled.variants) <= 2, "a kernel for each length"


@pytest.mark.parametrize("function, is_costly", [(softmax, True), (norm, False)], ids=["softmax", "norm"])
def test_no_vector_of_something_costly_is_empty(function, is_costly):
    """Exponentials are computed of nothing, or rows of three vectors go through loops; or functions are compiled that
    save nothing."""
    compiled = compile(function, backend="cpu", dynamic=True)
    x, w = torch.randn(5, 40), torch.randn(40)
    torch.testing.assert_close(compiled(x, w), function(x, w), rtol=1e-5, atol=1e-5)
    (host,) = compiled.variants[0].running.hosts
    text = file_source([step for step in host.steps if isinstance(step, Kernel)], host.program.decisions)
    assert ("_short3(" in text) == is_costly and "_short4(" in text


@pytest.mark.parametrize("length", [3, 16, 40, 64])
def test_a_length_that_is_a_number(length):
    """If this fails, the only function of a kernel whose rows have a known length is for other lengths."""
    compiled = compile(norm, backend="cpu", dynamic=False)
    x, w = torch.randn(5, length), torch.randn(length)
    torch.testing.assert_close(compiled(x, w), norm(x, w), rtol=1e-5, atol=1e-5)


def test_what_is_no_number_is_seen():
    """If this fails, a NaN in a short row gets lost in its maximum, or lanes behind the row bring one."""
    compiled = compile(extremes, backend="cpu", dynamic=True)
    for length in (3, 20, 40):
        x, w = torch.full((4, length), -2.0), torch.ones(length)
        x[1, length - 1] = float("nan")
        for found, expected in zip(compiled(x, w), extremes(x, w)):
            torch.testing.assert_close(found, expected, equal_nan=True)


def test_comparison_with_a_place_of_row_and_column():
    """A comparison with an index of row and column is a mask of its own in each row."""

    def program(x):
        padded = torch.nn.functional.pad(x, (0, 0, 1, 1), value=0.5)
        return padded.unfold(1, 3, 1).mean(-1)

    compiled = compile(program, backend="cpu", dynamic=True)
    for x in (torch.randn(2, 5, 16)[..., ::2], torch.randn(3, 7, 16)[..., ::2], torch.randn(1, 1, 16)[..., ::2]):
        torch.testing.assert_close(compiled(x), program(x))
    assert not any(variant.running.note for variant in compiled.variants)
