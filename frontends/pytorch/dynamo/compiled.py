"""The result of `compile`: a transparent proxy of the compiled function or module.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> compiled = compile(net)
    >>> isinstance(compiled, torch.nn.Module), len(compiled), compiled[1], list(compiled.state_dict())
    (True, 2, ReLU(), ['0.weight', '0.bias'])
    >>> compiled.scale = 3.0
    >>> net.scale, len(compiled.variants)
    (3.0, 0)

Reads and writes are forwarded to the original: attributes, methods, `vars`, `dir`, operators such as `len` and `[]`.
The public attributes of `Program` (`variants`, `explain()` etc.) are visible only if the original has none of that
name. `compiled._program` always has them; it is the one reserved name.

Copies and pickles keep the function and its options, not the variants:

    >>> import copy, pickle
    >>> linear = compile(torch.nn.Linear(2, 3), dynamic=True)
    >>> again = pickle.loads(pickle.dumps(linear))
    >>> bool((again(torch.ones(5, 2)) == linear(torch.ones(5, 2))).all()), again.fn is linear.fn
    (True, False)
    >>> pickle.dumps(compile(lambda x: x * 2))
    Traceback (most recent call last):
    _pickle.PicklingError: cannot pickle the compiled function <lambda>: pickle finds functions by module and name, ...
"""

from __future__ import annotations

import copy
import functools
import sys
import weakref
from collections.abc import Callable, Sequence
from pickle import PicklingError
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Final, Unpack

import torch
from torch.compiler import is_dynamo_compiling

from frontends.pytorch.dynamo.direct_calls import MISSED
from frontends.pytorch.dynamo.program import Program
from frontends.pytorch.variants.policy import Options

if TYPE_CHECKING:
    # `__getattr__` finds them
    from frontends.pytorch.dynamo.program import Program as Attributes
else:
    Attributes = object

OWN: Final = "_program"
GIVES_ITSELF: Final = frozenset((
    "apply", "bfloat16", "cpu", "cuda", "double", "eval", "float", "half", "requires_grad_", "share_memory", "to",
    "to_empty", "train", "type", "compile", "xpu", "ipu", "mtia",
))  # fmt: skip
"""Methods of modules that return the module; `model = compile(net).to(device)` must stay compiled."""
CLASSES: Final[weakref.WeakKeyDictionary[type, type[Compiled]]] = weakref.WeakKeyDictionary()
"""Classes of proxies, for as long as what they are like."""
DESCRIBES: Final = ("__doc__", "__module__", "__annotations__")
"""Attributes kept on each instance, since they would otherwise be found on the class."""
NOT_FORWARDED: Final = frozenset((
    *("__new__", "__init__", "__init_subclass__", "__del__", "__class__", "__class_getitem__", "__subclasshook__"),
    *("__call__", "__get__", "__set__", "__delete__", "__set_name__", "__prepare__"),
    *("__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__dir__"),
    *("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"),
    *("__getnewargs__", "__getnewargs_ex__", "__sizeof__"),
))  # fmt: skip
"""Special methods that are not forwarded: about the object itself, or about attributes, which are forwarded
separately."""


