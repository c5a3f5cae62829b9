"""Numbers that a program reads without being given them: symbols from when they are seen to differ on."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import OrderedDict
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional

from frontends.pytorch import compile

VALUES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
FACTOR = 0.5
"""A global that a test changes."""


class Slotted:
    __slots__ = ("factor",)


@dataclasses.dataclass
class Config:
    factor: float = 0.5
    inner: object = None


class Net(torch.nn.Module):
    """A layer with numbers of every kind around it."""

    of_class = 0.5

    def __init__(self, read):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(4, 4)
        self.factor = 0.5
        self.count = 1
        self.table = {"inner": {"list": [1.0, 0.5], 3: 0.5}}
        self.ordered = OrderedDict(factor=0.5)
        self.space = SimpleNamespace(factor=0.5)
        self.config = Config(inner=Config())
        self.slotted = Slotted()
        self.slotted.factor = 0.5
        self.read = read

    def forward(self, x):
        return self.layer(x) * self.read(self)


def class_put(net, value):
    Net.of_class = value


READ = {
    "attribute": (lambda net: net.factor, lambda net, value: setattr(net, "factor", value)),
    "integer": (lambda net: net.count, lambda net, value: setattr(net, "count", round(value * 10))),
    "class": (lambda net: net.of_class, class_put),
    "list": (lambda net: net.table["inner"]["list"][1], lambda net, v: net.table["inner"]["list"].__setitem__(1, v)),
    "number as key": (lambda net: net.table["inner"][3], lambda net, value: net.table["inner"].update({3: value})),
    "ordered": (lambda net: net.ordered["factor"], lambda net, value: net.ordered.update(factor=value)),
    "namespace": (lambda net: net.space.factor, lambda net, value: setattr(net.space, "factor", value)),
    "dataclass": (lambda net: net.config.inner.factor, lambda net, v: setattr(net.config.inner, "factor", v)),
    "slot": (lambda net: net.slotted.factor, lambda net, value: setattr(net.slotted, "factor", value)),
    "mathematics": (lambda net: math.exp(net.factor), lambda net, value: setattr(net, "factor", value)),
    "two of them": (
        lambda net: net.factor * net.count,
        lambda net, value: (setattr(net, "factor", value), setattr(net, "count", round(value * 10))),
    ),
}


def agrees(compiled, program, put, values=(*VALUES, VALUES[0])):
    """Each value gives what eager gives, its gradient too."""
    for seed, value in enumerate(values):
        put(value)
        x = torch.randn(3, 4, generator=torch.Generator().manual_seed(seed))
        ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
        found, expected = compiled(ours), program(theirs)
        torch.testing.assert_close(found, expected)
        found.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize(("read", "put"), READ.values(), ids=READ)
def test_two_variants_for_eight_values(read, put, backend):
    """Each value is traced, or calls fall back to eager after a few; or a value of before is used."""
    net = Net(read)
    compiled = compile(net, backend=backend)
    agrees(compiled, net, lambda value: put(net, value))
    assert len(compiled.variants) == 2 and not compiled.fallbacks


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_globals_and_closures(backend):
    """What a global or a closure holds is a constant of each variant."""
    factor = 0.5

    def put(value):
        global FACTOR
        nonlocal factor
        FACTOR, factor = value, 2 * value

    def program(x, power=2):
        return (x * FACTOR) ** power + factor

    compiled = compile(program, backend=backend)
    agrees(compiled, program, put)
    assert len(compiled.variants) == 2 and not compiled.fallbacks
    assert compiled.variants[1].cause == "FACTOR is 0.2, was 0.1; factor is 0.4, was 0.2"


def test_one_after_the_other():
    """A second number of the same container that changes is none of the variants', or the first one's symbol."""
    table = {"a": 1.0, "b": 1.0, "c": "text"}
    compiled = compile(lambda x: x * table["a"] - table["b"] if table["c"] == "text" else x, backend="cpu")
    x = torch.ones(3)
    for key in ("a", "b"):
        for value in VALUES:
            table[key] = value
            assert torch.equal(compiled(x), x * table["a"] - table["b"])
    assert len(compiled.variants) == 3 and not compiled.fallbacks
    table["c"] = "other"
    assert torch.equal(compiled(x), x)
    table["c"], table["d"] = "text", 1
    assert torch.equal(compiled(x), x * table["a"] - table["b"])


def test_what_is_no_number_any_more():
    """A number that becomes a tensor, a text, nothing or absent is read as it was."""

    class Held:
        pass

    held = Held()

    def program(x):
        return x * held.value if hasattr(held, "value") and held.value is not None else x

    compiled = compile(program)
    x = torch.ones(3)
    for value in (0.5, 0.25, 0.75, torch.full((3,), 2.0), 0.5, 3, 4, True, None, 0.5, 0.25):
        held.value = value
        assert torch.equal(compiled(x), program(x)), value
        assert held.value is value
    del held.value
    assert torch.equal(compiled(x), x)


def test_a_number_that_the_call_changes():
    """A counter is counted up once, or its symbol stays in it."""
    net = Net(lambda net: net.count)

    def counting(x):
        net.count += 1
        return net(x)

    compiled = compile(counting)
    for start in (1, 5, 9, 2):
        net.count = start
        for _ in range(2):
            expected = net.layer(torch.ones(2, 4)) * (net.count + 1)
            torch.testing.assert_close(compiled(torch.ones(2, 4)), expected)
        assert net.count == start + 2 and type(net.count) is int


def test_where_the_value_is_wanted():
    """What wants a plain number (an index of a list, a loop, a text, a key) is given another call's."""
    net = Net(lambda net: net.count)

    def program(x):
        x = [x, x * 2, x * 3, x * 4][net.count % 4]
        for _ in range(net.count):
            x = x + 1
        return x * len(f"{'a' * net.count}") + {1: 2, 3: 4}.get(net.count, 5)

    compiled = compile(program)
    for count in (1, 2, 3, 1, 5, 2, 4):
        net.count = count
        assert torch.equal(compiled(torch.ones(3)), program(torch.ones(3)))
        assert net.count == count and type(net.count) is int


