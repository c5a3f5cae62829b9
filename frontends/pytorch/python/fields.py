"""Objects that hold tensors, as arguments: a graph takes the tensors and numbers in their attributes.

    >>> import dataclasses, torch
    >>> from frontends.pytorch import compile
    >>> @dataclasses.dataclass(frozen=True)
    ... class Batch:
    ...     x: torch.Tensor
    ...     scale: float
    >>> f = compile(lambda batch: dataclasses.replace(batch, x=batch.x * batch.scale))
    >>> f(Batch(torch.ones(2), 3.0))
    Batch(x=tensor([3., 3.]), scale=3.0)

An object is a node of the tree of arguments where its class is Python's alone, so that it is its attributes and nothing
else. The traced function is given the very object: while it is traced there are tensors of the trace in the
attributes, and afterwards what there was before (`in_place`). So whatever the program knows the object by still leads
to it. One that is given twice, or holds itself, is no node.
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
"""One in `__dict__` by its name, one in `__slots__` by what the class has for it."""

HEAP_TYPE: Final = 1 << 9
"""The flag of a class that Python code made."""
MOST: Final = 256
"""So many objects are looked into."""
DEEPEST: Final = 8
"""So far is looked for what a call has changed."""
FRAMEWORKS: Final = ("torch", "frontends", "backends", "shapes", "solver")
_placing: Final = threading.local()


class Fields:
    """An object in a tree, with what is in its attributes, in which other objects are nodes as well."""

    def __init__(self, value: object, held: Sequence[object]) -> None:
        self.value = value
        self.held = held


class _Shared(Exception):
    """An object is met twice."""


def objects_in(tree: object) -> dict[int, object]:
    """The objects in a tree of arguments that hold tensors and can be nodes, by their identity."""
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
"""Classes whose objects calls were seen to change: they are nodes before they hold tensors as well."""


def opens(given: Iterable[object], changed: Container[int]) -> bool:
    """Have objects be nodes from now on that are no nodes of the arguments `given` and lead to what is `changed`, by
    identity; whether there are any."""
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
    """Whether objects of a class may be nodes: it is Python's alone, and neither torch's nor of Python's library."""
    if kind is SimpleNamespace:
        return True
    package = str(kind.__module__).partition(".")[0]
    if package in FRAMEWORKS or (package in sys.stdlib_module_names and package != "__main__"):
        return False
    return not issubclass(kind, torch.nn.Module | type) and is_plain(kind)


def is_plain(kind: type) -> bool:
    """Whether an object of a class is its attributes and nothing else."""
    *classes, last = kind.__mro__
    if last is not object or any(not each.__flags__ & HEAP_TYPE or "__del__" in vars(each) for each in classes):
        return False
    try:
        object.__new__(kind)
    except TypeError:
        # an abstract class, or one with a part that is not Python's
        return False
    return True


def attributes_of(value: object) -> dict[Attribute, object]:
    """The attributes of an object, those in `__slots__` too."""
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
    """Whether the attributes of an object of a class, which have these names, are all in its `__dict__`."""
    reads: object = kind.__getattribute__
    if any(type(name) is not str for name in names) or reads is not object.__getattribute__:
        return False
    own = [vars(base)["__dict__"] for base in kind.__mro__ if "__dict__" in vars(base)]
    return not slots_of(kind) and bool(own) and all(isinstance(each, GetSetDescriptorType) for each in own)


def held_by(value: object) -> tuple[list[object], object]:
    """What is in the attributes of an object, and what these are."""
    found = attributes_of(value)
    return list(found.values()), (type(value), *found)


def put(value: object, attributes: Iterable[tuple[Attribute, object]]) -> None:
    """Set attributes of an object, past what its class makes of that."""
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
    """The objects that are nodes of a tree, each after those in it."""
    kind = _get_node_type(tree)
    if kind in SUPPORTED_NODES:
        for child in SUPPORTED_NODES[kind].flatten_fn(tree)[0]:
            yield from originals(child)
    if isinstance(tree, Fields):
        yield tree.value


@contextmanager
def in_place(tree: object) -> Iterator[None]:
    """While this lasts, what is put together by the structure of a tree, once, has the tree's own objects in it; in
    the end these are what they were."""
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
    """The classes of the objects that are nodes of a tree with such a structure."""
    own = [structure.context[0]] if structure.type is Fields else []
    return [*own, *[kind for child in structure.children() for kind in classes_in(child)]]


__all__ = [
    "Attribute",
    "Fields",
    "attributes_of",
    "classes_in",
    "held_by",
    "in_place",
    "is_dictionary",
    "is_plain",
    "objects_in",
    "opens",
    "put",
]
