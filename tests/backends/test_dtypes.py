"""Kernels of user programs for each dtype: halves, narrow integers, and numbers that these cannot hold."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from frontends.pytorch import compile


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_halves_are_rounded_where_results_jump(half):
    """A comparison, a remainder or an index takes a number or a sum that a half cannot hold for another value."""

    def program(x, n, m, p):
        of_numbers = x == 0.1, x >= 3.3, x < n, torch.where(x > m, x, 7.0), x == torch.full((), n)
        of_sums = x + 0.25 != x + x * 0.5, (x + 200).argmax(0), (x - 300).min(0).indices
        return *of_numbers, *of_sums, x % n, n % x, torch.fmod(x, p), x // n, x**p, torch.pow(n, x), torch.atan2(x, p)

    compiled = compile(program, backend="cpu", dynamic=True)
    torch.manual_seed(0)
    for n, m, p in ((1.2345678, 2049, -4.0036), (0.7071067, 3, 0.2584), (0.1, 0, 1.7)):
        x = torch.tensor([n, m, 0.1, 3.3, 0.25, 1e3, *torch.randn(99).tolist()]).to(half)
        given = x, n, m, torch.tensor(p, dtype=torch.float64)
        for found, expected in zip(compiled(*given), program(*given)):
            torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-3, equal_nan=True)
    assert len(compiled.variants) <= 2 and not compiled.breaks


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int64])
def test_a_number_is_copied_into_a_tensor(dtype):
    """A symbolic number makes no kernel, or an axis of one element has another stride than eager's."""

    def program(x, value):
        return x.clone().copy_(value)

    for value in (2.3, 3, True):
        compiled = compile(program, backend="cpu", dynamic=True)
        for sizes in ((5, 4), (3, 4), (1, 1), (1,)):
            x = torch.zeros(sizes, dtype=dtype)
            found, expected = compiled(x, value), program(x, value)
            assert torch.equal(found, expected) and found.stride() == expected.stride()
        assert not compiled.fallbacks


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_a_sum_of_halves_is_rounded_before_a_conversion(half):
    """A value between two integers, or next to zero, is converted before it is rounded to a half."""

    def program(x, n):
        y = x * n
        return y.to(torch.int32), y.bool(), y.logical_not(), y.trunc(), y.floor(), y.round(), y.sign(), y.float()

    torch.manual_seed(0)
    x = torch.cat([torch.randn(2000), torch.full((9,), 1e-4)]).to(half)
    compiled = compile(program, backend="cpu", dynamic=True)
    for n in (3, 7, 1e-38):
        for found, expected in zip(compiled(x, n), program(x, n)):
            assert torch.equal(found, expected)


FILLINGS = {
    "masked": lambda x, n: x.masked_fill(x > 1, n),
    "whole": lambda x, n: x.clone().fill_(n),
    "new": lambda x, n: x.new_full((3,), n),
    "like": torch.full_like,
    "chosen": lambda x, n: torch.where(x > 1, n, x),
    "clamped": lambda x, n: x.clamp(max=n),
    "set": lambda x, n: x.clone().index_put_((x > 1,), torch.tensor(n, dtype=x.dtype)),
}


@pytest.mark.parametrize("name", FILLINGS)
@pytest.mark.parametrize("kind", [torch.uint8, torch.int16, torch.int32, torch.bool])
def test_a_number_that_overflows_is_an_error(name, kind):
    """A number that an integer cannot hold fills it with another one; any other than 0 is true."""
    program = FILLINGS[name]
    compiled = compile(lambda x, n: program(x, n), backend="cpu", dynamic=True)
    x = torch.arange(4).to(kind)
    for n in (5, 2, 1 << 40, 300, 70000, -1):
        assert outcome(compiled, x, n) == outcome(program, x, n)


def outcome(program, *given):
    try:
        return program(*given).tolist()
    except (RuntimeError, NotImplementedError) as error:
        return type(error)


@pytest.mark.parametrize("value", [torch.tensor(7.5), torch.tensor(9), torch.tensor(-1.5), torch.tensor(300)])
def test_an_element_that_overflows_is_an_error(value):
    """An element that a narrow integer cannot hold fills it with another one."""
    x = torch.arange(4, dtype=torch.uint8)
    compiled = compile(FILLINGS["masked"], backend="cpu", dynamic=True)
    assert outcome(compiled, x, value) == outcome(FILLINGS["masked"], x, value)


REFUSED = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "huber loss": lambda x: F.huber_loss(x, x * 2),
    "interpolation": lambda x: F.interpolate(x[None, None], scale_factor=2),
    "smooth loss": lambda x: F.smooth_l1_loss(x, x * 2),
    "sigmoid": F.logsigmoid,
    "gates": lambda x: F.glu(x, 0),
    "silu": F.silu,
    "slopes": lambda x: F.prelu(x, x[0, :1]),
    "pooling": lambda x: F.max_pool1d(x[None], 2),
    "bits of floats": lambda x: x / 2 & 1,
}


@pytest.mark.parametrize("exponent", [2, 3.0, torch.tensor(2), torch.tensor([0, 1, 2, 3])])
def test_a_power_in_place(exponent):
    """The operator that changes its argument has another overload's name than the one that does not."""

    def program(x):
        return x.clone().pow_(exponent), x.double().float_power_(exponent), (x + 1).floor_divide_(torch.tensor(2))

    compiled = compile(program, backend="cpu", dynamic=True)
    for x in (torch.arange(4), torch.arange(4.0)):
        if x.is_floating_point() or not isinstance(exponent, float):
            torch.testing.assert_close(compiled(x), program(x))
    assert not compiled.fallbacks


@pytest.mark.parametrize("name", REFUSED)
def test_a_dtype_that_an_operator_refuses(name):
    """An operator has a result for a dtype of which eager has none."""
    x = torch.arange(6).view(2, 3)
    with pytest.raises(NotImplementedError, match="not implemented for"):
        REFUSED[name](x)
    with pytest.raises(NotImplementedError, match="not implemented for"):
        compile(REFUSED[name], backend="cpu", dynamic=True)(x)


UNRAISED = {
    "integers": (lambda x: F.hardshrink(x), torch.arange(3), torch.tensor([0, 1, 2])),
    "no elements": (lambda x: x.abs(), torch.ones(0, dtype=torch.bool), torch.ones(0, dtype=torch.bool)),
    "unused": (lambda x: (x.index_select(0, x), x + 1)[1], torch.arange(3, 6), torch.arange(4, 7)),
}


@pytest.mark.parametrize("name", UNRAISED)
def test_listed_errors_that_are_not_raised(name):
    """What docs/differences.md lists raises in eager alone: once mended, its line leaves the page."""
    program, x, result = UNRAISED[name]
    with pytest.raises((NotImplementedError, RuntimeError, IndexError)):
        program(x)
    torch.testing.assert_close(compile(program, backend="cpu", dynamic=True)(x), result)
