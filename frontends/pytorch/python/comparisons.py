"""Named tensors that a function compares by `is`: no guard tells whether an argument is identical to one.

    >>> import torch
    >>> from frontends.pytorch.python.comparisons import compared_tensor
    >>> w = torch.ones(2)
    >>> def f(x, y):
    ...     return x * 2 if x is w and y is not None and x is not y else x
    >>> compared_tensor(f, ())
    'w'
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType, MemberDescriptorType
from typing import Any, Final

import torch

from frontends.pytorch.python.mentions import closure_of
from frontends.pytorch.python.snapshots import attributes_of
from frontends.pytorch.python.weak_memo import while_alive

Found = tuple["Operand | None", "Operand | None"]
LOADS: Final = frozenset(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_CONST"))
_missing: Final = object()
_IS: Final = dis.opmap["IS_OP"]
_IS_CONSTANT: Final = bytes([dis.opmap["LOAD_CONST"], _IS])


@dataclass(frozen=True, slots=True)
class Operand:
    """A name with a chain of attributes."""

    load: str
    name: object
    attributes: tuple[str, ...]


def compared_tensor(function: FunctionType, starts: Iterable[object]) -> str | None:
    """The name of a tensor that is compared with a non-constant; `starts` are the possible values of `self`."""
    for operands in _comparisons(function):
        if any(operand is not None and operand.load == "LOAD_CONST" for operand in operands):
            continue
        for operand in operands:
            if operand is not None and any(
                issubclass(type(value), torch.Tensor) for value in _values(function, operand, starts)
            ):
                return ".".join([str(operand.name), *operand.attributes])
    return None


@while_alive
def _comparisons(function: FunctionType) -> tuple[Found, ...]:
    """The operands of a function's `is` with non-constants; None for an operand that is no name."""
    # few functions compare with non-constants (`x is None` is another instruction), and disassembly is slow
    operations = function.__code__.co_code[::2]
    if operations.count(_IS) == operations.count(_IS_CONSTANT):
        return ()
    steps = [step for step in dis.get_instructions(function) if step.opname not in ("CACHE", "EXTENDED_ARG")]
    pairs: list[Found] = []
    for place, step in enumerate(steps):
        if step.opname == "IS_OP":
            second, before = _operand(steps, place - 1)
            first = None if second is None else _operand(steps, before)[0]
            pairs.append((first, second))
    return tuple(pairs)


def _operand(steps: Sequence[dis.Instruction], place: int) -> tuple[Operand | None, int]:
    """The operand loaded by the instructions before an index, and the index before them."""
    attributes: list[str] = []
    while place >= 0 and steps[place].opname == "LOAD_ATTR":
        attributes.append(steps[place].argval)
        place -= 1
    if place < 0 or steps[place].opname not in LOADS:
        return None, place
    return Operand(steps[place].opname, steps[place].argval, tuple(reversed(attributes))), place - 1


def _values(function: FunctionType, operand: Operand, starts: Iterable[object]) -> Iterator[object]:
    """The possible values of an operand, as far as they are known."""
    for value in _bases(function, operand, starts):
        for name in operand.attributes:
            value = _attribute(value, name)
        yield value


def _attribute(value: object, name: str) -> object:
    """A stored attribute of an object, without running code of the program."""
    try:
        found = inspect.getattr_static(value, name, _missing)
    except Exception:
        # an object whose class overrides `__dict__`
        return _missing
    if found is _missing:
        held = attributes_of(value) or {}
        parts = [held.get(of) for of in ("_parameters", "_buffers", "_modules")]
        return next((part[name] for part in parts if type(part) is dict and name in part), _missing)
    if not isinstance(found, MemberDescriptorType):
        return found
    try:
        return found.__get__(value)
    except AttributeError:
        return _missing


def _bases(function: FunctionType, operand: Operand, starts: Iterable[Any]) -> Iterator[object]:  # torch's modules
    code, name = function.__code__, operand.name
    if operand.load in ("LOAD_GLOBAL", "LOAD_NAME"):
        yield function.__globals__.get(str(name), _missing)
    elif operand.load == "LOAD_FAST" and operand.attributes and code.co_varnames[:1] == (name,):
        # the first parameter of a method of a module
        for start in starts:
            for module in start.modules() if issubclass(type(start), torch.nn.Module) else ():
                if any(vars(kind).get(code.co_name) is function for kind in type(module).__mro__):
                    yield module
    else:
        yield from [value for each, _, value in closure_of(function) if each == name]
