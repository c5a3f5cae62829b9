"""Tables of mutability: functions without side effects, functions with hidden ones, mutable classes.

    >>> from frontends.pytorch.python.mutability import ASKS, is_open_to_effects, is_plain
    >>> "append" in ASKS, "count" in ASKS
    (False, True)
    >>> is_plain((1, 2)), is_plain([1, 2]), is_open_to_effects([1, 2])
    (True, False, True)
"""

from __future__ import annotations

import array
import functools
import logging
import operator
import pprint
import sys
import threading
import traceback
import warnings
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Sequence
from types import CellType, CodeType, ModuleType, SimpleNamespace
from typing import Any, Final

import torch

from frontends.pytorch.python.generators import is_generator
from frontends.pytorch.python.identities import identity
from frontends.pytorch.python.snapshots import IMMUTABLE, WITHOUT_STATE, is_torchs
from frontends.pytorch.python.state import is_without_state
from frontends.pytorch.source_location import FRAMEWORKS, OUR_PACKAGES, is_users
from shapes.origin import FRAMEWORK

OWN: Final = (*FRAMEWORKS, *FRAMEWORK)
NUMBERS: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)
CONTAINERS: Final = (dict, list, set, deque, OrderedDict, defaultdict, Counter, SimpleNamespace, CellType)
"""Built-in classes whose objects side effects may mutate."""
LOCKS: Final = (type(threading.Lock()), type(threading.RLock()))
SHARED: Final = (dict, list, set, deque, bytearray, array.array, OrderedDict, defaultdict)
"""C classes whose objects consist of their contents."""
ASKS: Final = frozenset(
    (
        *("get", "keys", "values", "items", "copy", "index", "count", "__len__", "__contains__", "__iter__", "union"),
        *("intersection", "difference", "issubset", "issuperset", "isdisjoint", "symmetric_difference", "__getitem__"),
        *("__eq__", "__repr__", "__str__", "__hash__", "__sizeof__", "__reversed__", "__getattribute__", "__format__"),
        *("__reduce__", "__reduce_ex__", "__dir__", "__class_getitem__", "__init_subclass__", "__subclasshook__"),
    )
)
"""Container methods without side effects."""
UNTOLD: Final = frozenset(
    (
        *(len, isinstance, issubclass, hasattr, getattr, id, hash, repr, callable, abs, round, divmod, pow, chr, ord),
        *(format, ascii, bin, hex, oct, vars, dir, iter, globals, locals),
    )
)
"""C functions without side effects for any arguments."""
PRINT: Final = print
PRINTS: Final = {
    pprint.__file__: ("pprint", "pp"),
    traceback.__file__: ("print_exc", "print_exception", "print_stack", "print_tb", "print_last", "print_list"),
}
"""Functions of these modules that write to `sys.stdout` or `sys.stderr`."""
IDENTITIES: Final = (id, identity)
COMPARING: Final = (operator.is_, operator.is_not)
STATEFUL: Final = frozenset(("atexit", "gc", "signal", "faulthandler", "_locale", "_signal", "_thread", "resource"))
"""C modules whose functions change process state."""

OF_LIBRARY: Final = {
    warnings.__file__: ("_add_filter", "resetwarnings", "catch_warnings."),
    functools.__file__: ("cached_property.__get__", "singledispatch.<locals>.register"),
    weakref.__file__: ("WeakKeyDictionary.", "WeakValueDictionary.", "WeakMethod.__new__", "finalize.__init__"),
    logging.__file__: ("Logger.addHandler", "Logger.removeHandler", "Logger.setLevel", "Filterer.", "Handler.setLevel"),
    threading.__file__: ("Event.", "Semaphore.", "BoundedSemaphore."),
}
"""Functions of these modules with side effects beyond their own caches."""
REMOVES: Final = (".<locals>.remove", "._commit_removals", ".filter")
"""Finalizers, and functions that only read."""


def is_library_that_changes(code: CodeType) -> bool:
    """Whether a function of the standard library has side effects to observe."""
    names = OF_LIBRARY.get(code.co_filename)
    return names is None or (code.co_qualname.startswith(names) and not code.co_qualname.endswith(REMOVES))


def is_asked_for_class(function: Any, given: Sequence[object]) -> bool:
    """Whether a call tests a symbolic number for torch's class, which the intercepted `isinstance` denies."""
    if not given or not isinstance(given[-1], NUMBERS) or getattr(function, "__name__", "") != "__instancecheck__":
        return False
    return getattr(function, "__self__", None) in NUMBERS or given[0] in NUMBERS


def is_open_to_effects(owner: object) -> bool:
    """Whether mutations of an object may be replayed: objects of the program, and its containers."""
    if isinstance(owner, type | ModuleType):
        file = getattr(sys.modules.get(owner.__module__) if isinstance(owner, type) else owner, "__file__", None)
        return file is None or is_users(file)
    kind = type(owner)
    if isinstance(owner, torch.nn.Module) or kind in CONTAINERS:
        return True
    package = (kind.__module__ or "").partition(".")[0]
    return not is_torchs(kind) and (package not in sys.stdlib_module_names or package == "__main__")


def is_settled(owner: object) -> bool:
    """Whether a value is immutable, or its mutations are observed otherwise."""
    if isinstance(owner, torch.Tensor) or is_generator(owner):
        return True
    kind = type(owner)
    return kind in WITHOUT_STATE or (is_torchs(kind) and (kind.__module__ or "").startswith(("torch._", *OUR_PACKAGES)))


def is_plain(owner: object) -> bool:
    return is_without_state(owner) or isinstance(owner, (*IMMUTABLE, type, weakref.ref, property))


def is_of_source(event: str, arguments: tuple[object, ...]) -> bool:
    """Whether Python reads source code, for an error's text or an import."""
    if event != "open" or not arguments:
        return False
    name = str(arguments[0])
    return name.endswith((".py", ".pyc", ".so")) and (len(arguments) < 2 or arguments[1] in ("r", "rb", None))
