"""Whether places hold the very objects that they held: each kind of place, and what may become of it."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from frontends.pytorch.calls.unchanged import Held

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
