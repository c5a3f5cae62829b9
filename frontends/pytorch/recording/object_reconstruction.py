"""Reconstruction of returned objects that the traced call created, of classes that torch's pytree does not know.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> class Cache:
    ...     def __init__(self, keys):
    ...         self.keys, self.length = [keys], keys.shape[0]
    >>> variant = trace(lambda x: Cache(x * 2), (torch.ones(3),))
    >>> made = variant.assembled(variant.graph(torch.ones(5)))
    >>> type(made).__name__, made.length, made.keys[0].shape
    ('Cache', 5, torch.Size([5]))

`object.__new__` and the same attributes make an indistinguishable object if the class is pure Python without `__del__`,
and there are no weak references to the object. Sharing is kept: an object or container that occurs twice is created
once. An object from before the call is returned itself, if the call stored nothing in it; the garbage collector tells
which objects the call created.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, MappingView, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from types import (
    BuiltinFunctionType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any, Final, Literal, NoReturn, TypeAlias

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from torch.utils._pytree import SUPPORTED_NODES, _get_node_type, register_pytree_node, tree_leaves

from frontends.pytorch.errors import GraphBreak, eager_only, refusal
from frontends.pytorch.python.assembling import maker
from frontends.pytorch.python.collecting import collect_what_is_due
from frontends.pytorch.python.fields import Attribute, attributes_of, is_plain
from frontends.pytorch.python.identities import Identity
from frontends.pytorch.python.wrappers import Opened
from frontends.pytorch.symbolic.tensor import Traced

Part: TypeAlias = tuple[Literal["leaf", "object", "container", "constant"], Any]
"""A reference to a leaf, object or container by its number, or a constant."""

LEAVES: Final = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)
CONSTANTS: Final = frozenset(
    [bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format]
)
CHANGING: Final = (list, dict, OrderedDict, defaultdict, deque)
DEFINED: Final = (type, ModuleType, FunctionType, BuiltinFunctionType)
NONE: Final[Mapping[int, object]] = MappingProxyType({})

_lock: Final = threading.RLock()
_blocks = 0
_frozen = False


class MadeInside:
    """Identifies the objects created in a `with` block."""

    def __init__(self) -> None:
        self._before: list[object] = []
        self._young: set[int] | None = None
        self.known: Container[int] = ()
        """By identity, containers that are known to have been there before: the collector does not know those of
        plain values, and takes them for new when something else is put into them."""

    @property
    def before(self) -> list[object]:
        """Objects from before that could not be frozen."""
        return self._before

    def __enter__(self) -> MadeInside:
        global _blocks, _frozen
        with _lock:
            if _blocks == 0 and gc.get_freeze_count() == 0:
                # costs nothing, and the collector lists only later objects
                collect_what_is_due()
                # from here on the collector lists only new objects
                gc.freeze()
                _frozen = True
            else:
                self._before = gc.get_objects()
            _blocks += 1
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        global _blocks, _frozen
        with _lock:
            _blocks -= 1
            if _blocks == 0 and _frozen:
                gc.unfreeze()
                _frozen = False
        self._before, self._young = [], None

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether no other block is active; none may be while this one is inspected, since each references its
        objects."""
        with _lock:
            yield _blocks == 1

    def look_again(self) -> None:
        """Add the objects created since the last look."""
        self._young = {id(each) for each in gc.get_objects()}.difference(map(id, self._before))

    def is_old(self, value: object) -> bool:
        """Whether a container precedes the block; unknown for one with constants only."""
        return id(value) in self.known or (gc.is_tracked(value) and not self.holds(value))

    def holds(self, value: object) -> bool:
        """Whether an object, or a container with more than constants, was created in the block."""
        if self._young is None:
            self.look_again()
            assert self._young is not None
        return id(value) in self._young


