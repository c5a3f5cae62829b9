"""What a program reads without being given it: globals, closures, attributes, parameters, told apart by identity.

    >>> from frontends.pytorch.calls.surroundings import Surroundings
    >>> factor = 2
    >>> def f(x):
    ...     return x * factor
    >>> surroundings = Surroundings([f])
    >>> surroundings.state()
    0
    >>> factor = 3
    >>> surroundings.state(), surroundings.difference(0, 1)
    (1, ['factor is 3, was 2'])
    >>> factor = 2
    >>> surroundings.state()
    0

The places are those that the names in the program's functions tell: a function's globals, its closure, the attributes
of objects and modules that some function mentions by name; what they hold is compared by identity, plain values by
value, lists and dictionaries item by item. Each state that was seen has a number, which variants are guarded by, so
that a module that goes back and forth between training and evaluation is traced twice, and never again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import is_
from types import CellType, FunctionType, MemberDescriptorType, ModuleType
from typing import Final

import torch
from torch.nn.parameter import is_lazy

from frontends.pytorch.calls.unchanged import Held, Layouts
from frontends.pytorch.places import is_users
from frontends.pytorch.python.rewriting import all_names, names_read, program_of, reads_global

SCALARS: Final = (bool, int, float, complex, str, bytes, type(None), tuple, frozenset)
OF_MODULES: Final = frozenset([name for name in vars(torch.nn.Module()) if name.startswith("_")])
"""What torch keeps in each module."""
MOST_ITEMS: Final = 256
"""A container with more items than this is known by its identity alone."""


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class Place:
    """Something that is read: `container[key]`, the contents of a cell, the number of items in a container, or the
    attribute of an object that its class has a slot for.
    """

    text: str
    container: object
    key: object = None
    count: bool = False
    slot: bool = False

    def read(self) -> object:
        container = self.container
        if self.count:
            return len(container)
        try:
            if self.slot:
                found = getattr(container, self.key)
            else:
                found = container.cell_contents if type(container) is CellType else container[self.key]
        except (KeyError, ValueError, IndexError, AttributeError):
            return ABSENT
        if type(found) in (list, dict, set) and len(found) <= MOST_ITEMS:
            return Contents(found)
        return Kept(found, layout(found)) if isinstance(found, torch.Tensor) else found

    def printed(self, container: str, key: str) -> str:
        """The same in generated code."""
        if self.count:
            return f"len({container})"
        if self.slot:
            return f"{container}.{self.key}"
        return f"{container}.cell_contents" if type(self.container) is CellType else f"{container}[{key}]"


@dataclass(frozen=True, slots=True)
class Kept:
    """A tensor as it was: `.data` can give it another dtype, other sizes and other strides, and it may be frozen."""

    tensor: torch.Tensor
    layout: tuple[torch.dtype, torch.Size, object, bool]


class Uninitialized(Exception):
    """A parameter of a lazy module, which only the module's first call makes a tensor."""


def layout(tensor: torch.Tensor) -> tuple[torch.dtype, torch.Size, object, bool]:
    """What a graph relies on of a tensor that it was not given.

    Raises:
        Uninitialized: it has no sizes yet.
    """
    if is_lazy(tensor):
        raise Uninitialized
    strides = tensor.stride() if tensor.layout is torch.strided else tensor.layout
    return tensor.dtype, tensor.shape, strides, tensor.requires_grad


class Contents:
    """A container as it was."""

    def __init__(self, container: list | dict | set) -> None:
        self.container = container
        self.items = items_of(container)
        """Of a dictionary the keys, then the values."""
        self.values = self.items[len(container) :]
        self.tensors = tuple([Kept(item, layout(item)) for item in self.items if isinstance(item, torch.Tensor)])

    def unchanged(self, container: str, contents: str) -> str:
        """Generated code: whether this container, which is the same, holds the very objects that it held."""
        if not self.items:
            return f"not {container}"
        count = f"len({container}) == {len(self.container)}"
        if not isinstance(self.container, dict):
            return f"{count} and all(map(is_, {container}, {contents}.items))"
        keys, values = f"map(is_, {container}, {contents}.items)", f"map(is_, {container}.values(), {contents}.values)"
        return f"{count} and all({keys}) and all({values})"

    def holds(self, found: object) -> bool:
        """Whether this container is the same and holds the same."""
        if found is not self.container or len(found) != len(self.container):
            return False
        now = items_of(found)
        return len(now) == len(self.items) and all(map(same, now, self.items))

    def __repr__(self) -> str:
        return repr(self.container)


def items_of(container: list | dict | set) -> tuple[object, ...]:
    return (*container.keys(), *container.values()) if isinstance(container, dict) else tuple(container)


