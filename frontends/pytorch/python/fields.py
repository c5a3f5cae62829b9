"""Objects with tensors as arguments: their attributes' tensors and numbers are inputs of the graph.

    >>> import dataclasses, torch
    >>> from frontends.pytorch import compile
    >>> @dataclasses.dataclass(frozen=True)
    ... class Batch:
    ...     x: torch.Tensor
    ...     scale: float
    >>> f = compile(lambda batch: dataclasses.replace(batch, x=batch.x * batch.scale))
    >>> f(Batch(torch.ones(2), 3.0))
    Batch(x=tensor([3., 3.]), scale=3.0)

An object is a pytree node if its class is pure Python, so that it consists of its attributes. The traced function
receives the same object: during the trace its attributes hold traced tensors, which are restored afterwards
(`in_place`). So every other reference of the program still leads to it. An object that is passed twice, or contains
itself, is no node.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import GetSetDescriptorType, MemberDescriptorType, SimpleNamespace
from typing import Any, Final, TypeAlias

import torch
from torch.utils._pytree import SUPPORTED_NODES, TreeSpec, _get_node_type, register_pytree_node, tree_leaves

Attribute: TypeAlias = str | MemberDescriptorType
"""A name in `__dict__`, or a slot's descriptor."""

HEAP_TYPE: Final = 1 << 9
"""The type flag of classes created by Python code."""
MOST: Final = 256
"""The limit of inspected objects."""
DEEPEST: Final = 8
"""The search depth for mutated objects."""
FRAMEWORKS: Final = ("torch", "frontends", "backends", "shapes", "solver")
_placing: Final = threading.local()


class Fields:
    """An object in a pytree, with its attributes' values, in which objects are nodes as well."""

    def __init__(self, value: object, held: Sequence[object]) -> None:
        self.value = value
        self.held = held


class _Shared(Exception):
    """An object occurs twice."""


def objects_in(tree: object) -> dict[int, object]:
    """The objects in an argument pytree that hold tensors and can be nodes, by identity."""
    seen: dict[int, object] = {}
    found: dict[int, object] = {}
    inside: set[int] = set()

    def holds_tensor(value: object) -> bool:
        any_tensor = False
        for leaf in tree_leaves(value):
            kind: type = type(leaf)
            if isinstance(leaf, torch.Tensor):
                any_tensor = True
            elif id(leaf) in inside or id(leaf) in found:
                raise _Shared
            elif id(leaf) not in seen and is_open(kind):
                seen[id(leaf)] = leaf
                if len(seen) > MOST:
                    raise _Shared
                inside.add(id(leaf))
                if holds_tensor(list(attributes_of(leaf).values())) or kind in _changed:
                    found[id(leaf)] = leaf
                    any_tensor = True
                inside.remove(id(leaf))
        return any_tensor

    try:
        holds_tensor(tree)
    except (_Shared, RecursionError):
        return {}
    return found


_changed: Final[weakref.WeakSet[type]] = weakref.WeakSet()
"""Classes whose objects were mutated by calls: they are nodes even before they hold tensors."""


def opens(given: Iterable[object], changed: Container[int]) -> bool:
    """Make objects pytree nodes from now on that are not yet nodes of `given` and lead to `changed` objects, by
    identity; returns whether there are any."""
    found: set[type] = set()

    def leads_there(value: object, depth: int) -> bool:
        if depth == 0 or isinstance(value, torch.Tensor):
            return False
        leads = id(value) in changed
        kind: type = type(value)
        if isinstance(value, list | tuple | dict):
            for each in value.values() if isinstance(value, dict) else value:
                leads |= leads_there(each, depth - 1)
        elif is_open(kind):
            for each in attributes_of(value).values():
                leads |= leads_there(each, depth - 1)
            if leads:
                found.add(kind)
        return leads

    for each in given:
        leads_there(each, DEEPEST)
    new = found - set(_changed)
    _changed.update(new)
    return bool(new)


