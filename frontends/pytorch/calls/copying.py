"""Copies and pickles of compiled functions: they keep the function and its options, not the variants.

    >>> import copy, pickle
    >>> import torch
    >>> from frontends.pytorch import compile
    >>> linear = compile(torch.nn.Linear(2, 3), dynamic=True)
    >>> again = pickle.loads(pickle.dumps(linear))
    >>> bool((again(torch.ones(5, 2)) == linear(torch.ones(5, 2))).all()), again.fn is linear.fn
    (True, False)
    >>> pickle.dumps(compile(lambda x: x * 2))
    Traceback (most recent call last):
    _pickle.PicklingError: cannot pickle the compiled function <lambda>: pickle finds functions by module and name, ...

A function is pickled by its name, as in Python: a decorated one is found by that name, one compiled later is compiled
again. A module is pickled with its parameters.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable
from pickle import PicklingError
from types import FunctionType, MethodType
from typing import Protocol, TypeAlias, TypeVar


class Compilation(Protocol):
    """A function with its options."""

    @property
    def fn(self) -> Callable[..., object]: ...

    @property
    def options(self) -> dict[str, object]: ...


class Compiled(Protocol):
    """The interface of a proxy."""

    @property
    def _compilation(self) -> Compilation: ...


Proxy = TypeVar("Proxy", bound=Compiled)
Kind: TypeAlias = Callable[..., Compiled]


def made_again(kind: Kind, fn: Callable[..., object], options: dict[str, object]) -> Compiled:
    """Unpickle a compiled function."""
    return kind(fn, **options)


def pickled(kind: Kind, compiled: Compiled) -> str | tuple[object, ...]:
    """The reduction of a compiled function: its name, or the arguments to compile it again.

    Raises:
        PicklingError: no name leads to it.
    """
    compilation = compiled._compilation
    fn = compilation.fn
    if not isinstance(fn, FunctionType):
        return made_again, (kind, fn, compilation.options)
    found: object = sys.modules.get(fn.__module__)
    for name in fn.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is compiled:
        return fn.__qualname__
    if found is fn:
        return made_again, (kind, fn, compilation.options)
    raise PicklingError(
        f"cannot pickle the compiled function {fn.__qualname__}: pickle finds functions by module and name, and there "
        f"is none of this name in {fn.__module__}; define it at the top of a module, or pickle what it is made of and "
        "compile it again where that is loaded"
    )


def shallow_copy(kind: Callable[..., Proxy], compiled: Proxy) -> Proxy:
    """The same function, or a shallow copy of the module, with separate variants."""
    compilation = compiled._compilation
    fn = compilation.fn
    return kind(fn if isinstance(fn, FunctionType) else copy.copy(fn), **compilation.options)


def deep_copy(kind: Kind, compiled: Compiled, memo: dict[int, object]) -> object:
    """Functions are not copied; a module is, with separate variants."""
    compilation = compiled._compilation
    if isinstance(compilation.fn, FunctionType):
        return compiled
    fn = copy.deepcopy(compilation.fn, memo)
    known = memo.get(id(compiled))  # the module may reference its own compiled form
    if known is None:
        known = memo[id(compiled)] = kind(fn, **compilation.options)
    return known


def returning(compiled: Compiled, method: MethodType) -> Callable[..., object]:
    """A method that returns the module, wrapped to return the compiled one."""

    @functools.wraps(method)
    def call(*args: object, **kwargs: object) -> object:
        result = method(*args, **kwargs)
        return compiled if result is compiled._compilation.fn else result

    return call
