"""Guard sources besides the arguments: the places that a program reads, and their recorded values.

    >>> from frontends.pytorch.calls.reads import Place, same
    >>> settings = {"factor": 2.0, "sizes": [1, 2]}
    >>> place, inside = Place("factor", settings, "factor"), Place("sizes", settings["sizes"], kind="contents")
    >>> before = place.read(), inside.read()
    >>> settings["factor"], _ = 3.0, settings["sizes"].append(3)
    >>> same(before[0], place.read()), same(before[1], inside.read())
    (False, False)

A place is compared by identity, constants by value; a mutable container has another place for its contents. State that
only a function reads (the items of a queue, the bytes of an array) is a view.
"""

from __future__ import annotations

import abc
import array
import logging
import operator
import sys
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, TypeAlias

import torch
from torch.nn.parameter import is_lazy

from frontends.pytorch.errors import Uninitialized
from frontends.pytorch.python.code_replacement import own_code
from frontends.pytorch.python.ran import result_for

Content: TypeAlias = Any
"""What the program's objects hold, of any class, and torch's and NumPy's."""
Holder: TypeAlias = list[Content] | dict[Content, Content] | set[Content]
SCALARS: Final = (bool, int, float, complex, str, bytes, type(None), tuple, frozenset)
Kind = Literal["item", "cell", "slot", "absent", "count", "keys", "contents", "class", "function", "view", "result"]


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class Place:
    """A guard source.

    Attributes:
        text: its description.
        container: the object that is read.
        key: an item's key, a slot's name, a view's function, the keys left out of contents, or the cache key of a
            memoized result.
        kind: what is read: `container[key]`, a cell's content, an attribute outside of dictionaries, the absence of an
            item, the number of items, a dictionary's keys in order, a container's contents, an object's class, a
            function's code and defaults, a view, or a memoized result (`functools.lru_cache`).
        owner: the class of a class attribute, whose dictionary is read-only.
    """

    text: str
    container: Content
    key: Content = None
    kind: Kind = "item"
    owner: type | None = None

    @property
    def identity(self) -> tuple[int, str, object]:
        """Equal for equal places."""
        return id(self.container), "item" if self.kind == "absent" else self.kind, self.key

    def read(self) -> object:
        try:
            if self.kind == "contents":
                return Contents(self.container, self.key or ())
            found = READERS.get(self.kind, operator.getitem)(self.container, self.key)
        except (KeyError, ValueError, IndexError, AttributeError):
            return ABSENT
        if found is NotImplemented and self.kind == "result":
            return ABSENT
        is_kept = isinstance(found, torch.Tensor) and self.kind != "view"
        return Kept(found, layout(found)) if is_kept else found

    def held(self) -> object:
        """The current value, without a tensor's metadata."""
        found = self.read()
        return found.tensor if type(found) is Kept else found

    def write(self, value: object) -> None:
        """Write an item, a cell's content, or an attribute outside of dictionaries."""
        if self.owner is not None:
            type.__setattr__(self.owner, self.key, value)
        elif self.kind == "cell":
            self.container.cell_contents = value
        elif self.kind == "slot":
            object.__setattr__(self.container, self.key, value)
        elif isinstance(self.container, dict):
            dict.__setitem__(self.container, self.key, value)
        else:
            self.container[self.key] = value

    def printed(self, container: str, key: str) -> str:
        """The read in generated code, except of contents."""
        return TEXTS.get(self.kind, "{0}[{1}]").format(container, key)


TEXTS: Final = {
    "count": "len({0})",
    "keys": "tuple({0})",
    "class": "type({0})",
    "function": "(own_code({0}), {0}.__defaults__, {0}.__kwdefaults__)",
    "view": "{1}({0})",
    "result": "result({0}, {1}, 0)",
    "slot": "getattr({0}, {1})",
    "cell": "{0}.cell_contents",
}
"""By kind, the read of a container with a key."""
READERS: Final[Mapping[str, Callable[[Content, Content], Content]]] = {
    kind: eval(
        f"lambda container, key: {text.format('container', 'key')}",
        {"own_code": own_code, "result": lambda *given: result_for()(*given)},
    )
    for kind, text in TEXTS.items()
}


@dataclass(frozen=True, slots=True)
class Kept:
    """A recorded tensor: `.data = ...` may change its dtype, sizes and strides, and `requires_grad` may change."""

    tensor: torch.Tensor
    layout: tuple[torch.dtype, torch.Size, object, bool]


