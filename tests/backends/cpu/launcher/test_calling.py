"""Calls of instances whose class has C call their entry first: which ones reach the class's own `__call__`."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from backends.cpu.launcher.entry import Form, Leaf, Variant, call_first, made_entry
from backends.cpu.launcher.program import Description, Given, TensorArgument, make_native
from frontends.pytorch.dynamo.compiled import Compiled

OWNER, NAME = "_program", "entry"
"""The names by which `compile` has entries, too: a process has one pair."""
X = torch.ones(3)


def entry_of(structure: object = None) -> Any:
    """An entry that gives a vector back."""
    vector = [TensorArgument("x", "float32", 1)]
    described = Description(tensors=vector, symbols={}, outputs=[Given(0)], launches=[], structure=structure)  # type: ignore[arg-type]
    run = Variant(make_native(described), (False,), grad_mode=True, default_dtype=torch.float32, tensors=(0,))  # type: ignore[arg-type]
    return made_entry([Form((Leaf("tensor", torch.Tensor, 1),), [run])])


def called(entry: object) -> Any:
    """An instance of a new class whose entries are called first."""

    class Called:
        def __init__(self) -> None:
            self._program = SimpleNamespace(entry=entry)

        def __call__(self, *args: object, **named: object) -> object:
            return "python", args, named

    call_first(Called, OWNER, NAME)
    return Called()


def test_the_entry_is_called_first() -> None:
    """A call that the entry accepts reaches `__call__`, or its result is another."""
    instance = called(entry_of())
    assert instance(X) is X and instance(*[X], **dict[str, object]()) is X


@pytest.mark.parametrize(
    ("args", "named"), [((), {}), ((X, X), {}), ((X.double(),), {}), ((2,), {}), ((X,), {"y": 1}), ((), {"x": X})]
)
def test_other_calls_reach_the_class(args: tuple[object, ...], named: dict[str, object]) -> None:
    """A call that the entry does not accept, or with keywords, is not that of `__call__`."""
    assert called(entry_of())(*args, **named) == ("python", args, named)


@pytest.mark.parametrize("entry", [None, 7, lambda args, named: args])
def test_only_entries_are_called(entry: object) -> None:
    """What is no entry is called, or its absence is an error."""
    instance = called(entry)
    assert instance(X) == ("python", (X,), {})
    del instance._program.entry
    assert instance(X) == ("python", (X,), {})
    del instance._program
    assert instance(X) == ("python", (X,), {})


def test_an_error_of_the_entry_is_that_of_the_call() -> None:
    """An error is swallowed, or the call runs twice."""

    def refuse(values: list[object]) -> object:
        raise LookupError("refused")

    with pytest.raises(LookupError, match="refused"):
        called(entry_of(refuse))(X)


def test_the_class_stays_what_it_is() -> None:
    """`__call__` is another function, subclasses change, or a new `__call__` is not called."""
    instance = called(entry_of())
    kind = type(instance)
    assert kind.__call__(instance, X) == ("python", (X,), {})
    assert type("Inherited", (kind,), {})()(X) == ("python", (X,), {})
    call_first(kind, OWNER, NAME)
    kind.__call__ = lambda self, x: "replaced"
    assert instance(X) == "replaced"
    call_first(kind, OWNER, NAME)
    assert instance(X) is X


def test_other_classes_are_refused() -> None:
    """A class of C is changed, or other names are taken for those that are known."""
    instance = called(None)
    for kind, owner in ((int, OWNER), (type(entry_of()), OWNER), (type("Plain", (), {}), OWNER), (Own, "owner")):
        with pytest.raises(ValueError, match="no class with a `__call__` in Python, or other names"):
            call_first(kind, owner, NAME)
    assert instance(X) == ("python", (X,), {}) and Own()(X) == "own"


class Own:
    def __call__(self, x: object) -> str:
        return "own"


def test_nothing_is_kept() -> None:
    """An instance, its entry or the arguments stay alive after calls."""
    instance, x = called(entry_of()), torch.ones(4)
    for _ in range(3):
        instance(x)
        instance(x.double())
    known = weakref.ref(instance), weakref.ref(x)
    del instance, x
    gc.collect()
    assert [each() for each in known] == [None, None]


class Counted(Compiled):
    """A compiled function that counts its calls."""

    def __call__(self, /, *args: object, **kwargs: object) -> object:
        self._self_count = getattr(self, "_self_count", 0) + 1
        return super().__call__(*args, **kwargs)


def test_compiled_functions_call_their_entry_first() -> None:
    """A function whose first calls are timed begins in Python, or the `__call__` of a subclass is not called."""
    compiled, counted = [kind(lambda x: x * 2 + 1, backend="cpu", dynamic=True) for kind in (Compiled, Counted)]
    with compiled._program.timed():
        for size in (3, 4, 5):
            compiled(torch.ones(size))
            counted(torch.ones(size))

    def refuse(args: object, named: object) -> object:
        raise AssertionError("the call has reached Python")

    compiled._program.enter = refuse
    assert compiled(torch.ones(6)).tolist() == counted(torch.ones(6)).tolist() == [3.0] * 6
    assert counted._self_count == 4
