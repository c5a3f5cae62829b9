"""Autocast around a call, in it and around its backward: dtypes are eager torch's, and no result is less exact."""

from __future__ import annotations

import contextlib

import pytest
import torch

from frontends.pytorch import compile

SIZES = (3, 5, 5, 8, 2)
EXACT, HALF = 1e-5, 2e-2


def layer() -> torch.nn.Linear:
    made = torch.nn.Linear(16, 16)
    with torch.no_grad():
        made.weight.copy_(torch.linspace(-1, 1, 256).reshape(16, 16).sin())
        made.bias.copy_(torch.linspace(0.3, 1, 16))
    return made


LAYER = layer()


def cast(dtype: torch.dtype = torch.bfloat16, *, enabled: bool = True):
    return torch.autocast("cpu", dtype=dtype, enabled=enabled)


def left_alone(x):
    with cast(enabled=False):
        return LAYER(x)


def left_alone_and_on(x):
    with cast(enabled=False):
        y = torch.bmm(x[None], x.t()[None])[0]
    return y, LAYER(x), y.sum()


def other_half(x):
    with cast(torch.float16):
        return LAYER(x)


def distances(x):
    """An operator that autocast runs in float32 and that is made of products."""
    return torch.cdist(x @ LAYER.weight, x), x @ LAYER.weight


def with_a_break(x):
    with cast(enabled=False):
        y = LAYER(x)
    if x.numpy(force=True).sum() > 1e9:
        return y
    with cast(enabled=False):
        return LAYER(x.detach()), y


def seen_by_the_program(x):
    return LAYER(x) if torch.is_autocast_enabled("cpu") else LAYER(x) * 2


EXACTLY = (left_alone, with_a_break)
"""Programs that compute nothing in half precision where only the call is in autocast."""
PROGRAMS = (*EXACTLY, left_alone_and_on, other_half, distances, seen_by_the_program)


def outcome(call, size: int, *, around: bool, backward: bool) -> list[torch.Tensor | None]:
    """The results of a call and gradients of all that goes in."""
    x = torch.linspace(-1, 1, size * 16).reshape(size, 16).cos().requires_grad_()
    with cast() if around else contextlib.nullcontext():
        results = call(x)
    results = list(results) if isinstance(results, tuple) else [results]
    total = sum([each.float().square().sum() for each in results])
    with cast() if backward else contextlib.nullcontext():
        return [*results, *torch.autograd.grad(total, [x, *LAYER.parameters()], allow_unused=True)]


def assert_alike(found, expected, tolerance: float) -> None:
    for one, other in zip(found, expected, strict=True):
        if one is None or other is None:
            assert one is other
            continue
        assert one.dtype is other.dtype
        error = (one.detach().double() - other.detach().double()).abs().max()
        assert error <= tolerance * other.detach().double().abs().max()


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_around_a_call(program, backend: str) -> None:
    """A graph casts in autocast as eager torch does, and not where the program turns it off."""
    compiled = compile(program, dynamic=True, backend=backend)
    for around in (True, False):
        for size in SIZES:
            found, expected = [outcome(each, size, around=around, backward=False) for each in (compiled, program)]
            exact = program in EXACTLY or (not around and program is not other_half)
            assert_alike(found, expected, EXACT if exact else HALF)
    assert not compiled.fallbacks


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_around_the_backward(program, backend: str) -> None:
    """A backward in autocast raises no error, and gives gradients of eager's dtype. Eager torch computes them in half
    of the precision there, graphs in that of the forward."""
    compiled = compile(program, dynamic=True, backend=backend)
    for around in (True, False):
        for size in SIZES:
            found, expected = [outcome(each, size, around=around, backward=True) for each in (compiled, program)]
            assert_alike(found, expected, HALF)


def test_as_a_backend_of_torch_compile() -> None:
    """A graph of Dynamo's does not cast where the program turns autocast off."""
    torch.compiler.reset()
    compiled = torch.compile(left_alone, backend="symshape", dynamic=True)
    for size in SIZES:
        found, expected = [outcome(each, size, around=True, backward=False) for each in (compiled, left_alone)]
        assert_alike(found, expected, EXACT)
    torch.compiler.reset()


@torch.library.custom_op("symshape_tests::gram", mutates_args=())
def gram(x: torch.Tensor) -> torch.Tensor:
    return x @ x.t()


@gram.register_fake
def _(x):
    return x @ x.t()


@pytest.mark.parametrize("breaks", [False, True])
def test_an_operator_of_the_programs_own(breaks: bool) -> None:
    """Operators inside of a program's own kernel are cast exactly where eager torch casts them."""

    def program(x):
        if breaks and x.numpy().sum() > 1e9:
            return x
        y = gram(x) * 2
        with cast(enabled=False):
            return y, gram(x), gram(y.float()).relu()

    compiled = compile(program, dynamic=True)
    for around in (False, True, False, True):
        for size in SIZES:
            x = torch.linspace(-1, 1, size * 4).reshape(size, 4).cos()
            with cast() if around else contextlib.nullcontext():
                assert_alike(compiled(x), program(x), EXACT)