def layout(tensor: torch.Tensor) -> tuple[torch.dtype, torch.Size, object, bool]:
    """The metadata of a captured tensor that a graph guards.

    Raises:
        Uninitialized: it has no sizes yet.
    """
    if is_lazy(tensor):
        raise Uninitialized("a parameter that has no sizes yet: call the lazy module once")
    strides = tensor.stride() if tensor.layout is torch.strided else tensor.layout
    return tensor.dtype, tensor.shape, strides, tensor.requires_grad


class Contents:
    """The recorded contents of a list, dictionary or set, bypassing overrides of its class."""

    def __init__(self, container: Holder, without: Sequence[object] = ()) -> None:
        """`without` are the keys whose values are ignored."""
        self.container = container
        self.without = without
        self.items = self._items()
        """Of a dictionary the keys, then the values."""
        self.values = self.items[len(self.items) // 2 :] if isinstance(container, dict) else ()
        self.tensors = tuple([Kept(item, layout(item)) for item in self.items if isinstance(item, torch.Tensor)])

    def unchanged(self, container: str, contents: str) -> str:
        """Generated code that tests whether the container holds the same objects."""
        if self.without or type(self.container) not in (list, dict, set):
            return f"{contents}.holds({container})"
        if not self.items:
            return f"not {container}"
        count = f"len({container}) == {len(self.container)}"
        if not isinstance(self.container, dict):
            return f"{count} and all(map(is_, {container}, {contents}.items))"
        keys, values = f"map(is_, {container}, {contents}.items)", f"map(is_, {container}.values(), {contents}.values)"
        return f"{count} and all({keys}) and all({values})"

    def holds(self, found: object) -> bool:
        """Whether this is the same container with the same contents."""
        if found is not self.container:
            return False
        now = self._items()
        return len(now) == len(self.items) and all(map(same, now, self.items))

    def _items(self) -> tuple[object, ...]:
        """Its contents, with None for ignored values."""
        found = items_of(self.container)
        if not self.without:
            return found
        if isinstance(self.container, dict):
            keys, held = found[: len(found) // 2], found[len(found) // 2 :]
            return *keys, *[None if key in self.without else value for key, value in zip(keys, held)]
        return tuple([None if place in self.without else value for place, value in enumerate(found)])

    def __repr__(self) -> str:
        if isinstance(self.container, dict):
            return repr(dict(zip(self.items, self.values)))
        return repr(set(self.items) if isinstance(self.container, set) else list(self.items))


def items_of(container: Holder) -> tuple[object, ...]:
    if isinstance(container, OrderedDict):
        return *OrderedDict.keys(container), *OrderedDict.values(container)
    if isinstance(container, dict):
        return *dict.keys(container), *dict.values(container)
    return tuple(set.__iter__(container) if isinstance(container, set) else list.__iter__(container))


def in_order(container: Holder) -> list[object]:
    """The contents of a container, keys before values; classes in a set in a deterministic order."""
    items: list[Content] = [*items_of(container)]
    if isinstance(container, set) and all(isinstance(item, type) for item in items):
        items.sort(key=lambda item: (item.__module__, item.__qualname__))
    return items


def same(a: Content, b: Content) -> bool:
    """Whether two values are indistinguishable to a program, by a cheap conservative test."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) in (str, bytes, int, torch.Size, torch.device):
        return a == b
    if type(a) in SCALARS:
        return a == b and repr(a) == repr(b)
    if type(a) is Kept:
        return a.tensor is b.tensor and a.layout == b.layout
    if is_numpy(a, "generic"):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return (
        isinstance(a, Contents)
        and a.container is b.container
        and len(a.items) == len(b.items)
        and all(map(same, (*a.items, *a.tensors), (*b.items, *b.tensors)))
    )


def shown(value: object) -> str:
    """The text of a value in reports."""
    if isinstance(value, Kept):
        dtype, shape, _, is_learned = value.layout
        return f"a {str(dtype).removeprefix('torch.')} tensor of shape {tuple(shape)}{' with a gradient' * is_learned}"
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def differences(place: Place, old: object, new: object) -> Iterator[tuple[str, object, object]]:
    """The differences at a place, for a dictionary by key: path, new value, old value."""
    if isinstance(old, Contents) and isinstance(new, Contents) and isinstance(old.container, dict):
        before, after = dict(zip(old.items, old.values)), dict(zip(new.items, new.values))
        found = False
        for key in dict.fromkeys([*before, *after]):
            one, other = kept(before.get(key, ABSENT), old), kept(after.get(key, ABSENT), new)
            if not same(one, other):
                found = True
                yield f"{place.text}.{key}" if isinstance(key, str) else f"{place.text}[{key!r}]", other, one
        if found:
            return
    yield place.text, new, old


def varying(
    place: Place, old: Content, new: Content, stored: Container[tuple[int, object]] = ()
) -> Iterator[tuple[Place, object]]:
    """The differences at a place that can become arguments of variants: numbers of the same class, and tensors that
    calls have `stored`, by container and key; each with path and old value."""
    if place.kind in ("item", "cell", "slot"):
        if (id(place.container), place.key) in stored and not same(old, new):
            before, now = [each.tensor if type(each) is Kept else each for each in (old, new)]
            if can_be_given(now) and (holds_tensors(now) or holds_tensors(before)):
                yield place, before
                return
        if type(old) is type(new) and type(old) in (int, float) and not same(old, new):
            yield place, old
        return
    if isinstance(place.container, deque) and place.kind == "view" and len(old) == len(new) and old[0] == new[0]:
        for key, (was, value) in enumerate(zip(old[1:], new[1:])):
            yield from varying(Place(f"{place.text}[{key}]", place.container, key), was, value, stored)
        return
    if place.kind != "contents" or not (isinstance(old, Contents) and isinstance(new, Contents)):
        return
    container = new.container
    if type(container) not in (list, dict, OrderedDict) or len(old.items) != len(new.items):
        return
    if isinstance(container, list):
        found: list[tuple[Content, Content, Content]] = list(zip(range(len(new.items)), old.items, new.items))
    else:
        half = len(new.items) // 2
        if not all(map(same, old.items[:half], new.items[:half])):
            return
        found = list(zip(new.items[:half], old.items[half:], new.items[half:]))
    for key, was, value in found:
        shown = f"{place.text}.{key}" if isinstance(key, str) else f"{place.text}[{key!r}]"
        if type(key) in (str, int):
            yield from varying(Place(shown, container, key), was, value, stored)


def can_be_given(value: object) -> bool:
    """Whether a captured value can become an argument: tensors and constants, in tuples."""
    if type(value) is tuple:
        return all(map(can_be_given, value))
    return isinstance(value, torch.Tensor) or type(value) in (int, float, bool, type(None))


def holds_tensors(value: object) -> bool:
    return any(map(holds_tensors, value)) if type(value) is tuple else isinstance(value, torch.Tensor)


def kept(value: object, contents: Contents) -> object:
    """Record an item, for a tensor with its metadata."""
    return next((each for each in contents.tensors if each.tensor is value), value)


# ---------------------------------------------------------------------- views


def is_numpy(value: object, kind: str) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, getattr(numpy, kind, ()))


def queued(value: deque[Content]) -> object:
    return value.maxlen, *deque.__iter__(value)


def queued_without(indices: Container[object], value: deque[Content]) -> object:
    """The items of a queue, with None at ignored indices."""
    return value.maxlen, *[None if place in indices else each for place, each in enumerate(deque.__iter__(value))]


def elements(value: Content) -> object:
    """The elements of a NumPy array."""
    if value.dtype.hasobject:
        return value.dtype.str, value.shape, *value.ravel().tolist()
    return value.dtype.str, value.shape, value.strides, value.tobytes()


def is_gone(value: weakref.ref[Content]) -> bool:
    """Whether a weak reference is dead: it never refers to another object."""
    return weakref.ref.__call__(value) is None


@cache
def logs_at(level: int) -> Callable[[logging.Logger], bool]:
    """A function that tells whether a logger logs at a level; one function for each level."""
    return lambda logger: logger.isEnabledFor(level)


def elements_in(tensor: torch.Tensor) -> object:
    """The elements of a tensor in order; as text if one is nan, which is unequal to itself."""
    with torch._C.DisableTorchFunctionSubclass():
        if tensor.dim() == 0:
            found = tensor.item()
            return found if found == found else repr(found)
        return tuple([each if each == each else repr(each) for each in tensor.flatten().tolist()])


def times_used(function: Content) -> object:
    """The number of calls of a memoizing function: it has evicted nothing if that is unchanged."""
    return tuple(function.cache_info())


VIEWS: Final[tuple[tuple[type, Callable[[Content], object]], ...]] = (
    (deque, queued),
    (bytearray, bytes),
    (array.array, lambda value: (value.typecode, array.array.tobytes(value))),
    (memoryview, lambda value: (value.format, value.shape, value.tobytes())),
    (weakref.ref, is_gone),
    (ContextVar, lambda value: value.get(ABSENT)),
)
"""By class, the function that reads an object's hidden state."""


def view_of(value: object) -> Callable[[object], object] | None:
    """The function that reads an object's hidden state, or None."""
    found = next((view for kind, view in VIEWS if isinstance(value, kind)), None)
    return elements if found is None and is_numpy(value, "ndarray") else found


def registrations(_: object) -> object:
    """Changes when a class is registered with an abstract base class."""
    return abc.get_cache_token()
