"""Runtime checks of unbacked numbers raise eager torch's errors.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> def picked(x, place):
    ...     number = place.item()
    ...     torch._check_value(number != 1, lambda: "not this one")
    ...     return x[number]
    >>> compiled = compile(picked, dynamic=True)
    >>> for place in (0, 1, 4):
    ...     try:
    ...         print(compiled(torch.ones(3), torch.tensor(place)))
    ...     except (ValueError, IndexError) as error:
    ...         print(repr(error))
    tensor(1.)
    ValueError('u0 != 1: not this one  (...)')
    IndexError('u0 < x_size0: the index is behind the end of the axis  (...)')
"""

from __future__ import annotations

from typing import Any, Final

import torch

from frontends.pytorch.errors import unsupported
from frontends.pytorch.python.python_calls import ours
from frontends.pytorch.python.torch_calls import Arguments, Function, Keywords, handles

_torch_check: Final = torch._check_with


def check_with(error: type[Exception], condition: Any, message: Any) -> object:  # as torch calls it
    """`torch._check` and its variants, with the program's message if there is one."""
    if isinstance(condition, torch.SymBool) and ours(condition) and not condition.node.is_plain:
        if error.__module__ != "builtins":
            unsupported(f"a check that raises {error.__qualname__}, an error of the program's own", "raise another one")
        said = message() if callable(message) else message
        if condition.node.expect(str(said or ""), error):
            return None
        condition = False
    return _torch_check(error, condition, message)


@handles(torch.narrow, torch.narrow_copy, torch.Tensor.narrow, torch.Tensor.narrow_copy)
def narrow(mode: object, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """A start out of bounds is an `IndexError`; C++ does not tell which of its checks failed."""
    given = [*args, *[kwargs.get(name) for name in ("input", "dim", "start", "length")[len(args) :]]]
    x, dim, start, length = given
    if isinstance(start, torch.Tensor):
        start = start.item()
    if isinstance(start, torch.SymInt) and not start.node.is_plain and isinstance(x, torch.Tensor):
        size = x.size(dim)
        for within in (start >= -size, start <= size):
            if isinstance(within, torch.SymBool):
                within.node.expect("the start is outside of the axis", IndexError)
        return func(x, dim, start, length)
    return NotImplemented