@lru_cache(maxsize=1024)
def is_open(kind: type) -> bool:
    """Whether objects of a class may be nodes: it is pure Python, and neither torch's nor the standard library's."""
    if kind is SimpleNamespace:
        return True
    package = str(kind.__module__).partition(".")[0]
    if package in FRAMEWORKS or (package in sys.stdlib_module_names and package != "__main__"):
        return False
    return not issubclass(kind, torch.nn.Module | type) and is_plain(kind)


def is_plain(kind: type) -> bool:
    """Whether an object of a class consists of its attributes only."""
    *classes, last = kind.__mro__
    if last is not object or any(not each.__flags__ & HEAP_TYPE or "__del__" in vars(each) for each in classes):
        return False
    try:
        object.__new__(kind)
    except TypeError:
        # an abstract class, or one with a base in C
        return False
    return True


def attributes_of(value: object) -> dict[Attribute, object]:
    """The attributes of an object, with slots."""
    found: dict[Attribute, object] = dict(getattr(value, "__dict__", {}))
    for slot in slots_of(type(value)):
        try:
            found[slot] = slot.__get__(value)
        except AttributeError:
            continue
    return found


def slots_of(kind: type) -> list[MemberDescriptorType]:
    """The slots of classes in Python, those of the class itself first."""
    return [
        each
        for base in kind.__mro__
        if base.__flags__ & HEAP_TYPE
        for each in vars(base).values()
        if isinstance(each, MemberDescriptorType)
    ]


def is_dictionary(kind: type, names: Iterable[object]) -> bool:
    """Whether all attributes of a class's objects with these names are in `__dict__`."""
    reads: object = kind.__getattribute__
    if any(type(name) is not str for name in names) or reads is not object.__getattribute__:
        return False
    own = [vars(base)["__dict__"] for base in kind.__mro__ if "__dict__" in vars(base)]
    return not slots_of(kind) and bool(own) and all(isinstance(each, GetSetDescriptorType) for each in own)


def held_by(value: object) -> tuple[list[object], object]:
    """The values of an object's attributes, and the attributes."""
    found = attributes_of(value)
    return list(found.values()), (type(value), *found)


def put(value: object, attributes: Iterable[tuple[Attribute, object]]) -> None:
    """Set attributes of an object, bypassing `__setattr__`."""
    for attribute, held in attributes:
        if isinstance(attribute, str):
            vars(value)[attribute] = held
        else:
            attribute.__set__(value, held)


def _put_together(held: Iterable[object], context: Any) -> object:
    kind, *names = context
    waiting = getattr(_placing, "objects", None)
    value = next(waiting) if waiting is not None else object.__new__(kind)
    put(value, zip(names, held))
    return value


register_pytree_node(
    Fields,
    lambda node: (list(node.held), held_by(node.value)[1]),
    _put_together,
    serialized_type_name="symshape.fields",
)


def originals(tree: object) -> Iterator[object]:
    """The objects that are nodes of a pytree, in postorder."""
    kind = _get_node_type(tree)
    if kind in SUPPORTED_NODES:
        for child in SUPPORTED_NODES[kind].flatten_fn(tree)[0]:
            yield from originals(child)
    if isinstance(tree, Fields):
        yield tree.value


@contextmanager
def in_place(tree: object) -> Iterator[None]:
    """For the duration of the block, unflattening by a pytree's structure, once, reuses its original objects, which are
    restored at the end."""
    objects = list(originals(tree))
    before = [attributes_of(each) for each in objects]
    _placing.objects = iter(objects)
    try:
        yield
    finally:
        _placing.objects = None
        for each, attributes in zip(objects, before):
            for name in attributes_of(each).keys() - attributes.keys():
                if isinstance(name, str):
                    del vars(each)[name]
                else:
                    name.__delete__(each)
            put(each, attributes.items())


def classes_in(structure: TreeSpec) -> list[type]:
    """The classes of the objects that are nodes of a pytree structure."""
    own = [structure.context[0]] if structure.type is Fields else []
    return [*own, *[kind for child in structure.children() for kind in classes_in(child)]]
