"""Caches of Python's own library, which are no side effects of the program.

    >>> import functools
    >>> from frontends.pytorch import trace
    >>> import torch
    >>> @functools.singledispatch
    ... def factor(number):
    ...     return 2.0
    >>> variant = trace(lambda x: x * factor(x.shape[0]), (torch.randn(3),))  # fills the cache of `factor`

Of a cache that is filled in a trace nothing is left, as it may be filled by what is put back afterwards: a function
that the program registers, say. What a property of the library's own objects keeps (`functools.cached_property`)
follows from them, and stays.
"""

from __future__ import annotations

import _collections_abc
import enum
import functools
import sys
import weakref
from types import CodeType, FrameType
from typing import Final

IN_BETWEEN: Final = (weakref.__file__, _collections_abc.__file__)
"""The code of the containers that caches are."""
PROPERTY: Final = functools.cached_property.__get__.__code__


def is_dispatch_cache(code: CodeType) -> bool:
    """Whether code of a container, that runs now, does what it does for `functools.singledispatch`."""
    if code.co_filename != weakref.__file__:
        return False
    frame = _running(code)
    while frame is not None and frame.f_code.co_filename in IN_BETWEEN:
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename != functools.__file__:
        return False
    return frame.f_code.co_qualname.startswith("singledispatch.")


def is_property_of_library(code: CodeType) -> bool:
    """Whether code that runs now is a cached property's, of an object of Python's library."""
    frame = _running(code) if code is PROPERTY else None
    if frame is None:
        return False
    owner = str(type(frame.f_locals.get("instance")).__module__).partition(".")[0]
    return owner in sys.stdlib_module_names and owner != "__main__"


def is_of_enum(kind: type, name: str) -> bool:
    """Whether an attribute of a class is what `enum` knows of its members, which become more when they are combined."""
    return issubclass(kind, enum.Enum) and name[:1] == name[-1:] == "_"


def _running(code: CodeType) -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


__all__ = ["is_dispatch_cache", "is_of_enum", "is_property_of_library"]
