"""When an object is gone that a program makes, as far as the program can see it: as in eager torch."""

from __future__ import annotations

import copy
import functools
import gc
import sys
import weakref
from collections.abc import Callable

import pytest
import torch

from frontends.pytorch import compile

gone: list[object] = []


class Plain:
    pass


class Slotted:
    __slots__ = ("__weakref__", "held")


class Told:
    """One whose end is noted."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        gone.append(self.number)


class OwnReference(weakref.ref):
    pass


def made(x, kind=Plain):
    """An object that was changed."""
    one = kind()
    one.held = x
    return one


def plainly(x):
    one = made(x)
    reference = weakref.ref(one)
    y = one.held * 2
    del one
    return y, reference() is None


def with_slots(x):
    one = made(x, Slotted)
    reference = weakref.ref(one)
    del one
    return x * 2, reference() is None


def changed_behind_it(x):
    one = Plain()
    reference = weakref.ref(one)
    one.held = x
    setattr(one, "more", 1)  # noqa: B010
    y = one.held * 2
    del one
    return y, reference() is None


def changed_long_before(x):
    one, other, listed = made(x), Plain(), []
    other.one = one
    listed.append(one)
    reference = weakref.ref(one)
    listed.clear()
    other.one = None
    before = reference() is None
    del one
    return x * 2, before, reference() is None


def of_a_local_class(x):
    class Local:
        def doubled(self):
            return self.held * 2

    one = made(x, Local)
    reference, method = weakref.ref(one), weakref.WeakMethod(one.doubled)
    y = one.doubled()
    del one
    return y, reference() is None, method() is None


def by_a_class_of_its_own(x):
    one = made(x)
    reference = OwnReference(one)
    del one
    return x * 2, reference() is None


def by_a_partial(x):
    one = made(x)
    reference = functools.partial(weakref.ref)(one)
    del one
    return x * 2, reference() is None


def several(x):
    listed = [made(x * each) for each in range(3)]
    references = [weakref.ref(each) for each in listed]
    mapped = list(map(weakref.ref, listed))
    y = listed.pop(0).held
    return x + y, [each() is None for each in (*references, *mapped)]


def by_a_proxy(x):
    one = made(x)
    proxy = weakref.proxy(one)
    y = proxy.held * 2
    del one
    try:
        return y, bool(proxy.held)
    except ReferenceError:
        return y, "gone"


def with_a_callback(x):
    hits = []
    one = made(x)
    reference = weakref.ref(one, lambda _: hits.append(1))
    del one
    return x * 2, len(hits), reference() is None


def finalized(x):
    hits = []
    one = made(x)
    finalizer = weakref.finalize(one, hits.append, 1)
    before = finalizer.alive
    del one
    return x * 2, hits, before, finalizer.alive


def values_of_a_dictionary(x):
    known, one = weakref.WeakValueDictionary(), made(x)
    known["one"] = one
    before = len(known)
    del one
    return x * 2, before, len(known)


def keys_of_a_dictionary(x):
    known, one = weakref.WeakKeyDictionary(), made(x)
    known[one] = x
    before = len(known)
    del one
    return x * 2, before, len(known)


def in_a_weak_set(x):
    known, one = weakref.WeakSet(), made(x)
    known.add(one)
    del one
    return x * 2, len(known)


def in_a_list(x):
    one, listed = Plain(), []
    reference = weakref.ref(one)
    listed.append(one)
    del one
    before = reference() is None
    listed.clear()
    return x * 2, before, reference() is None


def in_a_dictionary(x):
    one, known = Plain(), {}
    reference = weakref.ref(one)
    known.setdefault("one", one)
    del one, known
    return x * 2, reference() is None


def out_of_a_dictionary(x):
    one = made(x)
    known = {"one": one}
    reference = weakref.ref(one)
    known.pop("one")
    del one
    return x * 2, reference() is None


def in_a_closure(x):
    def inside():
        one = made(x)

        def read():
            return one.held * 2

        return read(), weakref.ref(one)

    y, reference = inside()
    return y, reference() is None


def of_a_function(x):
    def doubled():
        return x * 2

    y, reference = doubled(), weakref.ref(doubled)
    del doubled
    return y, reference() is None


def on_a_tensor(x):
    one, y = made(x), x * 2
    reference = weakref.ref(one)
    y.tag = one
    z = y + 1
    del one, y
    return z, reference() is None


def of_a_tensor(x):
    y = x * 2
    reference = weakref.ref(y)
    z = y + 1
    before = reference() is y
    del y
    return z, before, reference() is None


def of_a_module(x):
    module = torch.nn.ReLU()
    module.count = 2
    reference = weakref.ref(module)
    y = module(x)
    del module
    return y, reference() is None


def in_an_exception(x):
    one = made(x)
    reference = weakref.ref(one)
    try:
        raise ValueError(one)
    except ValueError:
        pass
    del one
    return x * 2, reference() is None


def in_a_copy(x):
    one = made(x)
    other = copy.copy(one)
    reference = weakref.ref(other)
    other.more = one
    del other
    return x * 2, reference() is None


def in_a_cycle(x):
    one = made(x)
    one.itself = one
    reference = weakref.ref(one)
    del one
    gc.collect()
    return x * 2, reference() is None


def how_many(x):
    one = made(x)
    reference = weakref.ref(one)
    return x * 2, weakref.getweakrefcount(one), reference() is one


def who_refers(x):
    one = made(x)
    listed = [one]
    return x * 2, sys.getrefcount(one), sum(each is listed for each in gc.get_referrers(one))


def told_of_its_end(x):
    one = Told(3)
    one.held = x
    y = one.held * 2
    del one
    return y, list(gone)


def told_of_each_end(x):
    for number in range(3):
        one = Told(number)
        one.held = x
    return x * 2, list(gone)


def told_of_a_copys_end(x):
    one = Told(1)
    other = copy.copy(one)
    other.held = x
    del other
    return x * 2, list(gone)


def told_of_an_end_in_a_list(x):
    listed = [Told(1)]
    listed.append(x)
    y = listed.pop() * 2
    listed.clear()
    return y, list(gone)


def told_inside(x):
    hits = []

    class Local:
        def __del__(self):
            hits.append(1)

    one = made(x, Local)
    del one
    return x * 2, hits


def then_changes_what_is_outside(x):
    for _ in range(20):
        one, listed = made(x), []
        listed.append(one)
    reference = weakref.ref(one)
    del one, listed
    for _ in range(20):
        gone.append(1)
        one = made(x)
        one.more = weakref.ref(one)
    return x * 2, reference() is None, list(gone)


CAPTURED = (
    *(plainly, with_slots, changed_behind_it, changed_long_before, by_a_class_of_its_own, by_a_partial),
    *(by_a_proxy, in_a_list, of_a_tensor, in_an_exception, how_many),
)
OTHERS = (
    *(of_a_local_class, with_a_callback, finalized, values_of_a_dictionary, keys_of_a_dictionary, in_a_weak_set),
    *(in_a_dictionary, out_of_a_dictionary, in_a_closure, of_a_function, on_a_tensor, of_a_module, in_a_copy),
    *(in_a_cycle, who_refers, told_of_its_end, told_of_each_end, told_of_a_copys_end, told_of_an_end_in_a_list),
    *(several, told_inside, then_changes_what_is_outside),
)


def seen(program: Callable[..., tuple[object, ...]], called: Callable[..., tuple[object, ...]]) -> list[object]:
    """What three calls give, and which ends they have brought about."""
    gone.clear()
    found = []
    for rows in (3, 3, 4):
        y, *answers = called(torch.ones(rows))
        found.append((y.tolist(), answers, list(gone)))
    return found


@pytest.mark.parametrize("program", [*CAPTURED, *OTHERS], ids=lambda program: program.__name__)
def test_as_eager(program: Callable[..., tuple[object, ...]]) -> None:
    """If it fails, a trace keeps what the program takes to be gone, or what is done then is lost."""
    compiled = compile(program, dynamic=True)
    assert seen(program, compiled) == seen(program, program)


@pytest.mark.parametrize("program", CAPTURED, ids=lambda program: program.__name__)
def test_captured(program: Callable[..., tuple[object, ...]]) -> None:
    """If it fails, whoever makes a weak reference has no graph."""
    compiled = compile(program, dynamic=True, fullgraph=True)
    seen(program, compiled)
    assert len(compiled.variants) == 1
