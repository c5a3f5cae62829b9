"""Fingerprints of captured state that are comparable between processes.

    >>> from frontends.pytorch.calls.fingerprints import Fingerprint
    >>> from frontends.pytorch.calls.reads import Place
    >>> def told(factor, names):
    ...     scope = {"factor": factor, "names": names}
    ...     places = [Place("factor", scope, "factor"), Place("names", scope, "names")]
    ...     return Fingerprint([*places, Place("names", names, kind="contents")])
    >>> one, other = told(2.0, ["a", "b"]), told(2.0, ["a", "b"])
    >>> one.digest == other.digest, one.digest == told(2.0, ["a", "c"]).digest
    (True, False)
    >>> told(-0.0, ["a"]).difference(told(0.0, ["a"]).short)
    'factor'

Inside of one process places are compared by identity. Between processes, constants are compared by value, functions by
code, classes and modules by name, tensors by metadata and aliasing, and mutable objects by class and order of first
occurrence; their contents are further places. So equal fingerprints mean isomorphic object graphs, as far as the
program can reach, and a program reads the same in both processes. State that cannot be compared so has no fingerprint
(`Untold`).
"""

from __future__ import annotations

import enum
import functools
import hashlib
import logging
import operator
import re
import sys
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextvars import ContextVar
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Final

import torch

from frontends.pytorch.calls.example_call import source_of
from frontends.pytorch.calls.reads import ABSENT, Content, Contents, Kept, Place, is_numpy
from frontends.pytorch.python.code_replacement import own_code
from frontends.pytorch.python.settings import SETTINGS, Setting
from frontends.pytorch.python.state import is_without_state
from frontends.pytorch.source_location import FRAMEWORKS, OUR_PACKAGES

SHORT: Final = 8
"""The number of kept digits of each place's hash, to find the one that differs."""
LARGE: Final = 2**31
LITERALS: Final = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented))
ADDRESS: Final = re.compile(r"\bat 0x[0-9a-f]+", re.IGNORECASE)
OWN: Final = frozenset(("gradient mode", "the default dtype", "inference mode", "the number of threads"))
"""Settings that variants guard, or that are read only at run time."""


class Untold(Exception):
    """State without a meaning in another process."""


