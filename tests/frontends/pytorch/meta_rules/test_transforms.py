"""Layouts of Fourier transforms are eager torch's: each function, any axes, resized or not, of any layout."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest
import torch

from frontends.pytorch import compile, trace

OF_ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
FUNCTIONS = [*OF_ONE, *[f"{name}{ending}" for name in OF_ONE for ending in ("2", "n")]]


def layouts(dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Tensors of many layouts."""

    def made(*sizes: int) -> torch.Tensor:
        return torch.ones(sizes, dtype=dtype)

    return {
        "packed": made(4, 6, 5),
        "transposed": made(5, 6, 4).permute(2, 1, 0),
        "outer axes exchanged": made(6, 4, 5).permute(1, 0, 2),
        "with gaps": made(8, 6, 10)[::2, :, ::2],
        "expanded": made(4, 1, 5).expand(4, 6, 5),
        "expanded twice": made(4, 1, 1, 3).expand(4, 6, 5, 3),
        "channels last": made(2, 3, 4, 5).to(memory_format=torch.channels_last),
        "an axis of one": made(1, 6, 5),
        "a matrix": made(6, 5),
        "a transposed matrix": made(5, 6).t(),
        "a vector": made(7),
    }


def calls(name: str, rank: int, seeded: random.Random, count: int) -> Iterator[dict[str, object]]:
    """Arguments by name."""
    yield {}
    if name in OF_ONE:
        found = [{"dim": dim, "n": n} for dim in range(-1, rank - 1) for n in (None, 3, 8)]
    else:
        counts = [2] if name.endswith("2") else [1, 2, 3]
        axes = [dims for number in counts if number <= rank for dims in itertools.permutations(range(rank), number)]
        found = [
            {"dim": dims, "s": size} for dims in axes for size in (None, tuple([seeded.choice((3, 8)) for _ in dims]))
        ]
    for each in seeded.sample(found, min(count, len(found))):
        yield {**each, "norm": seeded.choice((None, "ortho", "forward"))}


def strides_of(tensor: torch.Tensor) -> tuple[object, ...]:
    """The strides of axes with several elements."""
    return tuple([stride if size > 1 else None for stride, size in zip(tensor.stride(), tensor.shape)])


def check(name: str, count: int, seed: int) -> int:
    """Compare calls with eager torch, and count those that were traced."""
    seeded, traced = random.Random(f"{name} {seed}"), 0
    function = getattr(torch.fft, name)
    for dtype in (torch.float32, torch.complex64):
        for kind, x in layouts(dtype).items():
            for given in calls(name, x.dim(), seeded, count):
                try:
                    expected = function(x, **given).resolve_conj()
                except (RuntimeError, IndexError):
                    continue
                for dynamic in (False, True):
                    variant = trace(
                        lambda x, given=given: function(x, **given).resolve_conj(), (x,), dynamic=dynamic
                    )
                    metadata = variant.outputs[0].metadata
                    numbers = (*metadata.shape, *metadata.shape.strides)
                    now = [number if isinstance(number, int) else variant.env.hint(number) for number in numbers]
                    sizes, strides = now[: x.dim()], now[x.dim() :]
                    assert (sizes, metadata.dtype) == (list(expected.shape), expected.dtype), (kind, given, dynamic)
                    found = tuple([stride if size > 1 else None for stride, size in zip(strides, sizes)])
                    assert found == strides_of(expected), (name, dtype, kind, given, dynamic)
                    traced += 1
    return traced


@pytest.mark.parametrize("name", FUNCTIONS)
def test_strides(name: str) -> None:
    """A trace has the strides of the kernel for a transform."""
    assert check(name, count=1, seed=0) >= 20


@pytest.mark.thorough
@pytest.mark.parametrize("name", FUNCTIONS)
def test_more_strides(name: str) -> None:
    """As `test_strides`, for more calls."""
    assert check(name, count=20, seed=1) >= 20


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", ["hfftn", "irfftn", "fftn", "rfftn"])
def test_flattened(name: str, backend: str) -> None:
    """A view of a transform's result takes its elements in eager's order."""
    compiled = compile(lambda y: getattr(torch.fft, name)(y, dim=(0, -1)).flatten(), backend=backend, dynamic=True)
    for sizes in ((4, 6, 5), (3, 2, 7), (5, 5, 5)):
        numbers = torch.arange(1.0, 1 + torch.Size(sizes).numel()).view(sizes)
        y = numbers.sin() if name == "rfftn" else torch.complex(numbers.sin(), numbers.cos())
        torch.testing.assert_close(compiled(y), getattr(torch.fft, name)(y, dim=(0, -1)).flatten())
