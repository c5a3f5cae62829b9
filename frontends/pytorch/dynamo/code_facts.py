"""Facts about a program's code: the lines that read a name, the texts in it, the generators that it defines.

    >>> from frontends.pytorch.dynamo.code_facts import global_reads
    >>> def f(a, b):
    ...     return max(a, b)
    >>> [each.function for each in global_reads(f.__code__, "max")], list(global_reads(f.__code__, "min"))
    (['f'], [])
"""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Final

import torch

from frontends.pytorch.dynamo.graph_function import frames_of
from frontends.pytorch.source_location import is_users
from shapes.origin import Origin

GLOBALS: Final = ("LOAD_GLOBAL", "LOAD_NAME")
ATTRIBUTES: Final = ("LOAD_ATTR", "LOAD_METHOD")


ENDS: Final = ("JUMP_FORWARD", "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
"""Instructions that none follows."""


@functools.lru_cache(maxsize=4096)
def instructions(code: CodeType) -> Sequence[dis.Instruction]:
    """The instructions of a code object that may run: Dynamo's rest of a function begins with a jump over its start."""
    found, runs = [], True
    for each in dis.get_instructions(code):
        runs = runs or each.is_jump_target
        if runs:
            found.append(each)
            runs = each.opname not in ENDS
    return found


def reads(code: CodeType, kinds: Sequence[str], name: str) -> Iterator[Origin]:
    if name in code.co_names:
        for each in instructions(code):
            if each.opname in kinds and each.argval == name:
                yield Origin.of_instruction(code, each.offset)


def global_reads(code: CodeType, name: str) -> Iterator[Origin]:
    """The places that read a global or a builtin."""
    return reads(code, GLOBALS, name)


def attribute_reads(code: CodeType, name: str) -> Iterator[Origin]:
    """The places that read an attribute."""
    return reads(code, ATTRIBUTES, name)


def missing_attributes(code: CodeType) -> Iterator[Origin]:
    """The places that set an attribute for which the code asks by its name."""
    if "getattr" in code.co_names or "hasattr" in code.co_names:
        for each in instructions(code):
            if each.opname == "STORE_ATTR" and each.argval in code.co_consts:
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


def generators_in(code: CodeType) -> Iterator[Origin]:
    """Generators that a function defines."""
    for each in code.co_consts:
        if isinstance(each, CodeType) and each.co_flags & inspect.CO_GENERATOR:
            yield Origin.of_instruction(each, 0)


COMPREHENSIONS: Final = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
"""Names of code that is no function of the program's."""


def has_state(code: CodeType) -> bool:
    """Return True if a function may access state that outlives a call, other than globals that it reads."""
    stores = ("STORE_GLOBAL", "STORE_ATTR", "DELETE_GLOBAL", "DELETE_ATTR")
    return bool(code.co_freevars) or any(each.opname in stores for each in instructions(code))


def place_of(node: torch.fx.Node) -> Origin | None:
    """The line of the program that an operator of a graph stands on: the innermost of its stack."""
    frames = [frame for frame in frames_of(node) if is_users(frame[0])]
    return Origin(*frames[-1]) if frames else None
