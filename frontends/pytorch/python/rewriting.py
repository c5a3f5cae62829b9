"""Bytecode rewriting: calls such as `max(n, 16)` and `int(n / 2)` load functions that keep sizes symbolic.

    >>> from frontends.pytorch.python.rewriting import rewritten
    >>> def f(n):
    ...     return max(n, 16), list(map(int, "12"))
    >>> replacements = {id(max): "<greatest>", id(int): "<integer>"}
    >>> rewritten(f.__code__, f.__globals__, replacements).co_names
    ('max', 'list', 'map', 'int', '<greatest>')

`LOAD_GLOBAL` has a bit for a global that is about to be called, so only calls are intercepted: `int` as a value, as in
`map(int, ...)` and `type(x) is int`, is unchanged. Instructions keep their offsets, and so their lines. `program_of`
finds the functions that a call can reach by the names that they mention, which covers a program's modules, methods and
helpers.
"""

from __future__ import annotations

import builtins
import functools
import sys
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dis import opmap
from functools import _lru_cache_wrapper
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.python.mentions import closure_of, codes
from frontends.pytorch.python.weak_memo import while_alive
from frontends.pytorch.source_location import is_users

LOAD_GLOBAL: Final = opmap["LOAD_GLOBAL"]
EXTENDED: Final = opmap["EXTENDED_ARG"]
LARGEST_PLACE: Final = 127
"""Name indices beyond this one need an extended argument."""
ALWAYS_CALLED: Final = ("forward", "backward", "setup_context")
MOST_FUNCTIONS: Final = 5000
MOST_ITEMS: Final = 64
"""Larger containers are not searched for functions."""
PLAIN: Final = (int, float, str, torch.Tensor)
ASKING: Final = frozenset(["type", "isinstance"])

Cache: TypeAlias = "_lru_cache_wrapper[object]"
"""A function that remembers its results."""
caches: Final[weakref.WeakSet[Cache]] = weakref.WeakSet()
"""Those mentioned by programs."""

_rewritten: dict[tuple[int, tuple[str, ...]], tuple[weakref.ref[CodeType], CodeType]] = {}


def rewritten(code: CodeType, names: Mapping[str, object], replacements: Mapping[int, str]) -> CodeType:
    """The code with calls of these values (by identity) redirected to other globals; unchanged if there are none."""
    mentioned = tuple([name for name in all_names(code) if id(value_named(name, names)) in replacements])
    if not mentioned:
        return code
    key = (id(code), mentioned)
    found = _rewritten.get(key)
    if found is not None and found[0]() is code:
        return found[1]
    made = _changed(code, {name: replacements[id(value_named(name, names))] for name in mentioned})
    _rewritten[key] = (weakref.ref(code, functools.partial(_rewritten.pop, key)), made)
    return made


def value_named(name: str, names: Mapping[str, object]) -> object:
    """The value of a global name."""
    found = names.get(name, names)
    return getattr(builtins, name, None) if found is names else found


@while_alive
def all_names(code: CodeType) -> tuple[str, ...]:
    """The names that code mentions, including inner functions."""
    # names that a test runner inserts in rewritten functions are no identifiers
    return tuple(dict.fromkeys([name for each in codes(code) for name in each.co_names if name.isidentifier()]))


def _changed(code: CodeType, replacements: Mapping[str, str]) -> CodeType:
    names = list(code.co_names)
    raw = bytearray(code.co_code)
    high = 0
    for place in range(0, len(raw), 2):
        operation, argument = raw[place], raw[place + 1]
        if operation == EXTENDED:
            high = (high | argument) << 8
            continue
        if operation == LOAD_GLOBAL and argument & 1:
            other = replacements.get(code.co_names[(high | argument) >> 1])
            if other is not None:
                if other not in names:
                    names.append(other)
                index = names.index(other)
                if not high and index <= LARGEST_PLACE:
                    raw[place + 1] = index << 1 | 1
        high = 0
    constants = tuple([_changed(each, replacements) if type(each) is CodeType else each for each in code.co_consts])
    return code.replace(co_code=bytes(raw), co_names=tuple(names), co_consts=constants)


_of_modules: dict[frozenset[int], tuple[tuple[weakref.ref[type], ...], tuple[weakref.ref[FunctionType], ...]]] = {}
"""By the classes of modules, whose entries are removed when the classes die."""


def wrapped_by(value: object) -> object | None:
    """The wrapped function of a wrapper, without dynamic attribute access."""
    if any("__wrapped__" in vars(each) for each in type(value).__mro__):
        return getattr(value, "__wrapped__", None)
    try:
        return object.__getattribute__(value, "__dict__").get("__wrapped__")
    except AttributeError:
        return None


def program_of(starts: Iterable[object]) -> list[FunctionType]:
    """The program's functions that a call of these can reach by name.

    The result is cached by the classes of modules.
    """
    reach = _Reach(starts)
    found = reach.functions
    if reach.modules:
        classes = {type(each) for module in reach.modules for each in module.modules()}
        found = list(dict.fromkeys([*found, *_reached_by(classes)]))
    return found


def _reached_by(classes: set[type]) -> list[FunctionType]:
    """The functions reachable from modules of these classes."""
    key = frozenset(map(id, classes))
    _, known = _of_modules.get(key, ((), None))
    if known is not None:
        found = [function for reference in known if (function := reference()) is not None]
        if len(found) == len(known):
            return found
    found = _Reach(classes).functions

    forget = functools.partial(_of_modules.pop, key)
    _of_modules[key] = tuple([weakref.ref(each, forget) for each in classes]), tuple(map(weakref.ref, found))
    return found


HOOKS: Final = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
"""The attributes of modules that hold hooks."""


