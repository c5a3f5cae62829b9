"""Objects that a call makes and returns: made anew by each call of the graph, or refused."""

from __future__ import annotations

import functools
import gc
import threading
import weakref
from dataclasses import dataclass, field

import pytest
import torch
from torch import randn

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import GraphBreak
from shapes.errors import ShapeError


class Layer:
    def __init__(self, keys: torch.Tensor) -> None:
        self.keys = keys
        self.length = keys.shape[0]
        self.seen = [0]
        self.owner: Cache | None = None


class Cache:
    def __init__(self, *layers: Layer) -> None:
        self.layers = list(layers)
        self.by_name = {"first": layers[0]}
        self.form = layers[0].keys.shape
        self.words = {"a", "b"}
        for layer in layers:
            layer.owner = self


class Narrow:
    __slots__ = ("empty", "keys")

    def __init__(self, keys: torch.Tensor) -> None:
        self.keys = keys


def test_a_shape_and_a_set_that_are_returned() -> None:
    """Fails when the sizes of a tensor come out as a tuple, or calls share a set."""
    f = compile(lambda x: (x.shape, [x.transpose(0, 1).size()], {"a"}), dynamic=True, fullgraph=True)
    for sizes in ((2, 3), (4, 5)):
        shape, (turned,), words = f(torch.ones(sizes))
        assert type(shape) is type(turned) is torch.Size and (shape, turned) == (sizes, sizes[::-1])
        words.remove("a")
    assert len(f.variants) == 1


@dataclass(frozen=True, slots=True)
class Frozen:
    keys: torch.Tensor
    notes: list[str] = field(default_factory=list)


class Guarded:
    """Its attribute has the name of a property that can not be set."""

    def __init__(self, keys: torch.Tensor) -> None:
        self.__dict__["keys"] = keys

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)

    @property
    def keys(self) -> torch.Tensor:
        return self.__dict__["keys"]


class Closing(Narrow):
    def __del__(self) -> None:
        pass


class Mapped(dict):
    pass


def test_objects_are_made_anew() -> None:
    """Fails when calls share an object, or an object that is met twice becomes two."""

    def program(x):
        cache = Cache(Layer(x * 2), Layer(x + 1))
        return {"cache": cache, "first": cache.layers[0], "out": x.sum()}

    f = compile(program, dynamic=True, fullgraph=True)
    made = []
    for size in (3, 7, 1, 5):
        x = randn(size, 2)
        found = f(x)
        cache = found["cache"]
        made.append(cache)
        assert type(cache) is Cache and found["first"] is cache.layers[0] is cache.by_name["first"]
        assert cache.layers[1].owner is cache and cache.words == {"a", "b"}
        assert torch.equal(cache.layers[0].keys, x * 2) and torch.equal(cache.layers[1].keys, x + 1)
        assert cache.layers[0].length == size and type(cache.layers[0].length) is int
        assert cache.form == x.shape and type(cache.form) is torch.Size
        assert cache.layers[0].seen == [0]
        cache.layers[0].seen.append(1)
        cache.layers.clear()
        cache.words.add("c")
    assert len(set(map(id, made))) == 4 and len(f.variants) == 1


@pytest.mark.parametrize("kind", [Narrow, Frozen, Guarded])
def test_classes(kind: type) -> None:
    """Fails when an attribute is lost because of how its class keeps it."""
    f = compile(lambda x: kind(x * 2), dynamic=True, fullgraph=True)
    for size in (3, 4):
        found = f(torch.ones(size))
        assert type(found) is kind and torch.equal(found.keys, torch.full((size,), 2.0))
        assert not hasattr(found, "empty") and not getattr(found, "notes", [])
    assert len(f.variants) == 1


def test_gradients_go_through_attributes() -> None:
    """Fails when what an object holds is cut off from the gradient."""
    weight = torch.nn.Parameter(randn(4, 4))
    f = compile(lambda x: Layer(x @ weight), dynamic=True, fullgraph=True)
    for size in (3, 5):
        x = randn(size, 4, requires_grad=True)
        weight.grad = None
        f(x).keys.sum().backward()
        expected = torch.autograd.grad((x @ weight).sum(), [x, weight])
        torch.testing.assert_close((x.grad, weight.grad), expected)
    assert len(f.variants) == 1


def test_an_object_without_tensors_is_made_anew() -> None:
    """Fails when the counts of one call are those of the next."""

    class Counts:
        def __init__(self) -> None:
            self.found = []

    f = compile(lambda x: (x + 1, Counts()), dynamic=True, fullgraph=True)
    for size in (2, 3):
        _, counts = f(torch.ones(size))
        assert counts.found == []
        counts.found.append(size)


hidden = Layer(torch.ones(2))
registry = {"hidden": hidden}
everything = [Layer(torch.ones(2)) for _ in range(3)]
SETTING = object()


