"""The owner of a class, and the attributes of its objects that a program or a library's methods may read.

    >>> import collections
    >>> from frontends.pytorch.calls.classes import is_python, kind_of_class
    >>> class Point: ...
    >>> is_python(Point), is_python(collections.Counter), is_python(memoryview), kind_of_class(collections.Counter)
    (True, True, False, 'library')
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Final

import torch
from torch.nn.modules import module as modules

from frontends.pytorch.python.fields import HEAP_TYPE
from frontends.pytorch.python.mentions import mentions_of
from frontends.pytorch.python.ran import kind_of
from frontends.pytorch.python.snapshots import has_fields_of_c
from frontends.pytorch.python.weak_memo import while_alive

SOLID: Final = (
    *(object, BaseException, int, float, complex, str, bytes, tuple, frozenset, list, dict, set, deque, bytearray),
    *(type, ModuleType, property, functools.partial),
)


def is_python(kind: type) -> bool:
    """Whether an object of a class consists of its attributes and the state of a built-in base."""
    if hasattr(kind, "__next__"):
        return False
    for each in kind.__mro__:
        if not each.__flags__ & HEAP_TYPE:
            return each in SOLID or each.__name__ == "SimpleNamespace"
        if has_fields_of_c(each):
            return False
    return True


def kind_of_class(kind: type) -> str:
    """The owner of a class: "program", "library" (standard library), or "ours", which includes torch."""
    name = str(kind.__module__)
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return "library" if name.partition(".")[0] in sys.stdlib_module_names and name != "__main__" else "program"
    return kind_of(file)


@while_alive
def names_of_library(kind: type[torch.nn.Module]) -> frozenset[str]:
    """The names read by the methods that a module class inherits from torch."""
    found: set[str] = set()
    for each in kind.__mro__:
        if kind_of_class(each) != "program" and each not in (torch.nn.Module, object):
            for name, method in vars(each).items():
                if isinstance(method, FunctionType) and name not in ("__init__", "extra_repr", "reset_parameters"):
                    found.update(mentions_of(method.__code__).attributes)
    return frozenset(found)


def is_of_library(kind: type) -> bool:
    """Whether methods of a library read the attributes of a class's objects."""
    return kind_of_class(kind) != "program" and kind.__module__ not in ("builtins", "abc", "typing")


def is_special(name: str, value: object) -> bool:
    """Whether a class attribute is called by syntax: an operator, `with`, `for`."""
    return name[:2] == "__" and isinstance(value, FunctionType | property | classmethod | staticmethod)


OF_MODULES: Final = frozenset([name for name in vars(torch.nn.Module()) if name.startswith("_")])
"""The attributes that torch stores in each module."""
HOOKS: Final = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
GLOBAL_HOOKS: Final = (
    modules._global_forward_hooks,
    modules._global_forward_pre_hooks,
    modules._global_backward_hooks,
    modules._global_backward_pre_hooks,
)


def is_generic(function: FunctionType) -> bool:
    """Whether a function dispatches on the class of its argument (`functools.singledispatch`)."""
    return function.__code__.co_filename == functools.__file__ and hasattr(function, "registry")


def hooks_of(text: str, attributes: Mapping[str, object]) -> Iterator[tuple[str, dict[int, object]]]:
    """The hooks around a module's `forward`, by name: its own, and global ones."""
    for kind in HOOKS:
        hooks = attributes.get(kind)
        if isinstance(hooks, dict):
            yield f"{kind[1:].replace('_', ' ')} of {text}", hooks
    for each in GLOBAL_HOOKS:
        yield "hooks of all modules", each
