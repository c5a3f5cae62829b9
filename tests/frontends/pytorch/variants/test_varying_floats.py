"""Floats among the arguments: numbers of the graph until they are seen to differ, and symbols from then on."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from frontends.pytorch import compile

VALUES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


def x_of(seed, gradients=False):
    return torch.randn(3, 6, generator=torch.Generator().manual_seed(seed)).requires_grad_(gradients)


def agrees(f, program, *others, gradients=False):
    """Each of the values gives what eager gives, its gradient too."""
    for seed, value in enumerate(others):
        ours, theirs = x_of(seed, gradients), x_of(seed, gradients)
        found, expected = f(ours, value), program(theirs, value)
        torch.testing.assert_close(found, expected, equal_nan=True)
        if gradients:
            found.sum().backward()
            expected.sum().backward()
            torch.testing.assert_close(ours.grad, theirs.grad)


WANTED = {
    "dropout": lambda x, p: functional.dropout(torch.ones_like(x), p, True).sum() * 0 + x,
    "dropout in evaluation": lambda x, p: functional.dropout(x, p, False),
    "epsilon": lambda x, p: functional.layer_norm(x, (6,), eps=p),
    "key": lambda x, p: x * {0.1: 2.0, 0.3: 4.0}.get(p, 3.0),
    "text": lambda x, p: x * len(f"{p:.{int(p * 10)}f}"),
    "class": lambda x, p: x * p if type(p) is float else x,
    "a size": lambda x, p: x[: max(1, int(p * 5))].sum() + x,
    "order of a norm": lambda x, p: x.norm(p + 1) + x,
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("program", WANTED.values(), ids=WANTED)
def test_where_the_value_is_wanted(program, backend):
    """Each call reads its own value where a plain number is wanted."""
    agrees(compile(program, backend=backend), program, *VALUES)


def test_doubles_stay_doubles():
    """A factor is rounded to the dtype of the elements before it is computed with."""
    compiled = compile(lambda x, p: (x * (p * 3 - 1), p * 3 - 1, x.double() * p), backend="cpu")
    for p in (0.1, 1 / 3, 2 / 3, 1e-9):
        x = torch.ones(3)
        whole, number, wide = compiled(x, p)
        assert number == p * 3 - 1 and type(number) is float
        assert torch.equal(wide, x.double() * p) and torch.equal(whole, x * (p * 3 - 1))
    assert len(compiled.variants) == 2


def test_halves():
    """A factor is rounded to a half before it is computed with."""
    compiled = compile(lambda x, p: x.half() * p, backend="cpu")
    agrees(compiled, lambda x, p: x.half() * p, *VALUES)
    assert len(compiled.variants) == 2


def test_floats_in_containers_and_by_name():
    """A float inside a list or a dictionary, by name or by default is none that may vary."""

    def program(x, settings, *, scale=1.0):
        return x * settings["a"][0] + settings["b"] - scale

    compiled = compile(program, backend="cpu")
    for step in range(6):
        given = {"a": [0.5 * step], "b": 1.0 + step}
        x = x_of(step)
        torch.testing.assert_close(compiled(x, given, scale=2.0 * step), program(x, given, scale=2.0 * step))
    assert len(compiled.variants) == 2 and not compiled.fallbacks
    torch.testing.assert_close(compiled(x, given), program(x, given))


def test_a_float_is_no_integer():
    """2.0 is taken for 2."""
    compiled = compile(lambda x, p: x // p if isinstance(p, float) else x.long() // p, backend="cpu")
    x = torch.arange(4.0)
    for p in (2.0, 2, 3.0, 3, 4.0, 4):
        assert compiled(x, p).dtype is (torch.float32 if type(p) is float else torch.int64)


def test_none_is_a_symbol_where_nothing_is_dynamic():
    """A float is a symbol though the caller said that everything is a number."""
    compiled = compile(lambda x, p: x * p, dynamic=False)
    agrees(compiled, lambda x, p: x * p, *VALUES)
    assert all(not variant.numbers for variant in compiled.variants)


def test_random_values():
    """Some value is another one on its way through the graph."""
    compiled = compile(lambda x, p: (x * p, p), backend="cpu")
    numbers = torch.randn(40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for value in (numbers * 10.0 ** torch.arange(-200, 200, 10, dtype=torch.float64)).tolist():
        x = torch.ones(2, dtype=torch.float64)
        whole, number = compiled(x, value)
        assert whole.tolist() == [value, value] and number == value
    assert len(compiled.variants) == 2
