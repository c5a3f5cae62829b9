"""`id` and `hash` of traced tensors: they can be compared with each other, and nothing else.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> trace(lambda x, y: x if id(x) == id(y) else y, (torch.ones(2), torch.ones(2))).outputs
    (%1,)
    >>> trace(lambda x: (x * 2, id(x)), (torch.ones(2),))
    Traceback (most recent call last):
    frontends.pytorch.errors.EagerOnly: the identity of a tensor is ...

Traced tensors represent different objects at every call.
"""

from __future__ import annotations

import builtins
from typing import Final

from frontends.pytorch.errors import eager_only
from frontends.pytorch.symbolic.tensor import Traced

FIX: Final = "compare tensors with `is`"


class Identity(int):
    """The result of `id` and `hash` for a traced tensor."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Identity):
            return int.__eq__(self, other)
        if isinstance(other, int):
            _refuse()
        return False

    def __ne__(self, other: object) -> bool:
        return not self == other


def _refuse(*_: object) -> object:
    eager_only("the identity of a tensor is used as a number", FIX)


for _name in (
    *("hash", "lt", "le", "gt", "ge", "add", "radd", "sub", "rsub", "mul", "rmul", "mod", "rmod", "floordiv"),
    *("rfloordiv", "truediv", "rtruediv", "pow", "rpow", "and", "rand", "or", "ror", "xor", "rxor", "lshift"),
    *("rlshift", "rshift", "rrshift", "divmod", "rdivmod", "neg", "pos", "abs", "invert", "int", "index", "float"),
    *("str", "repr", "format", "round", "trunc", "floor", "ceil"),
):
    setattr(Identity, f"__{_name}__", _refuse)


def identity(value: object, /) -> object:
    """`id(x)`."""
    return Identity(builtins.id(value)) if builtins.isinstance(value, Traced) else builtins.id(value)


def hashed(value: object, /) -> object:
    """`hash(x)`."""
    return Identity(builtins.id(value)) if builtins.isinstance(value, Traced) else builtins.hash(value)
