"""NumPy's functions by name, as references.

    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.references.numpy_arrays import numpy_function
    >>> swapaxes = numpy_function("swapaxes")                                 # doctest: +SKIP
    >>> swapaxes(Call((Input((2, 3)), 0, 1)))                                 # doctest: +SKIP
    ((3, 2),)
"""

from __future__ import annotations

from functools import reduce

from shapes.testing.references.functions import Function


def numpy_function(name: str) -> Function:
    """The reference for a function of NumPy, as in `numpy_function("linalg.qr")`.

    Raises:
        LookupError: NumPy has no such function.
    """
    import numpy

    module: object = numpy
    function = reduce(lambda home, part: getattr(home, part, None), name.split("."), module)
    if not callable(function):
        raise LookupError(f"numpy has no function {name}")
    return Function(function, "numpy")
