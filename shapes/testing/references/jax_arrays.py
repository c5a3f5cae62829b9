"""JAX's functions by name, as references.

    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.references.jax_arrays import jax_function
    >>> moveaxis = jax_function("numpy.moveaxis")                             # doctest: +SKIP
    >>> moveaxis(Call((Input((2, 3, 4)), 0, 2)))                              # doctest: +SKIP
    ((3, 4, 2),)
"""

from __future__ import annotations

import importlib
from functools import reduce

from shapes.testing.references.functions import Function


def jax_function(name: str) -> Function:
    """The reference for a function of JAX, as in `jax_function("lax.conv")`.

    Raises:
        LookupError: JAX has no such function.
    """
    home, _, rest = name.partition(".")
    try:
        module: object = importlib.import_module(f"jax.{home}")
    except ModuleNotFoundError as missing:
        if missing.name == "jax":
            raise
        raise LookupError(f"jax has no function {name}") from missing
    function = reduce(lambda inner, part: getattr(inner, part, None), rest.split("."), module)
    if not callable(function):
        raise LookupError(f"jax has no function {name}")
    return Function(function, "jax")
