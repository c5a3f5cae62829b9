"""The integers that functions compare and compute with, from their code: thresholds that no question shows.

    >>> from shapes.testing.directed.constants import constants_of
    >>> LIMIT = 4097
    >>> def operator(x):
    ...     def fits(size):
    ...         return size <= LIMIT and size % 96 == 0
    ...     return x if fits(x.shape[0]) else None
    >>> constants_of(operator)
    (96, 4097)

A reference may refuse from a size on that the rule has never heard of; the rule then asks nothing. Functions that a
function names are read as well, if they are of the same module.
"""

from __future__ import annotations

import builtins
import dis
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Final

SMALL: Final = 8
"""Smaller ones are tried anyway."""
MOST: Final = 12
DEPTH: Final = 3
CONSTANT_WORK: Final = frozenset({
    "abs", "bool", "divmod", "int", "isinstance", "len", "max", "min", "range", "slice", "str", "tuple", "type",
    "bit_length", "ceil", "floor", "gcd", "isqrt", "lcm", "log2", "math", "prod", "broadcast_shapes", "np", "numpy",
    "args", "get", "index", "indices", "kwargs", "require",
})  # fmt: skip
"""Names of functions that do no more for a larger integer, and of what they are found in."""


def constants_of(*functions: object) -> tuple[int, ...]:
    """The integers in the code of some functions, without the small ones, in order."""
    found: set[int] = set()
    for function in functions:
        found.update(_constants(function, DEPTH))
    large = [value for value in found if abs(value) >= SMALL]
    return tuple(sorted(large, key=lambda value: (abs(value), value))[:MOST])


def names_in(function: object) -> frozenset[str]:
    """The names of attributes and globals that a function's code mentions, nested functions included."""
    plain = inspect.unwrap(function) if callable(function) else function
    return frozenset(_names(plain.__code__)) if isinstance(plain, FunctionType) else frozenset()


def does_constant_work(function: object) -> bool:
    """Return True if all names in a function's code are of what takes no longer for larger integers, or exceptions, and
    it repeats no sequence.

    >>> does_constant_work(lambda call: len(range(call.args[0])))
    True
    >>> does_constant_work(lambda call: sum(range(call.args[0])))
    False
    >>> does_constant_work(lambda call: len([0] * call.args[0]))
    False
    """
    plain = inspect.unwrap(function) if callable(function) else function
    if not isinstance(plain, FunctionType) or _may_repeat(plain.__code__):
        return False
    known = {**vars(builtins), **plain.__globals__}
    return all(name in CONSTANT_WORK or _is_exception(known.get(name)) for name in _names(plain.__code__))


def _may_repeat(code: CodeType) -> bool:
    """Return True if a list, tuple or text stands in code before a product, which may repeat it."""
    sequence = False
    for step in dis.get_instructions(code):
        constant = step.opname == "LOAD_CONST" and isinstance(step.argval, tuple | str | bytes)
        if constant or step.opname in ("BUILD_LIST", "BUILD_TUPLE"):
            sequence = True
        elif sequence and (step.argrepr in ("*", "*=") or step.opname.endswith("_MULTIPLY")):
            return True
    return any(_may_repeat(inner) for inner in code.co_consts if isinstance(inner, CodeType))


def _is_exception(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _constants(function: object, depth: int) -> Iterator[int]:
    plain = inspect.unwrap(function) if callable(function) else function
    plain = getattr(plain, "__func__", plain)
    if not isinstance(plain, FunctionType) or not depth:
        return
    yield from _in_code(plain.__code__)
    cells = [cell.cell_contents for cell in plain.__closure__ or () if _is_filled(cell)]
    for value in (*cells, *[plain.__globals__.get(name) for name in _names(plain.__code__)], *_defaults(plain)):
        yield from _in_value(value)
        if isinstance(value, FunctionType) and value.__module__ == plain.__module__ and value is not plain:
            yield from _constants(value, depth - 1)


def _defaults(function: FunctionType) -> tuple[object, ...]:
    return (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())


def _in_code(code: CodeType) -> Iterator[int]:
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _in_code(value)
        else:
            yield from _in_value(value)


def _in_value(value: object) -> Iterator[int]:
    if type(value) is int:
        yield value
    elif isinstance(value, tuple | list | frozenset | set | range) and len(value) <= MOST:
        for one in value:
            yield from _in_value(one)
    elif isinstance(value, dict) and len(value) <= MOST:
        for one in (*value, *value.values()):
            yield from _in_value(one)


def _is_filled(cell: object) -> bool:
    try:
        return hasattr(cell, "cell_contents")
    except ValueError:
        return False
