"""Routes from a module to a function, by which another process finds the equivalent function.

    >>> import functools
    >>> import textwrap
    >>> from frontends.pytorch.calls.reaching import reached, route_to
    >>> route_to(textwrap.dedent, None)
    ['textwrap', ['dedent'], []]
    >>> reached(['textwrap', ['dedent'], []], None) is textwrap.dedent
    True

A route starts at a name in a module, or at the compiled function, and passes through wrappers: decorators, properties,
methods, closures. A function created by the call is identified by its position in the enclosing function's code.
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from operator import is_
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.python.code_replacement import own_code
from frontends.pytorch.python.mentions import location, mentions_of

Route: TypeAlias = list[Any]
FARTHEST: Final = 8
MOST: Final = 256
"""The limit of inspected objects for one function."""


def route_to(function: FunctionType, fn: object) -> Route | None:
    """The route from its module, or from the compiled function, to a function; None if there is none."""
    names = function.__qualname__.split(".<locals>")[0].split(".")
    starts: list[tuple[str | None, list[str]]] = [(function.__module__, names), (None, [])]
    # a decorator's result has another name
    module = sys.modules.get(function.__module__ or "")
    for name, value in list(vars(module).items()) if isinstance(module, ModuleType) else ():
        if isinstance(value, FunctionType) and is_same(value, function):
            starts.append((function.__module__, [name]))
    for home, path in starts:
        start = begun(home, path, fn)
        waiting: deque[tuple[object, list[str]]] = deque([(start, [])])
        seen = {id(start)}
        while waiting and len(seen) < MOST:
            value, steps = waiting.popleft()
            if isinstance(value, FunctionType) and is_same(value, function):
                return [home, path, steps]
            if len(steps) < FARTHEST:
                for step, inside in around(value):
                    if id(inside) not in seen:
                        seen.add(id(inside))
                        waiting.append((inside, [*steps, step]))
    return None


def reached(route: Sequence[object], fn: object) -> FunctionType | None:
    """The function at the end of a route; None if the route does not exist here."""
    match route:
        case [None | str() as module, list() as path, list() as steps]:
            value = begun(module, path, fn)
        case _:
            return None
    for step in steps:
        found = [inside for name, inside in around(value) if name == step]
        if not found:
            return None
        value = found[0]
    return value if isinstance(value, FunctionType) else None


def begun(module: str | None, path: Sequence[str], fn: object) -> object:
    """The value of a name in a module, or the compiled function; None if it does not exist."""
    if module is None:
        return fn
    value: object = sys.modules.get(module)
    for name in path:
        try:
            value = vars(value)[name]
        except (TypeError, KeyError):
            return None
    return value


def around(value: object) -> Iterator[tuple[str, object]]:
    """The values one step inside of a wrapper."""
    match value:
        case FunctionType():
            for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
                if (held := inside(cell)) is not None:
                    yield f"cell {name}", held
            if (wrapped := vars(value).get("__wrapped__")) is not None:
                yield "__wrapped__", wrapped
        case MethodType() | staticmethod() | classmethod():
            yield "__func__", value.__func__
        case property():
            yield from (("fget", value.fget), ("fset", value.fset))
        case functools.partial() | functools.cached_property():
            yield "func", value.func
        case functools._lru_cache_wrapper():
            yield "__wrapped__", value.__wrapped__
        case torch.nn.Module():
            forward = vars(value).get("forward")
            if forward is not None:
                yield "forward", forward


def inside(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def is_same(one: FunctionType, other: FunctionType) -> bool:
    """Whether two functions are equivalent: one may be a recorded copy."""
    closures = one.__closure__ or (), other.__closure__ or ()
    return (
        own_code(one) is own_code(other)
        and one.__globals__ is other.__globals__
        and len(closures[0]) == len(closures[1])
        and all(map(is_, *closures))
        and one.__defaults__ is other.__defaults__
        and one.__kwdefaults__ is other.__kwdefaults__
    )


def place_in(outer: CodeType, code: CodeType) -> int | None:
    """The number of code among the inner functions of other code; None if it is not there."""
    inside = [location(each) for each in mentions_of(outer).inside]
    return inside.index(location(code)) if location(code) in inside else None


def code_at(outer: CodeType, number: object) -> CodeType | None:
    """The code with this number among the inner functions of other code."""
    inside = mentions_of(outer).inside
    return inside[number] if type(number) is int and 0 <= number < len(inside) else None


def made_by_call(code: CodeType, scope: dict[str, object]) -> FunctionType:
    """A stand-in for a function that the call creates, from its code."""
    return FunctionType(code, scope, code.co_name, None, tuple([CellType() for _ in code.co_freevars]))
