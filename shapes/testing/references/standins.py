"""Large arrays without storage, so that an operator can be asked about sizes that no memory holds.

    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.references.functions import Function
    >>> import numpy as np                                                    # doctest: +SKIP
    >>> Function(lambda x: x[::2])(Call((Input((2**31 + 1,)),)))              # doctest: +SKIP
    ((1073741825,),)

NumPy's arrays have one element and strides of 0, torch's are on the device `meta`, JAX's are abstract. NumPy's
functions may still allocate results: they are measured on two sizes first, and where memory or time grows,
only arrays that fit are made. torch's meta functions are compared with the kernels on small calls first. What cannot be
told this way is `Untested`, which is neither accepted nor refused.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Final

from shapes.testing.calls import Call, Input
from shapes.testing.directed.places import places_of, structure_of, with_values

LARGE: Final = 1 << 16
"""The product of all integers of a call, from which on there are stand-ins."""
ALLOCATED: Final = 1 << 18
"""Elements that are really made, at most."""
PROBED: Final = (1 << 14, 1 << 16)
GROWTH: Final = 1 << 14
"""Bytes by which memory may grow between the two probes where nothing is allocated."""
SWEEP: Final = 1 << 23
"""Elements that are looked at in a time."""
INSTANT: Final = 0.0005
COMPARED: Final = 4
WORDS: Final = ("overflow", "too big", "too large", "maximum allowed", "exceed", "out of memory", "allocate", "int too")
"""Words of messages that are about the machine, not about the operator."""


class Untested(Exception):
    """A call that a reference cannot be asked about on this machine."""


class StandIns:
    """A function of arrays, called with large ones."""

    def __init__(self, tensors: str, function: Callable[..., object]) -> None:
        self.tensors = tensors
        self.function = function
        self.known: list[tuple[Call, object]] = []
        self.trusted: bool | None = None
        self.lazy: dict[str, bool] = {}

    def remember(self, call: Call, sizes: object) -> None:
        """Keep a small call, and what the function really gave."""
        if len(self.known) < COMPARED:
            self.known.append((call, sizes))

    def __call__(self, call: Call) -> object:
        """The result for a large call. Exceptions are the function's, or `Untested`."""
        try:
            match self.tensors:
                case "torch":
                    return self._on_meta(call)
                case "jax":
                    return self._abstract(call)
                case _:
                    return self._without_storage(call)
        except (MemoryError, NotImplementedError, OverflowError) as limit:
            raise Untested(str(limit)) from None
        except (ValueError, RuntimeError, TypeError) as error:
            if any(word in str(error).lower() for word in WORDS):
                raise Untested(str(error)) from None
            raise

    # ------------------------------------------------------------------ torch and JAX

    def _on_meta(self, call: Call) -> object:
        if self.trusted is None:
            self.trusted = all(self._as_really(known, sizes) for known, sizes in self.known)
        if not self.trusted or not any(True for _ in call.inputs()):
            raise Untested("torch's meta function differs from the kernel")
        return self._meta(call)

    def _meta(self, call: Call) -> object:
        import torch

        def made(tensor: Input) -> object:
            return torch.empty(tuple(tensor), dtype=getattr(torch, tensor.dtype or "float32"), device="meta")

        args, kwargs = call.replaced(made)
        return self.function(*args, **kwargs)

    def _as_really(self, call: Call, sizes: object) -> bool:
        from shapes.testing.references.functions import sizes_of

        try:
            return tuple(sizes_of(self._meta(call))) == sizes
        except Exception:
            return False

    def _abstract(self, call: Call) -> object:
        import jax

        tensors: list[object] = []

        def made(tensor: Input) -> object:
            tensors.append(jax.ShapeDtypeStruct(tuple(tensor), tensor.dtype or "float32"))
            return len(tensors) - 1

        call.replaced(made)

        def run(*arrays: object) -> object:
            remaining = iter(arrays)
            args, kwargs = call.replaced(lambda tensor: next(remaining))
            return self.function(*args, **kwargs)

        return jax.eval_shape(run, *tensors)

    # ------------------------------------------------------------------ NumPy

    def _without_storage(self, call: Call) -> object:
        elements = _elements(call)
        if elements > ALLOCATED and not self._is_lazy(call):
            raise Untested(f"{elements} elements would be allocated")
        args, kwargs = call.replaced(_array)
        return self.function(*args, **kwargs)

    def _is_lazy(self, call: Call) -> bool:
        """Return True if neither memory nor time grow with the sizes of such calls."""
        key = structure_of(call) + "".join(["L" if place.value > LARGE else "s" for place in places_of(call)])
        if key not in self.lazy:
            self.lazy[key] = self._measured(call)
        return self.lazy[key]

    def _measured(self, call: Call) -> bool:
        try:
            first, second = [self._peak(_clipped(call, most)) for most in PROBED]
            if second - first > GROWTH:
                return False
            return min(self._seconds(_clipped(call, SWEEP)) for _ in range(2)) < INSTANT
        except Exception:
            return False

    def _peak(self, call: Call) -> int:
        """The bytes that a call allocates."""
        args, kwargs = call.replaced(_array)
        running = tracemalloc.is_tracing()
        if not running:
            tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            self.function(*args, **kwargs)
            return tracemalloc.get_traced_memory()[1] - before
        finally:
            if not running:
                tracemalloc.stop()

    def _seconds(self, call: Call) -> float:
        args, kwargs = call.replaced(_array)
        before = time.perf_counter()
        self.function(*args, **kwargs)
        return time.perf_counter() - before


def is_large(call: Call) -> bool:
    """Return True if a call has stand-ins for its arrays, or large numbers."""
    return _elements(call) > LARGE


def _elements(call: Call) -> int:
    """The product of all integers: results may have so many elements. Empty axes count as 1: results may lack them."""
    count = 1
    for place in places_of(call):
        count *= max(abs(place.value), 1)
    return count


def _clipped(call: Call, most: int) -> Call:
    return with_values(call, {place.path: min(place.value, most) for place in places_of(call)})


def _array(tensor: Input) -> object:
    import numpy

    if tensor.values is not None or tensor.strides is not None:
        from shapes.testing.references.arrays import array_of

        return array_of(tensor)
    dtype = numpy.dtype(tensor.dtype or "float32")
    value = tensor.low if dtype.kind in "iu" else 1
    try:
        return numpy.broadcast_to(numpy.asarray(value, dtype), tuple(tensor))
    except ValueError as error:
        raise Untested(str(error)) from None
