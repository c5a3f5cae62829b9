"""NumPy's functions by name, as references.

    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.references.numpy_arrays import numpy_function
    >>> swapaxes = numpy_function("swapaxes")                                 # doctest: +SKIP
    >>> swapaxes(Call((Input((2, 3)), 0, 1)))                                 # doctest: +SKIP
    ((3, 2),)
"""

from __future__ import annotations

from functools import reduce

from shapes.testing.calls import Input
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


def array_of(tensor: Input) -> object:
    """An array for an input."""
    import numpy

    sizes = [int(size) for size in tensor]
    dtype = numpy.dtype(tensor.dtype or "float32")
    if tensor.values is not None:
        return numpy.asarray(tensor.values, dtype=dtype).reshape(sizes)
    if tensor.strides is not None:
        steps = [int(stride) for stride in tensor.strides]
        reach = sum([(size - 1) * step for size, step in zip(sizes, steps)]) if 0 not in sizes else 0
        storage: object = numpy.ones(reach + 1, dtype)
        return numpy.ndarray(sizes, dtype, storage, 0, [step * dtype.itemsize for step in steps])
    if dtype.kind in "iu":
        return numpy.random.default_rng(0).integers(tensor.low, max(tensor.high, tensor.low + 1), sizes, dtype)
    return numpy.ones(sizes, dtype)
