"""What a program reads without being given it, changed after a trace: a compiled function reads it again."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext

import pytest
import torch
from torch import nn

from frontends.pytorch import compile


class Plain:
    factor = 2.0


class Slotted:
    __slots__ = ("factor",)


class Scaling(nn.Module):
    factor = 2.0

    def __init__(self) -> None:
        super().__init__()
        self._inner = 3.0

    def forward(self, x):
        return x * self.factor + self._inner


class Empty:
    pass


def times(holder: object) -> Callable[[torch.Tensor], torch.Tensor]:
    def program(x):
        try:
            return x * holder.factor
        except AttributeError:
            return x

    return program


def changes(holder: object) -> list[Callable[[], None]]:
    return [
        lambda: setattr(holder, "factor", 5.0),
        lambda: setattr(holder, "factor", 7.0),
        lambda: delattr(holder, "factor"),
    ]


@pytest.mark.parametrize("kind", [Plain, Slotted, Empty])
def test_attributes_that_come_and_go(kind: type) -> None:
    """Fails when an attribute is not read again that an object has only now, or has no more."""
    holder = kind()
    program = times(holder)
    f = compile(program, dynamic=True)
    x = torch.ones(3)
    assert torch.equal(f(x), program(x))
    for change in changes(holder):
        change()
        assert torch.equal(f(x), program(x))
        assert torch.equal(f(x), program(x))


def test_attributes_of_arguments() -> None:
    """Fails when an object among the arguments gets an attribute that is not noticed."""
    holder = Empty()

    def program(x, held):
        return x * held.factor if hasattr(held, "factor") else x

    f = compile(program, dynamic=True, fullgraph=True)
    x = torch.ones(3)
    assert torch.equal(f(x, holder), x)
    holder.factor = 4.0
    assert torch.equal(f(x, holder), x * 4)


def test_attributes_of_modules() -> None:
    """Fails when what hides an attribute of a module's class, or a private one, is not read again."""
    module = Scaling()
    f = compile(module, dynamic=True, fullgraph=True)
    x = torch.ones(3)
    for name, value in (("_inner", 3.0), ("_inner", 4.0), ("factor", 5.0), ("factor", 2.0)):
        setattr(module, name, value)
        assert torch.equal(f(x), module(x))
    del module.factor
    assert torch.equal(f(x), module(x))
    known = len(f.variants)
    for _ in range(3):
        f(x)
    assert len(f.variants) == known


def test_globals_that_are_named_like_an_attribute(monkeypatch) -> None:
    """Fails when a tensor of a script is compared on each call, as an attribute that the program reads has its name."""
    module = Scaling()
    f = compile(module, dynamic=True, fullgraph=True)
    for size in range(2, 7):
        x = torch.ones(size)
        monkeypatch.setitem(globals(), "_inner", x * 2)
        monkeypatch.setitem(globals(), "factor", x * 3)
        assert torch.equal(f(x), module(x))
    assert len(f.variants) == 1


def test_globals_beside_attributes_of_one_name(monkeypatch) -> None:
    """Fails when a global is not compared because an attribute has its name as well."""
    monkeypatch.setitem(globals(), "factor", 2.0)
    module = Scaling()

    def program(x):
        return module(x) * factor  # noqa: F821

    f = compile(program, dynamic=True, fullgraph=True)
    x = torch.ones(3)
    for value in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "factor", value)
        assert torch.equal(f(x), program(x))


def test_a_lazy_module_is_traced_once_it_knows_its_sizes() -> None:
    """If it fails, a lazy module cannot be called, or its parameters are made of symbols."""
    module = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.LazyBatchNorm1d())
    f = compile(module, dynamic=True)
    assert f(torch.ones(3, 5)).shape == (3, 4)
    for rows in (4, 7):
        x = torch.randn(rows, 5)
        torch.testing.assert_close(f(x), module(x))


def test_the_precision_of_decimals_is_read() -> None:
    """If it fails, a number that Python computes with decimals is what it was at another precision."""
    x = torch.ones(2)

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * float(Decimal(2).sqrt())

    compiled = compile(scaled)
    with localcontext() as context:
        for precision in (28, 3, 28):
            context.prec = precision
            assert torch.equal(compiled(x), scaled(x))