def same(a: object, b: object) -> bool:
    """Whether a program cannot tell two values apart, as far as that is cheap to say."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) in SCALARS:
        return a == b and repr(a) == repr(b)
    if type(a) is Kept:
        return a.tensor is b.tensor and a.layout == b.layout
    return (
        isinstance(a, Contents)
        and a.container is b.container
        and all(map(same, (*a.items, *a.tensors), (*b.items, *b.tensors)))
    )


class Surroundings:
    """The places that some functions and objects read, and the states that these were in.

    Attributes:
        places: what is looked at.
        state: gives the number of the present state.
    """

    def __init__(self, roots: Iterable[object]) -> None:
        self.places: list[Place] = []
        self._known: set[tuple[int, object]] = set()
        self._roots: dict[int, object] = {}
        self._states: list[tuple[object, ...]] = []
        self._checks: list[Callable[[], bool]] = []
        self._current = 0
        self.explore(roots)

    def explore(self, roots: Iterable[object] = ()) -> None:
        """Look at what functions and objects read, these as well; what was replaced may read something else."""
        self._roots.update({id(root): root for root in roots})
        new: dict[tuple[int, object], Place] = {}
        for place in _Explorer(self._roots.values()).places:
            known = id(place.container), place.count or place.key
            if known not in self._known:
                new.setdefault(known, place)
        if new or not self._states:
            # what earlier states say about the new places is what these hold now
            found = tuple([place.read() for place in new.values()])
            self._known.update(new)
            self.places += new.values()
            self._states = [(*state, *found) for state in self._states] or [found]
            self._checks = [self._check(state) for state in self._states]

    def state(self) -> int:
        """The number of the present state, a new one if it was never seen."""
        current = self._current
        return current if self._checks[current]() else self._other()

    def _other(self) -> int:
        for number, check in enumerate(self._checks):
            if check():
                self._current = number
                return number
        state = tuple([place.read() for place in self.places])
        self._states.append(state)
        self._checks.append(self._check(state))
        self._current = len(self._states) - 1
        return self._current

    def difference(self, before: int, after: int) -> list[str]:
        """What differs between two states, in words."""
        return [
            f"{place.text} is {shown(new)}, was {shown(old)}"
            for place, old, new in zip(self.places, self._states[before], self._states[after])
            if not same(old, new)
        ]

    def different_places(self, before: int, after: int) -> list[str]:
        """The places at which two states differ."""
        return [
            place.text
            for place, old, new in zip(self.places, self._states[before], self._states[after])
            if not same(old, new)
        ]

    def _check(self, state: Sequence[object]) -> Callable[[], bool]:
        """A function that says whether this is the state."""
        scope: dict[str, object] = {"same": same, "is_": is_}
        containers: dict[int, str] = {}
        looked: set[int] = set()
        tensors: dict[int, Kept] = {}
        tests: list[str] = []
        held, besides = Held(), []
        for number, (place, value) in enumerate(zip(self.places, state)):
            name = containers.setdefault(id(place.container), f"c{number}")
            scope[name] = place.container
            if value is ABSENT:
                scope[f"p{number}"] = place
                scope["absent"] = ABSENT
                tests.append(f"p{number}.read() is absent")
                besides.append(tests[-1])
                continue
            key = repr(place.key)
            if type(place.key) not in (str, int):
                key = f"k{number}"
                scope[key] = place.key
            read = place.printed(name, key)
            if place.count:
                tests.append(f"{read} == {value}" if value else f"not {name}")
                held.count(place.container, value)
                continue
            found = scope[f"v{number}"] = _itself(value)
            (held.attribute if place.slot else held.item)(place.container, place.key, found)
            is_plain = type(value) in SCALARS
            tests.append(f"({read} is v{number} or same({read}, v{number}))" if is_plain else f"{read} is v{number}")
            if isinstance(value, Kept):
                tensors[id(found)] = value
            elif isinstance(value, Contents) and id(found) not in looked:
                looked.add(id(found))
                tensors.update({id(each.tensor): each for each in value.tensors})
                scope[f"i{number}"] = value
                tests.append(f"({value.unchanged(f'v{number}', f'i{number}')} or i{number}.holds(v{number}))")
                if isinstance(found, set):
                    besides.append(tests[-1])
                else:
                    held.contents(found, value.items)
        if tensors:
            kept = tensors.values()
            scope["layouts"] = Layouts([each.tensor for each in kept], [each.layout for each in kept], layout)
            tests.append("layouts.unchanged()")
            besides.append(tests[-1])
        scope["unchanged"] = held.test()
        lines = ["same_objects = unchanged()"]
        lines += [f"same_objects = same_objects and {part}" for part in _parts(besides)]
        lines += ["if same_objects: return True", *[f"if not ({part}): return False" for part in _parts(tests)]]
        errors = ["  except (KeyError, IndexError, ValueError, AttributeError):", "    return False"]
        text = "\n".join(["def check():", "  try:", *[f"    {line}" for line in lines], *errors, "  return True"])
        exec(compile(text, "<surroundings>", "exec"), scope)
        return scope["check"]


def _itself(value: object) -> object:
    """What is there, of what is remembered of it."""
    return value.tensor if isinstance(value, Kept) else value.container if isinstance(value, Contents) else value


def _parts(tests: Sequence[str]) -> list[str]:
    """The tests together, as expressions that are not too deep for Python's compiler."""
    return [" and ".join(tests[start : start + 64]) for start in range(0, len(tests), 64)]


