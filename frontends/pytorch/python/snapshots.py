"""Snapshots of Python objects: copied, compared, and restored.

    >>> from collections import deque
    >>> from frontends.pytorch.python.snapshots import Noted
    >>> line = deque([1, 2, 3])
    >>> before = Noted.of(line, None)
    >>> line.rotate(1)
    >>> before.differs(), before.text()
    (True, 'a deque')
    >>> before.put_back()
    >>> line
    deque([1, 2, 3])

The hidden state of a C class is unknown: its objects have no snapshot (`parts_of`).
"""

from __future__ import annotations

import array
import functools
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from types import BuiltinFunctionType, CellType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any, Final

import torch
from torch.utils._pytree import SUPPORTED_NODES, _get_node_type, tree_leaves

from frontends.pytorch.python.fields import HEAP_TYPE, held_by, objects_in, slots_of
from frontends.pytorch.python.weak_memo import while_alive
from frontends.pytorch.symbolic.tensor import Traced
from shapes.origin import Origin

ABSENT: Final = object()


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One part of an object's state: copied, compared, and restored."""

    read: Callable[[Any], Any]
    write: Callable[[Any, Any], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of a scope, or one attribute of a class or a tensor, as a part of it: a list of its value."""

    name: Any

    def read(self, owner: Any) -> list[object]:
        return [(owner if isinstance(owner, dict) else vars(owner)).get(self.name, ABSENT)]

    def write(self, owner: Any, before: list[object]) -> None:
        (value,) = before
        if isinstance(owner, type):
            type.__delattr__(owner, self.name) if value is ABSENT else setattr(owner, self.name, value)
            return
        scope = owner if isinstance(owner, dict) else vars(owner)
        if value is ABSENT:
            scope.pop(self.name, None)
        else:
            scope[self.name] = value


@dataclass(frozen=True, slots=True, eq=False)
class Noted:
    """A snapshot of an object, or of some of its parts."""

    owner: object
    before: dict[Part | Entry, Any]
    place: Origin | None = None

    @staticmethod
    def of(owner: object, place: Origin | None) -> Noted | None:
        """Take a snapshot; None if the object's state is not fully known."""
        parts = parts_of(owner)
        return Noted.of_parts(owner, *parts, place=place) if parts else None

    @staticmethod
    def of_parts(owner: object, *parts: Part | Entry, place: Origin | None = None) -> Noted:
        return Noted(owner, {part: part.read(owner) for part in parts}, place)

    @property
    def is_entry(self) -> bool:
        return any(isinstance(part, Entry) for part in self.before)

    def now(self) -> dict[Part | Entry, Any]:
        return {part: part.read(self.owner) for part in self.before}

    def differs(self, before: dict[Part | Entry, Any] | None = None) -> bool:
        """Whether it is no more as it was, or as it was at another time."""
        then = self.before if before is None else before
        return any(not alike(part.read(self.owner), value) for part, value in then.items())

    def put_back(self) -> None:
        for part, before in self.before.items():
            if not alike(part.read(self.owner), before):
                part.write(self.owner, before)

    def text(self) -> str:
        kind = type(self.owner).__name__
        for part, before in self.before.items():
            if isinstance(part, Entry):
                return f"`{part.name}`"
            now = part.read(self.owner)
            if part in (ATTRIBUTES, SLOTS, NAMESPACE) and not alike(now, before):
                keys = dict.fromkeys([*now, *before])
                key = next((key for key in keys if not same(now.get(key, ABSENT), before.get(key, ABSENT))), "")
                name = self.owner.__name__ if isinstance(self.owner, type | ModuleType) else f"a {kind}"
                return f"`{key}` of {name}"
        return f"a {kind}" if not isinstance(self.owner, CellType) else "a variable of a closure"

    def keeps_tensors(self) -> bool:
        for part in self.before:
            value = (part_of(self.owner) if part is COUNT else part).read(self.owner)
            if not isinstance(value, bytes) and any(isinstance(leaf, Traced) for leaf in tree_leaves(list_of(value))):
                return True
        return False


def is_settling(part: Part | Entry, before: Any, after: Any) -> bool:
    """Whether a mutation only initializes names with constants, as lazy initialization does."""
    if part not in (ATTRIBUTES, SLOTS, NAMESPACE, DICT) or not before.keys() <= after.keys():
        return False
    filled = [key for key, value in after.items() if not same(before.get(key, ABSENT), value)]
    plain = all(type(key) in FILLED and type(after[key]) in FILLED for key in filled)
    return plain and all(before.get(key) is None or before[key] is ABSENT for key in filled)


def list_of(value: Any) -> list[object]:
    """The values in a copy."""
    return (
        list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list | tuple) else [value]
    )


def containers_of(given: object) -> dict[int, object]:
    """The containers in arguments, including those in objects, by address."""
    found: dict[int, object] = {}
    objects = objects_in(given)
    waiting = [given]
    while waiting:
        each = waiting.pop()
        if id(each) in objects:
            waiting += held_by(objects.pop(id(each)))[0]
        elif id(each) not in found and (kind := _get_node_type(each)) in SUPPORTED_NODES:
            found[id(each)] = each
            waiting += SUPPORTED_NODES[kind].flatten_fn(each)[0]
        elif isinstance(each, torch.Size):
            found[id(each)] = each
    return found


