"""Caches of Python's standard library, which are no side effects of the program.

    >>> import functools
    >>> from frontends.pytorch import trace
    >>> import torch
    >>> @functools.singledispatch
    ... def factor(number):
    ...     return 2.0
    >>> variant = trace(lambda x: x * factor(x.shape[0]), (torch.randn(3),))  # fills the cache of `factor`

Entries added by a trace are removed, since they may depend on state that is restored afterwards, such as a registered
function. A `functools.cached_property` of the library's own objects depends on them alone, and is kept.
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
"""The files with the code of the caches' containers."""
PROPERTY: Final = functools.cached_property.__get__.__code__


def is_dispatch_cache(code: CodeType) -> bool:
    """Whether a running container method is called by `functools.singledispatch`."""
    if code.co_filename != weakref.__file__:
        return False
    frame = _running(code)
    while frame is not None and frame.f_code.co_filename in IN_BETWEEN:
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename != functools.__file__:
        return False
    return frame.f_code.co_qualname.startswith("singledispatch.")


def is_property_of_library(code: CodeType) -> bool:
    """Whether running code is a cached property's, of an object of the standard library."""
    frame = _running(code) if code is PROPERTY else None
    if frame is None:
        return False
    owner = str(type(frame.f_locals.get("instance")).__module__).partition(".")[0]
    return owner in sys.stdlib_module_names and owner != "__main__"


def is_of_enum(kind: type, name: str) -> bool:
    """Whether a class attribute is `enum`'s table of members, which grows when flags are combined."""
    return issubclass(kind, enum.Enum) and name[:1] == name[-1:] == "_"


def _running(code: CodeType) -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame
