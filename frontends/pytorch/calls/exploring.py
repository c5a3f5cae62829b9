"""Reachability over a program's state: the places that it may read, found from the functions that ran and their names.

    >>> from frontends.pytorch.calls.exploring import Explorer
    >>> settings = {"inner": {"factor": 2}}
    >>> def f(x):
    ...     return x * settings["inner"]["factor"]
    >>> found = Explorer([f], [f])
    >>> [place.text for place in found.places if place.kind == "contents"]
    ['settings', 'settings[...]']
    >>> numbers = iter([1, 2])
    >>> def f(x):
    ...     return x * next(numbers)
    >>> print(*Explorer([f], [f]).unguarded)
    numbers, a list_iterator

The roots are globals, closure variables and attributes whose names some function mentions. Everything reachable from
them through containers and mentioned attributes is a place; for objects of library classes, all attributes are. State
that can change without a place for it is `unguarded`: a program that reads it has no graph.
"""

from __future__ import annotations

import abc
import builtins
import datetime
import functools
import gc
import logging
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, Final

import torch

from frontends.pytorch.calls import reads
from frontends.pytorch.calls.classes import (
    OF_MODULES,
    hooks_of,
    is_generic,
    is_of_library,
    is_python,
    is_special,
    kind_of_class,
    names_of_library,
)
from frontends.pytorch.calls.found_places import FoundPlaces
from frontends.pytorch.python.appended import GROWING, WHOLE, can_grow, read_otherwise
from frontends.pytorch.python.code_replacement import own_code
from frontends.pytorch.python.fields import HEAP_TYPE
from frontends.pytorch.python.importing import imported
from frontends.pytorch.python.impure_calls import CLOCKS
from frontends.pytorch.python.memoized import is_programs
from frontends.pytorch.python.mentions import Mentions, location, mentions_of
from frontends.pytorch.python.ran import Ran, can_follow
from frontends.pytorch.python.settings import of_setting, read_by
from frontends.pytorch.python.state import is_impure, is_without_state, reflects
from frontends.pytorch.source_location import OUR_PACKAGES


class Explorer:
    """Finds places.

    Attributes:
        places: distinct, in the order of discovery.
        unguarded: state that no place covers.
        names: attributes that code mentions, or read dynamically.
        appended: by identity, append-only lists and queues, whose contents are not read.
    """

    def __init__(
        self,
        functions: Sequence[FunctionType],
        roots: Iterable[object],
        ran: Ran | None = None,
        inner: Sequence[FunctionType] = (),
    ) -> None:
        """Start from these functions, and their inner functions (`inner`), whose names they include."""
        self._found = FoundPlaces()
        self.places, self.unguarded = self._found.places, self._found.unguarded
        self._seen: set[int] = set()
        self._kept: list[object] = []
        self._known_classes: set[int] = set()
        # by code: some functions that share it may have run unobserved
        self._ran = {location(function.__code__) for function in (*functions, *inner)}
        self._waiting: deque[tuple[str, str, object]] = deque()
        self._codes = [own_code(function) for function in (*functions, *inner)]
        self._growing: dict[int, tuple[str, str, object, set[str | None]]] = {}
        """Lists and queues, as they wait, and the names by which functions come to them: None for other ways."""
        mentions = [mentions_of(function.__code__) for function in functions]
        ran = ran or Ran()
        self.names: set[str] = set(ran.names)
        self._has_computed = ran.has_computed
        """Whether what is done now may not be done again, as functions remember its results."""
        self._computed = bool(self.names)
        """Whether some function asks for attributes that may not be there."""
        self._reads_all = any(map(reflects, functions))
        """Whether some function may read any attribute."""
        self.names.update(*[each.attributes for each in mentions])
        for setting in read_by({*self.names, *[name for each in mentions for name in each.globals]}):
            self._found.add(setting.text, setting, of_setting, "view")
        for start in roots:
            name = "self" if isinstance(start, torch.nn.Module) else type(start).__name__
            self._value(getattr(start, "__name__", name) if isinstance(start, FunctionType) else "self", name, start)
        for function, mentioned in zip(functions, mentions):
            self._names_of(function, mentioned)
            self._closure(function)
        for tensor in ran.tensors.values():
            self._contents("a tensor", "", vars(tensor))
        for use in ran.memoized:
            text = f"what `{getattr(use.function, '__name__', 'a function')}` remembers"
            self._found.add(text, use.function, use.key, "result")
            self._behind(text, "", use.result())
        for logger, level in ran.silent:
            name = logging.getLevelName(level)
            self._found.add(f"whether `{logger.name}` logs at {name}", logger, reads.logs_at(level), "view")
        self._look()
        self.appended: dict[int, object] = {key: value for key, (_, _, value, _) in self._growing.items()}
        for tensor in ran.elements:
            self._found.add(f"what is in {self._found.name_of(tensor)}", tensor, reads.elements_in, "view")
        self._found.refuse_too_many()

    # ------------------------------------------------------------------ places

    def _held(
        self, text: str, name: str, attributes: Mapping[Any, object], key: object, *, by: str | None = None
    ) -> None:
        """Add an item of a dictionary, and what it reaches."""
        self._found.add(text, attributes, key)
        self._behind(text, name, attributes[key], by=by)

    def _behind(self, text: str, name: str, value: object, *, by: str | None = None) -> None:
        """What a value leads to; of a tensor, whose layout is looked at with its place, the attributes that it has. The
        functions come to it `by` that name, if by no other way."""
        if not isinstance(value, torch.Tensor):
            self._value(text, name, value, by=by)
        elif attributes := vars(value):
            for key in self._attributes(attributes):
                self._held(f"{text}.{key}", key, attributes, key)

    def _value(self, text: str, name: str, value: object, *, by: str | None = None) -> None:
        if id(value) in self._growing:
            self._growing[id(value)][-1].add(by)
        if id(value) in self._seen or is_without_state(value):
            return
        self._seen.add(id(value))
        self._kept.append(value)
        if by is not None and can_grow(value):
            self._growing[id(value)] = text, name, value, {by}
        else:
            self._waiting.append((text, name, value))

    def _look(self) -> None:
        """Process the worklist; last the append-only containers that are read after all."""
        while not self._found.is_full:
            while self._waiting and not self._found.is_full:
                self._look_at(*self._waiting.popleft())
            read = [key for key, (*_, names) in self._growing.items() if not all(map(self._is_appended_to, names))]
            if not read:
                break
            self._waiting += [self._growing.pop(key)[:3] for key in read]

    def _is_appended_to(self, name: str | None) -> bool:
        """Whether all functions only append to values with this name."""
        if name is None or name in GROWING or self._reads_all or self._computed or self._has_computed:
            return False
        if not WHOLE.isdisjoint(self.names):
            return False
        return not any(name in read_otherwise(code) for code in self._codes)

    # ------------------------------------------------------------------ functions

    def _names_of(self, function: FunctionType, mentioned: Mentions) -> None:
        """Add the globals of a function, and its imports."""
        scope = function.__globals__
        plain = builtins.__dict__
        for name in mentioned.globals:
            if name in scope:
                value = scope[name]
                self._found.add(name, scope, name)
                if isinstance(value, ModuleType):
                    self._module(name, value, mentioned.attributes)
                else:
                    self._behind(name, name, value, by=name)
            else:
                self._found.add(name, scope, name, "absent")
                if name in plain:
                    self._found.add(name, plain, name)
                    self._value(name, name, plain[name])
        package = str(scope.get("__package__") or "")
        for name in mentioned.imports:
            for full_name in imported(name, package):
                module = sys.modules.get(full_name)
                if module is not None:
                    self._found.add(name, sys.modules, full_name)
                    self._module(name, module, mentioned.attributes)

    def _function(self, text: str, name: str, function: FunctionType) -> None:
        for attribute in self._attributes(vars(function)):
            self._held(f"{text}.{attribute}", name, vars(function), attribute)
        if is_generic(function):
            registry: Mapping[object, object] = vars(function)["registry"]
            self._value(f"{text}.registry", name, registry)
            if any(isinstance(each, abc.ABCMeta) for each in registry):
                self._found.add(f"abstract classes of {text}", abc, reads.registrations, "view")
        if location(function.__code__) not in self._ran:
            return
        if vars(function) or self._computed:
            self._found.add(f"the attributes of {text}", vars(function), kind="keys")
        self._found.add(text, function, kind="function")
        for value in function.__defaults__ or ():
            self._value(f"a default value of {text}", name, value)
        if function.__kwdefaults__:
            self._value(f"the default values of {text}", name, function.__kwdefaults__)
        self._closure(function)

    def _closure(self, function: FunctionType) -> None:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self._cell(name, cell)

    def _cell(self, name: str, cell: CellType) -> None:
        self._found.add(name, cell, kind="cell")
        try:
            value = cell.cell_contents
        except ValueError:
            return
        self._behind(name, name, value, by=name)

    def _module(self, text: str, module: ModuleType, names: Iterable[str], within: tuple[ModuleType, ...] = ()) -> None:
        """Add what a function reads of a module and its submodules."""
        scope = vars(module)
        for name in sorted(scope.keys() & names):
            value = scope[name]
            self._found.add(f"{text}.{name}", scope, name)
            if isinstance(value, ModuleType):
                if value is not module and value not in within:
                    self._module(f"{text}.{name}", value, names, (*within, module))
            elif value is sys.modules:
                self._found.refuse(f"{text}.{name}", name, "in which there may be any module")
            elif not (module is time and name in CLOCKS):
                # calls of clocks are observed when they happen
                self._behind(f"{text}.{name}", name, value)

    # ------------------------------------------------------------------ values

    def _look_at(self, text: str, name: str, value: object) -> None:
        match value:
            case FunctionType():
                self._function(text, name, value)
            case MethodType():
                self._value(text, name, value.__func__)
                self._value(f"{text}.__self__", name, value.__self__)
            case BuiltinFunctionType() | MethodWrapperType():
                owner = value.__self__
                if owner is None or isinstance(owner, ModuleType):
                    if is_impure(value):
                        self._found.refuse(text, name, "which gives something else at another time")
                else:
                    self._value(f"{text}.__self__", name, owner)
            case ModuleType():
                self._module(text, value, self.names)
            case type():
                if value in CALENDARS and not self.names.isdisjoint(("now", "today", "utcnow")):
                    self._found.refuse(text, name, "which gives something else at another time")
                self._class(value)
            case functools.partial():
                self._value(text, name, value.func)
                self._value(f"the arguments of {text}", name, value.args)
                self._value(f"the arguments of {text}", name, value.keywords)
            case functools._lru_cache_wrapper():
                # its observed uses are guarded, not what the wrapped function reads
                if is_programs(value) and not can_follow():
                    self._found.add(text, value, reads.times_used, "view")
            case property() | staticmethod() | classmethod():
                for part in ("fget", "fset", "__func__"):
                    self._value(text, name, getattr(value, part, None))
            case torch.Tensor():
                self._found.add(text, value, reads.layout, "view")
            case _ if type(value).__module__.startswith(OUR_PACKAGES):
                # another compiled function or module
                compilation = getattr(value, "_compilation", None)
                self._value(text, name, getattr(compilation, "fn", None))
            case torch.nn.Module():
                for path, module in value.named_modules():
                    self._seen.add(id(module))
                    self._torch_module(f"{text}.{path}" if path else text, name, module)
            case logging.Logger():
                if not self.names.isdisjoint(("isEnabledFor", "getEffectiveLevel", "level")):
                    self._found.add(text, value, logging.Logger.getEffectiveLevel, "view")
            case CellType():
                self._cell(text, value)
            case _:
                self._object(text, name, value)

    def _object(self, text: str, name: str, value: object) -> None:
        """Add an object's contents and attributes."""
        kind = type(value)
        if isinstance(value, tuple | frozenset):
            self._all(text, name, value)
        elif isinstance(value, list | dict | set):
            self._contents(text, name, value)
        elif isinstance(value, MappingProxyType | type({}.keys()) | type({}.values()) | type({}.items())):
            for inside in gc.get_referents(value):
                self._value(text, name, inside)
        elif (view := reads.view_of(value)) is not None:
            self._viewed(text, name, value, view)
        elif hasattr(kind, "__get__") and not is_python(kind):
            # attribute access of a C class
            return
        elif not is_python(kind):
            self._found.refuse(text, name, f"a {kind.__name__}")
            return
        if kind.__flags__ & HEAP_TYPE or hasattr(value, "__dict__"):
            self._found.add(text, value, kind="class")
            self._class(kind)
            self._attributes_of(text, name, value)

    def _all(self, text: str, name: str, items: Iterable[object]) -> None:
        for item in items:
            self._found.items += 1
            self._value(f"{text}[...]", name, item)

    def _contents(self, text: str, name: str, container: reads.Holder) -> None:
        self._found.count(text, len(container))
        if self._found.is_full:
            return
        self._found.add(text, container, kind="contents")
        items = reads.in_order(container)
        for item in items:
            if isinstance(item, torch.Tensor):
                self._behind(f"{text}[...]", name, item)
        self._all(text, name, [item for item in items if not isinstance(item, torch.Tensor)])
        if isinstance(container, defaultdict) and container.default_factory is not None:
            self._value(f"{text}.default_factory", name, container.default_factory)

    def _viewed(self, text: str, name: str, value: Any, view: object) -> None:
        self._found.count(text, getattr(value, "nbytes", 0) // 16)
        if self._found.is_full:
            return
        self._found.add(text, value, view, "view")
        found: Any = reads.Place(text, value, view, "view").read()
        if isinstance(value, deque):
            self._all(text, name, found)
        elif not isinstance(found, tuple | bytes | bool):
            self._value(text, name, found)
        elif found is False:
            self._value(text, name, value())

    def _attributes(self, attributes: Mapping[str, object], *, reads_all: bool = False) -> Iterable[str]:
        """Add the attributes that may be read."""
        return list(attributes) if reads_all or self._reads_all else sorted(self.names & attributes.keys())

    def _attributes_of(self, text: str, name: str, value: object) -> None:
        reads_all = any(map(is_of_library, type(value).__mro__))
        for kind in type(value).__mro__:
            slots = {key: each for key, each in vars(kind).items() if isinstance(each, MemberDescriptorType)}
            for key in self._attributes(slots, reads_all=reads_all):
                place = reads.Place(f"{text}.{key}", value, key, "slot")
                self._found.add(place.text, value, key, "slot")
                found = place.read()
                if found is not reads.ABSENT and not isinstance(found, reads.Kept):
                    self._value(place.text, key, found)
        attributes = getattr(value, "__dict__", None)
        if not isinstance(attributes, dict):
            return
        for key in self._attributes(attributes, reads_all=reads_all):
            is_name = isinstance(key, str)
            by = key if is_name and not reads_all else None
            self._held(f"{text}.{key}", key if is_name else name, attributes, key, by=by)
        # an instance attribute may shadow the class's
        self._found.add(f"the attributes of {text}", attributes, kind="keys")

    def _class(self, kind: type) -> None:
        """Add the attributes of classes: methods, properties, and all others."""
        for each in kind.__mro__:
            owner = kind_of_class(each)
            if id(each) in self._known_classes or each.__module__ == "builtins" or owner == "library":
                continue
            self._known_classes.add(id(each))
            self._kept.append(each)
            attributes = next((found for found in gc.get_referents(vars(each)) if type(found) is dict), None)
            if attributes is None:
                continue
            names = sorted(self.names & attributes.keys())
            if "forward" in attributes and "forward" not in names:
                names = [*names, "forward"]
            if owner == "program":
                names = list(dict.fromkeys([*names, *[key for key in attributes if is_special(key, attributes[key])]]))
                self._found.add(f"the attributes of {each.__name__}", attributes, kind="keys")
            for key in names:
                self._found.add(f"{each.__name__}.{key}", attributes, key, owner=each)
                self._behind(f"{each.__name__}.{key}", key, attributes[key])
        if type(kind) is not type:
            self._class(type(kind))

    def _torch_module(self, text: str, name: str, module: torch.nn.Module) -> None:
        attributes = vars(module)
        self._class(type(module))
        self._found.add(text, module, kind="class")
        of_torch = names_of_library(type(module)) & attributes.keys()
        for key in dict.fromkeys([*self._attributes(attributes), *sorted(of_torch)]):
            if key not in OF_MODULES:
                by = key if key not in of_torch else None
                self._held(f"{text}.{key}", key, attributes, key, by=by)
        self._found.add(f"the attributes of {text}", attributes, kind="keys")
        self._found.add(f"{text}.training", attributes, "training")
        for kind in ("_parameters", "_buffers", "_modules"):
            if attributes.get(kind) or kind in self.names:
                self._found.add(text, attributes[kind], kind="contents")
                for key, held in attributes[kind].items() if kind != "_modules" else ():
                    if held is not None:
                        self._behind(f"{text}.{key}", key, held)
            elif kind in attributes:
                self._found.add(text, attributes[kind], kind="count")
        for described, hooks in hooks_of(text, attributes):
            if hooks:
                self._value(described, "", hooks)
            else:
                self._found.add(described, hooks, kind="count")


CALENDARS: Final = (datetime.datetime, datetime.date)
