"""Whether places hold the very objects that they held: each kind of place, and what may become of it."""

from __future__ import annotations

from collections import OrderedDict
from types import MappingProxyType

import pytest

from frontends.pytorch.calls.identity_guards import Held
from frontends.pytorch.calls.reads import items_of

OLD, NEW = object(), object()


class Slotted:
    __slots__ = ("held",)


class Failing(dict):
    def __getitem__(self, key):
        if key == "later":
            raise RuntimeError("not now")
        return super().__getitem__(key)


def cell():
    held = OLD

    def read():
        return held

    def change(value):
        nonlocal held
        held = value

    def empty():
        nonlocal held
        del held

    return read.__closure__[0], change, empty


def test_items():
    """Something is read from where a program reads it, and a change of that goes unseen."""
    plain, subclass, numbered = {"held": OLD}, Failing(held=OLD), {3: OLD}
    for container, key in ((plain, "held"), (subclass, "held"), (numbered, 3), (MappingProxyType(plain), "held")):
        held = Held()
        held.item(container, key, OLD)
        unchanged = held.test()
        assert unchanged() is True
        changed = plain if isinstance(container, MappingProxyType) else container
        changed[key] = NEW
        assert unchanged() is False
        del changed[key]
        assert unchanged() is False
        changed[key] = OLD
        assert unchanged() is True


def test_attributes_and_cells():
    """A slot or a closure is changed, or empty, and the old graph runs."""
    slotted, (closure, change, empty) = Slotted(), cell()
    slotted.held = OLD
    held = Held()
    held.attribute(slotted, "held", OLD)
    held.item(closure, None, OLD)
    unchanged = held.test()
    assert unchanged()
    slotted.held = NEW
    assert not unchanged()
    del slotted.held
    assert not unchanged()
    slotted.held = OLD
    change(NEW)
    assert not unchanged()
    empty()
    assert not unchanged()
    change(OLD)
    assert unchanged()


@pytest.mark.parametrize(
    "container", [[OLD, 2, "x"], {"a": OLD, "b": 2}, [], {}], ids=["list", "dictionary", "no items", "no keys"]
)
def test_contents(container):
    """An item is replaced, added, taken away or moved in a list or a dictionary, and the old graph runs."""
    items = (*container, *container.values()) if isinstance(container, dict) else tuple(container)
    held = Held()
    held.contents(container, items)
    held.count(container, len(container))
    unchanged = held.test()
    assert unchanged()
    before = container.copy()

    def put(items):
        container.clear()
        (container.update if isinstance(container, dict) else container.extend)(items)

    if isinstance(container, list):
        others = [[*before, NEW], before[:-1] or [NEW], [NEW, *before[1:]], before[::-1] or [NEW]]
    else:
        changed = [{**before, "a": NEW}, dict(list(before.items())[1:]) or {"c": NEW}]
        others = [*changed, dict(reversed(before.items())) or {"d": 1}, {**before, "z": 1}]
    for other in others:
        put(other)
        assert not unchanged(), other
        put(before)
        assert unchanged()


def test_what_cannot_be_read_is_not_what_it_was():
    """An error of an object's own comes out of a call, or is left for whatever runs next."""
    held = Held()
    held.item(Failing(later=OLD), "later", OLD)
    assert held.test()() is False


def test_classes_and_functions():
    """An object gets another class, or a function other code or default values, and the old graph runs."""

    class One:
        pass

    class Other:
        pass

    def function(x, y=OLD, *, z=OLD):
        return x

    def other(x, y=NEW, *, z=NEW):
        return y

    def bare(x):
        return x

    things, code = One(), function.__code__
    held = Held()
    held.place("class", things, None, One)
    defaults, by_name = function.__defaults__, function.__kwdefaults__
    held.place("function", function, None, (code, defaults, by_name))
    held.place("function", bare, None, (bare.__code__, None, None))
    unchanged = held.test()
    assert unchanged()
    assert unchanged()
    changes = [
        (things, "__class__", Other, One),
        (function, "__code__", other.__code__, code),
        (function, "__defaults__", (NEW,), defaults),
        (function, "__defaults__", None, defaults),
        (function, "__kwdefaults__", {"z": NEW}, by_name),
        (bare, "__defaults__", (NEW,), None),
        (bare, "__kwdefaults__", {}, None),
    ]
    for thing, name, new, old in changes:
        setattr(thing, name, new)
        assert not unchanged(), name
        setattr(thing, name, old)
        assert unchanged(), name


class Listing(list):
    def __iter__(self):
        return iter(())


class Mapped(dict):
    def __getitem__(self, key):
        return NEW


@pytest.mark.parametrize(
    "container",
    [{OLD, 2}, set(), Listing([OLD, 2]), Mapped(a=OLD), OrderedDict()],
    ids=["set", "no items", "subclass of list", "subclass of dict", "ordered"],
)
def test_contents_of_other_classes(container):
    """Items of a container that is no plain list or dictionary change, and the old graph runs."""
    held = Held()
    assert held.contents(container, items_of(container))
    unchanged = held.test()
    assert unchanged()
    assert unchanged()
    if isinstance(container, set):
        container.add(NEW)
    elif isinstance(container, list):
        container[1] = 3
    else:
        dict.__setitem__(container, "a", NEW)
    assert not unchanged()


def test_items_of_a_class_of_its_own_are_asked_for():
    """What an object makes of being asked changes, and no dictionary of Python's does."""
    answers = iter((OLD, OLD, NEW))

    class Answering(dict):
        def __getitem__(self, key):
            return next(answers)

    held = Held()
    held.item(Answering(a=OLD), "a", OLD)
    unchanged = held.test()
    assert [unchanged(), unchanged(), unchanged()] == [True, True, False]


def test_an_order_is_not_for_c():
    """The items of an OrderedDict are put in another order, which its dictionary does not tell."""
    assert not Held().contents(OrderedDict(a=OLD, b=2), ("a", "b", OLD, 2))
