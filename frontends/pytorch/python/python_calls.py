"""Replacements of Python's built-in functions in a trace: the same, but sizes stay symbolic.

    >>> import torch
    >>> from shapes import ShapeEnv
    >>> from frontends.pytorch.symbolic.node import Nodes
    >>> from frontends.pytorch.python.python_calls import greatest, integer
    >>> env = ShapeEnv(origin=lambda: None)
    >>> n = Nodes(env).wrap(env.symbol("n", hint=6))
    >>> greatest(n, 16), integer(n / 2), greatest(3, 5)
    (max(n, 16), trunc(truediv(n, 2)), 5)
    >>> env.guards()
    ()

Without symbolic arguments, each behaves like Python's own.
"""

from __future__ import annotations

import builtins
import math
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from types import UnionType
from typing import Any, Final, TypeAlias, Union, get_args, get_origin

import torch

from frontends.pytorch.errors import eager_only
from frontends.pytorch.python.identities import hashed, identity
from frontends.pytorch.python.ran import asked
from frontends.pytorch.symbolic.node import Node, TorchValue, value_of
from frontends.pytorch.symbolic.tensor import Traced
from frontends.pytorch.symbolic.values import AnyValue, Value
from shapes.env import ShapeEnv
from shapes.symbolic import choices
from shapes.symbolic.numbers import SymFloat, SymInt
from solver.floats import values as floats
from solver.terms.expr import Expr
from solver.terms.functions import known_functions, register
from solver.terms.intervals import Interval

Given: TypeAlias = Any
"""What the program calls a function of Python's with, and is given: its own, and torch's tensors and numbers."""
SQUARE_ROOT: Final = math.sqrt
INTEGER_SQUARE_ROOT: Final = math.isqrt
SYMBOLIC: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)
FLOATS: Final = (float, torch.SymFloat)
SEEN_AS: Final[Mapping[type, type]] = {
    torch.SymInt: int,
    torch.SymFloat: float,
    torch.SymBool: bool,
    Traced: torch.Tensor,
}
"""The class of a traced value that the program sees."""


def ours(number: object) -> bool:
    """Whether a number is traced."""
    return isinstance(number, SYMBOLIC) and isinstance(number.node, Node)


def wrapped(like: TorchValue, value: Value) -> TorchValue:
    return like.node.nodes.wrap(value)


def greatest(*args: Given, **kwargs: Given) -> Given:
    """`max`, without a branch."""
    return _extreme(builtins.max, choices.sym_max, args, kwargs)


def least(*args: Given, **kwargs: Given) -> Given:
    """`min`, without a branch."""
    return _extreme(builtins.min, choices.sym_min, args, kwargs)


def _extreme(
    plain: Callable[..., Given], symbolic: Callable[..., Value], args: tuple[Given, ...], kwargs: Mapping[str, Given]
) -> Given:
    if len(args) == 1 and not isinstance(args[0], torch.Tensor):
        args = (list(args[0]),)
    numbers = args[0] if len(args) == 1 else args
    # of an integer and a float, the type depends on which is greater: a branch
    if not kwargs and isinstance(numbers, list | tuple) and len({isinstance(each, FLOATS) for each in numbers}) == 1:
        for number in numbers:
            if ours(number) and all(isinstance(each, int | float | torch.SymInt | torch.SymFloat) for each in numbers):
                return wrapped(number, symbolic(*[value_of(each) for each in numbers]))
    return plain(*args, **kwargs)


def _converted(plain: Callable[..., Given], symbolic: Callable[[AnyValue], Value]) -> Callable[..., Given]:
    """A conversion of a number, or of the only element of a tensor, which is unbacked."""

    def convert(*args: Given, **kwargs: Given) -> Given:
        if len(args) != 1 or kwargs:
            return plain(*args, **kwargs)
        number = args[0].item() if isinstance(args[0], Traced) else args[0]
        return wrapped(number, symbolic(value_of(number))) if ours(number) else plain(number)

    return convert


