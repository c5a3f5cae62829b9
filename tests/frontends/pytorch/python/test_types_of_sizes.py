"""Programs that go by the class of a size, in whatever way they ask: it is an int to them."""

from __future__ import annotations

import decimal
import fractions
import functools
import numbers
import operator
from collections.abc import Callable
from typing import Final, Union

import pytest
import torch

from frontends.pytorch import compile


@functools.singledispatch
def dispatched(number: object) -> float:
    return 0.0


@dispatched.register
def _(number: int) -> float:
    return 7.0


@dispatched.register
def _(number: float) -> float:
    return 9.0


class Owner:
    @functools.singledispatchmethod
    def method(self, number: object) -> float:
        return 0.0

    @method.register
    def _(self, number: int) -> float:
        return 7.0


def matched(number: object) -> float:
    match number:
        case bool():
            return 1.0
        case int(value) if value > 5:
            return value * 2.0
        case int() | float():
            return 7.0
        case _:
            return 0.0


def matched_as_torchs(number: object) -> float:
    match number:
        case torch.SymInt() | torch.SymFloat():
            return 2.0
        case int():
            return 7.0
        case _:
            return 0.0


class Whole(int):
    pass


PROGRAMS: Final[dict[str, Callable[[int], float]]] = {
    "singledispatch": dispatched,
    "singledispatch of a float": lambda n: dispatched(n / 2),
    "singledispatchmethod": lambda n: Owner().method(n),
    "match": matched,
    "match of a float": lambda n: matched(n / 3),
    "match of torch's": matched_as_torchs,
    "match of torch's inside": lambda n: (lambda: matched_as_torchs(n / 2))(),
    "match of a bool": lambda n: matched(n > 0),
    "type is": lambda n: 7.0 if type(n) is int else 0.0,
    "type in a dict": lambda n: {int: 7.0}.get(type(n), 0.0),
    "__class__": lambda n: {int: 7.0}.get(n.__class__, 0.0),
    "__class__ of a float": lambda n: 7.0 if (n / 2).__class__ is float else 0.0,
    "__class__.__name__": lambda n: float(len(n.__class__.__name__)),
    "isinstance": lambda n: 7.0 if isinstance(n, int) and not isinstance(n, float) else 0.0,
    "isinstance of torch's": lambda n: 7.0 if isinstance(n, torch.SymInt) else 0.0,
    "isinstance of torch's or a text": lambda n: 7.0 if isinstance(n, (str, (torch.SymInt, torch.SymFloat))) else 0.0,
    "isinstance of a union": lambda n: 7.0 if isinstance(n, torch.SymInt | str) else 0.0,
    "isinstance of an old union": lambda n: 7.0 if isinstance(n, Union[torch.SymInt, str]) else 0.0,  # noqa: UP007
    "isinstance of a union with int": lambda n: 7.0 if isinstance(n, torch.SymInt | int) else 0.0,
    "a float, isinstance of torch's": lambda n: 7.0 if isinstance(n / 2, torch.SymFloat) else 0.0,
    "a truth, isinstance of torch's": lambda n: 7.0 if isinstance(n > 4, torch.SymBool) else 0.0,
    "all isinstance": lambda n: 7.0 if all(map(int.__instancecheck__, [n])) else 0.0,
    "torch's asked by name": lambda n: 7.0 if torch.SymInt.__instancecheck__(n) else 0.0,
    "torch's asked by type": lambda n: 7.0 if type.__instancecheck__(torch.SymFloat, n / 2) else 0.0,
    "Integral": lambda n: 7.0 if isinstance(n, numbers.Integral) else 0.0,
    "operator.index": lambda n: float(operator.index(n)),
    "range": lambda n: float(sum(range(n))),
    "real": lambda n: float(n.real + n.imag),
    "to_bytes": lambda n: float(n.to_bytes(2, "big")[1]),
    "bit_length": lambda n: float(n.bit_length()),
    "Fraction": lambda n: float(fractions.Fraction(n, 3)),
    "Decimal": lambda n: float(decimal.Decimal(n)),
    "subclass": lambda n: float(Whole(n)),
    "key": lambda n: {4: 1.0, 6: 2.0}.get(n, 0.0),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_eager(name: str, dynamic: bool | None) -> None:
    """If it fails, a graph has the branch for something that is no int."""
    program = PROGRAMS[name]
    compiled = compile(lambda x: x * program(x.shape[0]), dynamic=dynamic)
    for size in (4, 4, 6, 9):
        x = torch.ones(size)
        assert compiled(x).tolist() == (x * program(size)).tolist()


@pytest.mark.parametrize(
    "name", ["singledispatch", "singledispatchmethod", "match of a float", "__class__", "isinstance of torch's"]
)
def test_in_one_graph(name: str) -> None:
    """If it fails, such programs have a graph for each size, or none."""
    program = PROGRAMS[name]
    compiled = compile(lambda x: x * program(x.shape[0]), dynamic=True, fullgraph=True)
    for size in (4, 6, 9):
        assert compiled(torch.ones(size)).tolist() == [program(size)] * size
    assert len(compiled.variants) == 1


def test_torchs_numbers_are_as_they_were() -> None:
    """If it fails, torch's classes of numbers are changed for other programs than the traced ones."""
    compile(lambda x: x * dispatched(x.shape[0]), dynamic=True)(torch.ones(3))
    for kind in (torch.SymInt, torch.SymFloat, torch.SymBool):
        assert "__class__" not in vars(kind) and type(kind) is type
        assert kind.__new__(kind).__class__ is kind