def same(one: object, other: object) -> bool:
    """Whether a place is unchanged: numbers and strings by value, others by identity."""
    if one is other or type(one) is not type(other) or not issubclass(type(one), int | float | str | bytes):
        return one is other
    try:
        return bool(one == other)
    except Exception:
        # a class of the program whose comparison fails
        return False


def attributes_of(value: object) -> dict[str, object] | None:
    """An object's `__dict__`, if it has one, without running the program's `__getattr__`."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except Exception:
        # slots, a C class, a property that raises
        return None
    return held if type(held) is dict else None


def alike(one: Any, other: Any) -> bool:
    """Whether two copies are equal, item by item."""
    if isinstance(one, dict):
        return len(one) == len(other) and all(same(a, b) and same(one[a], other[b]) for a, b in zip(one, other))
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, tuple):
        # a set, whose order may differ
        return len(one) == len(other) and {id(each) for each in one} == {id(each) for each in other}
    return same(one, other)


def _shorten(owner: Any, count: int) -> None:
    while len(owner) > count:
        owner.popitem() if isinstance(owner, dict) else owner.pop()


def _write_dict(owner: Any, before: dict[object, object]) -> None:
    base = OrderedDict if isinstance(owner, OrderedDict) else dict
    base.clear(owner)
    for key, value in before.items():
        base.__setitem__(owner, key, value)


def _write_list(owner: Any, before: list[object]) -> None:
    list.__setitem__(owner, slice(None), before)


def _write_set(owner: Any, before: tuple[object, ...]) -> None:
    set.clear(owner)
    set.update(owner, before)


def _write_deque(owner: Any, before: list[object]) -> None:
    deque.clear(owner)
    deque.extend(owner, before)


def _read_dict(owner: Any) -> dict[object, object]:
    if isinstance(owner, OrderedDict):
        return {key: dict.__getitem__(owner, key) for key in OrderedDict.keys(owner)}
    return dict(dict.items(owner))


def _read_attributes(owner: Any) -> dict[object, object]:
    return dict(object.__getattribute__(owner, "__dict__"))


def _write_attributes(owner: Any, before: dict[object, object]) -> None:
    held = object.__getattribute__(owner, "__dict__")
    held.clear()
    held.update(before)


def _write_local(owner: threading.local, before: dict[str, object]) -> None:
    owner.__dict__.clear()
    owner.__dict__.update(before)


def _read_namespace(owner: Any) -> dict[str, object]:
    if isinstance(owner, ModuleType) and type(owner) is not ModuleType:
        # a lazily importing module
        return {
            key: value for key, value in vars(owner).items() if not isinstance(value, ModuleType | type | FunctionType)
        }
    return {key: value for key, value in vars(owner).items() if key not in OF_CLASSES}


def _write_namespace(owner: Any, before: dict[str, object]) -> None:
    held = _read_namespace(owner)
    remove, store = (type.__delattr__, type.__setattr__) if isinstance(owner, type) else (delattr, setattr)
    for key in held.keys() - before.keys():
        remove(owner, key)
    for key, value in before.items():
        if held.get(key, ABSENT) is not value:
            store(owner, key, value)


def _read_slots(owner: Any) -> dict[object, object]:
    found: dict[object, object] = {}
    for slot in slots_of(type(owner)):
        try:
            found[slot.__name__] = slot.__get__(owner)
        except AttributeError:
            found[slot.__name__] = ABSENT
    return found


def _write_slots(owner: Any, before: dict[object, object]) -> None:
    for slot in slots_of(type(owner)):
        value = before[slot.__name__]
        try:
            slot.__delete__(owner) if value is ABSENT else slot.__set__(owner, value)
        except AttributeError:
            continue


def _read_cell(owner: CellType) -> list[object]:
    try:
        return [owner.cell_contents]
    except ValueError:
        return []


def _write_cell(owner: CellType, before: list[object]) -> None:
    if before:
        owner.cell_contents = before[0]
    else:
        del owner.cell_contents


def _read_defaults(owner: FunctionType) -> list[object]:
    return [owner.__defaults__, owner.__kwdefaults__]


def _write_defaults(owner: FunctionType, before: list[Any]) -> None:
    owner.__defaults__, owner.__kwdefaults__ = before


def _write_bytes(owner: Any, before: bytes) -> None:
    if isinstance(owner, array.array):
        del owner[:]
        owner.frombytes(before)
    elif isinstance(owner, memoryview):
        owner.cast("B")[:] = before
    else:
        owner[:] = before


def _read_array(owner: Any) -> list[object]:
    layout = map(str, (owner.shape, owner.strides, owner.dtype))
    return [*layout, *owner.ravel()] if owner.dtype.hasobject else [*layout, owner.tobytes()]


def _put_array(owner: Any, before: list[Any]) -> None:
    import numpy

    if owner.dtype.hasobject:
        owner[...] = numpy.array([*before[3:], None], dtype=object)[:-1].reshape(owner.shape)
    else:
        owner[...] = numpy.frombuffer(before[3], dtype=owner.dtype).reshape(owner.shape)


OF_CLASSES: Final = frozenset(("__dict__", "__weakref__", "__abstractmethods__", "__builtins__"))
ATTRIBUTES: Final = Part(_read_attributes, _write_attributes)
SLOTS: Final = Part(_read_slots, _write_slots)
NAMESPACE: Final = Part(_read_namespace, _write_namespace)
DICT: Final = Part(_read_dict, _write_dict)
LIST: Final = Part(lambda owner: list(list.__iter__(owner)), _write_list)
SET: Final = Part(lambda owner: tuple(set.__iter__(owner)), _write_set)
DEQUE: Final = Part(lambda owner: list(deque.__iter__(owner)), _write_deque)
CELL: Final = Part(_read_cell, _write_cell)
LOCAL: Final = Part(lambda owner: dict(owner.__dict__), _write_local)
DEFAULTS: Final = Part(_read_defaults, _write_defaults)
BYTES: Final = Part(lambda owner: owner.tobytes() if not isinstance(owner, bytearray) else bytes(owner), _write_bytes)
ARRAY: Final = Part(_read_array, _put_array)
COUNT: Final = Part(len, _shorten)
"""The number of items, where a container has too many to copy them."""
BASES: Final = ((dict, DICT), (list, LIST), (set, SET), (deque, DEQUE), (bytearray, BYTES), (array.array, BYTES))
IMMUTABLE: Final = (int, float, complex, str, bytes, tuple, frozenset, BaseException, functools.partial)
WITHOUT_STATE: Final = frozenset(
    (int, float, complex, bool, str, bytes, tuple, frozenset, type(None), range, slice, torch.Size)
)


FILLED: Final = (
    *(int, float, complex, bool, str, bytes, type(None), torch.dtype, torch.device),
    # lazy attributes of a module
    *(type, FunctionType, BuiltinFunctionType, ModuleType),
)


def part_of(owner: object) -> Part:
    """The contents of a container, an array or a closure's variable."""
    if isinstance(owner, CellType):
        return CELL
    return next((part for kind, part in BASES if isinstance(owner, kind)), ARRAY)