integer: Final = _converted(builtins.int, choices.sym_int)
"""`int(x)`: a size is unchanged, a float is truncated."""
floating: Final = _converted(builtins.float, choices.sym_float)
"""`float(x)`."""


def length(value: Given, /) -> Given:
    """`len(x)`; for a tensor its first size."""
    if isinstance(value, Traced) and value.dim():
        return value.shape[0]
    return builtins.len(value)


def kind_of(*args: Given, **kwargs: Given) -> Given:
    """`type(x)`: a size is an int to the program."""
    found = builtins.type(*args, **kwargs)
    if found is Traced:
        return args[0].__class__
    return SEEN_AS.get(found, found) if len(args) == 1 else found


def is_instance(value: Given, kinds: Given, /) -> bool:
    """`isinstance(n, int)`: true for a size; torch's symbolic classes are hidden from the program."""
    if not ours(value):
        return builtins.isinstance(value, kinds)
    seen = SEEN_AS[builtins.type(value)]
    return any(issubclass(seen, each) or builtins.isinstance(value, each) for each in each_of(kinds))


def each_of(kinds: Given) -> Iterator[type]:
    """The classes in `isinstance`'s second argument, without torch's symbolic ones."""
    inside = kinds if builtins.isinstance(kinds, tuple) else get_args(kinds)
    origin: object = get_origin(kinds)
    if builtins.isinstance(kinds, tuple | UnionType) or origin is Union:
        for kind in inside:
            yield from each_of(kind)
    elif kinds not in SYMBOLIC:
        yield kinds


def attribute(owner: Given, name: str, /, *otherwise: Given) -> Given:
    """`getattr`, with a possibly computed name."""
    asked(owner, name)
    if ours(owner) and not builtins.hasattr(SEEN_AS[builtins.type(owner)], name):
        # attributes of torch's number class, which the program must not see
        return builtins.getattr(SEEN_AS[builtins.type(owner)](), name, *otherwise)
    return builtins.getattr(owner, name, *otherwise)


def has_attribute(owner: Given, name: str, /) -> bool:
    """`hasattr`."""
    asked(owner, name)
    return builtins.hasattr(SEEN_AS[builtins.type(owner)] if ours(owner) else owner, name)


def names_of(*owners: Given) -> list[str]:
    """`dir`."""
    if not owners:
        return sorted(sys._getframe(1).f_locals)
    return builtins.dir(SEEN_AS[builtins.type(owners[0])] if ours(owners[0]) else owners[0])


def attributes(*owners: Given) -> Given:
    """`vars`; a tensor's attributes belong to the caller."""
    if not owners:
        return sys._getframe(1).f_locals
    if builtins.isinstance(owners[0], Traced):
        eager_only("the attributes of a tensor are asked for", "pass what is needed as an argument")
    return builtins.vars(*owners)


