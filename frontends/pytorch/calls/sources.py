"""Sources configured as dynamic by torch's own setting.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> with torch.compiler.config.patch(dynamic_sources="L['x']:0"):
    ...     f = compile(lambda x: x * 2)
    ...     out = f(torch.ones(3, 8)), f(torch.ones(5, 8))
    >>> len(f.variants)
    1

`torch.compiler.config.dynamic_sources`, or TORCH_COMPILE_DYNAMIC_SOURCES for a process, is a list of sources between
commas, each a name or a pattern of names, with the axis behind a colon if only one is meant. The source of a parameter
`x` is `L['x']`. It is about sizes that would be numbers until they are seen to differ (`dynamic=None`).
"""

from __future__ import annotations

import re
from typing import Final

import torch
import torch.compiler.config

from frontends.pytorch.errors import ConstraintViolation, refusal

SETTING: Final = "torch.compiler.config.dynamic_sources"
AXIS: Final = re.compile(r"(.+):(\d+)")


def is_named(name: str, axis: int | None = None) -> bool:
    """Whether a parameter is dynamic as a whole, or along this axis; without an axis, whether any part of it is.

    Raises:
        ConstraintViolation: a pattern is invalid.
    """
    named = torch.compiler.config.dynamic_sources
    if not named:
        return False
    source = f"L[{name!r}]"
    for each in named.replace(" ", "").split(","):
        found = AXIS.fullmatch(each)
        pattern, only = (found[1], int(found[2])) if found else (each, None)
        try:
            is_meant = bool(pattern) and (pattern == source or re.match(pattern, source) is not None)
        except re.error as error:
            fix = "names such as L['x'], or patterns of names, between commas"
            raise ConstraintViolation(refusal(f"{SETTING}: {pattern!r} is no pattern: {error}", fix, None)) from None
        if is_meant and (axis is None or only is None or only == axis):
            return True
    return False
