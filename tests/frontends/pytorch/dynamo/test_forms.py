"""Arguments by name, by position and left out: the same variant, with what Python itself would give the function."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn, randn

from frontends.pytorch import Policy, compile


def agrees(f, *args: object, **kwargs: object) -> None:
    torch.testing.assert_close(f(*args, **kwargs), f.fn(*args, **kwargs))


def test_one_variant_for_all_ways_to_pass_arguments() -> None:
    """Fails when how an argument is passed costs a variant, or a default is another's value."""

    def program(x, y, scale=2.0, shift=None, *, power=1, flag=False):
        out = (x - y) * scale**power
        return out if shift is None else out + shift if flag else out - shift

    f = compile(program, dynamic=True)
    x, y, z = randn(3, 4), randn(3, 4), randn(4)
    for _ in range(2):
        agrees(f, x, y)
        agrees(f, x, y=y)
        agrees(f, y=y, x=x)
        agrees(f, x, y, 2.0)
        agrees(f, x, y, shift=None, scale=2.0)
        agrees(f, x, y, 2.0, None, flag=False, power=1)
    assert len(f.variants) == 1
    agrees(f, x, y, shift=z)
    agrees(f, x, y, 2.0, z)
    assert len(f.variants) == 2
    agrees(f, y, x, 3.0, z, flag=True)
    agrees(f, scale=3.0, flag=True, shift=z, x=y, y=x)
    assert len(f.variants) == 3


@pytest.mark.parametrize("count", range(4))
def test_extra_arguments(count: int) -> None:
    """Fails when what is beyond the parameters is lost, or stands in another's place."""

    def program(x, y=3.0, *more, last=1.0, **named):
        total = x * y - last
        for place, each in enumerate(more, 2):
            total = total + each * place
        for name in sorted(named):
            total = total - named[name] * len(name)
        return total

    f = compile(program, dynamic=True)
    values = [randn(3) for _ in range(count)]
    for names in itertools.chain.from_iterable(itertools.combinations(["last", "aa", "bbb"], n) for n in range(4)):
        agrees(f, randn(3), *values, **{name: randn(3) for name in names})
    if count == 0:
        agrees(f, x=randn(3), aa=randn(3))


def test_positional_only() -> None:
    """Fails when a name that is no parameter's is taken for one."""

    def program(x, /, y=2.0, **named):
        return x * y + named.get("x", 0.0)

    f = compile(program, dynamic=True)
    x = randn(3)
    agrees(f, x)
    agrees(f, x, 2.0)
    assert len(f.variants) == 1
    agrees(f, x, x=randn(3))
    agrees(f, x, 2.0, x=randn(3))
    assert len(f.variants) == 2


def test_errors_are_pythons() -> None:
    """Fails when a wrong call is something else than a `TypeError`, or runs."""

    def program(x, y=2.0):
        return x * y

    f = compile(program, dynamic=True)
    x = randn(3)
    f(x)
    for args, kwargs in (((), {}), ((x, 1.0, 2.0), {}), ((x,), {"x": x}), ((x,), {"z": 1}), ((), {"y": 1.0})):
        with pytest.raises(TypeError, match="argument"):
            f(*args, **kwargs)
    agrees(f, x, y=3.0)


def test_defaults_that_change() -> None:
    """Fails when a call goes on with defaults that the function no longer has."""

    def program(x, y=2.0, *, z=1.0):
        return x * y + z

    f = compile(program, dynamic=True)
    x = randn(3)
    agrees(f, x)
    program.__defaults__ = (5.0,)
    agrees(f, x)
    program.__kwdefaults__ = {"z": 7.0}
    agrees(f, x)
    program.__kwdefaults__["z"] = 8.0
    agrees(f, x)
    agrees(f, x, 5.0, z=8.0)
    for none in ({}, None):
        program.__kwdefaults__ = none
        with pytest.raises(TypeError, match="keyword-only"):
            f(x)
    agrees(f, x, z=8.0)


def test_methods_and_modules() -> None:
    """Fails when `self` is taken for an argument, or a hook sees other arguments than without the compiler."""

    class Scaling(nn.Module):
        def forward(self, x, factor=2.0):
            return x * factor

    module = Scaling()
    f, x = compile(module, dynamic=True), randn(3)
    agrees(f, x)
    agrees(f, x=x)
    agrees(f, x, 2.0)
    agrees(f, x, factor=2.0)
    assert len(f.variants) == 1
    g = compile(module.forward, dynamic=True)
    agrees(g, x)
    agrees(g, x, factor=2.0)
    assert len(g.variants) == 1
    # a hook that replaces what is given by position
    handle = module.register_forward_pre_hook(lambda module, args: tuple([each * 3 for each in args]))
    agrees(f, x)
    agrees(f, x, factor=2.0)
    agrees(f, x, 2.0)
    handle.remove()
    agrees(f, x, factor=2.0)


def test_another_form_finds_variants_and_fall_backs() -> None:
    """Fails when calls that fall back to eager are traced again because they are passed in another way."""

    def unrolled(x, n=1.0):
        for step in range(x.shape[0]):
            x = x * step + n
        return x

    f = compile(unrolled, dynamic=True, policy=Policy(recompile_limit=2))
    for rows in (2, 3, 4, 5):
        agrees(f, randn(rows))
    known = len(f.variants), len(f.fallbacks)
    for rows in (2, 3, 4, 5, 6):
        x = randn(rows)
        agrees(f, x=x)
        agrees(f, x, n=1.0)
    assert (len(f.variants), len(f.fallbacks)) == known


def test_names_that_generated_code_has_a_use_for() -> None:
    """Fails when a call never returns, or is refused, because of what an argument is called."""

    def program(function, __hidden, größe, *, check=torch.sin):
        return check(function[0] * __hidden + größe + function[1])

    f = compile(program, dynamic=True)
    x, y, z = randn(3, 4), randn(3, 4), randn(4)
    agrees(f, [x, y], y, z)
    agrees(f, [y, x], z, x, check=torch.cos)
    agrees(f, function=[x, y], __hidden=y, größe=z)
