"""The methods of `torch.SymInt`, `torch.SymFloat` and `torch.SymBool` that differ while a trace runs.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: x.new_zeros(divmod(x.shape[0], 2)), (torch.randn(7),))
    >>> variant.guards, variant.graph(torch.randn(9))[0].shape
    ((), torch.Size([4, 1]))

The program sees a symbolic number of Python's class (`n.__class__ is int`) without a hash, whose text is its digits,
which concretizes it. Torch and the frontend see torch's class, and the expression as text.
"""

from __future__ import annotations

import functools
import gc
import math
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

import torch
import torch.export

from frontends.pytorch.errors import GraphBreak, refusal
from frontends.pytorch.python.caught_errors import NUMBER
from frontends.pytorch.python.python_calls import SEEN_AS, ours, wrapped
from frontends.pytorch.source_location import is_told, is_users, origin
from frontends.pytorch.symbolic.node import TorchValue, value_of
from shapes.symbolic import choices


class Unhashable(GraphBreak, TypeError):
    """A symbolic size as a key, or as the argument of a memoizing function."""


def _seen_class(number: torch.SymInt | torch.SymFloat | torch.SymBool) -> type:
    """The class of a number for reads other than calls by name: `n.__class__`, `case int():`,
    `functools.singledispatch`. Torch sees the actual class."""
    file = _frame(1).f_code.co_filename
    asks = _asks.get(file)
    if asks is None:
        asks = _asks[file] = file == functools.__file__ or is_users(file)
    return SEEN_AS[type(number)] if asks and ours(number) else type(number)


_frame: Final = sys._getframe
_asks: Final[dict[str, bool]] = {}
"""By file, whether its reads are the program's."""
_seen_as: Final = property(_seen_class)
_class_attributes: Final = tuple([
    # `__class__` of a class differs from that of its instances, so it cannot be set as an attribute
    next(found for found in gc.get_referents(vars(kind)) if type(found) is dict)
    for kind in (torch.SymInt, torch.SymFloat, torch.SymBool)
])  # fmt: skip
"""The attributes of torch's symbolic number classes."""
_torch_choice: Final = torch.SymBool.__sym_ite__


def _choice(condition: TorchValue, then: TorchValue, otherwise: TorchValue) -> TorchValue:
    """`torch.sym_ite`, which accepts only torch's own node class."""
    if not ours(condition):
        return _torch_choice(condition, then, otherwise)
    return wrapped(condition, choices.sym_ite(*[value_of(each) for each in (condition, then, otherwise)]))


_torch_hash: Final = torch.SymInt.__hash__


def _hash(number: torch.SymInt) -> int:
    if ours(number) and not number.node.is_plain:
        raise Unhashable(refusal(f"a size has no hash while it is symbolic: {number}", NUMBER, origin()))
    return _torch_hash(number)


def _number(number: torch.SymInt | torch.SymFloat | torch.SymBool) -> float:
    """Concretize it, with a guard."""
    if isinstance(number, torch.SymBool):
        return bool(number)
    return int(number) if isinstance(number, torch.SymInt) else float(number)


_EXPRESSIONS: Final = {kind: kind.__repr__ for kind in (torch.SymInt, torch.SymFloat, torch.SymBool)}
"""Torch's `repr` of symbolic numbers."""


def _array(number: torch.SymInt | torch.SymFloat, dtype: object = None, copy: object = None) -> object:
    """NumPy's conversion of a number: concretizes."""
    numpy = sys.modules["numpy"]
    return numpy.asarray(_number(number), dtype=dtype)


def _product(plain: Callable[..., Any]) -> Callable[..., Any]:  # NumPy's
    """`numpy.prod` of sizes, kept symbolic: the number of elements."""

    def prod(numbers: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(numbers, list | tuple) and not args and not kwargs and any(map(ours, numbers)):
            return math.prod(numbers)
        return plain(numbers, *args, **kwargs)

    return prod


def _text(number: torch.SymInt | torch.SymFloat | torch.SymBool) -> str:
    """The digits, if the program asks, also for a list of sizes or through the standard library: it may depend on them.
    Torch and the frontend get the expression."""
    if ours(number) and is_told(sys._getframe(1).f_code.co_filename):
        return str(_number(number))
    return _EXPRESSIONS[type(number)](number)


def _formatted(number: torch.SymInt | torch.SymFloat | torch.SymBool, form: str) -> str:
    if ours(number) and (form or is_told(sys._getframe(1).f_code.co_filename)):
        return format(_number(number), form)
    return _EXPRESSIONS[type(number)](number)


def show_classes_of_python() -> None:
    """Let numbers appear as Python's classes; takes effect when an attribute of their classes is set next."""
    for attributes in _class_attributes:
        attributes["__class__"] = _seen_as


def show_own_classes() -> None:
    """Undo `show_classes_of_python`."""
    for attributes in _class_attributes:
        attributes.pop("__class__", None)


def stand_ins() -> Iterator[tuple[ModuleType | type, str, object]]:
    """The replacements of number methods while a trace runs: owner, name and function."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        yield numpy, "prod", _product(numpy.prod)
    for kind in (torch.SymInt, torch.SymFloat):
        yield kind, "__divmod__", lambda a, b: (a // b, a % b)
        yield kind, "__rdivmod__", lambda a, b: (b // a, b % a)
    yield torch.SymInt, "__hash__", _hash
    yield torch.SymBool, "__sym_ite__", _choice
    for kind in _EXPRESSIONS:
        yield kind, "__array__", _array
    for kind in _EXPRESSIONS:
        yield kind, "__str__", _text
        yield kind, "__repr__", _text
        yield kind, "__format__", _formatted