@dataclass(frozen=True)
class Plan:
    """A plan for reconstructing results: objects, then containers bottom-up, then the objects' attributes."""

    classes: tuple[type, ...]
    containers: tuple[tuple[Callable[[list[object]], object], tuple[Part, ...]], ...]
    attributes: tuple[tuple[tuple[Attribute, Part], ...], ...]
    root: Part
    leaves: int

    @cached_property
    def made(self) -> Callable[[Iterable[object]], object]:
        """Reconstruct the results from the leaves: one generated function, since a key-value cache has many objects."""
        scope: dict[str, Any] = {"new": object.__new__}

        def known(value: object) -> str:
            scope[name := f"known{len(scope)}"] = value
            return name

        def text(part: Part) -> str:
            kind, which = part
            return known(which) if kind == "constant" else f"{kind}{which}"

        lines = ["leaves = iter(leaves)"]
        lines += [f"leaf{place} = next(leaves)" for place in range(self.leaves)]
        lines += [f"object{place} = new({known(kind)})" for place, kind in enumerate(self.classes)]
        for place, (make, parts) in enumerate(self.containers):
            lines.append(f"container{place} = {known(make)}([{', '.join(map(text, parts))}])")
        for place, attributes in enumerate(self.attributes):
            # bypass the class's `__setattr__`
            named = [(name, part) for name, part in attributes if isinstance(name, str)]
            if named:
                lines.append(f"held = vars(object{place})")
                lines += [f"held[{name!r}] = {text(part)}" for name, part in named]
            slots = [(slot, part) for slot, part in attributes if not isinstance(slot, str)]
            lines += [f"{known(slot.__set__)}(object{place}, {text(part)})" for slot, part in slots]
        body = [f"    {line}" for line in (*lines, f"return {text(self.root)}")]
        exec(compile("\n".join(["def made(leaves):", *body]), "<made>", "exec"), scope)
        return scope.pop("made")


class Made:
    """Results with reconstructed objects, as one node of torch's pytree."""

    def __init__(self, plan: Plan, leaves: Sequence[object]) -> None:
        self.plan = plan
        self.leaves = leaves


register_pytree_node(
    Made,
    lambda node: (list(node.leaves), node.plan),
    lambda leaves, plan: plan.made(leaves),
    serialized_type_name="symshape.made",
)


def objects_opened(
    tree: object, inside: MadeInside, given: Mapping[int, object] = NONE, changed: Container[int] = ()
) -> object:
    """Flatten results with objects as pytree nodes; `given` are placeholders for the caller's containers. For earlier
    objects that are `changed`, by identity, the side effects write the contents.

    Raises:
        GraphBreak: an object cannot be reconstructed.
        EagerOnly: an earlier object holds tensors of the call, or tensors are keys.
    """
    leaves = tree_leaves(tree, is_leaf=lambda value: type(value) is torch.Size or id(value) in given or is_keyed(value))
    plain = [type(leaf) in CONSTANTS or (isinstance(leaf, LEAVES) and not is_wrapper(leaf)) for leaf in leaves]
    if all(plain) and not is_shared(tree, inside):
        return tree
    walk = _Walk(inside, given, changed)
    root = walk.part(tree)
    if not walk.beyond_pytree:
        return tree
    plan = Plan(tuple(walk.classes), tuple(walk.containers), tuple(map(tuple, walk.attributes)), root, len(walk.leaves))
    return Made(plan, walk.leaves)


