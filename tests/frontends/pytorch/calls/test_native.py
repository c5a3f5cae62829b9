"""Calls that go through C: the same results as the function itself; and calls that are left to Python."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from torch import randn
from torch.autograd import forward_ad

from frontends.pytorch import compile
from frontends.pytorch.calls.compiled import Compiled
from shapes.guards.toolchain import Unavailable
from tests.threads import at_once

FACTOR = 2


def program(x, y, z):
    return torch.relu(x * y + z)


def compiled(fn: Callable[..., object], **options: object) -> Compiled:
    return compile(fn, backend="cpu", dynamic=True, **options)


def agrees(f: Compiled, *args: object, native: bool = True, **kwargs: object) -> None:
    """The call gives what the function gives, before it is known and after; `native` is whether C does it then."""
    expected = f.fn(*args, **kwargs)
    for _ in range(2):
        assert_same(f(*args, **kwargs), expected)
    entry = f.native.entry
    found = NotImplemented if entry is None else entry(args, kwargs)
    assert (found is not NotImplemented) == native
    if native:
        assert_same(found, expected)


def assert_same(found: object, expected: object) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, torch.Tensor):
        assert found.stride() == expected.stride() and found.requires_grad == expected.requires_grad
        torch.testing.assert_close(found, expected)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert_same(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        assert_same(list(found.values()), list(expected.values()))
    else:
        assert found == expected


torch.manual_seed(0)
STORAGE = randn(20, 20)


@pytest.mark.parametrize(
    "x",
    [
        pytest.param(randn(3, 4), id="contiguous"),
        pytest.param(randn(4, 3).t(), id="transposed"),
        pytest.param(STORAGE[2:8:2, 1:9:2], id="strided"),
        pytest.param(STORAGE[5:8, :4], id="offset"),
        pytest.param(randn(4).expand(3, 4), id="expanded"),
        pytest.param(randn(1, 4), id="one row"),
        pytest.param(randn(0, 4), id="no rows"),
        pytest.param(torch.nn.Parameter(randn(3, 4), requires_grad=False), id="parameter"),
        pytest.param(randn(3, 4, dtype=torch.float64), id="float64"),
        pytest.param(torch.ones(3, 4, dtype=torch.int32), id="int32"),
        pytest.param(torch.ones(3, 4, dtype=torch.bool), id="bool"),
        pytest.param(randn(3, 4, dtype=torch.bfloat16), id="bfloat16"),
    ],
)
def test_tensors_that_kernels_read(x: torch.Tensor) -> None:
    """Fails when elements are read from the wrong places, or such tensors are not read in C."""
    agrees(compiled(program), x, randn(x.shape), randn(4))


def negative() -> torch.Tensor:
    return randn(3, 4, dtype=torch.complex64).conj().imag


@pytest.mark.parametrize(
    "x",
    [
        pytest.param(negative(), id="negative"),
        pytest.param(torch._neg_view(randn(3, 4)), id="packed negative"),
        pytest.param(torch._efficientzerotensor(3, 4), id="zeros without memory"),
    ],
)
def test_tensors_that_only_look_alike(x: torch.Tensor) -> None:
    """Fails when memory is read that does not hold the values."""
    f = compiled(program)
    agrees(f, randn(3, 4), randn(3, 4), randn(4))
    agrees(f, randn(6, 4)[::2], randn(3, 4), randn(4))
    for tensor in (x, x.contiguous() if x.is_neg() else randn(3, 4)):
        y, z = randn(3, 4), randn(4)
        entry = f.native.entry
        found = entry((tensor, y, z), {})
        assert found is NotImplemented or torch.allclose(found, program(tensor, y, z))
        torch.testing.assert_close(f(tensor, y, z), program(tensor, y, z))
        expected, found = y.clone().requires_grad_(), y.clone().requires_grad_()
        program(tensor, expected, z).sum().backward()
        f(tensor, found, z).sum().backward()
        torch.testing.assert_close(found.grad, expected.grad)


def test_gradients_that_only_look_alike() -> None:
    """Fails when the gradient of an output is read from memory that does not hold it."""
    f = compiled(lambda x: torch.tanh(x).sum())
    given = torch.randn((), dtype=torch.complex64).conj().imag
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    f(x).backward(given)
    f.fn(y).backward(given)
    torch.testing.assert_close(x.grad, y.grad)


def test_gradients_are_followed() -> None:
    """Fails when a call in which autograd takes part is run without it."""
    f = compiled(program)
    x, y, z = randn(3, 4), randn(3, 4), randn(4)
    agrees(f, x, y, z)
    learned = x.clone().requires_grad_()
    agrees(f, learned, y, z, native=False)
    with torch.no_grad():
        agrees(f, learned, y, z)
    with torch.inference_mode():
        assert f(x, y, z).is_inference()
    f(learned, y, z).sum().backward()
    expected = x.clone().requires_grad_()
    program(expected, y, z).sum().backward()
    torch.testing.assert_close(learned.grad, expected.grad)


def test_sizes_that_guards_exclude() -> None:
    """Fails when a program runs for sizes that another one is for."""

    def chosen(x, y):
        return x + y if x.shape[0] % 2 else x - y

    f = compiled(chosen)
    for rows in (3, 4, 5, 6, 0, 1):
        agrees(f, randn(rows, 2), randn(rows, 2))


def test_one_tensor_given_twice() -> None:
    """Fails when a program for two tensors runs for one."""
    f = compiled(program)
    x, z = randn(3, 4), randn(4)
    agrees(f, x, randn(3, 4), z)
    agrees(f, x, x, z)
    agrees(f, x, randn(3, 4), z)
    agrees(f, z, x, z)
    agrees(f, z, z, z)
    agrees(f, x, z, z)
    assert len(f.variants) == 5


def test_integers_and_values() -> None:
    """Fails when a number or a value is another one than in the call."""

    def scaled(x, n, how="up", *, factor=1.0):
        return (x * n if how == "up" else x / n) * factor

    f = compiled(scaled)
    x = randn(3, 4)
    for n in (3, 4, 7):
        agrees(f, x, n)
        agrees(f, x, n, "up")
        agrees(f, x, n=n, how="down")
        agrees(f, x, n, factor=1.0)
        agrees(f, factor=1.0, n=n, x=x)
    # a float that varies is computed with in Python
    agrees(f, x, 3, factor=-0.0, native=False)
    agrees(f, x, 3, factor=0.0, native=False)


def test_a_default_that_changes() -> None:
    """Fails when a call takes a default that the function no longer has."""

    def scaled(x, factor=2.0):
        return x * factor

    f = compiled(scaled)
    agrees(f, randn(3))
    scaled.__defaults__ = (3.0,)
    agrees(f, randn(3), native=False)


def test_globals_that_change() -> None:
    """Fails when a program runs after what it read has changed."""
    global FACTOR

    def scaled(x):
        return x * FACTOR

    f = compiled(scaled)
    agrees(f, randn(3))
    try:
        for value in (3, 4, 5):
            FACTOR = value
            agrees(f, randn(3))
    finally:
        FACTOR = 2
    agrees(f, randn(3))
    assert len(f.variants) == 2


def test_parameters_of_a_module() -> None:
    """Fails when a module is called with parameters that it no longer has."""

    class Scale(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(randn(4))

        def forward(self, x):
            return torch.tanh(x * self.weight)

    module = Scale()
    f = compiled(module)
    with torch.no_grad():
        agrees(f, randn(3, 4))
        module.weight.mul_(3)
        agrees(f, randn(3, 4))
        module.weight.data = randn(4)
        agrees(f, randn(3, 4))
        module.weight = torch.nn.Parameter(randn(4))
        agrees(f, randn(3, 4))
    agrees(f, randn(3, 4), native=False)


class Pair(NamedTuple):
    first: object
    second: object


@pytest.mark.parametrize(
    ("returned", "native"),
    [
        pytest.param(lambda x, y: (x + y, x - y), True, id="tuple"),
        pytest.param(lambda x, y: [x + y], True, id="list"),
        pytest.param(lambda x, y: {"sum": x + y, "left": [x - y, None]}, True, id="nested"),
        pytest.param(lambda x, y: Pair(x + y, "text"), True, id="named tuple"),
        pytest.param(lambda x, y: (x + y, x.shape[0], 3), True, id="sizes"),
        pytest.param(lambda x, y: (x, x + y, x), True, id="arguments"),
        pytest.param(lambda x, y: (x + y,) * 2, True, id="twice"),
        pytest.param(lambda x, y: (x + y).t(), True, id="transposed"),
        pytest.param(lambda x, y: (x + y).reshape(-1), True, id="reshaped"),
        pytest.param(lambda x, y: ((s := x + y), s.t()), False, id="a view of another one"),
        pytest.param(lambda x, y: ((s := x + y), s.detach(), s.detach()), False, id="detached from another one"),
        pytest.param(lambda x, y: (x + y).detach(), True, id="detached"),
        pytest.param(lambda x, y: (x + y)[1:], False, id="a part"),
        pytest.param(lambda x, y: (x.add_(y), x), False, id="a change in place"),
        pytest.param(lambda x, y: x @ y.t(), False, id="an operator that is called"),
    ],
)
def test_what_is_returned(returned: Callable[..., object], native: bool) -> None:
    """Fails when outputs are put together otherwise, or are other objects."""
    f = compiled(returned)
    for rows in (3, 5):
        args = randn(rows, 4), randn(rows, 4)
        copies = [[each.clone() for each in args] for _ in range(3)]
        expected = returned(*copies[0])
        f(*copies[1])
        found = f(*copies[2])
        assert_same(found, expected)
        for one, other in zip(copies[0], copies[2]):
            torch.testing.assert_close(one, other)
        if isinstance(expected, tuple):
            same = [[a is b for a in (*expected, *copies[0])] for b in expected]
            assert [[a is b for a in (*found, *copies[2])] for b in found] == same
    assert (f.native.entry is not None) == native


def test_outputs_have_memory_of_their_own() -> None:
    """Fails when two calls share an output."""
    f = compiled(program)
    args = randn(3, 4), randn(3, 4), randn(4)
    f(*args)
    found = [f(*args) for _ in range(5)]
    assert len({each.data_ptr() for each in found}) == 5
    found[0].zero_()
    assert_same(found[1], program(*args))


def test_nested_arguments() -> None:
    """Fails when arguments in containers are not found, or confused."""

    def from_batch(batch, weights):
        return batch["x"] * weights[0] + batch["y"] * weights[1]

    f = compiled(from_batch)
    x, y = randn(3, 4), randn(3, 4)
    agrees(f, {"x": x, "y": y}, [2.0, randn(4)])
    agrees(f, {"y": y, "x": x}, [2.0, randn(4)])
    agrees(f, {"x": x, "y": y}, (2.0, randn(4)))
    agrees(f, batch={"x": x, "y": y}, weights=[2.0, randn(4)])
    agrees(f, {"x": x, "y": y, "z": randn(3)}, [2.0, randn(4)])


def test_other_modes() -> None:
    """Fails when a program runs where operators mean something else."""
    f = compiled(program)
    x, y, z = randn(3, 4), randn(3, 4), randn(4)
    agrees(f, x, y, z)
    assert_same(torch.func.vmap(f, (0, 0, None))(x, y, z), program(x, y, z))
    torch.testing.assert_close(
        torch.func.grad(lambda x: f(x, y, z).sum())(x), torch.func.grad(lambda x: program(x, y, z).sum())(x)
    )
    seen = []

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Mode():
        f(x, y, z)
    assert torch.ops.aten.relu.default in seen


@pytest.mark.parametrize("backend", ["cpu", "eager"])
def test_forward_differentiation(backend: str) -> None:
    """Fails when the tangent of an argument is lost."""
    f = compile(program, backend=backend, dynamic=True)
    x, y, z, tangent = randn(3, 4), randn(3, 4), randn(4), randn(3, 4)
    f(x, y, z)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        for _ in range(2):
            found = forward_ad.unpack_dual(f(dual, y, z)).tangent
            torch.testing.assert_close(found, forward_ad.unpack_dual(program(dual, y, z)).tangent)
    assert_same(f(x, y, z), program(x, y, z))
    assert len(f.variants) == 1


def test_the_default_dtype() -> None:
    """Fails when a program for one default dtype runs under another, or is made for it."""

    def with_default(n):
        return n * 2.5 + torch.ones(1)

    f = compiled(with_default)
    n = torch.arange(3)
    try:
        for dtype in (torch.float32, torch.float64, torch.float32):
            torch.set_default_dtype(dtype)
            agrees(f, n)
            assert f(n).dtype is dtype
    finally:
        torch.set_default_dtype(torch.float32)
    assert len(f.variants) == 2


def test_measured_calls_are_counted() -> None:
    """Fails when calls through C are missing from a measurement, or go on in Python after it."""
    f = compiled(program)
    args = randn(3, 4), randn(3, 4), randn(4)
    f(*args)
    with f.timed() as times:
        for _ in range(5):
            f(*args)
    assert times.calls == 5
    assert f._compilation.enter is f.native.entry is not None


def test_more_variants_than_are_tried_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when the last of many variants is not found."""
    monkeypatch.setattr("frontends.pytorch.calls.native.MOST", 2)
    f = compile(program, backend="cpu", dynamic=False)
    for size in (2, 3, 4, 5):
        agrees(f, randn(size), randn(size), randn(size), native=size < 4)
    agrees(f, randn(2), randn(2), randn(2))


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when a machine without a C compiler cannot run the function."""
    for module in ("program", "entry"):
        monkeypatch.setattr(f"backends.cpu.launcher.{module}.launcher", lambda: Unavailable("no compiler"))
    agrees(compiled(program), randn(3, 4), randn(3, 4), randn(4), native=False)


def test_nothing_is_kept() -> None:
    """Fails when calls leave references or memory behind."""
    f = compiled(program)
    args = randn(3, 4), randn(3, 4), randn(4)
    f(*args)
    before = [sys.getrefcount(each) for each in args]
    for _ in range(10_000):
        f(*args)
    assert [sys.getrefcount(each) for each in args] == before
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


def test_threads() -> None:
    """Fails when calls from several threads disturb each other, while variants are added."""
    f = compile(program, backend="cpu", dynamic=False)
    wrong: list[object] = []

    def work(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        try:
            for turn in range(200):
                size = 2 + (turn // 40 + seed) % 4
                args = [randn(size, 3, generator=generator) for _ in range(3)]
                if not torch.equal(f(*args), program(*args)):
                    wrong.append(size)
        except Exception as error:
            wrong.append(error)

    at_once(work, 3)
    assert not wrong


def test_rows_of_one_that_lie_apart():
    """A stride along an axis of size 1, which is any number, is taken for the size that it mostly is."""
    compiled = compile(lambda x: torch.exp(x) + 1, backend="cpu", dynamic=True)
    with torch.no_grad():
        for rows in (1, 3, 1):
            given = torch.randn(rows, 34)[:, :17]
            torch.testing.assert_close(compiled(given), torch.exp(given) + 1)
        torch.testing.assert_close(compiled(given[:1]), torch.exp(given[:1]) + 1)