class Fingerprint:
    """The fingerprint of places.

    Attributes:
        digest: equal for processes with equivalent state.
        short: some digits for each place.
        tensors: the tensors in order of first occurrence.
    """

    def __init__(
        self,
        places: Sequence[Place],
        first: Iterable[object] = (),
        *,
        more: Sequence[str] = (),
        in_order: Collection[str] | None = None,
        mentioned: Collection[str] | None = None,
    ) -> None:
        """Compute it for these places, after the objects that come `first`, and with `more` facts about the process. A
        set is hashed without order if no name in `in_order` (through which code may iterate) leads to it; all names in
        code are `mentioned`.

        Raises:
            Untold: something has no meaning in another process.
        """
        self.tensors: list[torch.Tensor] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[object] = []
        self._memory: dict[int, int] = {}
        self._code = functools.cache(source_of)
        self._places = places
        self._mentioned = mentioned
        self._holders: dict[int, object] = {}
        """Objects by the identities of the dictionaries that hold their attributes."""
        held = [place.read() for place in places]
        self._unordered = sets_without_order(places, held, in_order)
        lines = ["; ".join(map(self._value, first))]
        lines += [self._line(place, value) for place, value in zip(places, held)]
        lines += [f"{each.text} {each.read()!r}" for each in SETTINGS if each.text not in OWN]
        lines += more
        hashes = [hashlib.sha256(line.encode("utf-8", "backslashreplace")).hexdigest() for line in lines]
        self.digest = hashlib.sha256("\n".join(hashes).encode()).hexdigest()
        self.short = "".join([each[:SHORT] for each in hashes])

    def difference(self, short: str) -> str:
        """Describe the first place that differs from another fingerprint."""
        for number, place in enumerate(self._places, 1):
            if short[SHORT * number : SHORT * number + SHORT] != self.short[SHORT * number : SHORT * number + SHORT]:
                return place.text
        return "the arguments, or a setting of torch"

    # ------------------------------------------------------------------ places

    def _line(self, place: Place, value: object) -> str:
        container = place.container
        where = container.text if isinstance(container, Setting) else self._value(container)
        key = place.key.__qualname__ if place.kind == "view" and callable(place.key) else None
        shown = self._value(place.key) if key is None else key
        return f"{place.text} {place.kind} {where} {shown} = {self._held(place, value)}"

    def _held(self, place: Place, value: Content) -> str:
        if value is ABSENT:
            return "nothing"
        if type(value) is int and abs(value) >= LARGE and self._is_hash(place, value):
            return "of this process"
        if place.kind == "function":
            code, defaults, named = value
            return f"{self._code(code)} {self._value(defaults)} {self._value(named)}"
        if place.kind == "view" and not isinstance(value, torch.Tensor | Kept):
            return self._view(value)
        if isinstance(value, Contents) and id(value.container) in self._unordered:
            return f"{self._value(value.container)} of {sorted(map(str, map(own_name, value.items)))}"
        if isinstance(value, Contents):
            return f"{self._value(value.container)} of {self._all(value.items)}"
        return self._value(value.tensor if isinstance(value, Kept) else value)

    def _is_hash(self, place: Place, value: int) -> bool:
        """Whether a number is an object's cached hash, or Dynamo's identifier of a function, under a name that no code
        mentions: it differs between processes."""
        if self._mentioned is None or place.key in self._mentioned:
            return False
        if str(place.key).startswith("_torchdynamo_"):
            return True
        holder = self._holders.get(id(place.container))
        if holder is None:
            return False
        try:
            return hash(holder) == value
        except Exception:
            return False

    def _view(self, value: object) -> str:
        """A view's value, which may contain unnamed objects."""
        if type(value) is tuple:
            return f"({', '.join(map(self._view, value))})"
        return self._value(value)

    # ------------------------------------------------------------------ values

    def _all(self, values: Iterable[object]) -> str:
        return f"({', '.join(map(self._value, values))})"

    def _value(self, value: Content) -> str:
        kind = type(value)
        if kind in LITERALS:
            return f"{kind.__name__} {value!r}"
        if kind is tuple:
            return self._all(value)
        if kind is frozenset:
            # in iteration order
            return f"frozenset {self._all(value)}"
        number = self._numbers.get(id(value))
        if number is not None:
            return f"#{number}"
        self._numbers[id(value)] = number = len(self._numbers)
        self._kept.append(value)
        return f"#{number} {self._new(value)}"

    def _new(self, value: Content) -> str:
        """The hash input of an object at its first occurrence."""
        match value:
            case FunctionType():
                return self._function(value)
            case type():
                return f"class {[f'{each.__module__}.{each.__qualname__}' for each in value.__mro__]}"
            case ModuleType():
                return f"module {value.__name__}"
            case torch.Tensor():
                return self._tensor(value)
            case MethodType():
                return f"method {self._value(value.__func__)} of {self._value(value.__self__)}"
            case BuiltinFunctionType():
                owner = value.__self__
                is_free = owner is None or isinstance(owner, ModuleType)
                return f"{value.__module__}.{value.__qualname__} of {'' if is_free else self._value(owner)}"
            case property():
                return f"property {self._all((value.fget, value.fset, value.fdel))}"
            case staticmethod() | classmethod():
                return f"{type(value).__name__} {self._value(value.__func__)}"
            case functools.partial():
                return f"partial {self._value(value.func)} {self._all(value.args)} {self._items(value.keywords)}"
            case CodeType():
                return self._code(value)
            case logging.Logger() | ContextVar():
                return f"{type(value).__name__} {value.name}"
            case enum.Enum():
                return f"{type(value).__module__}.{type(value).__qualname__}.{value.name}"
            case functools.cached_property():
                return f"cached_property {value.attrname} {self._value(value.func)}"
            case CellType() | weakref.ref():
                return type(value).__name__
        kind = type(value)
        held = getattr(value, "__dict__", None)
        if type(held) is dict:
            self._holders[id(held)] = value
        of_kind = f"{kind.__module__}.{kind.__qualname__}"
        if isinstance(value, list | dict | set):
            # the number of items is a place where it matters
            return of_kind
        if is_numpy(value, "generic"):
            return f"{of_kind} {value.dtype.str} {value.tobytes().hex()}"
        if of_kind.startswith(OUR_PACKAGES):
            raise Untold(f"an object of the class {of_kind}")
        if is_without_state(value):
            return f"{of_kind} {self._stateless(value)}"
        # its contents are places of their own
        name = getattr(kind, "__get__", None) and getattr(value, "__qualname__", None)
        return f"{of_kind} {name if type(name) is str else ''}"

    def _stateless(self, value: object) -> str:
        """The hash input of an immutable value, by its text."""
        if isinstance(value, operator.itemgetter):
            return self._value(value.__reduce__()[1])
        if type(value).__name__ in ("lock", "RLock", "Generator", "RandomState", "Random"):
            return ""
        owner = getattr(value, "__objclass__", None)
        if owner is not None:
            return f"{owner.__module__}.{owner.__qualname__}.{getattr(value, '__name__', '')}"
        text = repr(value)
        if ADDRESS.search(text):
            raise Untold(f"an object of the class {type(value).__qualname__}")
        return text

    def _items(self, named: dict[str, object]) -> str:
        return f"({', '.join([f'{key}={self._value(value)}' for key, value in named.items()])})"

    def _function(self, function: FunctionType) -> str:
        code = own_code(function)
        name = f"{function.__module__}.{function.__qualname__} {function.__name__} {self._code(code)}"
        if not code.co_filename.startswith(FRAMEWORKS):
            # the contents of one that ran are places of their own
            return name
        held = [self._value(cell.cell_contents) for cell in function.__closure__ or () if is_filled(cell)]
        return f"{name} {self._value(function.__defaults__)} {held}"

    def _tensor(self, tensor: torch.Tensor) -> str:
        """The hash input of a tensor: everything except its elements."""
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer) or tensor.layout != torch.strided:
            raise Untold(f"a tensor of the class {type(tensor).__qualname__}, or of layout {tensor.layout}")
        self.tensors.append(tensor)
        memory = self._memory.setdefault(tensor.untyped_storage()._cdata, len(self._memory))
        of_class = f"{type(tensor).__qualname__} {tensor.dtype} {tensor.device} {tensor.requires_grad}"
        laid = f"{tuple(tensor.shape)} {tensor.stride()} {tensor.storage_offset()} in {memory}"
        flags = (tensor.is_leaf, tensor.is_inference(), tensor.is_conj(), tensor.is_neg(), tensor._base is None)
        return f"{of_class} {laid} {flags} {sorted(map(str, vars(tensor)))} {bool(tensor._backward_hooks)}"