def quotient_and_rest(a: Given, b: Given, /) -> Given:
    """`divmod`."""
    return (a // b, a % b) if ours(a) or ours(b) else builtins.divmod(a, b)


# ---------------------------------------------------------------------- the functions of `math`

MATH_FUNCTIONS: Final = (
    *("log2", "log", "log10", "log1p", "exp", "exp2", "expm1", "cbrt", "atan", "tanh", "sinh", "asinh", "erf"),
    *("sin", "cos", "tan", "asin", "acos", "cosh", "gamma", "lgamma", "acosh", "atanh", "erfc"),
)
"""The functions of one argument."""


_as_bytes: Final = struct.Struct("<d").pack
_as_integer: Final = struct.Struct("<Q").unpack


def pattern(value: float) -> int:
    """The 64 bits of a double as an integer."""
    (found,) = _as_integer(_as_bytes(value))
    return found


def _of_pattern(plain: Callable[[float], float], number: Callable[..., float]) -> Callable[..., int]:
    def evaluate(*arguments: int) -> int:
        try:
            return pattern(plain(number(*arguments)))
        except (ValueError, OverflowError, ZeroDivisionError):
            return 0

    return evaluate


def _unbounded(*arguments: Interval) -> Interval:
    return (0, 2**64 - 1)


PROGRAMS: Final[dict[str, tuple[str, str]]] = {}
"""The registered functions: the name in `math`, and the argument's text."""
_names: dict[tuple[str, str], str] = {}


def math_function(name: str) -> Callable[[Given], Given]:
    """A function of `math`: returns a `SymFloat` for a size or a float of sizes."""
    plain = getattr(math, name)

    def symbolic(*args: Given) -> Given:
        if len(args) != 1 or not ours(args[0]):
            if name == "log" and len(args) == 2 and (ours(args[0]) or ours(args[1])):
                return symbolic(args[0]) / symbolic(args[1])
            return plain(*args)
        (number,) = args
        value: AnyValue = value_of(number)
        value = choices.sym_int(value) if isinstance(number, torch.SymBool) else value
        if name.startswith("log") or name in ("gamma", "lgamma"):
            value.env.require(value > (-1 if name == "log1p" else 0), "math domain error", error=ValueError)
        return wrapped(number, applied(name, plain, value))

    symbolic.__name__ = name
    return symbolic


def applied(name: str, plain: Callable[[float], float], value: SymInt | SymFloat) -> SymFloat:
    """Apply a function: a float whose bits are an opaque function of sizes."""
    arguments: tuple[Expr, ...]
    number: Callable[..., float]
    if isinstance(value, SymInt):
        text, arguments, number = "{0}", (value.expr,), builtins.int
    else:
        from solver.floats.programs import program

        text, arguments = value.value.text, value.value.arguments
        number = program(text).evaluate
    key = (name, text)
    found = _names.get(key)
    if found is None:
        found = f"{name}_of_{len(_names)}"
        register(found, _of_pattern(plain, number), _unbounded, arity=len(arguments))
        PROGRAMS[found] = key
        _names[key] = found
    bits = arguments[0].interner.apply(known_functions()[found], *arguments)
    result = SymFloat(value.env, floats.from_pattern(bits), value.domain, value.operations)
    # `math` raises for infinite or undefined values: its results are finite
    assert isinstance(value.env, ShapeEnv)
    value.env.postulate(value.operations.integer(bits, value.domain) >= 0)
    value.env.postulate(value.operations.integer(bits, value.domain) < 2**64)
    value.env.postulate(result <= sys.float_info.max)
    value.env.postulate(result >= -sys.float_info.max)
    return result


def square_root(value: Given, /) -> Given:
    """`math.sqrt`."""
    return wrapped(value, choices.sym_sqrt(value_of(value))) if ours(value) else SQUARE_ROOT(value)


def integer_square_root(value: Given, /) -> Given:
    """`math.isqrt`."""
    if not isinstance(value, torch.SymInt) or not ours(value):
        return INTEGER_SQUARE_ROOT(value)
    size = value_of(value)
    size.env.require(size >= 0, "isqrt() argument must be nonnegative", error=ValueError)
    return wrapped(value, size.operations.integer(size.operations.interner.function("isqrt", size.expr), size.domain))


BUILTINS: Final[Mapping[str, Callable[..., object]]] = {
    "max": greatest,
    "min": least,
    "int": integer,
    "float": floating,
    "len": length,
    "type": kind_of,
    "isinstance": is_instance,
    "divmod": quotient_and_rest,
    "getattr": attribute,
    "hasattr": has_attribute,
    "vars": attributes,
    "dir": names_of,
    "id": identity,
    "hash": hashed,
}
MATH: Final[Mapping[str, Callable[..., object]]] = {
    "sqrt": square_root,
    "isqrt": integer_square_root,
    **{name: math_function(name) for name in MATH_FUNCTIONS if hasattr(math, name)},
}
