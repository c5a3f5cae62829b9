"""Checks that a function states by `torch._check` and its variants: text and class of the error.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def program(x):
    ...     number = x.sum().item()
    ...     torch._check_value(number > 2, lambda: "too small")
    ...     return x * number
    >>> [(str(check), check.error.__name__) for check in trace(program, (torch.tensor([3]),)).runtime_asserts]
    [('u0 >= 3: too small', 'ValueError')]

Torch passes on the condition alone. It reads its callers' frames for its messages; so does this.
"""

from __future__ import annotations

import sys
from typing import Final

import torch

from frontends.pytorch.errors import unsupported

CHECKING: Final = torch.__file__
"""The file of the checks, which torch passes on."""
INDEXING: Final = "TensorIndexing.h"
"""The C++ file that inspects the numbers in `x[n]`."""


def stated(file: str) -> tuple[str, type[Exception]]:
    """The text and the class of the error of the check that torch passes on to a node, with its file.

    Raises:
        Unsupported: the class is none of Python's.
    """
    # beside this function: the node's method, torch's function that calls it, the check
    frame = sys._getframe(3) if file == CHECKING else None
    if frame is None or frame.f_code is not torch._check_with.__code__:
        return "", IndexError if file.endswith(INDEXING) else RuntimeError
    error, message = frame.f_locals["error_type"], frame.f_locals["message"]
    if error.__module__ != "builtins":
        unsupported(f"a check that raises {error.__qualname__}, which the program defines", "raise another one")
    said = message() if callable(message) else message
    return str(said or ""), error