def test_what_was_there_before_is_given_back() -> None:
    """Fails when the graph returns a copy of an object that others have."""

    def program(x, given):
        made = Narrow(x * 2)
        made.empty = (everything, SETTING, given, Layer, len)
        return made

    f = compile(program, dynamic=True, fullgraph=True)
    given = Layer(torch.ones(2))
    for size in (3, 4):
        kept = f(torch.ones(size), given).empty
        assert kept[0] is everything and kept[1] is SETTING and kept[2] is given and kept[3] is Layer
    assert len(f.variants) == 1


class Watched:
    def __init__(self, keys: torch.Tensor) -> None:
        self.keys = keys
        weakref.finalize(self, len, "")


def changed_before(x):
    # under a name that is not in the code, so that only the result tells
    found = globals()["hid" + "den"]
    found.extra = x * 2
    return found


def in_an_old_list(x):
    found = globals()["every" + "thing"]
    found.append(x * 2)
    return Frozen(x, found)


def holds_itself(x):
    items = [x]
    items.append(items)
    made = Narrow(x)
    made.keys = items
    return made


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (changed_before, "was there before the call holds tensors"),
        (in_an_old_list, "was there before the call holds tensors"),
        (holds_itself, "holds itself"),
        (lambda x: Closing(x * 2), "Closing that the call made"),
        (lambda x: Mapped(x=x * 2), "Mapped that the call made"),
        (lambda x: Watched(x * 2), "Watched that the call made"),
        (lambda x: [lambda: x * 2], "function that the call made"),
        (lambda x: Layer(x * 2).__init__, "the method __init__"),
        (lambda x: (y for y in (x, x + 1)), "generator that the call made"),
        (lambda x: torch.nn.Linear(3, 3), "Linear that the call made"),
        (lambda x: type("Local", (), {"x": x}), "type that the call made"),
    ],
)
def test_refused(program, said: str) -> None:
    """Fails when an object that can not be made again is, or one of before the call is taken for one of it."""
    try:
        with pytest.raises(ShapeError, match=said):
            trace(program, (torch.ones(3),))
    finally:
        vars(hidden).pop("extra", None)
        del everything[3:]
    assert gc.get_freeze_count() == 0


def test_refused_objects_still_come_out_of_a_call_with_breaks() -> None:
    """Fails when an object that no graph makes is no result of a compiled function either."""
    f = compile(lambda x: Closing(x * 2), dynamic=True)
    for size in (2, 3):
        assert torch.equal(f(torch.ones(size)).keys, torch.full((size,), 2.0))


CLOSED = {
    "a zip": (lambda x: zip([x * 2, x + 1], iter([x - 1])), lambda made: [each for pair in made for each in pair]),
    "an iterator": (lambda x: iter((x * 2, x + 1)), list),
    "a map": (lambda x: map(torch.neg, [x * 2]), list),
    "values": (lambda x: {"a": x * 2}.values(), list),
    "a generator": (lambda x: (y for y in [x * 2]), list),
    "a function": (lambda x: (lambda y: lambda: y)(x * 2), lambda made: [made()]),
    "a partial": (lambda x: functools.partial(max, x * 2), lambda made: list(made.args)),
    "a method": (lambda x: Layer(x * 2).__init__, lambda made: [made.__self__.keys]),
    "a method of a tensor": (lambda x: (x * 2).relu, lambda made: [made.__self__]),
    "a class": (lambda x: type("Local", (), {"x": x * 2}), lambda made: [made.x]),
    "a module": (lambda x: with_attribute(torch.nn.Identity(), x * 2), lambda made: [made.extra]),
}


def with_attribute(module, value):
    module.extra = value
    return module


@pytest.mark.parametrize("name", CLOSED)
def test_tensors_in_what_nobody_opens_are_tensors(name: str) -> None:
    """Fails when a tensor that waits for its elements leaves the call in an iterator, a function, a class."""
    program, opened = CLOSED[name]
    f = compile(program, dynamic=True)
    for size in (2, 3, 2):
        found, expected = opened(f(torch.ones(size))), opened(program(torch.ones(size)))
        assert [type(each) for each in found] == [type(each) for each in expected]
        assert all(map(torch.equal, found, expected)) and expected
    assert f.broken is None and f.fallbacks


def test_a_program_of_frozen_objects() -> None:
    """Fails when a program's own `gc.freeze` hides what a call made, or is undone."""
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        variant = trace(lambda x: Layer(x * 2), (torch.ones(3),))
        assert variant.assembled(variant.graph(torch.ones(4))).keys.shape == (4,)
        with pytest.raises(GraphBreak):
            trace(changed_before, (torch.ones(3),))
        assert gc.get_freeze_count() > frozen // 2
    finally:
        vars(hidden).pop("extra", None)
        gc.unfreeze()


def test_traces_in_two_threads() -> None:
    """Fails when one trace hides from another what that one made."""
    inside = threading.Barrier(2, timeout=300)
    found: list[torch.Tensor] = []

    def program(x):
        before = Narrow(x)
        inside.wait()
        before.empty = Narrow(x + 1)
        return before

    def run() -> None:
        variant = trace(program, (torch.ones(3),))
        found.append(variant.assembled(variant.graph(torch.ones(4))).empty.keys)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [tuple(each.shape) for each in found] == [(4,), (4,)]
    assert gc.get_freeze_count() == 0