def shown(value: object) -> str:
    """A value for people."""
    if isinstance(value, Kept):
        dtype, shape, _, is_learned = value.layout
        return f"a {str(dtype).removeprefix('torch.')} tensor of shape {tuple(shape)}{' with a gradient' * is_learned}"
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class _Explorer:
    """Finds the places that functions and objects read."""

    def __init__(self, roots: Iterable[object]) -> None:
        self.places: list[Place] = []
        self._seen: set[int] = set()
        self._classes: set[int] = set()
        starts = list(roots)
        functions = program_of(starts)
        self._names: set[str] = set()
        for function in functions:
            self._names.update(all_names(function.__code__))
        for function in functions:
            self._function(function)
        for start in starts:
            self._object("self" if isinstance(start, torch.nn.Module) else type(start).__name__, start)
            owner = getattr(start, "__self__", None)
            if owner is not None and not isinstance(owner, ModuleType | type):
                self._object("self", owner)

    def _function(self, function: FunctionType) -> None:
        scope = function.__globals__
        for name in all_names(function.__code__):
            value = scope.get(name)
            if isinstance(value, ModuleType):
                self._module(name, value)
            elif name in scope and (isinstance(value, FunctionType | type) or reads_global(function.__code__, name)):
                self._place(Place(name, scope, name), value)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                self._place(Place(name, cell), cell.cell_contents)
            except ValueError:
                continue

    def _module(self, text: str, module: ModuleType) -> None:
        """What a program reads of another module of its own."""
        if not is_users(getattr(module, "__file__", None) or "") or id(module) in self._seen:
            return
        self._seen.add(id(module))
        scope = vars(module)
        for name in self._names & scope.keys():
            if not isinstance(scope[name], ModuleType):
                self._place(Place(f"{text}.{name}", scope, name), scope[name])

    def _place(self, place: Place, value: object) -> None:
        self.places.append(place)
        if type(value) in SCALARS and not isinstance(value, tuple):
            return
        if isinstance(value, list | tuple | dict) and len(value) <= MOST_ITEMS:
            items = value.values() if isinstance(value, dict) else value
            for item in items:
                self._object(f"{place.text}[...]", item)
        else:
            self._object(place.text, value)

    def _object(self, text: str, value: object) -> None:
        """The attributes of an object of the program."""
        if id(value) in self._seen or isinstance(value, FunctionType | ModuleType | torch.Tensor):
            return
        self._seen.add(id(value))
        self._class(value if isinstance(value, type) else type(value))
        if isinstance(value, type):
            return
        if isinstance(value, torch.nn.Module):
            for name, module in value.named_modules():
                if module is value or id(module) not in self._seen:
                    self._seen.add(id(module))
                    self._torch_module(f"{text}.{name}" if name else text, module)
            return
        for kind in type(value).__mro__:
            for name in sorted(self._names & vars(kind).keys()):
                if isinstance(vars(kind)[name], MemberDescriptorType):
                    place = Place(f"{text}.{name}", value, name, slot=True)
                    self._place(place, place.read())
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is not dict:
            return
        for name in sorted(self._names & attributes.keys()):
            self._place(Place(f"{text}.{name}", attributes, name), attributes[name])
        if is_users(getattr(sys.modules.get(type(value).__module__), "__file__", None) or ""):
            # another attribute may come before that of the class
            self.places.append(Place(f"the number of attributes of {text}", attributes, count=True))

    def _class(self, kind: type) -> None:
        """What the classes of the program hold besides methods."""
        for each in kind.__mro__:
            module = sys.modules.get(each.__module__)
            if module is None or not is_users(getattr(module, "__file__", None) or "") or id(each) in self._classes:
                continue
            self._classes.add(id(each))
            attributes = vars(each)
            for name in sorted(self._names & attributes.keys()):
                if not callable(attributes[name]) and not hasattr(attributes[name], "__get__"):
                    self._place(Place(f"{each.__name__}.{name}", attributes, name), attributes[name])

    def _torch_module(self, text: str, module: torch.nn.Module) -> None:
        attributes = vars(module)
        self._class(type(module))
        names = self._names | names_read(type(module))
        for name in sorted(names & attributes.keys()):
            if name not in OF_MODULES:
                self._place(Place(f"{text}.{name}", attributes, name), attributes[name])
        self.places.append(Place(f"the number of attributes of {text}", attributes, count=True))
        if "training" not in names:
            self._place(Place(f"{text}.training", attributes, "training"), module.training)
        for kind in ("_parameters", "_buffers", "_modules"):
            found = attributes[kind]
            for name in found:
                self.places.append(Place(f"{text}.{name}", found, name))
            if kind == "_modules" and found:
                self.places.append(Place(f"the number of modules in {text}", found, count=True))
        for kind in ("_forward_hooks", "_forward_pre_hooks"):
            hooks = kind[1:].replace("_", " ")
            self.places.append(Place(f"the number of {hooks} of {text}", attributes[kind], count=True))