class _Reach:
    """A worklist search for functions by the names that found ones mention."""

    def __init__(self, starts: Iterable[object]) -> None:
        self.modules: list[torch.nn.Module] = []
        self.functions: list[FunctionType] = []
        self._seen: set[int] = set()
        self._kept: list[object] = []
        self._mentioned: set[str] = set(ALWAYS_CALLED)
        self._methods: dict[str, list[object]] = {}
        self._waiting: list[object] = list(starts)
        while self._waiting and len(self.functions) < MOST_FUNCTIONS:
            # an object that raises on access has no successors
            with suppress(Exception):
                self._look_at(self._waiting.pop())

    def _look_at(self, value: object) -> None:
        if type(value) is _lru_cache_wrapper:
            caches.add(value)
        if isinstance(value, FunctionType):
            if self._is_first(value):
                # what is torch's may be a decorator around a function of the program
                self._waiting += [held for *_, held in closure_of(value)]
                if is_users(value.__code__.co_filename):
                    self._function(value)
        elif isinstance(value, MethodType):
            self._waiting += [value.__func__, value.__self__]
        elif isinstance(value, functools.partial):
            self._waiting += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, staticmethod | classmethod):
            self._waiting.append(value.__func__)
        elif isinstance(value, property):
            self._waiting += [part for part in (value.fget, value.fset) if part is not None]
        elif isinstance(value, torch.nn.Module):
            # one of its hooks may be its own method
            if self._is_first(value):
                self.modules.append(value)
                for module in value.modules():
                    for hooks in HOOKS:
                        self._waiting += vars(module)[hooks].values()
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, list | tuple | dict):
            # it may contain itself
            if self._is_first(value) and len(value) <= MOST_ITEMS:
                items = value.values() if isinstance(value, dict) else value
                self._waiting += [each for each in items if not isinstance(each, PLAIN)]
        elif callable(value) and (wrapped := wrapped_by(value)) is not None:
            if self._is_first(value):
                self._waiting.append(wrapped)
        elif value is not None and not isinstance(value, ModuleType | torch.Tensor):
            self._class(type(value))

    def _is_first(self, value: object) -> bool:
        if id(value) in self._seen:
            return False
        self._seen.add(id(value))
        self._kept.append(value)
        return True

    def _function(self, function: FunctionType) -> None:
        self.functions.append(function)
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            self._waiting.append(wrapped)
        scope = function.__globals__
        names = all_names(function.__code__)
        for name in names:
            value = scope.get(name)
            if isinstance(value, ModuleType):
                for each in names:
                    inside = vars(value).get(each)
                    if isinstance(inside, FunctionType | type):
                        self._waiting.append(inside)
            elif value is not None and not isinstance(value, PLAIN):
                self._waiting.append(value)
            if name not in self._mentioned:
                self._mentioned.add(name)
                self._waiting += self._methods.pop(name, ())

    def _class(self, found: type) -> None:
        for each in found.__mro__:
            if each.__module__ == "builtins" or not self._is_first(each):
                continue
            module = sys.modules.get(each.__module__)
            if not is_users(getattr(module, "__file__", None) or ""):
                continue
            for name, value in list(vars(each).items()):
                if isinstance(value, FunctionType | staticmethod | classmethod | property | _lru_cache_wrapper):
                    # special methods are called by syntax
                    if name in self._mentioned or (name.startswith("__") and name.endswith("__")):
                        self._waiting.append(value)
                    else:
                        self._methods.setdefault(name, []).append(value)


_asking: weakref.WeakKeyDictionary[ModuleType, tuple[int, list[weakref.ref[FunctionType]]]]
_asking = weakref.WeakKeyDictionary()


def asking_for_types(functions: Iterable[FunctionType]) -> list[FunctionType]:
    """Functions in the same modules that distinguish a symbolic size from an int: a call by a computed name may reach
    them.

    A module is searched again when its number of names changes; functions outside of modules each time.
    """
    scopes = {id(function.__globals__): function.__globals__ for function in functions}
    found: list[FunctionType] = []
    for scope in scopes.values():
        module = sys.modules.get(str(scope.get("__name__")))
        if not isinstance(module, ModuleType) or vars(module) is not scope:
            found += _asking_in(scope)
            continue
        size, known = _asking.get(module, (-1, []))
        if size != len(scope):
            known = list(map(weakref.ref, _asking_in(scope)))
            _asking[module] = len(scope), known
        found += [function for reference in known if (function := reference()) is not None]
    return found


def _asking_in(scope: Mapping[str, object]) -> list[FunctionType]:
    own = [each for each in _functions_in(list(scope.values())) if each.__globals__ is scope]
    return [each for each in own if not ASKING.isdisjoint(all_names(each.__code__))]


def _functions_in(values: Iterable[Any]) -> Iterable[FunctionType]:  # the program's, each as its class has it
    """Functions, methods of classes, and functions in small containers."""
    for value in values:
        kind = type(value)
        if kind is FunctionType:
            yield value
        elif issubclass(kind, staticmethod | classmethod):
            yield from _functions_in([value.__func__])
        elif issubclass(kind, property):
            yield from _functions_in([value.fget, value.fset])
        elif issubclass(kind, type):
            inside = type.__dict__["__dict__"].__get__(value).values()
            yield from _functions_in([each for each in inside if not issubclass(type(each), type)])
        elif base := next((base for base in (list, tuple, dict) if issubclass(kind, base)), None):
            # bypass the class's attribute access
            if base.__len__(value) <= MOST_ITEMS:
                items = dict.values(value) if base is dict else base.__iter__(value)
                yield from [each for each in items if type(each) is FunctionType]