def test_dropout_of_a_schedule():
    """A probability that changes each call is another call's."""
    net = Net(lambda net: 1)
    for training in (True, False):
        compiled = compile(lambda x, training=training: functional.dropout(x, net.factor, training))
        for p in VALUES:
            net.factor = p
            torch.manual_seed(0)
            found = compiled(torch.ones(50))
            torch.manual_seed(0)
            assert torch.equal(found, functional.dropout(torch.ones(50), p, training))


def test_an_error_in_the_trace_leaves_the_numbers():
    """A trace that fails leaves its symbol in an attribute."""
    net = Net(lambda net: net.factor)

    def program(x):
        if net.factor > 0.35:
            raise ValueError("too large")
        return x * net.factor

    compiled = compile(program)
    for value in VALUES:
        net.factor = value
        if value > 0.35:
            with pytest.raises(ValueError, match="too large"):
                compiled(torch.ones(3))
        else:
            assert torch.equal(compiled(torch.ones(3)), program(torch.ones(3)))
        assert net.factor == value and type(net.factor) is float


def test_none_is_a_symbol_where_nothing_is_dynamic():
    """A number is a symbol though the caller said that everything is a number."""
    net = Net(lambda net: net.factor)
    compiled = compile(net, dynamic=False)
    agrees(compiled, net, lambda value: setattr(net, "factor", value))
    assert all(not variant.numbers for variant in compiled.variants)


def test_training_and_evaluation_with_a_number_that_changes():
    """A state of what is around is taken for another one once a number is no part of it."""
    net = torch.nn.Sequential(Net(lambda net: net.factor), torch.nn.Dropout(0.5))
    compiled = compile(net, backend="cpu")
    for value in VALUES:
        for training in (True, False):
            net.train(training)
            net[0].factor = value
            outputs = []
            for call in (compiled, net):
                torch.manual_seed(0)
                outputs.append(call(torch.ones(2, 4)))
            torch.testing.assert_close(*outputs)
    assert len(compiled.variants) <= 5 and not compiled.fallbacks


def test_functions_that_remember():
    """A function that remembers its results has a symbol of a trace among them."""
    table = {"factor": 2.0}

    @functools.lru_cache
    def factor():
        return table["factor"] * 2

    compiled = compile(lambda x: x * factor() + table["factor"])
    for value in VALUES:
        table["factor"] = value
        if value in (0.3, 0.6):
            factor.cache_clear()
        assert torch.equal(compiled(torch.ones(3)), torch.ones(3) * factor() + value)
        assert type(factor()) is float
