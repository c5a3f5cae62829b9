"""Construction of returned containers: by torch's pytree, or a faster equivalent.

    >>> from collections import OrderedDict
    >>> from frontends.pytorch.python.assembling import maker
    >>> maker(OrderedDict, ["a", "b"])([1, 2])
    OrderedDict([('a', 1), ('b', 2)])

A `ModelOutput` of `transformers` takes 40 us to construct. Objects of this class, and of subclasses that add only what
`dataclass` generates, are their fields as items and attributes: 2 us. The first call constructs one both ways and
compares them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import partial
from inspect import getattr_static
from types import FunctionType
from typing import Any, Final

from torch.utils._pytree import SUPPORTED_NODES

Make = Callable[[Sequence[object]], object]
MODULE: Final = "transformers.utils.generic"
METHODS: Final = ("__init__", "__post_init__", "__setattr__", "__setitem__")
"""The methods that construct an object; `__new__` is OrderedDict's."""
OF_DATACLASS: Final = frozenset((
    *("__module__", "__qualname__", "__doc__", "__annotations__", "__dataclass_fields__", "__dataclass_params__"),
    *("__init__", "__repr__", "__eq__", "__hash__", "__match_args__", "__static_attributes__", "__firstlineno__"),
))  # fmt: skip
"""The attributes of a plain dataclass besides its fields."""


def maker(kind: type, context: Any) -> Make:
    """The constructor of a pytree node from its children; `context` is the pytree's."""
    unflatten = SUPPORTED_NODES[kind].unflatten_fn
    made = partial(_made, unflatten, context)
    of_transformers = isinstance(unflatten, partial) and unflatten.func.__module__ == MODULE
    return Output(kind, context, made) if of_transformers and _is_output(kind, context) else made


def _made(unflatten: Callable[[Any, Any], object], context: Any, values: Sequence[object]) -> object:
    return unflatten(list(values), context)


class Output:
    """Constructs a `ModelOutput` of `transformers`."""

    def __init__(self, kind: type, keys: Sequence[str], slowly: Make) -> None:
        self._kind: Any = kind
        self._keys, self._fields = tuple(keys), [field.name for field in fields(kind)]
        self._slowly = slowly
        self._methods = methods(kind)
        self._make: Make = self._first
        """What a call does; the first one finds out."""

    def __call__(self, values: Sequence[object]) -> object:
        return self._make(values)

    def _first(self, values: Sequence[object]) -> object:
        made = self._slowly(values)
        self._make = self._quickly if same(made, self._quickly(values)) else self._slowly
        return made

    def _quickly(self, values: Sequence[object]) -> object:
        if methods(self._kind) != self._methods:
            # replaced in the meantime
            return self._slowly(values)
        made = new(self._kind)
        found = dict.fromkeys(self._fields)
        for key, value in zip(self._keys, values):
            put(made, key, value)
            found[key] = value
        vars(made).update(found)
        return made


new: Final[Callable[[Any], Any]] = OrderedDict.__new__
put: Final[Callable[[Any, object, object], None]] = OrderedDict.__setitem__


def methods(kind: Any) -> tuple[object, ...]:
    """The methods of a class that construct an object."""
    return kind.__new__, kind.__init__, kind.__post_init__, kind.__setattr__, kind.__setitem__


def same(one: Any, other: Any) -> bool:
    """Whether two have identical values under the same names, in the same order."""
    if type(one) is not type(other) or list(one) != list(other) or list(vars(one)) != list(vars(other)):
        return False
    items = zip(OrderedDict.values(one), OrderedDict.values(other))
    return all(a is b for pair in (items, zip(vars(one).values(), vars(other).values())) for a, b in pair)


def _is_output(kind: type, keys: Sequence[str]) -> bool:
    """Whether a class does not customize construction, and these are its fields."""
    if not is_dataclass(kind) or not issubclass(kind, OrderedDict) or kind.__new__ is not OrderedDict.__new__:
        return False
    *own, base = kind.__mro__[: kind.__mro__.index(OrderedDict)]
    known = {field.name: field for field in fields(kind)}
    if base.__module__ != MODULE or not set(keys) <= set(known):
        return False
    if any(field.default_factory is not MISSING or not field.init for field in known.values()):
        return False
    if any(hasattr(type(getattr_static(kind, name, None)), "__set__") for name in known):
        return False
    of_base = [vars(base).get(name) for name in METHODS]
    if not all(isinstance(each, FunctionType) and each.__module__ == MODULE for each in of_base):
        return False
    return all(set(vars(each)) <= OF_DATACLASS | set(known) and _is_made_by_dataclass(each) for each in own)


def _is_made_by_dataclass(kind: type) -> bool:
    """Whether `dataclass` generated the constructor of a class."""
    init = vars(kind).get("__init__")
    return isinstance(init, FunctionType) and init.__code__.co_filename == "<string>"
