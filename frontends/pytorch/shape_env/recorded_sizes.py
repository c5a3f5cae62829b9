"""Sizes in torch's recordings that no operator of the recording has made, as DTensor's rules make some.

    >>> from frontends.pytorch.shape_env.recorded_sizes import FirstKept, product
    >>> found = FirstKept(s=1)
    >>> found["s"] = 2
    >>> found, product(2, 3, 4)
    ({'s': 1}, 24)

Torch records such a size by the parts of its expression. Two of them go wrong: a product of three sizes is one of
SymPy's, and torch's function takes two. And a symbol becomes what was computed last to be equal to it, such as
`0 + (s - 1) + 1`, which then is computed of itself.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final

import sympy
from torch.fx.experimental import proxy_tensor

HANDLERS = proxy_tensor._sympy_handlers
"""Torch's table of functions of sizes, by the class of SymPy's."""
TRACKERS = proxy_tensor._init_proxy_trackers
"""Torch's constructor of the tables of a recording."""


@functools.cache
def functions_of_sizes() -> dict[Any, Callable[..., Any]]:
    """Torch's table, with products of any number of sizes."""
    return {**HANDLERS(), sympy.Mul: product}


def product(*sizes: Any) -> Any:
    """The product of sizes."""
    return math.prod(sizes)


class FirstKept(dict[Any, Any]):
    """A dictionary that keeps the first value of each key."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self.setdefault(key, value)


def init_trackers(tracer: Any) -> None:
    """Replacement of torch's constructor: the first that is known of a symbol is what it stands for."""
    TRACKERS(tracer)
    tracer.sympy_expr_tracker = FirstKept()


REPLACED: Final = (
    (proxy_tensor, "_sympy_handlers", functions_of_sizes),
    (proxy_tensor, "_init_proxy_trackers", init_trackers),
)