class Compiled(Attributes):
    """A compiled function or module: see the module's documentation."""

    __slots__ = ("__dict__", "__weakref__", "_program")

    _program: Program

    def __new__(cls, fn: Callable[..., object], **options: Unpack[Options]) -> Compiled:
        """The function `fn` compiled; `options` are those of `compile`."""
        return object.__new__(class_for(fn))

    def __init__(self, fn: Callable[..., object], **options: Unpack[Options]) -> None:
        object.__setattr__(self, OWN, Program(fn, **options))
        for name in DESCRIBES:
            try:
                described = getattr(fn, name, None)
            except Exception:
                # an object with dynamic attributes
                described = getattr(type(fn), name, None)
            if name != "__annotations__" or described is not None:
                object.__setattr__(self, name, described)

    def __call__(self, /, *args: object, **kwargs: object) -> object:
        program = self._program
        if is_dynamo_compiling():
            # inside of another compiled function, this one is part of its graph
            return program.fn(*args, **kwargs)
        entry = program.entry
        if entry is not None:
            result = entry(args, kwargs)
            if result is not NotImplemented:
                return result
        result = program.enter(args, kwargs)
        return program.missed(args, kwargs) if result is MISSED else result

    def __getattr__(self, name: str) -> object:
        if name == OWN:
            # nothing is compiled yet, while an object is being constructed
            raise AttributeError(name)
        program = self._program
        fn = program.fn
        try:
            found = getattr(fn, name)
        except Exception:
            # an object with dynamic attributes may raise anything
            if name == "_orig_mod" and isinstance(fn, torch.nn.Module):
                return fn
            if name in PUBLIC:
                return getattr(program, name)
            raise
        if name in GIVES_ITSELF and type(found) is MethodType and found.__self__ is fn:
            return returning(self, found)
        return found

    @property
    def __wrapped__(self) -> object:
        """The original function; modules have no `__wrapped__`."""
        fn = self._program.fn
        if isinstance(fn, torch.nn.Module):
            # consistent with `__getattr__`
            raise AttributeError("__wrapped__")
        return fn

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._program.fn, name, value)
        if name in DESCRIBES:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._program.fn, name)

    def __dir__(self) -> Sequence[str]:
        return sorted({*dir(self._program.fn), *PUBLIC, OWN, "__wrapped__"})

    def __copy__(self) -> Compiled:
        """The same function, or a shallow copy of the module, with separate variants."""
        fn = self._program.fn
        return Compiled(fn if isinstance(fn, FunctionType) else copy.copy(fn), **self._program.options)

    def __deepcopy__(self, memo: dict[int, object]) -> object:
        """Functions are not copied; a module is, with separate variants."""
        if isinstance(self._program.fn, FunctionType):
            return self
        fn = copy.deepcopy(self._program.fn, memo)
        known = memo.get(id(self))  # the module may reference its own compiled form
        if known is None:
            known = memo[id(self)] = Compiled(fn, **self._program.options)
        return known

    def __reduce_ex__(self, protocol: object) -> str | tuple[object, ...]:
        """A function is pickled by its name, as in Python; a module is compiled again with its parameters.

        Raises:
            PicklingError: no name refers to the function.
        """
        fn = self._program.fn
        made_again = functools.partial(Compiled, **self._program.options), (fn,)
        if not isinstance(fn, FunctionType):
            return made_again
        found: object = sys.modules.get(fn.__module__)
        for name in fn.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is self:
            return fn.__qualname__
        if found is fn:
            return made_again
        raise PicklingError(
            f"cannot pickle the compiled function {fn.__qualname__}: pickle finds functions by module and name, and "
            f"there is none of this name in {fn.__module__}; define it at the top of a module, or pickle what it is "
            "made of and compile it again where that is loaded"
        )


PUBLIC: Final = frozenset((
    *("fn", "options", "backend", "dynamic", "fullgraph", "policy", "relations", "graphs", "breaks"),
    *("variants", "fallbacks", "times", "explain", "report", "timed", "coverage"),
))  # fmt: skip
"""Attributes of the program that are visible if the original has no such name."""


class Standing(Compiled):
    """A proxy whose special methods are forwarded as well."""

    __slots__ = ()

    @property
    def __dict__(self) -> dict[str, object]:  # type: ignore[override]  # of `object` it can be set, of the original too
        return vars(self._program.fn)

    def __repr__(self) -> str:
        return repr(self._program.fn)


class CompiledFunction(Standing):
    """A proxy of a function, which binds as a method."""

    __slots__ = ()

    def __get__(self, instance: object, owner: type | None = None) -> object:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {self._program.fn!r}>"


def class_for(fn: object) -> type[Compiled]:
    """The proxy class for `fn`."""
    if isinstance(fn, FunctionType):
        return CompiledFunction
    if isinstance(fn, MethodType | BuiltinFunctionType):
        return Compiled
    kind: type = type(fn)
    if kind not in CLASSES:
        CLASSES[kind] = class_like(kind)
    return CLASSES[kind]


def class_like(kind: type) -> type[Compiled]:
    """A class with the special methods of another, since Python looks them up on the class: `len(x)`, `x[0]`, `with x`.
    Its instances pass `isinstance` for the other class."""
    original = property(lambda self: type(self._program.fn))
    scope: dict[str, object] = {"__slots__": (), "__module__": __name__, "__class__": original}
    for each in kind.__mro__:
        if each not in (object, torch.nn.Module):
            for name, value in vars(each).items():
                is_special = name[:2] == name[-2:] == "__" and name not in NOT_FORWARDED and name not in scope
                if is_special and (callable(value) or value is None):
                    scope[name] = None if value is None else forwarded(name)
    return type(f"Compiled{kind.__name__}", (Standing,), scope)


def forwarded(name: str) -> Callable[..., object]:
    """A special method that forwards to the original."""

    def call(self: Compiled, *args: object, **kwargs: object) -> object:
        fn = self._program.fn
        result = getattr(type(fn), name)(fn, *args, **kwargs)
        return self if result is fn else result

    call.__name__ = name
    return call


def returning(compiled: Compiled, method: MethodType) -> Callable[..., object]:
    """A method that returns the module, wrapped to return the compiled one."""

    @functools.wraps(method)
    def call(*args: object, **kwargs: object) -> object:
        result = method(*args, **kwargs)
        return compiled if result is compiled._program.fn else result

    return call
