"""What a call returns is put together as the program did it: classes, keys, attributes, and their order."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, fields

import pytest
import torch

from frontends.pytorch import compile
from frontends.pytorch.calls.result_assembly import assembler
from frontends.pytorch.python.assembling import maker, same

generic = pytest.importorskip("transformers.utils.generic")
Pair = namedtuple("Pair", "one other")


@dataclass
class Found(generic.ModelOutput):
    first: object = None
    second: object = None
    third: object = None


@dataclass
class Doubled(Found):
    def __post_init__(self):
        super().__post_init__()
        self.third = 2


class Plain(Found):
    """No dataclass of its own."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        self.__dict__["seen"] = True


def is_alike(one, other):
    assert same(one, other)
    assert list(one.items()) == list(other.items())
    assert one.to_tuple() == other.to_tuple()
    assert one.third is other.third


def test_outputs_of_transformers_without_looking_up_their_fields(monkeypatch):
    """Each call takes 40 us to put its results together."""
    make, value = maker(Found, ["first", "third"]), torch.ones(2)
    is_alike(make([value, 3]), Found(first=value, third=3))
    expected = Found(first=value, third=4)
    asked = []
    monkeypatch.setattr(generic, "fields", lambda value: asked.append(value) or fields(value))
    found = make([value, 4])
    assert not asked
    is_alike(found, expected)
    found.second = value
    assert list(found) == ["first", "third", "second"]


@pytest.mark.parametrize("kind", [Doubled, Plain])
def test_a_class_that_does_more_is_made_by_itself(kind):
    """What a class of the user's does when an object is made is left out from the second call on."""
    make, value = maker(kind, ["first", "second"]), torch.ones(2)
    for _ in range(3):
        is_alike(make([value, 1]), kind(first=value, second=1))


def test_a_method_that_is_replaced_later(monkeypatch):
    """A class is changed when objects of it have been made before, and the change is not noticed."""
    make, value = maker(Found, ["first", "second"]), torch.ones(2)
    make([value, 1]), make([value, 1])
    monkeypatch.setattr(Found, "__post_init__", lambda self: self.__dict__.update(late=1))
    assert make([value, 1]).late == 1


def test_compiled_functions_return_what_the_program_does():
    """Containers of all classes, inside of each other, at every call."""

    def program(x):
        inner = Found(first=x * 2, second=(x, {"a": x + 1, 3: 7}))
        table = defaultdict(list, b=[x - 1])
        return Pair(inner, [OrderedDict(z=x.sin(), a=table)]), Doubled(first=x.cos())

    compiled = compile(program)
    for size in (3, 4, 5):
        x = torch.linspace(0, 1, size)
        (inner, [ordered]), doubled = compiled(x)
        (expected, [other]), twice = program(x)
        for ours, theirs in ((inner, expected), (doubled, twice)):
            assert type(ours) is type(theirs)
            assert list(ours) == list(theirs)
            assert list(vars(ours)) == list(vars(theirs))
            assert torch.equal(ours.first, theirs.first)
        assert type(compiled(x)[0]) is Pair
        assert list(ordered) == ["z", "a"]
        assert type(ordered) is OrderedDict
        assert ordered["a"].default_factory is list
        assert torch.equal(ordered["a"]["b"][0], other["a"]["b"][0])
        assert inner.second[1][3] == 7
        assert doubled.third == 2


def test_a_structure_deeper_than_python_has_expressions():
    """Results that nest deeply are a syntax error of generated code."""
    value = torch.ones(2)
    for _ in range(120):
        value = [OrderedDict(a=value)]
    leaves, structure = torch.utils._pytree.tree_flatten(value)
    assert torch.utils._pytree.tree_structure(assembler(structure)(leaves)) == structure
