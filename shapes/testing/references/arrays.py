"""Real arrays for the inputs of a call, of NumPy and of JAX, and the sizes of those in a result.

    >>> from shapes.testing.calls import Input
    >>> from shapes.testing.references.arrays import array_of
    >>> array_of(Input((2, 3))).shape                                         # doctest: +SKIP
    (2, 3)
"""

from __future__ import annotations

from collections.abc import Iterator

from shapes.extras import require
from shapes.testing.calls import Input


def array_of(tensor: Input) -> object:
    """An array of NumPy for an input."""
    require("numpy", extra="testing", needed_by="a reference of arrays")
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


def jax_array_of(tensor: Input) -> object:
    """An array of JAX for an input."""
    require("jax", extra="jax", needed_by="a reference of JAX")
    from jax import numpy

    return numpy.asarray(array_of(tensor))


def sizes_of(result: object) -> Iterator[tuple[int, ...] | None]:
    """The sizes of each array in a result, in order; a plain number has none, and None stands for anything else."""
    shape: object = getattr(result, "shape", None)
    if isinstance(shape, tuple):
        yield tuple([int(size) for size in shape])
    elif isinstance(result, tuple | list):
        for one in result:
            yield from sizes_of(one)
    else:
        yield () if isinstance(result, int | float | complex) else None