class _Walk:
    """Walks the results of a call."""

    def __init__(self, inside: MadeInside, given: Mapping[int, object], changed: Container[int]) -> None:
        self.leaves: list[object] = []
        self.classes: list[type] = []
        self.containers: list[tuple[Callable[[list[object]], object], tuple[Part, ...]]] = []
        self.attributes: list[list[tuple[Attribute, Part]]] = []
        self.beyond_pytree = False
        """Whether torch's pytree would not make the same."""
        self._inside = inside
        self._given = given
        self._changed = changed
        self._parts: dict[int, Part | None] = {}
        """What stands for objects and containers, by their identity; None for those that are being looked at."""
        self._kept: list[object] = []

    def part(self, value: object) -> Part:
        """The reference for a value."""
        if type(value) in CONSTANTS:
            return "constant", value
        if id(value) in self._parts:
            found = self._parts[id(value)]
            if found is None:
                refuse("a container that holds itself is returned", "return what is in it")
            self.beyond_pytree |= found[0] == "container"
            return found
        self._kept.append(value)
        self._parts[id(value)] = None
        made = self._parts[id(value)] = self._part(value)
        return made

    def _part(self, value: object) -> Part:
        if id(value) in self._given:
            self.beyond_pytree = True
            self.leaves.append(self._given[id(value)])
            return "leaf", len(self.leaves) - 1
        if isinstance(value, Identity):
            eager_only("the identity of a tensor is returned", "return the tensor", None)
        if is_keyed(value):
            eager_only("a container is returned that has tensors as keys", "return them as values", None)
        if isinstance(value, LEAVES):
            if is_wrapper(value):
                self.beyond_pytree = True
                return self._container(Opened(value))
            self.leaves.append(value)
            return "leaf", len(self.leaves) - 1
        if isinstance(value, tuple) and type(value) is torch.Size:
            # which the pytree flattens to a tuple
            self.beyond_pytree = True
            return self._gathered(torch.Size, value)
        old = self._inside.is_old(value)
        if _get_node_type(value) in SUPPORTED_NODES and not (old and not isinstance(value, tuple)):
            return self._container(value)
        if isinstance(value, MethodType):
            if self._inside.holds(value.__self__) or self._inside.holds(value.__func__):
                eager_only(f"the method {value.__name__} of what the call made is returned", "return the object", None)
            return "constant", value
        if gc.is_tracked(value) and not old:
            if isinstance(value, set | frozenset) and all(type(item) in CONSTANTS for item in value):
                self.beyond_pytree = True
                return self._gathered(type(value), value)
            return self._object(value)
        if holds_traced(value, self._changed):
            what = f"a {type(value).__qualname__} that was there before the call holds tensors that it made"
            eager_only(what, "return the tensors, or make it in the function", None)
        self.beyond_pytree |= old
        return "constant", value

    def _container(self, value: Any) -> Part:
        kind = _get_node_type(value)
        items, context = SUPPORTED_NODES[kind].flatten_fn(value)
        return self._gathered(maker(kind, context), items)

    def _gathered(self, make: Callable[[list[object]], object], items: Iterable[object]) -> Part:
        parts = tuple([self.part(item) for item in items])
        self.containers.append((make, parts))
        return "container", len(self.containers) - 1

    def _object(self, value: object) -> Part:
        kind = type(value)
        fix = f"return its tensors, or torch.utils._pytree.register_pytree_node({kind.__qualname__}, ...)"
        if isinstance(value, Iterator | MappingView):
            fix = "return a list of what it gives"
        if not is_plain(kind) or isinstance(value, (*DEFINED, torch.nn.Module)) or weakref.getweakrefcount(value):
            what = f"a {kind.__qualname__} that the call made is returned, which can not be made again"
            if is_closed(value):
                eager_only(what, fix, None)
            refuse(what, fix)
        self.beyond_pytree = True
        number = len(self.classes)
        self.classes.append(kind)
        found: list[tuple[Attribute, Part]] = []
        self.attributes.append(found)
        # before its attributes, which may reference it
        self._parts[id(value)] = "object", number
        found += [(name, self.part(held)) for name, held in attributes_of(value).items()]
        return "object", number


def is_closed(value: object) -> bool:
    """Whether the tensors in it cannot be replaced: those in an iterator, a function, a class."""
    if isinstance(value, tuple | list | deque | dict):
        return False
    return type(getattr(value, "__dict__", None)) is not dict or isinstance(value, (*DEFINED, torch.nn.Module, partial))


def is_keyed(value: object) -> bool:
    """Whether a container has traced tensors as keys."""
    return isinstance(value, dict | set | frozenset) and any(isinstance(key, Traced) for key in value)


def is_shared(tree: object, inside: MadeInside) -> bool:
    """Whether a tree has a mutable container twice, or one from before the call: identity matters."""
    changing = list(containers_of(tree))
    return len({id(each) for each in changing}) < len(changing) or any(map(inside.is_old, changing))


def containers_of(tree: object) -> Iterable[object]:
    """The mutable containers in a tree, with repetitions."""
    kind = _get_node_type(tree)
    if kind in SUPPORTED_NODES and not isinstance(tree, torch.Size):
        if kind in CHANGING:
            yield tree
        for each in SUPPORTED_NODES[kind].flatten_fn(tree)[0]:
            yield from containers_of(each)


def is_wrapper(value: object) -> bool:
    """Whether a value is a traceable wrapper subclass."""
    return isinstance(value, torch.Tensor) and is_traceable_wrapper_subclass(value)


def refuse(what: str, fix: str) -> NoReturn:
    """Refuse a result that cannot be in a graph.

    Raises:
        GraphBreak: always.
    """
    raise GraphBreak(refusal(what, fix, None))


def holds_traced(value: object, but: Container[int], depth: int = 4) -> bool:
    """Whether an object's attributes hold a traced tensor, ignoring the objects in `but`."""
    if isinstance(value, Traced):
        return True
    if depth == 0 or id(value) in but or isinstance(value, (*DEFINED, torch.nn.Module)):
        return False
    if isinstance(value, dict):
        inside: Iterable[object] = value.values()
    elif isinstance(value, list | tuple | set):
        inside = value
    else:
        inside = attributes_of(value).values()
    return any(holds_traced(each, but, depth - 1) for each in inside)
