"""Facts about a function's code: the places that read a name or an attribute, generators, and state.

    >>> from frontends.bytecode import generators_in, has_state, reads
    >>> def f(rows):
    ...     return all(each for each in rows), rows.size
    >>> [str(each) for each in reads(f.__code__, ("LOAD_ATTR",), "size")], list(generators_in(f.__code__, {}))
    (['<doctest ...>:2 in f'], [])
    >>> has_state(f.__code__)
    False
"""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import CodeType
from typing import Final

from shapes.origin import Origin

GLOBALS: Final = ("LOAD_GLOBAL", "LOAD_NAME")
ATTRIBUTES: Final = ("LOAD_ATTR", "LOAD_METHOD")
VARIABLES: Final = ("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_GLOBAL")
STORES: Final = ("STORE_FAST", "STORE_DEREF", "STORE_GLOBAL", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST")
CALLS: Final = ("CALL", "CALL_KW", "CALL_FUNCTION_EX")
AT_ONCE: Final = frozenset(("all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"))
"""Builtins that read an iterator, and keep none."""
ENDS: Final = ("JUMP_FORWARD", "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
"""Instructions that none follows."""
Start = tuple[int, int]
"""The line and column at which a piece of code starts."""


@functools.lru_cache(maxsize=4096)
def instructions(code: CodeType) -> Sequence[dis.Instruction]:
    """The instructions of a code object that may run: not those behind a jump to which none jumps."""
    found, runs = [], True
    for each in dis.get_instructions(code):
        runs = runs or each.is_jump_target
        if runs:
            found.append(each)
            runs = each.opname not in ENDS
    return found


def arguments(code: CodeType, callee: dis.Instruction) -> int | None:
    """The number of arguments with which a value is called where it is read.

    None if it is not, or they are spread.
    """
    after = [each for each in instructions(code) if each.offset > callee.offset and started(each) == started(callee)]
    call = next((each for each in after if each.opname in CALLS), None)
    return None if call is None or call.opname == "CALL_FUNCTION_EX" else call.arg


def started(instruction: dis.Instruction) -> Start:
    """The line and column at which the code of an instruction starts; something else for each where it is not known."""
    place = instruction.positions
    if place is None or place.lineno is None or place.col_offset is None:
        return -1, instruction.offset
    return place.lineno, place.col_offset


def reads(
    code: CodeType, kinds: Sequence[str], name: str, harmless: Collection[int] = (), before: Start | None = None
) -> Iterator[Origin]:
    """The places that read a name by instructions of these kinds, but for calls with a harmless number of arguments and
    what comes behind a line and column."""
    if name in code.co_names:
        for each in instructions(code):
            if each.opname in kinds and each.argval == name and (before is None or started(each) < before):
                if not harmless or arguments(code, each) not in harmless:
                    yield Origin.of_instruction(code, each.offset)


def calls_with(code: CodeType, name: str, value: object) -> Iterator[Origin]:
    """The places that call a method, but for those whose first argument is this constant."""
    for each, after in itertools.pairwise(instructions(code)):
        if each.opname in ATTRIBUTES and each.argval == name:
            if after.opname != "LOAD_CONST" or after.argval is not value:
                yield Origin.of_instruction(code, each.offset)


def missing_attributes(code: CodeType, known: Mapping[str, object], kinds: tuple[type, ...]) -> Iterator[Origin]:
    """The places that set an attribute that the code also looks up by `getattr` or `hasattr`, unless a variable that is
    `known` holds an object of other kinds than these."""
    if "getattr" in code.co_names or "hasattr" in code.co_names:
        stored = [each.argval for each in instructions(code) if each.opname in STORES]
        bound = {name for names in stored for name in (names if isinstance(names, tuple) else (names,))}
        for before, each in itertools.pairwise(instructions(code)):
            if each.opname == "STORE_ATTR" and each.argval in code.co_consts:
                held = known.get(before.argval) if before.opname in VARIABLES and before.argval not in bound else None
                if held is None or isinstance(held, kinds):
                    yield Origin.of_instruction(code, each.offset)


def texts(code: CodeType) -> Iterator[str]:
    """The texts among a code object's constants."""
    values: list[object] = list(code.co_consts)
    while values:
        value = values.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple | frozenset):
            values.extend(value)


def generators_in(code: CodeType, known: Mapping[str, object]) -> Iterator[Origin]:
    """Generators that a function defines, but for those that a builtin reads at once: `all(each for each in them)`.
    `known` are the globals."""
    for each in code.co_consts:
        if isinstance(each, CodeType) and each.co_flags & inspect.CO_GENERATOR:
            if not is_read_at_once(code, each, known):
                yield Origin.of_instruction(each, 0)


def is_read_at_once(code: CodeType, generator: CodeType, known: Mapping[str, object]) -> bool:
    """Return True if a generator is the only argument of a builtin that keeps none."""
    steps = [each for each in instructions(code) if each.opname not in ("PRECALL", "PUSH_NULL")]
    start = next(started(each) for each in steps if each.argval is generator)
    for place, (made, reader) in enumerate(itertools.pairwise(steps)):
        if made.opname in CALLS and reader.opname in CALLS and started(made) == start:
            # more than a name is a method, an element or a result: `list.append(...)`
            callee, *others = [each for each in steps[:place] if started(each) == started(reader)] or [reader]
            if others or callee.opname not in GLOBALS or callee.argval not in AT_ONCE:
                return False
            return callee.argval not in known and arguments(code, callee) == 1
    return False


def has_state(code: CodeType) -> bool:
    """Return True if a function may access state that outlives a call, other than globals that it reads."""
    stores = ("STORE_GLOBAL", "STORE_ATTR", "DELETE_GLOBAL", "DELETE_ATTR")
    return bool(code.co_freevars) or any(each.opname in stores for each in instructions(code))