def parts_of(owner: object) -> list[Part]:
    """All parts of an object's state; empty if unknown."""
    if isinstance(owner, CellType):
        return [CELL]
    if isinstance(owner, type):
        return [NAMESPACE] if owner.__flags__ & HEAP_TYPE else []
    if isinstance(owner, ModuleType):
        return [NAMESPACE]
    if isinstance(owner, FunctionType):
        return [ATTRIBUTES, DEFAULTS]
    if isinstance(owner, memoryview):
        return [] if owner.readonly or not owner.contiguous else [BYTES]
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(owner, getattr(numpy, "ndarray", ())):
        return [ARRAY]
    kind = type(owner)
    if isinstance(owner, threading.local):
        return [LOCAL]
    found = [part for base, part in BASES if isinstance(owner, base)]
    known = found or isinstance(owner, IMMUTABLE) or kind.__name__ == "SimpleNamespace"
    if not known and is_in_c(kind):
        return []
    if kind.__dictoffset__ and isinstance(getattr(owner, "__dict__", None), dict):
        found.append(ATTRIBUTES)
    if slots_of(kind):
        found.append(SLOTS)
    return found


def inside_of(owner: object) -> list[object]:
    """The internal state of torch's objects, which their methods mutate."""
    if not (isinstance(owner, torch.nn.Module) or is_torchs(type(owner))):
        return []
    held = list(vars(owner).values()) if hasattr(owner, "__dict__") else []
    found: list[Any] = [value for value in held if isinstance(value, dict | list | set)]
    if not isinstance(owner, torch.nn.Module):
        waiting = list(found)
        while waiting and len(found) < MOST:
            each = waiting.pop()
            for item in each.values() if isinstance(each, dict) else each:
                if isinstance(item, dict | list) and item:
                    found.append(item)
                    waiting.append(item)
    return found


MOST: Final = 4096




@while_alive
def is_in_c(kind: type) -> bool:
    """Whether objects of a class have hidden state in C."""
    for each in kind.__mro__:
        if not each.__flags__ & HEAP_TYPE:
            return each is not object
        if has_fields_of_c(each):
            return True
    return True


def has_fields_of_c(kind: type) -> bool:
    """Whether objects of a class have more than its base says and its slots hold."""
    held = [isinstance(value, MemberDescriptorType) for value in vars(kind).values()]
    own = sum(held) + ("__dict__" in vars(kind)) + ("__weakref__" in vars(kind))
    return kind.__basicsize__ - (kind.__base__ or object).__basicsize__ > tuple.__itemsize__ * own


def is_torchs(kind: type) -> bool:
    """Whether a class is torch's or ours."""
    return (kind.__module__ or "").partition(".")[0] in ("torch", "frontends", "backends", "shapes", "solver")
