"""Checks of a call: each thing that a graph relies on is noticed when it is another, and only then."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn, randn

from frontends.pytorch import compile
from frontends.pytorch.dynamo.compiled import Compiled
from tests.frontends.pytorch.against_eager import alike


def variants_after(f: Compiled, *calls: tuple[object, ...]) -> list[int]:
    """The number of variants after each of these calls, all of which agree with the function itself."""
    counts = []
    for call in calls:
        alike(f(*call), f.fn(*call))
        counts.append(len(f.variants))
    return counts


# ---------------------------------------------------------------------- tensors


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(lambda: randn(3, 4), lambda: randn(3, 4, dtype=torch.float64), id="dtype"),
        pytest.param(lambda: randn(3, 4), lambda: randn(3, 4, 1), id="rank"),
        pytest.param(lambda: randn(3, 4), lambda: randn(3, 4, requires_grad=True), id="requires_grad"),
        pytest.param(lambda: randn(3, 4), lambda: randn(4, 3).t(), id="layout"),
        pytest.param(lambda: randn(3, 8)[:, :4], lambda: randn(3, 8)[:, ::2], id="strides"),
        pytest.param(lambda: randn(3, 4), lambda: randn(1, 4).expand(3, 4), id="expanded"),
        pytest.param(lambda: randn(3, 4), lambda: nn.Parameter(randn(3, 4)), id="parameter"),
        pytest.param(lambda: randn(3, 4), lambda: torch.zeros(0, 4), id="empty"),
    ],
)
def test_tensors_of_another_kind(one: Callable[[], torch.Tensor], other: Callable[[], torch.Tensor]) -> None:
    """Fails when a graph traced for one kind of tensor runs for another, or two equal calls get different variants."""
    f = compile(lambda x: (x * 2).sum(0) + x.stride(0) + x.dim(), dynamic=True)
    assert variants_after(f, (one(),), (other(),), (one(),), (other(),), (one(),)) == [1, 2, 2, 2, 2]


def test_the_device() -> None:
    """Fails when a tensor of another device is taken for one of this."""
    f = compile(lambda x: x * 2, dynamic=True)
    f(randn(3))
    assert f(torch.empty(3, device="meta")).device.type == "meta" and len(f.variants) == 2


def test_channels_last() -> None:
    """Fails when the layout of images costs variants for every size, or none at all."""
    f = compile(lambda x: (x * 2).permute(0, 2, 3, 1).reshape(-1), dynamic=True)
    images = [randn(n, 3, h, w).to(memory_format=torch.channels_last) for n, h, w in ((2, 4, 5), (3, 6, 2))]
    assert variants_after(f, *[(image,) for image in images], (randn(2, 3, 4, 5),)) == [1, 1, 2]


def test_where_a_tensor_begins_matters_only_where_it_is_read() -> None:
    """Fails when a storage offset is guarded without need, or not where a program reads it or counts from it."""
    views = [(randn(20)[begin : begin + 4],) for begin in (0, 3, 0, 7)]
    assert variants_after(compile(lambda x: x * 2, dynamic=True), *views) == [1, 1, 1, 1]
    f = compile(lambda x: x * 2 if x.storage_offset() == 3 else x * 3, dynamic=True)
    assert variants_after(f, *views) == [1, 2, 2, 2]
    plain = torch.compile(f.fn, backend="symshape", dynamic=True)
    alike([plain(*view).tolist() for view in views], [f.fn(*view).tolist() for view in views])
    g = compile(lambda x: x.as_strided((2,), (1,), x.storage_offset() + 1), dynamic=True)
    assert variants_after(g, *views[:3]) == [1, 2, 2]


def test_the_same_tensor_twice() -> None:
    """Fails when a program that looks whether two arguments are one takes the wrong side."""
    f = compile(lambda x, y: x + 1 if x is y else x * y, dynamic=True)
    one, other = randn(3), randn(3)
    assert variants_after(f, (one, one), (one, other), (other, other), (other, one)) == [1, 2, 2, 2]
    g = compile(lambda *xs: sum(xs[1:], xs[0]), dynamic=True)
    many = [randn(3) for _ in range(5)]
    assert variants_after(g, tuple(many), (*many[:4], many[0]), tuple(many)) == [1, 2, 2]


# ---------------------------------------------------------------------- the modes of torch


def test_modes() -> None:
    """Fails when a graph traced with gradients, a default dtype or autocast runs without."""

    def program(x):
        return x @ x.t() + torch.zeros(1)

    f = compile(program, dynamic=True)
    x = randn(3, 4)
    alike(f(x), program(x))
    with torch.no_grad():
        alike(f(x), program(x))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        alike(f(x), program(x))
    torch.set_default_dtype(torch.float64)
    try:
        alike(f(x), program(x))
    finally:
        torch.set_default_dtype(torch.float32)
    alike(f(x), program(x))
    assert len(f.variants) == 4
    with torch.device("meta"):
        assert f(torch.empty(3, 4)).device.type == "meta"


# ---------------------------------------------------------------------- Python values


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(2.0, 3.0, id="float"),
        pytest.param(0.0, -0.0, id="negative zero"),
        pytest.param(1, True, id="one and True"),
        pytest.param(1, 1.0, id="one and 1.0"),
        pytest.param(2, 3, id="int"),
        pytest.param(True, False, id="bool"),
    ],
)
def test_numbers(one: object, other: object) -> None:
    """Fails when equal numbers of different kinds, or different ones, run the same graph."""
    f = compile(lambda x, n: torch.copysign(x, torch.full((3,), float(n))) * n)
    x = torch.ones(3, dtype=torch.int64)
    variants_after(f, (x, one), (x, other), (x, one), (x, other))


# ---------------------------------------------------------------------- finding the variant


def test_many_variants_are_found() -> None:
    """Fails when one of many variants is not found again, or another one is."""
    f = compile(lambda x, y: x.sum() * y.shape[0] + x.shape[0], dynamic=False)
    calls = [(randn(n), randn(65 - n)) for n in range(1, 65)]
    assert variants_after(f, *calls)[-1] == 64
    assert variants_after(f, *reversed(calls)) == [64] * 64
    assert not f.fallbacks


def test_equal_calls_never_recompile() -> None:
    """Fails when the second of two equal calls is traced again, whatever the arguments."""

    def program(x, batch, n, mode=None, *, scale=1.0):
        out = x[:n] * scale + batch["y"].sum()
        return (out, mode) if out.shape[0] > 2 else out

    for dynamic in (True, False, None):
        f = compile(program, dynamic=dynamic)
        for sizes in ((3, 4), (5, 1), (1, 7), (0, 2)):
            for _ in range(2):
                count = len(f.variants)
                f(randn(sizes[0]), {"y": randn(sizes[1])}, 2, "text", scale=0.5)
            assert len(f.variants) == count


def test_guards_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first call waits until torch has emptied the caches of the processor to time its guards."""

    times = []

    def timed(*arguments: object) -> float:
        times.append(arguments)
        return 0.0

    monkeypatch.setattr(torch._dynamo.guards, "profile_guard_manager", timed)

    def program(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        torch._dynamo.graph_break()
        return y + 1

    x = randn(3)
    for call in (compile(program), torch.compile(program, backend="symshape")):
        alike(call(x), program(x))
    assert not times
    torch.compile(program, backend="eager")(x)
    assert times