def sets_without_order(
    places: Sequence[Place], held: Sequence[object], in_order: Collection[str] | None
) -> frozenset[int]:
    """The sets, by identity, that are reached only by names through which code does not iterate, and that contain only
    named values."""
    names: dict[int, list[object]] = {}
    for place, value in zip(places, held):
        if isinstance(value, set):
            names.setdefault(id(value), []).append(place.key if place.kind != "cell" else place.text)
        elif isinstance(value, Contents):
            for inside in value.items:
                if isinstance(inside, set):
                    names.setdefault(id(inside), []).append(None)
        elif isinstance(value, tuple) and any(isinstance(each, set) for each in value):
            names.update({id(each): [None] for each in value})
    if in_order is None:
        return frozenset()
    sets = [value for value in held if isinstance(value, Contents) and isinstance(value.container, set)]
    return frozenset(
        [
            id(each.container)
            for each in sets
            if all(own_name(item) is not None for item in each.items)
            and all(type(name) is str and name not in in_order for name in names.get(id(each.container), [None]))
        ]
    )


def own_name(value: object) -> str | None:
    """The qualified name of a value that has one."""
    if type(value) in LITERALS:
        return f"{type(value).__name__} {value!r}"
    return f"class {value.__module__}.{value.__qualname__}" if isinstance(value, type) else None


def is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not ABSENT
    except ValueError:
        return False


# ---------------------------------------------------------------------- patches of torch


def altered() -> list[str]:
    """Attributes of torch that were replaced by other functions."""
    found: list[str] = []
    for text, scope in torch_places():
        for name, value in scope.items():
            function = inner(value)
            if isinstance(function, FunctionType):
                code = own_code(function)
                of_torch = code.co_filename.startswith(FRAMEWORKS[0])
                if of_torch and function.__name__ == name and code.co_name == name:
                    continue
                what = "" if of_torch else source_of(code)
                found.append(f"{text}.{name} {function.__module__}.{function.__qualname__} {code.co_qualname} {what}")
            elif isinstance(function, BuiltinFunctionType) and function.__name__ != name:
                found.append(f"{text}.{name} {function.__qualname__}")
    return sorted(found)


def inner(value: object) -> object:
    """The wrapped function of a value; Dynamo wraps some of torch's when it is imported."""
    if isinstance(value, property):
        return value.fget
    value = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    while isinstance(value, FunctionType) and own_code(value).co_filename.startswith(FRAMEWORKS[0]):
        wrapped = vars(value).get("__wrapped__")
        if not isinstance(wrapped, FunctionType):
            break
        value = wrapped
    return value


def torch_places() -> Iterator[tuple[str, dict[str, object]]]:
    """Modules and classes through which programs and torch call torch's functions."""
    modules = ("torch", "torch.functional", "torch.nn.functional", "torch._tensor", "torch.special", "torch.linalg")
    more = ("torch.fft", "torch._VF", "torch.nn.init", "torch.autograd", "torch.autograd.function", "torch.overrides")
    for name in (*modules, *more):
        module = sys.modules.get(name)
        if isinstance(module, ModuleType):
            yield name, dict(vars(module))
    yield "Tensor", dict(vars(torch.Tensor))
    yield "Parameter", dict(vars(torch.nn.Parameter))
    for name, module in sorted(sys.modules.items()):
        if name.startswith("torch.nn.modules."):
            for kind in vars(module).values():
                if isinstance(kind, type) and kind.__module__ == name:
                    yield f"{name}.{kind.__qualname__}", dict(vars(kind))
